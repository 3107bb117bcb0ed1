# SPDX-License-Identifier: Apache-2.0
"""Steps go on while agents come and go: not a byte of their input and output and not an exit code is lost."""
import hashlib
import os
import re
import signal
import subprocess
import time
import unittest

from spur_cluster import SpurCluster, wait_until


class AgentRestart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, memory_mb=4000, controller="kill_wait_secs = 2").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def restart(self, node, sig=signal.SIGKILL, away=0.0):
        self.c.kill(f"spurd-{node}", sig)
        time.sleep(away)
        self.c.start_agent(node)

    def spawn(self, *args, **kw):
        return subprocess.Popen(["srun", *args], env=self.c.env, cwd=self.c.dir / "out", stderr=subprocess.PIPE, **kw)

    def test_a_step_outlives_the_agents_of_its_nodes(self):
        for sig in (signal.SIGKILL, signal.SIGTERM):
            mark = self.c.dir / "out" / f"go-{sig}"
            p = self.spawn("-N2", "-n4", "-l", "sh", "-c",
                           f"echo before; until [ -e {mark} ]; do sleep 0.05; done; echo after; exit $((SLURM_PROCID + 3))",
                           stdout=subprocess.PIPE, text=True)
            lines = [p.stdout.readline() for _ in range(4)]
            for node in ("n1", "n2", "n1"):
                self.restart(node, sig)
            self.c.wait_idle()
            mark.touch()
            rest, errors = p.communicate(timeout=60)
            self.assertEqual(sorted(lines + rest.splitlines(True)),
                             [f"{i}: {word}\n" for i in range(4) for word in ("after", "before")], errors)
            self.assertEqual(p.returncode, 6)
            for i in range(4):
                self.assertRegex(errors, rf"srun: error: n[12]: tasks? [0-3,-]*{i}?[0-3,-]*: Exited with exit code \d")
            self.c.wait_empty()

    def test_input_and_output_stay_whole(self):
        data = os.urandom(1 << 20) * 24
        source = self.c.dir / "noise"
        source.write_bytes(data)
        with open(source, "rb") as i, open(self.c.dir / "copy", "wb") as o:
            p = self.spawn("-N1", "-n1", "-w", "n1", "sh", "-c", "sleep 0.2; cat", stdin=i, stdout=o, text=True)
            for _ in range(4):
                time.sleep(0.15)
                self.restart("n1")
            self.assertEqual(p.wait(60), 0, p.stderr.read())
            p.stderr.close()
        self.assertEqual(hashlib.sha256((self.c.dir / "copy").read_bytes()).digest(), hashlib.sha256(data).digest())
        self.c.wait_idle()

    def test_steps_are_known_to_the_next_agent(self):
        out = self.c.dir / "out"
        job = self.c.sbatch("-N1", "-n2", "-w", "n1", "-o", "known-%j", input='''#!/bin/sh
srun -n1 --exact true
srun -n1 --exact -J kept sh -c 'touch kept; until [ -e kept-go ]; do sleep 0.05; done; exit 5'
echo exit $?
srun sh -c 'echo number $SLURM_STEP_ID'
''')
        wait_until((out / "kept").exists, 20, "the step runs")
        self.restart("n1")
        self.c.wait_idle()
        wait_until(lambda: f"{job}.1" in self.c.out("squeue", "-h", "-s", "-j", job), 20, "it is shown again")
        self.assertIn("kept", self.c.out("squeue", "-h", "-s", "-j", job))
        (out / "kept-go").touch()
        self.c.wait_state(job, "COMPLETED")
        text = (out / f"known-{job}").read_text()
        self.assertIn("exit 5\n", text)
        self.assertIn("number 2\n", text)

    def test_a_step_can_be_ended_after_a_restart(self):
        job = self.c.sbatch("-N2", "-n2", "-o", "ended-%j", input="#!/bin/sh\ntouch ended\nsrun sleep 100\n")
        wait_until((self.c.dir / "out" / "ended").exists, 20, "the job runs")
        wait_until(lambda: f"{job}.0" in self.c.out("squeue", "-h", "-s", "-j", job), 20, "its step runs")
        for node in ("n1", "n2"):
            self.restart(node)
        self.c.wait_idle()
        self.c.run("scancel", job)
        self.c.wait_state(job, "CANCELLED")
        self.c.wait_empty()
        marks = [f"SLURM_JOB_ID={job}\0".encode(), f"SLURM_SUBMIT_DIR={self.c.dir}/out\0".encode()]
        def left():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as f:
                        text = f.read()
                        if all(mark in text for mark in marks):
                            yield pid
                except OSError:
                    pass
        wait_until(lambda: not list(left()), 20, "nothing is left of it")

    def test_srun_that_is_killed_takes_its_step_along(self):
        before = set(self.tasks())
        p = self.spawn("-N2", "-n2", "sleep", "4321")
        wait_until(lambda: len(set(self.tasks()) - before) == 2, 20, "the tasks run")
        p.kill()
        p.wait()
        p.stderr.close()
        wait_until(lambda: not set(self.tasks()) - before, 20, "they are ended")
        self.c.run("scancel", "-u", "root")
        self.c.wait_empty()

    @staticmethod
    def tasks():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if re.fullmatch(rb"(/\S+/)?sleep\x004321\x00", f.read()):  # srun looks the program up
                        yield pid
            except OSError:
                pass


if __name__ == "__main__":
    unittest.main()
