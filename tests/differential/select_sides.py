# SPDX-License-Identifier: Apache-2.0
"""The two clusters of part `select`: each scenario brings its own slurm.conf and gres.conf (step `cluster`), because what is compared is
what they make of SelectTypeParameters, of nodes of many shapes and of GRES of many kinds. Only munged runs all the time."""
import re
import shutil
import signal

import sides
from spur_cluster import free_port, wait_until

# What a scenario says itself, and what only other parts look at.
OWN = re.compile(r"^(?:NodeName|PartitionName|SelectType\w*|GresTypes|Licenses|Health\w+|RebootProgram)\b.*\n", re.M)
MOST_NODES = 6


class SelectSide:
    """Comes first among the bases of a side."""

    def prepare(self, name, parent):
        super().prepare(name, parent)
        self.common = OWN.sub("", self.conf.read_text())
        self.ports |= {f"PORT{i}": self.ports.get(f"PORT{i}") or free_port() for i in range(1, MOST_NODES + 1)}
        self.names = []

    def renew(self, text):
        """Another cluster in place of the one before: lines of gres.conf begin with "gres ", all others are of slurm.conf, where
        @1@ stands for host, address and port of the first node."""
        self.halt()
        for folder in ("state", "spool"):
            shutil.rmtree(self.dir / folder)
            (self.dir / folder).mkdir()
        lines = text.split("\n")
        where = lambda i: f"NodeHostname={self.host} NodeAddr=127.0.0.1 Port={self.ports[f'PORT{i}']}"  # noqa: E731
        conf = "\n".join(line for line in lines if not line.startswith("gres "))
        self.conf.write_text(self.common + re.sub(r"@(\d)@", lambda m: where(m[1]), conf))
        (self.dir / "gres.conf").write_text("".join(line[5:] + "\n" for line in lines if line.startswith("gres ")))
        self.names = sorted(re.findall(r"^NodeName=(n\d+)\b", conf, re.M))
        for node in self.names:
            (self.dir / "spool" / node).mkdir()
        self.start_cluster()

    def is_idle(self):
        states = self.shell("sinfo -h -N -o '%N %T'")[0].split("\n")[:-1]
        return sorted(set(states)) == [f"{node} idle" for node in self.names]

    def settle(self):
        """Until what ended holds nothing any more: where the next job goes must not depend on that."""
        wait_until(lambda: not self.shell("squeue -h -t CG -o %A")[0].split(), 30, f"{self.name}: jobs are over", 0.02)

    def reset(self):
        self.shell("rm -rf ./* ./.[a-z]*")


class SlurmSelectSide(SelectSide, sides.SlurmSide):
    def start(self):
        self.start_munged()
        return self

    def start_cluster(self):
        self.start_controller()
        for name in self.names:
            self._spawn(f"slurmd-{name}", self.dir / "sbin/slurmd", "-D", "-N", name, "-d", self.dir / "sbin/slurmstepd")
        wait_until(self.is_idle, 60, "slurm: idle nodes", 0.05)

    def halt(self):
        jobs = self.shell("squeue -ah -o %A")[0].split() if "slurmctld" in self.processes else []
        if jobs:
            self.shell("scancel " + " ".join(jobs))
        for key in [k for k in self.processes if k != "munged"]:
            self.kill(key, signal.SIGKILL if key == "slurmctld" else signal.SIGTERM)


class SpurSelectSide(SelectSide, sides.SpurSide):
    def start(self):
        return self

    def start_cluster(self):
        self.start_controller()
        for name in self.names:
            self.start_agent(name)
        wait_until(self.is_idle, 60, "spur: idle nodes", 0.05)

    def halt(self):
        if self.processes:
            jobs = self.shell("squeue -ah -o %A")[0].split()
            if jobs:
                self.shell("scancel " + " ".join(jobs))
                wait_until(lambda: not self.shell("squeue -ah -o %A")[0].split(), 30, "spur: no jobs", 0.05)
        for key in sorted(self.processes, key=lambda k: k == "spurctld"):
            self.kill(key, signal.SIGTERM)
