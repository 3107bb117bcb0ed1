# SPDX-License-Identifier: Apache-2.0
"""A site that has only ever known Slurm: its scripts edit slurm.conf as text, start slurmctld and slurmd -N NAME, ask the
commands, and stop everything again. Many nodes on one host, each with its own port, spool and name."""
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from spur_cluster import BIN, free_port, wait_until

HOST = subprocess.run(["hostname", "-s"], capture_output=True, text=True).stdout.strip()


def pids_of(pattern):
    """As pgrep -f does it, without the searcher itself."""
    return [int(p) for p in subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True).stdout.split()]


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class SlurmSite:
    NODES = 3

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="site-"))
        self.dir.chmod(0o755)
        for d in ("etc", "log", "run", "state"):
            (self.dir / d).mkdir()
        self.conf = self.dir / "etc/slurm.conf"
        self.first_port = free_port()
        ports = [free_port() for _ in range(self.NODES)]
        nodes = "\n".join(f"NodeName=node{i} NodeHostname={HOST} NodeAddr=127.0.0.1 Port={ports[i]} CPUs=4 RealMemory=1000"
                          for i in range(self.NODES))
        self.conf.write_text(f"""ClusterName=site
SlurmctldHost={HOST}(127.0.0.1)
SlurmctldPort={self.first_port}
SlurmUser={pwd.getpwuid(os.geteuid()).pw_name}
SlurmdUser={pwd.getpwuid(os.geteuid()).pw_name}
AuthType=auth/munge
StateSaveLocation={self.dir}/state
SlurmdSpoolDir={self.dir}/spool-%n
TmpFS={self.dir}/tmp-%n
SlurmctldLogFile={self.dir}/log/slurmctld.log
SlurmdLogFile={self.dir}/log/slurmd-%n.log
SlurmctldPidFile={self.dir}/run/slurmctld.pid
SlurmdPidFile={self.dir}/run/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
{nodes}
PartitionName=primary Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SPUR", "SBATCH", "SQUEUE", "SINFO"))}
        self.env |= {"SLURM_CONF": str(self.conf), "PATH": f"{BIN}:{self.env['PATH']}"}

    def run(self, line, status=0, user=None):
        words = ["sh", "-c", line]
        if user:  # as sudo -u does it
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] + words
        r = subprocess.run(words, env=self.env, cwd=self.dir, text=True, capture_output=True, timeout=60,
                           stdin=subprocess.DEVNULL)
        if status is not None and r.returncode != status:
            raise AssertionError(f"{line}: exit {r.returncode}\n{r.stdout}{r.stderr}")
        return r

    def out(self, line, user=None):
        return self.run(line, user=user).stdout

    def edit(self, pattern, into):
        text, count = re.subn(pattern, into, self.conf.read_text(), flags=re.M)
        if count != 1:
            raise AssertionError(f"{pattern} is there {count} times")
        self.conf.write_text(text)

    def start(self):
        self.run(f"{BIN}/slurmctld")
        for i in range(self.NODES):
            self.run(f"{BIN}/slurmd -N node{i}")
        self.wait_idle()

    def wait_idle(self, count=None):
        wanted = count or self.NODES
        wait_until(lambda: len(self.run("sinfo -h -N -p primary -o %N -e -t idle", None).stdout.split()) == wanted, 30, "idle nodes")

    def daemons(self):
        texts = [p.read_text() for p in (self.dir / "run").glob("*.pid") if not p.is_symlink()]
        return [int(text) for text in texts if text]

    def stop(self):
        for pid in self.daemons():
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)


class Site(unittest.TestCase):
    def setUp(self):
        self.s = SlurmSite()
        self.addCleanup(self.s.stop)

    def test_programs(self):
        for program in ("slurmctld", "slurmd", "squeue", "sinfo", "sbatch", "srun", "salloc", "scontrol", "scancel", "sdiag", "sprio"):
            self.assertRegex(self.s.out(f"{BIN}/{program} -V"), r"^slurm \d+\.\d+\.\d+$")
        self.assertIn("pmix", self.s.out("srun --mpi=list"))

    def test_daemons_are_found(self):
        self.s.start()
        for i in range(self.s.NODES):
            pid = int((self.s.dir / f"run/slurmd-node{i}.pid").read_text())
            self.assertIn(pid, pids_of(f"slurmd -N node{i}"))
            self.assertEqual(os.readlink(f"/proc/{pid}/exe"), os.path.realpath(BIN / "slurmd"))
        controller = int((self.s.dir / "run/slurmctld.pid").read_text())
        self.assertEqual(os.readlink(f"/proc/{controller}/exe"), os.path.realpath(BIN / "slurmctld"))
        self.assertIn("is UP", self.s.out("scontrol ping"))

    def test_shutdown_ends_all(self):
        self.s.start()
        pids = self.s.daemons()
        self.assertEqual(len(pids), 1 + self.s.NODES)
        self.s.run("scontrol shutdown")
        wait_until(lambda: not any(alive(pid) for pid in pids), 30, "all daemons gone")
        self.assertIn("DOWN", self.s.run("scontrol ping", 1).stdout)
        self.s.start()  # and again

    def test_shutdown_of_the_controller_only(self):
        self.s.start()
        controller = int((self.s.dir / "run/slurmctld.pid").read_text())
        agents = [pid for pid in self.s.daemons() if pid != controller]
        self.s.run("scontrol shutdown slurmctld")
        wait_until(lambda: not alive(controller), 30, "the controller gone")
        self.assertTrue(all(alive(pid) for pid in agents))
        self.s.run(f"{BIN}/slurmctld")
        self.s.wait_idle()

    def test_an_edited_file_is_in_force(self):
        self.s.start()
        self.assertRegex(self.s.out("scontrol show config"), r"(?m)^KillWait +=[ ]2 sec$")
        self.assertRegex(self.s.out("scontrol show config"), rf"(?m)^SLURM_CONF +=[ ]{re.escape(str(self.s.conf))}$")
        self.s.edit("^KillWait=2$", "KillWait=7\nLicenses=ice:3")
        self.s.edit("^PartitionName=primary", "PartitionName=extra Nodes=node[0-1] MaxTime=10\nPartitionName=primary")
        self.s.edit("^(NodeName=node1 .*)$", r"\1 Features=blue Weight=4")
        self.s.run("scontrol reconfigure")
        config = self.s.out("scontrol show config")
        self.assertRegex(config, r"(?m)^KillWait +=[ ]7 sec$")
        self.assertRegex(config, r"(?m)^Licenses +=[ ]ice:3$")
        self.assertIn("extra", self.s.out("sinfo -h -o %R").split())
        self.assertIn("AvailableFeatures=blue", self.s.out("scontrol show nodes -o node1"))
        self.s.edit("^SelectType=.*$", "SelectType=select/bogus")
        self.assertNotEqual(self.s.run("scontrol reconfigure", None).returncode, 0)
        self.s.edit("^SelectType=.*$", "SelectType=select/cons_tres")
        self.assertIn("is UP", self.s.out("scontrol ping"))  # with what it had

    def test_what_is_read_with_patterns(self):
        self.s.start()
        self.assertEqual(self.s.out("scontrol show hostnames 'node[0-2]'").split(), ["node0", "node1", "node2"])
        self.assertEqual(self.s.out("scontrol show hostlistsorted node2,node0,node1").strip(), "node[0-2]")
        nodes = json.loads(self.s.out("scontrol show nodes --json -F"))["nodes"]
        self.assertEqual([(n["name"], n["state"]) for n in nodes], [(f"node{i}", ["IDLE"]) for i in range(3)])
        line = self.s.out("scontrol show nodes -o").split("\n")[0]
        self.assertEqual(dict(re.findall(r"(\S+?)=(\S+)", line))["CPUTot"], "4")
        job = int(re.search(r"Submitted \S+ job (\d+)", self.s.out("sbatch -n2 --mem=10 -o /dev/null --wrap 'srun -n1 sleep 60'"))[1])
        wait_until(lambda: self.s.out(f"squeue -j {job} -h -o %T") == "RUNNING\n", 30, "the job runs")
        self.assertEqual(self.s.out(f"squeue -j {job} -h -o %r"), "None\n")
        fields = dict(re.findall(r"(\S+?)=(\S*)", self.s.out(f"scontrol -d -o show jobs {job}")))
        self.assertEqual((fields["JobState"], fields["NumCPUs"], fields["Partition"]), ("RUNNING", "2", "primary"))
        jobs = json.loads(self.s.out("scontrol --json -d -a show jobs"))["jobs"]
        self.assertEqual([(j["job_id"], j["job_state"]) for j in jobs], [(job, ["RUNNING"])])
        wait_until(lambda: f"StepId={job}.0" in self.s.run(f"scontrol -d -o show steps {job}", None).stdout, 30, "its step")
        fields = dict(re.findall(r"(\S+?)=(\S*)", self.s.out("scontrol show partition -o")))
        self.assertEqual((fields["PartitionName"], fields["State"], fields["TotalCPUs"]), ("primary", "UP", "12"))
        self.s.run("scontrol create reservation=r starttime=now+1day duration=5 users=root nodes=node2")
        fields = dict(re.findall(r"(\S+?)=(\S*)", self.s.out("scontrol show reservations -o")))
        self.assertEqual((fields["ReservationName"], fields["Nodes"]), ("r", "node2"))
        self.assertEqual(self.s.out("sinfo -h -O time").strip(), "infinite")
        self.assertRegex(self.s.out("sinfo -h -o '%X %Y'").split("\n")[0], r"^\d+ +\d+ *$")
        self.assertEqual(self.s.run(f"scancel -Q {job}").stderr, "")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
    def test_ordinary_users(self):
        """Daemons of root or SlurmUser; commands of users, and of others through sudo."""
        self.s.start()
        user = "games"
        job = int(re.search(r"Submitted \S+ job (\d+)", self.s.out("sbatch -o /dev/null --wrap 'srun sleep 60'", user))[1])
        wait_until(lambda: self.s.out(f"squeue -j {job} -h -o '%T %u'", user) == f"RUNNING {user}\n", 30, "the job runs")
        self.assertIn("is UP", self.s.out("scontrol ping", user))
        wait_until(lambda: f"StepId={job}.0" in self.s.run(f"scontrol show steps {job}", None, user).stdout, 30, "its step")
        for line in ("scontrol show config", "scontrol -d -o show jobs", "scontrol --json -d -a show jobs", "scontrol show nodes --json -F",
                     f"scontrol -d -o show steps {job}", "scontrol show partition -o", "sinfo -h -N -p primary -o %N -e -t idle",
                     "srun --mpi=list", "sdiag", "sprio"):
            self.s.run(line, user=user)
        self.assertRegex(self.s.run("srun -v -N1 id -un", user=user).stdout, rf"^{user}$")
        self.assertRegex(self.s.run("salloc -N1 true", user=user).stderr, r"Granted job allocation \d+")
        for line in ("scontrol shutdown", "scontrol reconfigure", "scontrol update nodename=node0 state=drain reason=x",
                     "scontrol create reservation=r starttime=now duration=5 users=root nodes=node2"):
            self.assertEqual(self.s.run(line, None, user=user).returncode, 1, line)
        mine = int(re.search(r"(\d+)", self.s.out("sbatch -H -o /dev/null --wrap true"))[1])
        self.assertNotEqual(self.s.run(f"scancel {mine}", None, user=user).returncode, 0)
        self.s.run(f"scancel {job}", user=user)
        self.s.run(f"scancel {mine}")

    def test_steps_are_listed(self):
        self.s.start()
        job = int(re.search(r"(\d+)", self.s.out("sbatch -N2 -o /dev/null --wrap 'srun -n2 sleep 60'"))[1])
        wait_until(lambda: f"StepId={job}.0" in self.s.run(f"scontrol -d -o show steps {job}", None).stdout, 30, "its step")
        for line in self.s.out(f"scontrol -d -o show steps {job}").splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S*)", line))
            self.assertTrue({"StepId", "UserId", "State", "Partition", "NodeList", "Nodes", "CPUs", "Tasks"} <= set(fields), line)
        self.assertEqual(self.s.run("scontrol -d -o show steps 99999", None).returncode, 1)
        self.s.run(f"scancel -Q {job}")

    def test_allocations_are_announced(self):
        self.s.start()
        r = self.s.run("salloc -N1 true")
        self.assertRegex(r.stdout + r.stderr, r"Granted job allocation (\d+)")
        self.s.wait_idle()  # else the second one takes other nodes
        r = self.s.run("srun -v -N2 true")
        self.assertRegex(r.stderr, r"jobid \d+: nodes\(2\):`node\[0-1\]'")


if __name__ == "__main__":
    unittest.main()
