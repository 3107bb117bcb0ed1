# SPDX-License-Identifier: Apache-2.0
"""Debian's real Slurm on loopback, with directories of its own and no system service: what Spur is measured against."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from spur_cluster import free_port, wait_until

INSTALL = pathlib.Path(__file__).resolve().parents[1] / "tools/install-packages"


def available():
    """Installs Slurm, with its accounting, if it is not there; False where that is not possible or not wanted."""
    if os.environ.get("BENCH_SLURM") == "0" or os.geteuid() != 0:
        return False
    return subprocess.run([INSTALL, "differential"], stdout=subprocess.DEVNULL).returncode == 0


# Nodes that no slurmd speaks for: they count as idle and are scheduled, and what starts there stays CONFIGURING, as nodes of a
# cloud do while they are being switched on. So slurmctld does all its own work, and no process is started.
WITHOUT_SLURMD = """ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=65000
ResumeTimeout=65000
SuspendTimeout=60
ResumeRate=0
SuspendRate=0
PrivateData=cloud
TreeWidth=65533
"""


class SlurmCluster:
    """`agents` nodes with a slurmd each; or `nodes` nodes without one."""

    def __init__(self, cpus=64, extra="", nodes=0, agents=1):
        self.nodes = nodes
        self.names = [f"n{i}" for i in range(1, agents + 1)]
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="slurm-"))
        self.dir.chmod(0o755)
        for d in ("state", "spool", "munge", "log", "out", "sbin"):
            (self.dir / d).mkdir()
        (self.dir / "munge").chmod(0o711)
        (self.dir / "out").chmod(0o777)
        # Slurm looks at its own argv[0]: Debian's names with a suffix misbehave.
        for daemon in ("slurmctld", "slurmd", "slurmstepd"):
            (self.dir / "sbin" / daemon).symlink_to(f"/usr/sbin/{daemon}-wlm" if os.path.exists(f"/usr/sbin/{daemon}-wlm")
                                                    else f"/usr/sbin/{daemon}")
        host = subprocess.run(["hostname", "-s"], capture_output=True, text=True).stdout.strip()
        node = "\n".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={cpus} RealMemory=1000"
                         " State=UNKNOWN" for name in self.names)
        if nodes:
            node = f"{WITHOUT_SLURMD}NodeName=n[1-{nodes}] CPUs={cpus} RealMemory=1000 State=CLOUD"
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(f"""ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.dir}/munge/sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={free_port()}
StateSaveLocation={self.dir}/state
SlurmdSpoolDir={self.dir}/spool/%n
SlurmctldPidFile={self.dir}/slurmctld.pid
SlurmdPidFile={self.dir}/slurmd.%n.pid
SlurmctldLogFile={self.dir}/log/slurmctld.log
SlurmdLogFile={self.dir}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxJobCount=200000
MaxArraySize=4000001
SlurmdParameters=config_overrides
SlurmctldTimeout=300
SlurmdTimeout=300
MessageTimeout=60
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{extra}
{node}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
""")
        (self.dir / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.env = {**os.environ, "SLURM_CONF": str(self.conf)}
        self.processes = {}

    def _spawn(self, key, *args):
        log = open(self.dir / f"log/{key}.out", "ab")
        self.processes[key] = subprocess.Popen([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                               env=self.env, start_new_session=True)
        log.close()

    def start_munged(self):
        key = self.dir / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self._spawn("munged", "munged", "--foreground", "--force", "--num-threads=10", f"--key-file={key}",
                    f"--socket={self.dir}/munge/sock", f"--pid-file={self.dir}/munge/pid",
                    f"--log-file={self.dir}/log/munged.log", f"--seed-file={self.dir}/munge/seed")
        wait_until(lambda: (self.dir / "munge/sock").exists(), 10, "munged")

    def start(self):
        self.start_munged()
        self.start_controller()
        if self.nodes:
            return self
        for name in self.names:
            (self.dir / "spool" / name).mkdir(exist_ok=True)
            key = "slurmd" if name == "n1" else f"slurmd-{name}"
            self._spawn(key, self.dir / "sbin/slurmd", "-D", "-N", name, "-d", self.dir / "sbin/slurmstepd")
        self.wait_idle()
        return self

    def wait_idle(self):
        wait_until(lambda: self.run("sinfo", "-h", "-N", "-o", "%T").stdout.split() == ["idle"] * len(self.names), 60,
                   "slurm nodes idle", 0.1)

    def start_controller(self):
        self._spawn("slurmctld", self.dir / "sbin/slurmctld", "-D")
        wait_until(lambda: " UP" in self.run("scontrol", "ping").stdout, 60, "slurmctld answers", 0.02)

    def run(self, *args, **kw):
        return subprocess.run([f"/usr/bin/{args[0]}"] + [str(a) for a in args[1:]], env=self.env, cwd=self.dir / "out",
                              text=True, capture_output=True, stdin=subprocess.DEVNULL, **kw)

    def diagnosis(self, section, key):
        """A number that sdiag prints: the first `key` behind the line that begins with `section`."""
        found = False
        for line in self.run("sdiag").stdout.splitlines():
            found = found or line.startswith(section)
            name, _, value = line.strip().partition(":")
            if found and name == key:
                return int(value)
        return 0

    def kill(self, key, sig=signal.SIGTERM):
        p = self.processes.pop(key)
        p.send_signal(sig)
        p.wait(60)

    def pid(self, key):
        return self.processes[key].pid

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *args):
        self.stop()

    def stop(self):
        for key in [k for k in self.processes if k.startswith("slurmd")] + ["slurmctld", "munged"]:
            if key in self.processes:
                try:
                    self.kill(key)
                except subprocess.TimeoutExpired:
                    pass
        for p in self.processes.values():
            p.kill()
            p.wait()
        time.sleep(0.1)
        shutil.rmtree(self.dir, ignore_errors=True)
