# SPDX-License-Identifier: Apache-2.0
"""Keys of a site that say how jobs and steps are treated: each is seen to take effect."""
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time
import unittest

from spur_cluster import SpurCluster, wait_until


def steps_of(agent):
    """Process ids of the step daemons below an agent: they are children of its template."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"spurstepd" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass

    def parent(pid):
        try:
            return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return 0
    return [pid for pid in found if parent(pid) in found and parent(parent(pid)) == agent]


class Programs:
    """Scripts of a site that note what they were told."""

    def __init__(self, *names, body="true"):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="spur-keys-"))
        self.dir.chmod(0o755)
        for name in names:
            path = self.dir / name
            path.write_text(f'#!/bin/sh\necho "{name} $* job=$SLURM_JOB_ID" >> {self.dir}/seen\n{body}\n')
            path.chmod(0o755)

    def seen(self):
        path = self.dir / "seen"
        return path.read_text().splitlines() if path.exists() else []

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class StepsAndJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="spur-scratch-"))
        cls.scratch.chmod(0o777)
        cls.c = SpurCluster(nodes=1, cpus=8, extra=f"""
[jobs]
append_output = true
requeue_exits = "3"
requeue_hold_exits = "7-8"
[steps]
kill_on_bad_exit = true
wait_secs = 2
max_tasks_per_node = 4
max_count = 3
propagate_limits = ["CORE"]
propagate_nice = 1
launch = ["use_interactive_step"]
interactive_options = "--interactive --preserve-env sh -c 'echo ntasks=$SLURM_NTASKS step=$SLURM_STEP_ID tasks=$SLURM_STEP_NUM_TASKS'"
[files]
broadcast = ["DestDir={cls.scratch}"]
[logging]
debug_flags = ["Reservation"]
""").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)
        shutil.rmtree(cls.scratch, ignore_errors=True)

    def test_steps_end_with_their_tasks(self):
        began = time.monotonic()
        r = self.c.run("srun", "-n2", "bash", "-c", "[ $SLURM_PROCID = 0 ] || exit 3; sleep 60", check=False)
        self.assertNotEqual(r.returncode, 0)
        self.c.run("srun", "-n2", "-K0", "bash", "-c", "[ $SLURM_PROCID = 0 ] || sleep 60", check=False)
        self.assertLess(time.monotonic() - began, 40)
        self.assertRegex(self.c.out("scontrol", "show", "config"), r"KillOnBadExit\s+= 1\n")
        self.assertRegex(self.c.out("scontrol", "show", "config"), r"WaitTime\s+= 2 sec\n")

    def test_steps_have_bounds(self):
        r = self.c.run("srun", "-n5", "-O", "true", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"Unable to create step for job \d+: Task count specification invalid")
        job = self.c.sbatch("-o", "steps.out", "--wrap", "for i in 1 2 3 4; do srun -n1 echo step $i; done")
        self.c.wait_state(job, "FAILED", "COMPLETED")
        said = (self.c.dir / "out" / "steps.out").read_text()
        self.assertIn("step 3", said)
        self.assertNotIn("step 4", said)
        self.assertIn("Step limit reached for this job", said)

    def test_output_is_continued(self):
        for words, kept in (([], "one\none\n"), (["--open-mode=truncate"], "one\n")):
            job = self.c.sbatch("-o", "same.out", *words, "--wrap", "echo one")
            self.c.wait_state(job, "COMPLETED")
            if not words:
                job = self.c.sbatch("-o", "same.out", "--wrap", "echo one")
                self.c.wait_state(job, "COMPLETED")
            self.assertEqual((self.c.dir / "out" / "same.out").read_text(), kept)
        self.c.out("srun", "-n1", "-o", "step.out", "echo", "two")
        self.c.out("srun", "-n1", "-o", "step.out", "echo", "two")
        self.assertEqual((self.c.dir / "out" / "step.out").read_text(), "two\ntwo\n")

    def test_what_is_taken_along(self):
        self.assertEqual(self.c.out("nice", "-n", "5", "srun", "-n1", "nice"), "5\n")
        job = int(self.c.out("nice", "-n", "6", "sbatch", "--parsable", "-o", "nice.out", "--wrap", "nice"))
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual((self.c.dir / "out" / "nice.out").read_text(), "6\n")
        few = "ulimit -S -n 300; srun -n1 {} bash -c 'ulimit -n'"
        self.assertNotEqual(self.c.out("bash", "-c", few.format("")), "300\n")
        self.assertEqual(self.c.out("bash", "-c", few.format("--propagate=NOFILE")), "300\n")

    def test_exit_codes_send_back(self):
        script = '[ -n "$SLURM_RESTART_COUNT" ] || exit {}; echo again $SLURM_RESTART_COUNT'
        again = self.c.sbatch("-o", "again.out", "--wrap", script.format(3))
        other = self.c.sbatch("--wrap", script.format(4))
        held = self.c.sbatch("-o", "held.out", "--wrap", script.format(8))
        self.c.wait_state(held, "SPECIAL_EXIT")
        self.assertEqual(self.c.out("squeue", "-h", "-j", held, "-o", "%t %r").split()[0], "SE")
        self.c.wait_state(other, "FAILED")
        self.c.wait_state(again, "COMPLETED", seconds=40)
        self.assertEqual((self.c.dir / "out" / "again.out").read_text(), "again 1\n")
        self.c.out("scontrol", "release", held)
        self.c.wait_state(held, "COMPLETED", seconds=40)
        self.assertEqual((self.c.dir / "out" / "held.out").read_text(), "again 1\n")

    def test_salloc_has_its_shell_on_the_node(self):
        said = self.c.out("salloc", "-n4")
        self.assertEqual(said, "ntasks=4 step=0 tasks=1\n")

    def test_broadcasts_have_a_place(self):
        (self.c.dir / "out" / "data").write_text("data\n")
        self.c.out("salloc", "-n1", "sbcast", "data", "copy")
        self.assertEqual((self.scratch / "copy").read_text(), "data\n")

    def test_a_step_gets_another_limit(self):
        job = self.c.sbatch("-n1", "--wrap", "srun -n1 -t10 sleep 100")
        step = f"{job}.0"
        wait_until(lambda: "StepId=" in self.c.out("scontrol", "show", "step", step, check=False), 30, "the step")
        self.c.out("scontrol", "update", f"stepid={step}", "timelimit=20")
        self.assertIn("TimeLimit=00:20:00", self.c.out("scontrol", "show", "step", step))
        self.c.out("scontrol", "update", f"stepid={step}", "timelimit=-5")
        self.assertIn("TimeLimit=00:15:00", self.c.out("scontrol", "show", "step", step))
        r = self.c.run("scontrol", "update", f"stepid={job}.7", "timelimit=20", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "slurm_update error: Invalid job id specified\n"))
        r = self.c.run("scontrol", "update", f"stepid={step}", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "No changes specified\n"))
        self.c.out("scancel", job)
        self.c.wait_state(job, "CANCELLED")

    def test_subjects_of_the_log(self):
        shown = lambda: re.search(r"DebugFlags\s+= (.*)", self.c.out("scontrol", "show", "config"))[1]
        self.assertEqual(shown(), "Reservation")
        self.c.out("scontrol", "setdebugflags", "+TraceJobs", "+agent", "-Reservation")
        self.assertEqual(shown(), "Agent,TraceJobs")
        job = self.c.sbatch("--wrap", "true")
        self.c.wait_state(job, "COMPLETED")
        log = self.c.log("spurctld")
        self.assertIn(f"TRACEJOBS: JobId={job} PENDING -> RUNNING", log)
        self.assertIn(f"AGENT: to n1: launch of job {job}", log)
        r = self.c.run("scontrol", "setdebugflags", "+wibble", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "scontrol: error: Invalid DebugFlag: wibble\ninvalid debug flag: +wibble\n"))
        self.c.out("scontrol", "reconfigure")
        self.assertEqual(shown(), "Reservation")


class Sites(unittest.TestCase):
    def test_root_may_be_kept_out(self):
        with SpurCluster(extra="[auth]\nallow_root_jobs = false\n", partition="over_time_limit_minutes = 7") as c:
            r = c.run("sbatch", "--wrap", "true", check=False)
            self.assertEqual((r.returncode, r.stderr), (1, "sbatch: error: Batch job submission failed: Invalid user id\n"))
            shown = c.out("scontrol", "show", "partition", "debug")
            self.assertIn("DisableRootJobs=NO", shown)
            self.assertIn("OverTimeLimit=7 ", shown)
            c.write_conf(c.conf.read_text().replace("allow_root_jobs = false", "allow_root_jobs = true")
                         .replace("over_time_limit_minutes = 7", "requires_reservation = true"))
            c.out("scontrol", "reconfigure")
            r = c.run("sbatch", "--wrap", "true", check=False)
            self.assertEqual((r.returncode, r.stderr),
                             (1, "sbatch: error: Batch job submission failed: Access/permission denied\n"))
            self.assertIn("ReqResv=YES", c.out("scontrol", "show", "partition", "debug"))

    def test_what_cannot_be_killed_drains_its_node(self):
        programs = Programs("unkillable")
        self.addCleanup(programs.remove)
        with SpurCluster(controller="kill_wait_secs = 1", extra=f"""
[steps]
unkillable_timeout_secs = 1
unkillable_program = "{programs.dir}/unkillable"
""") as c:
            job = c.sbatch("--wrap", "sleep 100")
            c.wait_state(job, "RUNNING")
            daemon = wait_until(lambda: steps_of(c.pid("spurd-n1")), 30, "the step daemon")[0]
            os.kill(daemon, signal.SIGSTOP)
            try:
                c.out("scancel", job)
                wait_until(lambda: "Reason=Kill task failed" in c.out("scontrol", "show", "node", "n1"), 30, "the drain")
                self.assertIn("DRAIN", c.out("scontrol", "show", "node", "n1"))
                wait_until(lambda: programs.seen() == [f"unkillable  job={job}"], 10, "the program")
            finally:
                os.kill(daemon, signal.SIGCONT)
            c.wait_state(job, "CANCELLED")

    def test_temporary_disk_space_is_that_of_its_directory(self):
        c = SpurCluster()
        c.write_conf(c.conf.read_text().replace("spool_dir =", 'tmp_dir = "/nonexistent/%n"\nspool_dir ='))
        with c:
            self.assertRegex(c.out("scontrol", "show", "slurmd", "n1"), r"Actual temp disk space\s+= 0 MB")
            self.assertRegex(c.out("scontrol", "show", "config"), r"TmpFS\s+= /nonexistent/%n\n")

    def test_jobs_that_are_over_are_noted_once(self):
        log = pathlib.Path(tempfile.mkdtemp(prefix="spur-done-")) / "jobs.log"
        self.addCleanup(shutil.rmtree, log.parent)
        with SpurCluster(cpus=8, extra=f"""
[accounting]
job_log = "jobcomp/filetxt"
job_log_file = "{log}"
""") as c:
            first = c.sbatch("-J", "first", "--wrap", "exit 3")
            c.wait_state(first, "FAILED")
            line = wait_until(lambda: log.exists() and log.read_text(), 10, "the line")
            self.assertRegex(line, rf"^JobId={first} UserId=root\(0\) GroupId=root\(0\) Name=first JobState=FAILED "
                             r"Partition=debug TimeLimit=UNLIMITED StartTime=\S+ EndTime=\S+ NodeList=n1 NodeCnt=1 ProcCnt=1 "
                             r"WorkDir=\S+ ReservationName= Tres=cpu=1,\S+ Account= QOS= WcKey= Cluster=unknown SubmitTime=\S+ "
                             r"EligibleTime=\S+ DerivedExitCode=0:0 ExitCode=3:0 \n$")
            jobs = [first]
            for _ in range(3):  # killed while jobs end
                jobs += [c.sbatch("--wrap", f"sleep 0.{i}") for i in range(6)]
                time.sleep(0.3)
                c.kill("spurctld")
                c.start_controller()
            c.wait_empty()
            wanted = sorted(f"JobId={job}" for job in jobs)
            noted = lambda: sorted(line.split()[0] for line in log.read_text().splitlines())
            wait_until(lambda: len(noted()) >= len(wanted), 20, "all lines")
            self.assertEqual(noted(), wanted)
            self.assertEqual(c.run("sacct", "-cnP", "-j", first, "-o", "JobID,User,State,ExitCode,NodeList").stdout,
                             f"{first}|root(0)|FAILED|3:0|n1\n")
            self.assertEqual(len(c.run("sacct", "-nP", "-f", log, "-o", "JobID").stdout.split()), len(jobs))
            self.assertEqual(c.run("sacct", "-c", "-j", "99999").stdout.splitlines()[0],
                             "JobID           UID    JobName  Partition   NNodes        NodeList      State                 End ")
            self.assertEqual(c.run("sacct", "-cnP", "-r", "nosuch").stdout, "")

    def test_programs_of_the_site(self):
        programs = Programs("lead", "follow", "begins", "ends")
        slow = Programs("prolog", body="sleep 30")
        self.addCleanup(programs.remove)
        self.addCleanup(slow.remove)
        with SpurCluster(extra=f"""
[hooks]
lead_begins = "{programs.dir}/lead"
lead_ends = "{programs.dir}/follow"
reservation_begins = "{programs.dir}/begins"
reservation_ends = "{programs.dir}/ends"
timeout_secs = 600
prolog = "{slow.dir}/prolog"
prolog_timeout_secs = 1
""") as c:
            wait_until(lambda: programs.seen() == ["lead  job="], 10, "the first program")
            c.out("scontrol", "create", "reservation", "reservationname=r1", "starttime=now", "duration=60", "users=root",
                  "nodes=n1")
            wait_until(lambda: programs.seen()[-1] == "begins r1 job=", 10, "the reservation's first")
            c.out("scontrol", "delete", "reservation", "r1")
            wait_until(lambda: programs.seen()[-1] == "ends r1 job=", 10, "the reservation's last")
            c.sbatch("--wrap", "true")
            wait_until(lambda: "Reason=Prolog error" in c.out("scontrol", "show", "node", "n1"), 15, "the drain")
            c.kill("spurctld", signal.SIGTERM)
            self.assertEqual(programs.seen()[-1], "follow  job=")
            c.start_controller()


if __name__ == "__main__":
    unittest.main()
