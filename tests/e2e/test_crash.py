# SPDX-License-Identifier: Apache-2.0
"""Nothing acknowledged is lost when a daemon is killed."""
import os
import random
import subprocess
import time
import unittest

from spur_cluster import BIN, SpurCluster, wait_until

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "3"))
SUBMITS = int(os.environ.get("CRASH_SUBMITS", "200"))


class ControllerKilled(unittest.TestCase):
    def test_acknowledged_submits_survive(self):
        """Submits, kill -9 at once after the last acknowledgement, restart: all there, ids continue."""
        with SpurCluster(cpus=2) as c:
            known = set()
            for _ in range(ROUNDS):
                script = f"for i in $(seq {SUBMITS // 4}); do sbatch --parsable -H -o /dev/null --wrap=true || exit 1; done"
                shells = [subprocess.Popen(["/bin/sh", "-c", script], env=c.env, cwd=c.dir / "out", stdout=subprocess.PIPE, text=True)
                          for _ in range(4)]
                new = set()
                for shell in shells:
                    out, _ = shell.communicate()
                    self.assertEqual(shell.returncode, 0)
                    new |= {int(x) for x in out.split()}
                c.kill("spurctld")
                self.assertEqual(len(new), SUBMITS // 4 * 4)
                self.assertFalse(new & known, "ids were handed out twice")
                known |= new
                c.start_controller()
                listed = {int(x) for x in c.out("squeue", "-h", "-o", "%i").split()}
                self.assertEqual(known - listed, set())
                more = c.sbatch("-H", "--wrap", "true")
                self.assertGreater(more, max(known))
                known.add(more)

    def test_running_jobs_go_on(self):
        with SpurCluster(cpus=8) as c:
            jobs = [c.sbatch("-o", f"j{i}", "--wrap", f"sleep 2; echo {i}; exit {i}") for i in range(6)]
            for job in jobs:
                c.wait_state(job, "RUNNING")
            c.kill("spurctld")
            time.sleep(3)
            c.start_controller()
            for i, job in enumerate(jobs):
                c.wait_state(job, "COMPLETED" if i == 0 else "FAILED")
                self.assertEqual(c.job(job)["ExitCode"], f"{i}:0")
                self.assertEqual((c.dir / "out" / f"j{i}").read_text(), f"{i}\n")

    def test_client_waits_over_a_restart(self):
        with SpurCluster(cpus=2) as c:
            waiting = subprocess.Popen([BIN / "sbatch", "--wait", "-o", "/dev/null", "--wrap", "sleep 3; exit 5"], env=c.env,
                                       cwd=c.dir / "out", stdout=subprocess.DEVNULL)
            wait_until(lambda: c.out("squeue", "-h", "-t", "R", "-o", "%i").strip(), 10, "job runs")
            c.kill("spurctld")
            c.start_controller()
            self.assertEqual(waiting.wait(60), 5)


class AgentKilled(unittest.TestCase):
    def test_jobs_and_exit_codes_survive(self):
        """kill -9 of spurd with 50 running jobs, restart later: all end with their right exit codes and output."""
        with SpurCluster(cpus=64) as c:
            jobs = [c.sbatch("-o", f"j{i}", "--wrap", f"sleep {2 + i % 4}; echo {i}; exit {i}") for i in range(50)]
            wait_until(lambda: len(c.out("squeue", "-h", "-t", "R", "-o", "%i").split()) == 50, 30, "50 running")
            c.kill("spurd-n1")
            time.sleep(float(os.environ.get("CRASH_AGENT_PAUSE", "4")))
            c.start_agent("n1")
            for i, job in enumerate(jobs):
                c.wait_state(job, "COMPLETED" if i == 0 else "FAILED")
                self.assertEqual(c.job(job)["ExitCode"], f"{i}:0")
                self.assertEqual((c.dir / "out" / f"j{i}").read_text(), f"{i}\n")

    def test_both_killed_again_and_again(self):
        with SpurCluster(cpus=8) as c:
            jobs = [c.sbatch("-o", f"j{i}", "--wrap", f"sleep 1; echo {i}; exit {i % 3}") for i in range(24)]
            rng = random.Random(7)
            for _ in range(4):
                time.sleep(rng.random())
                c.kill("spurd-n1")
                c.kill("spurctld")
                c.start_controller()
                c.start_agent("n1")
            for i, job in enumerate(jobs):
                c.wait_state(job, "COMPLETED" if i % 3 == 0 else "FAILED", seconds=60)
                self.assertEqual((c.dir / "out" / f"j{i}").read_text(), f"{i}\n", "ran exactly once")


if __name__ == "__main__":
    unittest.main()
