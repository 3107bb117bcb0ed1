# SPDX-License-Identifier: Apache-2.0
"""salloc: a command, a shell and nothing in an allocation, and what becomes of them when either ends first."""
import os
import pty
import re
import signal
import subprocess
import unittest

from spur_cluster import SpurCluster, talk, wait_until


class Salloc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=2, controller="kill_wait_secs = 2").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def tearDown(self):
        self.c.wait_empty()

    def spawn(self, *args, stdin=subprocess.DEVNULL):
        return subprocess.Popen(["salloc", *args], env=self.c.env, cwd=self.c.dir / "out", text=True, stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_command(self):
        r = self.c.run("salloc", "-N2", "-n4", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURM_NNODES $SLURM_NTASKS "
                       "$SLURM_JOB_CPUS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_JOB_NAME; exit 7", check=False)
        job = r.stdout.split()[0]
        self.assertEqual(r.returncode, 7)
        self.assertEqual(r.stdout, f"{job} n[1-2] 2 4 2(x2) 2(x2) interactive\n")
        self.assertEqual(r.stderr, f"salloc: Granted job allocation {job}\nsalloc: Relinquishing job allocation {job}\n")
        self.c.wait_state(job, "FAILED")
        self.assertEqual(self.c.job(job)["ExitCode"], "7:0")

    def test_components_of_a_heterogeneous_allocation(self):
        show = "env | grep -E '^SLURM_(HET|PACK)_SIZE|^SLURM_(JOB_ID|NTASKS|CLUSTER_NAME|JOB_NODELIST)' | sort"
        r = self.c.run("salloc", "-n1", "-J", "two", ":", "-n2", "--mem=100", "sh", "-c",
                       show + "; srun --het-group=0,1 sh -c 'echo task $SLURM_PROCID on $SLURMD_NODENAME'")
        lines = r.stdout.splitlines()
        first = int(re.search(r"Granted job allocation (\d+)", r.stderr).group(1))
        self.assertEqual(lines[:17], sorted(
            ["SLURM_CLUSTER_NAME=test", "SLURM_HET_SIZE=2", "SLURM_PACK_SIZE=2", f"SLURM_JOB_ID={first}", "SLURM_NTASKS=1"] +
            [f"SLURM_{name}_{kind}_GROUP_{i}={value[i]}" for kind in ("HET", "PACK") for i in (0, 1)
             for name, value in (("JOB_ID", (first, first + 1)), ("NTASKS", (1, 2)), ("JOB_NODELIST", ("n1", "n2")))]))
        self.assertEqual(sorted(lines[-3:]), ["task 0 on n1", "task 1 on n2", "task 2 on n2"])
        for job in (first, first + 1):
            self.c.wait_state(job, "COMPLETED")
        r = self.c.run("salloc", "-n1", ":", "-p", "nosuch", "true", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("Invalid partition name specified", r.stderr)

    def test_tasks_know_where_srun_is(self):
        r = self.c.run("srun", "-n1", "env")
        for line in ("SLURM_LAUNCH_NODE_IPADDR=127.0.0.1", "SLURM_SRUN_COMM_HOST=127.0.0.1", "SRUN_DEBUG=3"):
            self.assertIn(line, r.stdout.splitlines())

    def test_steps_inside(self):
        r = self.c.run("salloc", "-Q", "-N2", "-n4", "srun", "-l", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_STEP_ID")
        self.assertEqual(sorted(r.stdout.splitlines()), ["0: n1 0", "1: n1 0", "2: n2 0", "3: n2 0"])
        r = self.c.run("salloc", "-Q", "-n1", "srun", "-n5", "true", check=False)
        self.assertRegex(r.stderr, r"^srun: error: Unable to create step for job \d+: More processors requested than permitted\n$")

    def test_no_shell(self):
        r = self.c.run("salloc", "--no-shell", "-n1")
        job = re.fullmatch(r"salloc: Granted job allocation (\d+)\n", r.stderr)[1]
        self.assertEqual(self.c.state(job), "RUNNING")
        self.assertEqual(self.c.out("srun", f"--jobid={job}", "echo", "inside"), "inside\n")
        self.c.run("scancel", job)

    def test_no_such_command(self):
        r = self.c.run("salloc", "-Q", "/nonexistent", check=False)
        self.assertEqual((r.stderr, r.returncode), ('salloc: error: _fork_command: Unable to find command "/nonexistent"\n', 1))

    def test_the_allocation_is_taken_away(self):
        # What a user's signal ends is no failure, as in Slurm; without -K the command is left alone.
        for words, typed, status in ((("-KHUP", "sh", "-c", "echo ready; sleep 100"), "", 0),
                                     (("-K", "sh", "-c", "echo ready; sleep 100"), "", 1),
                                     (("sh", "-c", "echo ready; read x; exit 6"), "x\n", 6)):
            p = self.spawn(*words, stdin=subprocess.PIPE)
            self.assertEqual(p.stdout.readline(), "ready\n")
            job = re.search(r"(\d+)", p.stderr.readline())[1]
            self.c.run("scancel", job)
            self.assertEqual(p.stderr.readline(), f"salloc: Job allocation {job} has been revoked.\n")
            p.stdin.write(typed)
            p.stdin.flush()
            self.assertEqual(p.wait(20), status)
            self.assertEqual(p.stderr.read(), "")
            p.stdin.close()
            p.stdout.close()
            p.stderr.close()

    def test_where_and_as_whom(self):
        self.assertEqual(self.c.out("salloc", "-Q", "-D", "/tmp", "pwd"), "/tmp\n")
        r = self.c.run("salloc", "-Q", "-D", "/nonexistent", "pwd", check=False)
        self.assertEqual((r.stderr, r.returncode), ("salloc: error: chdir(/nonexistent): No such file or directory\n", 1))
        if os.geteuid() == 0:
            self.assertEqual(self.c.out("salloc", "-Q", "--uid=games", "id", "-un"), "games\n")
            self.assertEqual(self.c.out("salloc", "-Q", "--uid=games", "--gid=daemon", "id", "-gn"), "daemon\n")

    def test_interrupted_while_it_waits(self):
        p = self.spawn("-N99", "true")
        line = p.stderr.readline()
        while "queued" not in line:
            self.assertNotEqual(line, "")
            line = p.stderr.readline()
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(20), 1)
        self.assertRegex(p.stderr.read(), r"salloc: Job allocation \d+ has been revoked\.\nsalloc: Job aborted due to signal\n")
        p.stdout.close()
        p.stderr.close()

    def test_signals_reach_the_command(self):
        p = self.spawn("sh", "-c", "trap 'echo got it; exit 4' TERM; echo ready; while :; do sleep 0.05; done")
        self.assertEqual(p.stdout.readline(), "ready\n")
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(20), 4)
        self.assertEqual(p.stdout.read(), "got it\n")
        p.stdout.close()
        p.stderr.close()

    def test_steps_of_an_allocation_ask_the_controller_once(self):
        p = self.spawn("sh", "-c", "srun true; echo first; read x; srun echo second; srun echo third",
                       stdin=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), "first\n")
        controller = self.c.processes["spurctld"]
        controller.send_signal(signal.SIGSTOP)
        try:
            p.stdin.write("\n")
            p.stdin.flush()
            self.assertEqual(p.stdout.readline(), "second\n")
            self.assertEqual(p.stdout.readline(), "third\n")
        finally:
            controller.send_signal(signal.SIGCONT)
        p.stdin.close()
        self.assertEqual(p.wait(20), 0)
        p.stdout.close()
        p.stderr.close()

    def test_a_shell_that_is_killed_gives_the_allocation_back(self):
        p = self.spawn("sh", "-c", "echo $$; sleep 100")
        shell = int(p.stdout.readline())
        job = re.search(r"(\d+)", p.stderr.readline())[1]
        os.kill(shell, signal.SIGKILL)
        self.assertEqual(p.wait(20), 0)
        self.c.wait_state(job, "FAILED")
        self.assertEqual(self.c.job(job)["ExitCode"], "0:9")
        p.stdout.close()
        p.stderr.close()

    def test_a_shell_on_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.c.dir / "out")
            os.execvpe("salloc", ["salloc", "-n1"], {**self.c.env, "SHELL": "/bin/sh", "PS1": "$ "})
        seen = talk(terminal, b"Granted job allocation", b"echo job=$SLURM_JOB_NAME; srun echo step; exit 3\n")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 3)
        self.assertIn(b"job=interactive\r\n", seen)
        self.assertIn(b"step\r\n", seen)
        self.assertIn(b"salloc: Relinquishing job allocation", seen)


if __name__ == "__main__":
    unittest.main()
