# SPDX-License-Identifier: Apache-2.0
"""A user's day: submit, watch, cancel, hold, requeue, arrays, dependencies, srun."""
import os
import pathlib
import time
import unittest

from spur_cluster import SpurCluster, wait_until


class Life(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, controller="kill_wait_secs = 2").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def read(self, name):
        return (self.c.dir / "out" / name).read_text()

    def test_batch_output_and_exit_code(self):
        job = self.c.sbatch("-o", "a-%j.out", "--wrap", "echo hello $SLURM_JOB_ID; exit 7")
        self.c.wait_state(job, "FAILED")
        self.assertEqual(self.read(f"a-{job}.out"), f"hello {job}\n")
        self.assertEqual(self.c.job(job)["ExitCode"], "7:0")
        self.assertEqual(self.c.job(job)["Reason"], "NonZeroExitCode")

    def test_default_output_name_and_stdin_script(self):
        out = self.c.out("sbatch", input="#!/bin/bash\n#SBATCH -J fromstdin\necho $SLURM_JOB_NAME in $PWD\n")
        self.assertRegex(out, r"^Submitted batch job \d+\n$")
        job = int(out.split()[-1])
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(self.read(f"slurm-{job}.out"), f"fromstdin in {self.c.dir}/out\n")

    def test_stderr_joins_or_splits(self):
        both = self.c.sbatch("-o", "both", "--wrap", "echo o; echo e >&2")
        split = self.c.sbatch("-o", "o.txt", "-e", "e.txt", "--wrap", "echo o; echo e >&2")
        self.c.wait_state(both, "COMPLETED")
        self.c.wait_state(split, "COMPLETED")
        self.assertEqual(self.read("both"), "o\ne\n")
        self.assertEqual((self.read("o.txt"), self.read("e.txt")), ("o\n", "e\n"))

    def test_array(self):
        job = self.c.sbatch("-o", "arr-%A_%a", "-a", "1-5%2", "--wrap", "echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID; sleep 0.2")
        wait_until(lambda: not self.c.out("squeue", "-h", "-j", job, check=False).strip(), 30, "array done")
        for task in range(1, 6):
            self.assertEqual(self.read(f"arr-{job}_{task}"), f"{job} {task}\n")

    def test_array_display_and_task_cancel(self):
        job = self.c.sbatch("-H", "-a", "1-20%2", "--wrap", "true")
        self.assertEqual(self.c.out("squeue", "-h", "-j", job, "-o", "%i").strip(), f"{job}_[1-20%2]")
        self.c.run("scancel", f"{job}_3")
        self.assertEqual(self.c.out("squeue", "-h", "-j", job, "-o", "%i").strip(), f"{job}_[1-2,4-20%2]")
        self.c.run("scancel", job)
        self.assertEqual(self.c.out("squeue", "-h", "-j", job, check=False).strip(), "")

    def test_cancel_running_says_so_in_the_output(self):
        job = self.c.sbatch("-o", "c-%j", "--wrap", "sleep 100")
        self.c.wait_state(job, "RUNNING")
        self.c.run("scancel", job)
        self.c.wait_state(job, "CANCELLED")
        self.assertRegex(self.read(f"c-{job}"), rf"slurmstepd: error: \*\*\* JOB {job} ON n\d CANCELLED AT 20\S+ \*\*\*")

    def test_cancel_ignored_term_gets_kill(self):
        job = self.c.sbatch("-o", "/dev/null", "--wrap", "trap '' TERM; sleep 100; sleep 100")
        self.c.wait_state(job, "RUNNING")
        time.sleep(0.3)
        self.c.run("scancel", job)
        self.c.wait_state(job, "CANCELLED", seconds=15)

    def test_signal_reaches_the_script(self):
        job = self.c.sbatch("-o", "s-%j", "--wrap", "trap 'echo got it; exit 3' USR1; echo ready; while :; do sleep 0.1; done")
        wait_until(lambda: (self.c.dir / "out" / f"s-{job}").exists() and "ready" in self.read(f"s-{job}"), 10, "script ready")
        self.c.run("scancel", "-b", "-s", "USR1", job)
        self.c.wait_state(job, "FAILED")
        self.assertIn("got it", self.read(f"s-{job}"))

    def test_hold_release(self):
        job = self.c.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
        self.assertEqual(self.c.job(job)["Reason"], "JobHeldUser")
        self.c.run("scontrol", "release", job)
        self.c.wait_state(job, "COMPLETED")

    def test_requeue_keeps_the_id(self):
        job = self.c.sbatch("-o", "r-%j", "--open-mode=append", "--wrap", "echo run ${SLURM_RESTART_COUNT:-0}; sleep 100")
        wait_until(lambda: (self.c.dir / "out" / f"r-{job}").exists() and "run 0" in self.read(f"r-{job}"), 10, "first run")
        self.c.run("scontrol", "requeue", job)
        wait_until(lambda: "run 1" in self.read(f"r-{job}"), 20, "second run")
        self.assertEqual(self.c.job(job)["Restarts"], "1")
        self.c.run("scancel", job)

    def test_dependencies(self):
        bad = self.c.sbatch("-H", "-o", "/dev/null", "--wrap", "exit 1")
        after_ok = self.c.sbatch("-o", "/dev/null", "-d", f"afterok:{bad}", "--wrap", "true")
        after_any = self.c.sbatch("-o", "/dev/null", "-d", f"afterany:{bad}", "--wrap", "true")
        after_not = self.c.sbatch("-o", "/dev/null", "-d", f"afternotok:{bad}", "--wrap", "true")
        self.assertEqual(self.c.job(after_ok)["Reason"], "Dependency")
        self.c.run("scontrol", "release", bad)
        self.c.wait_state(after_any, "COMPLETED")
        self.c.wait_state(after_not, "COMPLETED")
        wait_until(lambda: self.c.job(after_ok)["Reason"] == "DependencyNeverSatisfied", 10, "never satisfied")
        self.c.run("scancel", after_ok)

    def test_begin_time(self):
        job = self.c.sbatch("-o", "/dev/null", "-b", "now+2", "--wrap", "true")
        wait_until(lambda: self.c.job(job)["Reason"] == "BeginTime", 5, "BeginTime")
        self.c.wait_state(job, "COMPLETED", seconds=15)

    def test_wait_passes_the_exit_code_on(self):
        self.assertEqual(self.c.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", "exit 4", check=False).returncode, 4)
        self.assertEqual(self.c.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", "true").returncode, 0)

    def test_suspend_resume(self):
        job = self.c.sbatch("-o", "/dev/null", "--wrap", "sleep 1")
        self.c.wait_state(job, "RUNNING")
        self.c.run("scontrol", "suspend", job)
        self.assertEqual(self.c.state(job), "SUSPENDED")
        self.c.run("scontrol", "resume", job)
        self.c.wait_state(job, "COMPLETED")

    def test_srun(self):
        r = self.c.run("srun", "sh", "-c", "echo out; echo err >&2; exit 3", check=False)
        self.assertEqual((r.stdout, r.returncode), ("out\n", 3))
        self.assertIn("err\n", r.stderr)
        self.assertRegex(r.stderr, r"srun: error: n\d: task 0: Exited with exit code 3")
        r = self.c.run("srun", "-n", "3", "-l", "sh", "-c", "echo $SLURM_PROCID of $SLURM_NTASKS")
        self.assertEqual(sorted(r.stdout.split("\n")), ["", "0: 0 of 3", "1: 1 of 3", "2: 2 of 3"])

    def test_srun_two_nodes(self):
        r = self.c.run("srun", "-N", "2", "-n", "2", "sh", "-c", "echo $SLURMD_NODENAME")
        self.assertEqual(sorted(r.stdout.split()), ["n1", "n2"])

    def test_srun_stdin_and_signals(self):
        self.assertEqual(self.c.out("srun", "cat", input="through and back\n"), "through and back\n")
        r = self.c.run("srun", "sh", "-c", "kill -9 $$", check=False)
        self.assertEqual(r.returncode, 137)
        self.assertRegex(r.stderr, r"srun: error: n\d: task 0: Killed")

    def test_srun_inside_a_batch_job(self):
        job = self.c.sbatch("-n", "2", "-o", "step-%j", "--wrap", "srun -l sh -c 'echo $SLURM_JOB_ID.$SLURM_STEP_ID'")
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(sorted(self.read(f"step-{job}").split("\n")), ["", f"0: {job}.0", f"1: {job}.0"])

    def test_test_only(self):
        r = self.c.run("sbatch", "--test-only", "--wrap", "true")
        self.assertRegex(r.stderr, r"^sbatch: Job \d+ to start at \S+ using 1 processors on nodes n\d in partition debug\n$")

    def test_native_commands(self):
        self.assertIn("spur", self.c.out("spur", "version").lower())
        self.assertIn("n1", self.c.out("spur", "nodes"))
        job = int(self.c.out("spur", "submit", "-o", "/dev/null", "--wrap", "sleep 30").split()[-1])
        self.assertIn(str(job), self.c.out("spur", "queue"))
        self.c.run("spur", "cancel", job)
        self.c.wait_state(job, "CANCELLED")
        self.assertIn("JobState=CANCELLED", self.c.out("spur", "show", "job", job))


class SharedCores(unittest.TestCase):
    """OverSubscribe=FORCE:2 and YES: jobs have the same cores at the same time."""

    def node(self, c):
        line = c.out("scontrol", "-o", "show", "node", "n1")
        return dict(f.split("=", 1) for f in line.split() if "=" in f)

    def test_forced(self):
        with SpurCluster(nodes=1, cpus=2, controller="kill_wait_secs = 2", partition='oversubscribe = "FORCE:2"\n') as c:
            self.assertIn(" OverSubscribe=FORCE:2", c.out("scontrol", "show", "partition"))
            self.assertEqual(c.out("sinfo", "-h", "-o", "%h").strip(), "FORCE:2")
            step = "srun sh -c 'grep Cpus_allowed_list /proc/self/status; sleep 100'"
            jobs = [c.sbatch("-n1", "-c2", "-t", "10", "-o", f"shared-{i}", "--wrap", step) for i in range(2)]
            for job in jobs:
                c.wait_state(job, "RUNNING")
            waits = c.sbatch("-n1", "-c2", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 100")
            wait_until(lambda: c.out("squeue", "-h", "-j", str(waits), "-o", "%r").strip() == "Resources", 30, "it waits")
            self.assertEqual([self.node(c)[k] for k in ("CPUAlloc", "State")], ["2", "ALLOCATED"])
            self.assertEqual(c.job(jobs[0])["OverSubscribe"], "YES")
            self.assertEqual(c.out("squeue", "-h", "-j", str(jobs[1]), "-o", "%h").strip(), "YES")
            files = [c.dir / "out" / f"shared-{i}" for i in range(2)]
            wait_until(lambda: all(f.exists() and "Cpus_allowed_list" in f.read_text() for f in files), 30, "both run")
            self.assertEqual(files[0].read_text(), files[1].read_text(), "on the same CPUs")
            c.run("scancel", str(jobs[0]))
            c.wait_state(waits, "RUNNING")
            c.run("scancel", str(jobs[1]), str(waits))
            wait_until(lambda: self.node(c)["CPUAlloc"] == "0", 30, "all cores are free")

    def test_asked_for(self):
        with SpurCluster(nodes=1, cpus=1, controller="kill_wait_secs = 2", partition='oversubscribe = "YES:2"\n') as c:
            run = ("-n1", "-o", "/dev/null", "--wrap", "sleep 100")
            jobs = [c.sbatch(*args, *run) for args in (("-s", "-t", "20"), ("--oversubscribe", "-t", "20"))]
            for job in jobs:
                c.wait_state(job, "RUNNING")
            plain, third = c.sbatch("-t", "10", *run), c.sbatch("-s", "-t", "5", *run)
            self.assertEqual([c.job(job)["OverSubscribe"] for job in (jobs[0], plain)], ["YES", "OK"])
            c.run("scontrol", "update", "partitionname=" + c.job(plain)["Partition"], "oversubscribe=YES:3")
            c.wait_state(third, "RUNNING")
            self.assertEqual(c.job(plain)["JobState"], "PENDING")


class TimeLimits(unittest.TestCase):
    def test_time_limit_ends_the_job(self):
        with SpurCluster(cpus=2, controller="kill_wait_secs = 1") as c:
            job = c.sbatch("-t", "1", "-o", "t-%j", "--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            c.wait_state(job, "TIMEOUT", seconds=90)
            self.assertIn("DUE TO TIME LIMIT ***", (c.dir / "out" / f"t-{job}").read_text())


if __name__ == "__main__":
    unittest.main()
