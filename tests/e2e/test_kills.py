# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments: of agents, step daemons, srun, and shells in allocations, while jobs of all kinds run.

Whoever was not hit himself must end with his right exit code; whoever was must end; and nothing of anybody may be left.
SPUR_KILLS says how many kills (default: a few), SPUR_SEED which."""
import os
import random
import re
import signal
import subprocess
import time
import unittest

from spur_cluster import SpurCluster, wait_until

KILLS = int(os.environ.get("SPUR_KILLS", "30"))
SEED = int(os.environ.get("SPUR_SEED", str(random.randrange(1 << 30))))
NODES = 3
SIDE_BY_SIDE = 5


class Work:
    """One job under way, with the exit code that it must end with unless it was hit."""

    def __init__(self, kind, code, process=None, job=None, output=None):
        self.kind, self.code, self.process, self.job, self.output = kind, code, process, job, output
        self.hit = ""


class Kills(unittest.TestCase):
    def setUp(self):
        self.c = SpurCluster(nodes=NODES, cpus=4, memory_mb=4000, controller="kill_wait_secs = 2").__enter__()
        self.out = self.c.dir / "out"
        self.random = random.Random(SEED)
        self.works, self.done, self.count = [], [], 0

    def tearDown(self):
        self.c.__exit__(None, None, None)

    # ---- work

    def step(self, code):
        nap = self.random.choice((0.05, 0.3, 0.8))
        return f"sh -c 'echo out; sleep {nap}; echo more; exit {code}'"

    def begin(self):
        self.count += 1
        code, number = self.random.randrange(1, 100), self.count
        kind = self.random.choice(("batch", "steps", "srun", "salloc"))
        output = self.out / f"work-{number}"
        if kind == "batch":
            job = self.c.sbatch("-n1", "-o", output, "--wrap", f"echo out; sleep {self.random.random()}; exit {code}")
            return Work(kind, code, job=job, output=output)
        if kind == "steps":
            inner = self.random.randrange(1, 100)
            script = f"#!/bin/sh\nsrun -n3 {self.step(inner)}\necho code $?\nsrun -n1 {self.step(inner)}\necho code $?\nexit {code}\n"
            work = Work(kind, code, job=self.c.sbatch("-n3", "-N2", "-o", output, input=script), output=output)
            work.inner = inner
            return work
        name = f"work-{number}"
        command = ["srun", "-Q", "-J", name, "-N2", "-n3"] if kind == "srun" else ["salloc", "-Q", "-J", name, "-n2"]
        shell = f"{self.step(code)}" if kind == "srun" else f"sh -c \"srun -n2 {self.step(9)}; sleep 0.2; exit {code}\""
        process = subprocess.Popen(f"exec {' '.join(command)} {shell} > {output} 2>&1", shell=True, env=self.c.env,
                                   cwd=self.out, stdin=subprocess.DEVNULL)
        work = Work(kind, code, process=process, output=output)
        work.name = name
        return work

    def ended(self, work):
        if work.process:
            return work.process.poll() is not None
        return self.c.state(work.job) not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED")

    def check(self, work):
        if work.hit:
            if work.process and self.job_of(work):
                # The allocation of a killed srun waits for the end of its time, as in Slurm.
                self.c.run("scancel", work.job, check=False)
            return
        text = work.output.read_text()
        told = f"{work.kind} of seed {SEED}, job {work.job}: {text}"
        if work.process:
            self.assertEqual(work.process.returncode, work.code, told)
        else:
            self.assertEqual(self.c.job(work.job)["ExitCode"], f"{work.code}:0", told)
        if work.kind == "steps":
            self.assertEqual(re.findall(r"^code (\d+)$", text, re.M), [str(work.inner)] * 2, told)
            self.assertEqual((text.count("out\n"), text.count("more\n")), (4, 4), told)
        if work.kind == "srun":
            self.assertEqual((text.count("out\n"), text.count("more\n")), (3, 3), told)

    def tend(self):
        for work in [w for w in self.works if self.ended(w)]:
            self.works.remove(work)
            self.done.append(work)
            self.check(work)

    # ---- kills

    def processes(self):
        """(pid, command line) of all that belongs to this cluster's jobs, and of its step daemons."""
        mark = f"={self.out}\0".encode()
        agents = {self.c.pid(key) for key in self.c.processes if key.startswith("spurd")}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/cmdline", "rb") as g:
                    environment, line = f.read(), g.read()
            except OSError:
                continue
            if line.startswith(b"spurstepd: ["):
                if not line.startswith(b"spurstepd: [ready]") and self.holds_record(pid):
                    yield int(pid), line.split(b"\0")[0].decode()
            elif mark in environment and int(pid) not in agents:
                yield int(pid), line.replace(b"\0", b" ").decode(errors="replace")

    def holds_record(self, pid):
        try:
            return any(os.readlink(f"/proc/{pid}/fd/{fd}").startswith(str(self.c.dir)) for fd in os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            return False

    def work_of(self, pid, line):
        job = re.match(r"spurstepd: \[(\d+)", line)
        if job:
            number = int(job[1])
        else:
            with open(f"/proc/{pid}/environ", "rb") as f:
                found = re.search(rb"SLURM_JOB_ID=(\d+)\0", f.read())
            number = int(found[1]) if found else None
        for work in self.works:
            if work.process and work.process.pid == pid:
                return work
            if number is not None and self.job_of(work) == number:
                return work
        return None

    def job_of(self, work):
        if work.job is None and work.process:
            text = self.c.out("squeue", "-h", "-n", work.name, "-o", "%i", check=False).split()
            work.job = int(text[0]) if text else None
        return work.job

    def hit(self, what):
        """One kill; the name of what was hit, or nothing where there was no such thing."""
        if what == "agent":
            node = f"n{self.random.randrange(NODES) + 1}"
            self.c.kill(f"spurd-{node}")
            time.sleep(self.random.choice((0, 0, 0.1, 0.5)))
            self.c.start_agent(node)
            return what
        wanted = {"stepd": lambda l: l.startswith("spurstepd: ["), "srun": lambda l: l.startswith("srun "),
                  "shell": lambda l: l.startswith("sh -c srun ")}[what]
        victims = [(pid, line) for pid, line in self.processes() if wanted(line)]
        if not victims:
            return None
        pid, line = self.random.choice(victims)
        try:
            work = self.work_of(pid, line)
            if work is None:
                return None  # it has ended meanwhile
            work.hit = what
            os.kill(pid, signal.SIGKILL)
        except OSError:
            return None
        return what

    def test_nothing_is_lost_and_nothing_is_left(self):
        print(f"seed {SEED}, {KILLS} kills", flush=True)
        counted = dict.fromkeys(("agent", "stepd", "srun", "shell"), 0)
        while sum(counted.values()) < KILLS:
            while len(self.works) < SIDE_BY_SIDE:
                self.works.append(self.begin())
            time.sleep(self.random.random() * 0.3)
            what = self.hit(self.random.choice(("agent", "agent", "stepd", "srun", "shell")))
            if what:
                counted[what] += 1
            self.tend()
        try:
            wait_until(lambda: (self.tend(), not self.works)[1], 60, "all work ends")
        except AssertionError:
            for work in self.works:
                print(work.kind, work.job, work.hit, work.output.read_text() if work.output.exists() else "-")
            print(self.c.out("squeue"), self.c.out("squeue", "-s"), self.c.out("sinfo"), *self.processes(), sep="\n")
            raise
        self.c.wait_idle()
        self.c.wait_empty()
        wait_until(lambda: not list(self.processes()), 30, "nothing is left")
        hit = [w for w in self.done if w.hit]
        print(f"{counted}: {len(self.done)} pieces of work, {len(hit)} hit themselves, all others as they should be")
        self.assertGreater(len(self.done), len(hit))


if __name__ == "__main__":
    unittest.main()
