# SPDX-License-Identifier: Apache-2.0
"""--no-kill: a job of several nodes goes on when one of them fails; its steps there end, or go on without it."""
import os
import signal
import subprocess
import time
import unittest

from spur_cluster import SpurCluster, wait_until


class NoKill(unittest.TestCase):
    def setUp(self):
        self.c = SpurCluster(nodes=3, controller="heartbeat_timeout_secs = 4")
        self.addCleanup(self.c.stop)
        self.c.start()

    def lose(self, node):
        """The node fails, with all that runs on it: the agent first, so that nobody tells of the rest."""
        agent = self.c.pid(f"spurd-{node}")
        table = [line.split() for line in subprocess.check_output(["ps", "-eo", "pid=,ppid="], text=True).splitlines()]
        below = [agent]
        for parent in below:
            below += [int(pid) for pid, ppid in table if int(ppid) == parent]
        self.c.kill(f"spurd-{node}")
        for pid in below[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def nodes(self, job):
        return self.c.out("squeue", "-h", "-j", str(job), "-o", "%N %D").split()

    def test_a_batch_job_goes_on_with_the_others(self):
        script = ("#!/bin/sh\nsrun sh -c 'echo up >up.$SLURM_NODEID; exec sleep 300' 2>first\necho first $? >>steps\n"
                  "srun -N2 -n2 -l hostname >second 2>&1; echo second $? >>steps\nsleep 300\n")
        job = self.c.sbatch("-N3", "--no-kill", "-o", "/dev/null", input=script)
        out = self.c.dir / "out"
        wait_until(lambda: all((out / f"up.{i}").exists() for i in range(3)), 20, "tasks on all nodes")
        self.lose("n2")
        wait_until(lambda: self.nodes(job) == ["n[1,3]", "2"], 30, "the job has two nodes")
        self.assertEqual(self.c.state(job), "RUNNING")
        wait_until(lambda: (out / "steps").exists() and "second" in (out / "steps").read_text(), 30, "both steps have ended")
        steps = (out / "steps").read_text().splitlines()
        self.assertNotEqual(steps[0], "first 0", "a step without --no-kill ends with its node")
        self.assertIn("srun: error: Node failure on n2", (out / "first").read_text())
        self.assertEqual(steps[1], "second 0", (out / "second").read_text())
        self.assertEqual(len((out / "second").read_text().splitlines()), 2)
        self.assertEqual(self.c.state(job), "RUNNING")
        # Over a new controller, too.
        self.c.kill("spurctld")
        self.c.start_controller()
        self.assertEqual(self.nodes(job), ["n[1,3]", "2"])
        self.c.run("scancel", job)
        self.c.wait_empty()

    def test_a_step_that_goes_on(self):
        script = "#!/bin/sh\nsrun --no-kill sh -c 'echo up >up.$SLURM_NODEID; sleep 12; echo end >end.$SLURM_NODEID'\n"
        job = self.c.sbatch("-N3", "-k", "-o", "/dev/null", input=script)
        out = self.c.dir / "out"
        wait_until(lambda: all((out / f"up.{i}").exists() for i in range(3)), 20, "tasks on all nodes")
        self.lose("n3")
        wait_until(lambda: (out / "end.0").exists() and (out / "end.1").exists(), 40, "the other tasks end by themselves")
        self.c.wait_empty()
        self.assertFalse((out / "end.2").exists())

    def test_without_it_the_job_ends(self):
        job = self.c.sbatch("-N2", "-w", "n[1-2]", "--no-requeue", "--no-kill=off", "--wrap", "sleep 300")
        self.c.wait_state(job, "RUNNING")
        self.lose("n2")
        self.c.wait_state(job, "NODE_FAIL")

    def test_nor_without_its_first_node(self):
        job = self.c.sbatch("-N2", "-w", "n[1-2]", "--no-requeue", "--no-kill", "--wrap", "sleep 300")
        self.c.wait_state(job, "RUNNING")
        self.lose("n1")
        self.c.wait_state(job, "NODE_FAIL")

    def test_a_node_set_down_gives_the_job_up(self):
        job = self.c.sbatch("-N2", "-w", "n[1-2]", "--no-kill", "--wrap", "sleep 300")
        self.c.wait_state(job, "RUNNING")
        self.c.run("scontrol", "update", "nodename=n2", "state=down", "reason=x")
        self.assertEqual(self.nodes(job), ["n1", "1"])
        # It is taken in again when the job's part is gone from there.
        self.c.run("scontrol", "update", "nodename=n2", "state=resume")
        other = self.c.sbatch("-w", "n2", "--exclusive", "--wrap", "true")
        self.c.wait_state(other, "COMPLETED")
        time.sleep(1)
        self.assertEqual(self.c.state(job), "RUNNING")


if __name__ == "__main__":
    unittest.main()
