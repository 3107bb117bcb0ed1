# SPDX-License-Identifier: Apache-2.0
"""Steps that share a job: what each is given, who waits for whom, and what srun says about it."""
import re
import signal
import subprocess
import time
import unittest

from spur_cluster import SpurCluster, talk, wait_until


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, memory_mb=4000, controller="kill_wait_secs = 2").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def job(self, script, *options):
        """Runs a script as a batch job and gives its output."""
        job = self.c.sbatch("-o", "steps-%j", *options, input="#!/bin/bash\n" + script)
        self.c.wait_state(job, "COMPLETED", "FAILED", seconds=60)
        return job, (self.c.dir / "out" / f"steps-{job}").read_text()

    def test_steps_wait_for_each_other_unless_they_overlap(self):
        job, text = self.job("""
srun -n1 sh -c 'echo first; while [ ! -e go ]; do sleep 0.05; done; echo first ends' &
until [ "$(grep -c first steps-$SLURM_JOB_ID)" = 1 ]; do sleep 0.05; done
srun -n1 echo second &
until grep -q disabled steps-$SLURM_JOB_ID; do sleep 0.05; done
srun --overlap -n1 echo third
touch go
wait
rm go
""", "-n2", "-N1")
        lines = text.splitlines()
        self.assertIn(f"srun: Job {job} step creation temporarily disabled, retrying (Requested nodes are busy)", lines)
        self.assertRegex(text, rf"srun: Step created for StepId={job}\.\d")
        self.assertLess(lines.index("third"), lines.index("first ends"))
        self.assertLess(lines.index("first ends"), lines.index("second"))

    def test_what_runs_is_listed_by_step_node_and_process(self):
        job = self.c.sbatch("-N2", "--ntasks-per-node=2", "-t", "30", "--wrap", "sleep 300; :")
        self.c.wait_state(job, "RUNNING")
        step = subprocess.Popen(["srun", "--overlap", f"--jobid={job}", "-N1", "-n2", "-w", "n2", "-J", "two", "-t", "5", "sleep", "300"],
                                env=self.c.env, cwd=self.c.dir / "out", stderr=subprocess.DEVNULL)
        try:
            run = lambda *args: self.c.run(*args, check=False)
            wait_until(lambda: len(run("scontrol", "listpids", f"{job}.0", "n2").stdout.splitlines()) == 3, 20, "the tasks run")
            fields = "jobid:|,stepid:|,stepname:|,nodes:|,numtasks:|,timelimit:|,username:|,stepstate:|"
            self.assertEqual(run("squeue", "-hs", "-O", fields, "-j", job).stdout, f"{job}|{job}.0|two|n2|2|5:00|root|RUNNING|\n")
            self.assertEqual(run("squeue", "-hs", "-o", "%i %A %l", "-w", "n2").stdout, f"{job}.0 2 5:00\n")
            self.assertEqual(run("squeue", "-hs", "-w", "n1").stdout, "")  # the job is there, the step is not
            self.assertEqual(run("squeue", "-h", "-s", f"{job}.1").stdout, "")
            bad = run("squeue", "-h", "-s", str(job))
            self.assertEqual((bad.returncode, bad.stderr), (1, f"squeue: error: Invalid job_step id: {job}.??\n"))
            self.assertRegex(run("scontrol", "-o", "show", "step", f"{job}.0").stdout,
                             rf"^StepId={job}\.0 UserId=0 StartTime=\S+ TimeLimit=00:05:00 State=RUNNING .* SrunHost:Pid=\S+\n$")
            listed = run("scontrol", "listpids", job, "n2").stdout.splitlines()
            self.assertEqual(listed[0], "PID      JOBID    STEPID   LOCALID GLOBALID")
            rows = [line.split() for line in listed[1:]]
            self.assertEqual([r[1:] for r in rows], [[str(job), "0", "0", "0"], [str(job), "0", "1", "1"]])
            on_first = [line.split() for line in run("scontrol", "listpids", f"{job}.batch", "n1").stdout.splitlines()[1:]]
            self.assertIn([str(job), "batch", "0", "0"], [r[1:] for r in on_first])
            self.assertIn([str(job), "batch", "-", "-"], [r[1:] for r in on_first])  # what the script has started
            inside = {"SLURMD_NODENAME": "n2"}
            self.assertRegex(self.c.run("scontrol", "pidinfo", rows[0][0], env=inside).stdout,
                             rf"^Slurm JobId={job} ends at \w+ \w+ \d+ [\d:]+ \d+\nslurm_get_rem_time is 1[78]\d\d\n$")
            r = self.c.run("scontrol", "pidinfo", "1", env=inside, check=False)
            self.assertEqual((r.returncode, r.stderr), (1, "Failed to locate job for requested pid\n"))
            r = run("scontrol", "listpids", f"{job}.7", "n1")
            self.assertEqual((r.returncode, r.stdout.splitlines(), r.stderr),
                             (1, [listed[0]], f"StepId={job}.7 does not exist on node n1.\n"))
            self.assertIn(f"{job}\n", run("scontrol", "listjobs", "n1").stdout)
            self.assertIn(f"{job:<8} 0       \n", run("scontrol", "liststeps", "n2").stdout)
        finally:
            step.terminate()
            step.wait()
            self.c.run("scancel", job)

    def test_exact_steps_run_beside_each_other(self):
        # Each waits for the others: they end only if they run at the same time.
        _, text = self.job("""
for i in 1 2 3 4; do
  srun --exact -n1 -N1 sh -c 'touch at-'$i'; until [ -e at-1 -a -e at-2 -a -e at-3 -a -e at-4 ]; do sleep 0.05; done; echo $SLURM_CPUS_ON_NODE' &
done
wait
rm at-?
""", "-n4", "-N1")
        self.assertEqual(text, "1\n1\n1\n1\n")

    def test_a_step_goes_where_there_is_room(self):
        _, text = self.job("""
for i in 1 2; do
  srun -n1 -N1 sh -c 'touch on-'$i'; until [ -e on-1 -a -e on-2 ]; do sleep 0.05; done; echo $SLURMD_NODENAME' &
done
wait
rm on-?
""", "-N2", "--ntasks-per-node=1")
        self.assertEqual(sorted(text.split()), ["n1", "n2"])

    def test_who_reads_srun_may_go(self):
        """srun outlives the reader of its output or of its messages: else the allocation would be left behind."""
        for line in ("srun -n1 yes | head -1", "srun -n1 sh -c 'kill -TERM $$' 2>&1 | head -1"):
            self.c.run("sh", "-c", line, timeout=60)
            wait_until(lambda: not self.c.out("squeue", "-h", "-o", "%i").split(), 30, f"nothing is left of {line}")

    def test_immediate_and_interrupted(self):
        job, text = self.job("""
srun -n1 sh -c 'while [ ! -e done ]; do sleep 0.05; done' &
sleep 0.5
srun -I -n1 true
echo immediate $?
srun -n1 true &
until grep -q disabled steps-$SLURM_JOB_ID; do sleep 0.05; done
kill -TERM $!
wait $!
echo interrupted $?
touch done
wait
rm done
""", "-n1")
        self.assertIn(f"srun: error: Unable to create step for job {job}: Requested nodes are busy\nimmediate 1\n", text)
        self.assertIn("srun: Cancelled pending job step with signal 15\n"
                      f"srun: error: Unable to create step for job {job}: Job/step already completing or completed\n"
                      "interrupted 1\n", text)

    def test_what_never_fits_is_refused(self):
        job, text = self.job("""
srun -n5 true; echo $?
srun -c9 -n1 true; echo $?
srun -r1 -N1 true; echo $?
srun -x n1,n2 true; echo $?
srun -N2 true; echo $?
""", "-n4", "-N1")
        self.assertEqual(text, f"""srun: error: Unable to create step for job {job}: More processors requested than permitted
1
srun: error: Unable to create step for job {job}: More processors requested than permitted
1
srun: error: --relative and --nodes option incompatible with count of allocated nodes (1+1>1)
1
srun: error: Hostlist is empty!  Can't run job.
1
srun: error: Only allocated 1 nodes asked for 2
1
""")

    def test_tasks_are_bound_to_cpus(self):
        # The nodes are declared larger than this machine may be: what is not there cannot be bound to.
        job, text = self.job("""
srun -n1 --cpu-bind=v,map_cpu:0 grep Cpus_allowed_list /proc/self/status
srun -n1 --cpu-bind=none sh -c 'echo $SLURM_CPU_BIND'
srun -n1 --cpu-bind=map_cpu:9999 true; echo $?
""", "-n1")
        self.assertRegex(text, r"cpu-bind=MAP  - n1, task  0  0 \[\d+\]: mask 0x1 set\n")
        self.assertIn("Cpus_allowed_list:\t0\n", text)
        self.assertIn("quiet,none\n", text)
        self.assertRegex(text, r"srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x[0-9a-f]+\.\n"
                         rf"srun: error: Task launch for StepId={job}\.2 failed on node n1: Unable to satisfy cpu bind request\n"
                         r"srun: error: Application launch failed: Unable to satisfy cpu bind request\n"
                         r"srun: Job step aborted\n192\n")

    def test_several_programs(self):
        _, text = self.job("""
printf '0 echo first %%t\n1-2 echo other %%t %%o\n' > programs
srun -n3 -l --multi-prog programs | sort
srun -n4 --multi-prog programs; echo $?
""", "-n4", "-N1")
        self.assertEqual(text, "0: first 0\n1: other 1 0\n2: other 2 1\n"
                         "srun: error: Configuration file programs invalid, no record for task id 3\n1\n")

    def test_prologs_and_epilogs(self):
        _, text = self.job("""
printf '#!/bin/sh\necho export FOO=bar\necho print hello\n' > tprolog
printf '#!/bin/sh\necho epilog of $SLURM_PROCID >> epilogs\n' > tepilog
printf '#!/bin/sh\necho here\n' > here
chmod +x tprolog tepilog here
srun -n1 --task-prolog=$PWD/tprolog --task-epilog=$PWD/tepilog --prolog=./here --epilog=./here sh -c 'echo $FOO; exit 3'
echo $?
cat epilogs; rm epilogs
srun -n1 --prolog=/nonexistent --task-prolog=/nonexistent true
""", "-n1")
        self.assertTrue(text.startswith("here\nhello\nbar\nsrun: error: n1: task 0: Exited with exit code 3\nhere\n3\n"
                                        "epilog of 0\nsrun: Access denied for /nonexistent: No such file or directory\n"), text)
        self.assertIn("slurmstepd-n1: error: run_command: user task_prolog can not be executed (/nonexistent) No such file or directory\n", text)
        self.assertIn("slurmstepd-n1: error: --task-prolog failed status=1\n", text)

    def test_terminal(self):
        import os
        import pty
        import struct
        import fcntl
        import termios
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
            os.execvpe("srun", ["srun", "--pty", "sh", "-c", "stty size; tty; read x; echo got $x; exit 5"], self.c.env)
        seen = talk(terminal, b"/dev/pts", b"word\r")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5)
        self.assertIn(b"33 77\r\n", seen)
        self.assertIn(b"got word\r\n", seen)
        r = self.c.run("srun", "--pty", "tty", check=False)
        self.assertEqual((r.stdout, r.returncode), ("not a tty\n", 1))
        self.assertIn("srun: error: Not using a pseudo-terminal, disregarding --pty option", r.stderr)

    def test_tasks_of_two_nodes_find_each_other(self):
        program = self.c.dir / "out" / "meet.py"
        program.write_text("""import os, socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(where) as server:
        peers = [server.accept()[0] for _ in range(world - 1)]
    ranks = sorted(int(p.recv(100)) for p in peers)
    for p in peers: p.sendall(b"go")
    print("met", ranks, os.environ["LOCAL_WORLD_SIZE"])
else:
    while True:
        try:
            s = socket.create_connection(where); break
        except OSError: pass
    s.sendall(str(rank).encode())
    assert s.recv(10) == b"go" and int(os.environ["LOCAL_RANK"]) == rank % 2
""")
        r = self.c.run("srun", "-N2", "-n4", "--ntasks-per-node=2", "--distributed", "python3", program)
        self.assertEqual(r.stdout, "met [1, 2, 3] 2\n")

    def test_steps_are_shown_and_ended(self):
        running = self.c.dir / "out" / "shown"
        job = self.c.sbatch("-n2", "-N1", "-o", "shown-%j", "--wrap",
                            f"srun -n1 --exact --mem=0 -J mine sh -c 'touch {running}; sleep 100'; echo ended $?")
        wait_until(running.exists, 20, "the step runs")
        lines = self.c.out("squeue", "-s", "-j", job).splitlines()
        self.assertEqual(lines[0], "         STEPID     NAME PARTITION     USER      TIME NODELIST")
        self.assertRegex(lines[1], rf"^ +{job}\.0     mine     debug     root +0:\d\d n1$")
        self.assertEqual(self.c.out("squeue", "-h", "-s", f"-j{job}", f"--steps={job}.1"), "")
        text = self.c.out("scontrol", "show", "step", f"{job}.0")
        self.assertRegex(text, rf"^StepId={job}\.0 UserId=0 StartTime=20\S+ TimeLimit=UNLIMITED\n"
                         r"   State=RUNNING Partition=debug NodeList=n1\n   Nodes=1 CPUs=1 Tasks=1 Name=mine Network=\(null\)\n"
                         r"   TRES=cpu=1,node=1\n")
        r = self.c.run("scontrol", "show", "step", f"{job}.7", check=False)
        self.assertEqual((r.stdout, r.returncode), (f"Job step {job}.7 not found\n", 1))
        self.c.run("scancel", f"{job}.0")
        self.c.wait_state(job, "COMPLETED")
        text = (self.c.dir / "out" / f"shown-{job}").read_text()
        self.assertRegex(text, rf"slurmstepd-n1: error: \*\*\* STEP {job}\.0 ON n1 CANCELLED AT 20\S+ \*\*\*\n")
        self.assertRegex(text, r"ended (143|137)\n")
        self.c.run("scancel", f"{job}.0")  # over: nothing to say

    def test_steps_of_a_job_need_no_controller(self):
        out = self.c.dir / "out"
        job = self.c.sbatch("-n2", "-N2", "-o", "alone-%j", input='''#!/bin/sh
srun -n1 -N1 true
touch alone; until [ -e go-alone ]; do sleep 0.05; done
for i in 1 2 3; do srun -n2 sh -c 'echo $SLURM_STEP_ID.$SLURM_PROCID'; done
touch was-alone
''')
        wait_until((out / "alone").exists, 20, "the first step is over")
        controller = self.c.processes["spurctld"]
        controller.send_signal(signal.SIGSTOP)
        try:
            (out / "go-alone").touch()
            wait_until((out / "was-alone").exists, 20, "the steps ran without the controller")
        finally:
            controller.send_signal(signal.SIGCONT)
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(sorted((out / f"alone-{job}").read_text().split()),
                         ["1.0", "1.1", "2.0", "2.1", "3.0", "3.1"])

    def test_attaching_to_a_step(self):
        job = self.c.sbatch("-n3", "-N2", "-o", "/dev/null", "--wrap",
                            "srun -n3 sh -c 'touch attach-$SLURM_PROCID; until [ -e attach ]; do sleep 0.05; done; "
                            "echo out; echo err >&2; read -r line; echo $line; exit $((SLURM_PROCID + 2))' < /dev/null; sleep 100")
        out = self.c.dir / "out"
        wait_until(lambda: all((out / f"attach-{i}").exists() for i in range(3)), 20, "the tasks run")
        r = self.c.run("sattach", "--layout", f"{job}.0")
        self.assertEqual(r.stdout, "Job step layout:\n  3 tasks, 2 nodes (n[1-2])\n\n"
                         "  Node 0 (n1), 2 task(s): 0 1 \n  Node 1 (n2), 1 task(s): 2 \n")
        all_of_it, one = (subprocess.Popen(["sattach", *words, f"{job}.0"], env=self.c.env, text=True, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                          for words in (["-l"], ["--output-filter=1", "--error-filter", "0"]))
        gone = subprocess.Popen(["sattach", f"{job}.0"], env=self.c.env, stdin=subprocess.DEVNULL)
        # Nobody tells when they are there: the tasks go on some time after that.
        time.sleep(0.5)
        gone.send_signal(signal.SIGINT)
        self.assertEqual(gone.wait(20), 0)
        (out / "attach").touch()
        text, errors = all_of_it.communicate(timeout=20)
        self.assertEqual(sorted(text.splitlines()), ["0: ", "0: out", "1: ", "1: out", "2: ", "2: out"])
        self.assertEqual(sorted(l for l in errors.splitlines() if l.endswith("err")), ["0: err", "1: err", "2: err"])
        self.assertIn("sattach: error: n2: task 2: Exited with exit code 4\n", errors)
        self.assertEqual(all_of_it.returncode, 4)
        text, errors = one.communicate(timeout=20)
        self.assertEqual(text, "out\n\n")
        self.assertEqual(errors.count("err\n"), 1)
        for words, said in (([f"{job}.0"], "Could not get job step info: Invalid job id specified"),
                            (["999999.0"], "Could not get job step info: Invalid job id specified")):
            r = self.c.run("sattach", *words, check=False)
            self.assertEqual((r.stderr, r.returncode), (f"sattach: error: {said}\n", 1))
        self.c.run("scancel", job)
        r = self.c.run("sattach", "7", check=False)
        self.assertEqual((r.stdout, r.stderr, r.returncode),
                         ("Usage: sattach [options] <jobid.stepid>\n",
                          "sattach: error: Failed to parse stepid from command line options\n", 1))

    def test_relative(self):
        _, text = self.job("srun -r1 -N1 -n1 sh -c 'echo $SLURMD_NODENAME'\n", "-N2")
        self.assertEqual(text, "n2\n")

    def test_a_waiting_step_hears_of_the_end_of_its_job(self):
        running = self.c.dir / "out" / "running"
        job = self.c.sbatch("-n1", "-o", "/dev/null", "--wrap", f"srun sh -c 'touch {running}; sleep 100'")
        wait_until(running.exists, 20, "the first step runs")
        waiting = subprocess.Popen(["srun", f"--jobid={job}", "-n1", "true"], env=self.c.env, stderr=subprocess.PIPE, text=True)
        self.assertIn("disabled", waiting.stderr.readline())
        self.c.run("scancel", job)
        self.assertEqual(waiting.wait(20), 1)
        self.assertIn("Job/step already completing or completed", waiting.stderr.read())
        waiting.stderr.close()


if __name__ == "__main__":
    unittest.main()
