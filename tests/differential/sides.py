# SPDX-License-Identifier: Apache-2.0
"""The two clusters: Debian's Slurm and Spur, each in a directory of its own, from one slurm.conf."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parents[1] / "bench")]

from slurm_cluster import SlurmCluster, available  # noqa: E402,F401
from spur_cluster import BIN, SpurCluster, free_port, wait_until  # noqa: E402

NODES = ["n1", "n2", "n3", "n4"]
IDLE = [f"{node} idle" for node in NODES]
# Slurm starts batch jobs at a tick; these settings make the tick as short as it gets.
TUNED = "batch_sched_delay=0,sched_min_interval=0,default_queue_depth=1000,sched_interval=1,bf_interval=30"
# Whatever a user's own environment says about Slurm stays out.
FOREIGN = ("SLURM", "SPUR", "SBATCH", "SQUEUE", "SINFO", "SALLOC", "SCANCEL", "SCONTROL", "SRUN", "SPRIO")


class Side:
    """What both have in common. A cluster class comes first among the bases of a real side."""

    def prepare(self, name, parent):
        self.name = name
        # Names of the same length below one directory: columns that cut them show the same.
        self.dir = parent / ("a" if name == "slurm" else "b")
        self.dir.mkdir()
        for d in ("state", "spool", "munge", "log", "out", "sbin", "work"):
            (self.dir / d).mkdir()
        for node in NODES:
            (self.dir / "spool" / node).mkdir()
        (self.dir / "munge").chmod(0o711)
        (self.dir / "work").chmod(0o777)
        self.names, self.nodes, self.processes = NODES, 0, {}
        self.host = subprocess.run(["hostname", "-s"], capture_output=True, text=True).stdout.strip()
        self.ports = {"CONTROLLER_PORT": free_port(), **{f"PORT{i}": free_port() for i in range(1, len(NODES) + 1)}}
        words = {"DIR": self.dir, "HOST": self.host, "SCHEDULER_PARAMETERS": TUNED, **self.ports}
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(re.sub("@([A-Z0-9_]+)@", lambda m: str(words[m[1]]), (HERE / "slurm.conf").read_text()))
        (self.dir / "gres.conf").write_text((HERE / "gres.conf").read_text())
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        self.env |= {"SLURM_CONF": str(self.conf), "LC_ALL": "C", "TZ": "UTC", "USER": "root"}
        self.work = self.dir / "work"

    def shell(self, line, user=None, timeout=60, capture=True):
        """One line of a scenario: stdout, stderr and exit status. What runs for too long is ended, as `timeout` does it."""
        command = ["timeout", "-k", "5", str(timeout), "sh", "-c", line]
        env = self.env
        if user:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] + command
            env = {**env, "USER": user}
        # Files, not pipes: a program that a command leaves behind would hold a pipe open.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            status = subprocess.run(command, env=env, cwd=self.work, stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=err).returncode
            out.seek(0)
            err.seek(0)
            return out.read().decode(errors="replace"), err.read().decode(errors="replace"), status

    def job_state(self, job):
        out, _, _ = self.shell(f"scontrol -o show job {job}")
        found = re.search(r"\bJobState=(\S+)", out)
        return found[1] if found else ""

    def reason(self, job):
        out, _, _ = self.shell(f"scontrol -o show job {job}")
        found = re.search(r"\bReason=(\S+)", out)
        return found[1] if found else ""

    def node_states(self):
        return self.shell("sinfo -h -N -p debug -o '%N %T'")[0].split("\n")[:-1]

    def reset(self):
        """No jobs, all nodes idle, an empty working directory."""
        def clear():
            jobs = self.shell("squeue -ah -o %A")[0].split()
            if jobs:
                self.shell("scancel " + " ".join(jobs))
            return not jobs
        wait_until(clear, 60, f"{self.name}: no jobs", 0.1)
        states = dict(line.split() for line in self.node_states())
        if sorted(self.node_states()) != IDLE:
            for node in NODES:
                if states.get(node) not in ("idle", "allocated", "mixed", "completing"):
                    self.shell(f"scontrol update nodename={node} state=resume")
            wait_until(lambda: sorted(self.node_states()) == IDLE, 60, f"{self.name}: idle nodes", 0.1)
        self.shell("rm -rf ./* ./.[a-z]*")


class SlurmSide(SlurmCluster, Side):
    def __init__(self, parent):
        self.prepare("slurm", parent)
        for daemon in ("slurmctld", "slurmd", "slurmstepd"):
            path = f"/usr/sbin/{daemon}-wlm" if os.path.exists(f"/usr/sbin/{daemon}-wlm") else f"/usr/sbin/{daemon}"
            (self.dir / "sbin" / daemon).symlink_to(path)
        # Slurm looks for a cgroup hierarchy even where it uses none.
        (self.dir / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def wait_idle(self):
        wait_until(lambda: sorted(self.node_states()) == IDLE, 60, "slurm: idle nodes", 0.1)

    def cut(self, node):
        """The power of a node is cut; boot() is the power coming back."""
        self.kill("slurmd" if node == "n1" else f"slurmd-{node}")

    def boot(self, node):
        key = "slurmd" if node == "n1" else f"slurmd-{node}"
        self._spawn(key, self.dir / "sbin/slurmd", "-D", "-b", "-N", node, "-d", self.dir / "sbin/slurmstepd")


class SpurSide(SpurCluster, Side):
    def __init__(self, parent):
        self.prepare("spur", parent)
        self.env["PATH"] = f"{BIN}:{self.env['PATH']}"

    def start_agent(self, name):
        self._spawn(f"spurd-{name}", BIN / "spurd", "-D", "-f", self.conf, "-N", name)

    def wait_idle(self, count=None):
        wait_until(lambda: sorted(self.node_states()) == IDLE, 60, "spur: idle nodes", 0.1)

    def cut(self, node):
        self.kill(f"spurd-{node}")

    def boot(self, node):
        self._spawn(f"spurd-{node}", BIN / "spurd", "-D", "-b", "-f", self.conf, "-N", node)
