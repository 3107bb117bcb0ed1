# SPDX-License-Identifier: Apache-2.0
"""What users get wrong: names that do not exist, requests that cannot be, scripts and files that are no good. Slurm's
words on stderr, its exit status, and nothing half done. The words are those of Slurm 22.05 unless a comment says otherwise."""
import os
import pathlib
import unittest

from spur_cluster import SpurCluster, wait_until

AS_ROOT = os.geteuid() == 0
USER = "games"  # a user that every Debian has
NO_SHEBANG = ("sbatch: error: This does not look like a batch script.  The first\n"
              "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
              "sbatch: error: For instance: #!/bin/sh\n")
REFUSED = "sbatch: error: Batch job submission failed: "


class OneCluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, memory_mb=1000).__enter__()
        cls.out_dir = cls.c.dir / "out"
        cls.script("ok.sh", "#!/bin/sh\ntrue\n")

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    @classmethod
    def script(cls, name, content, mode=0o755):
        path = cls.out_dir / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    def says(self, status, stderr, *command, stdout="", **kw):
        r = self.c.run(*command, check=False, **kw)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (status, stdout, stderr), command)

    def jobs(self):
        return self.c.out("squeue", "-h", "-a", "-t", "all", "-o", "%A").split()

    def files(self):
        return sorted(os.listdir(self.out_dir))

    # Refused means: no job more than before, no file either.
    def refused(self, status, stderr, *command, **kw):
        before = self.jobs(), self.files()
        self.says(status, stderr, *command, **kw)
        self.assertEqual((self.jobs(), self.files()), before, command)


class Requests(OneCluster):
    def test_unknown_partition(self):
        words = "sbatch: error: invalid partition specified: nosuch\n"
        self.refused(1, words + REFUSED + "Invalid partition name specified\n", "sbatch", "-p", "nosuch", "ok.sh")
        self.refused(1, words + "allocation failure: Invalid partition name specified\n", "sbatch", "--test-only", "-p",
                     "nosuch", "ok.sh")
        self.refused(1, words.replace("sbatch", "srun") + "srun: error: Unable to allocate resources: Invalid partition name "
                     "specified\n", "srun", "-p", "nosuch", "true")

    def test_unknown_node(self):
        for option in ("-w", "-x"):
            self.refused(1, REFUSED + "Invalid node name specified\n", "sbatch", option, "nosuch", "ok.sh")
        self.refused(1, REFUSED + "Invalid node name specified\n", "sbatch", "-w", "n1", "-x", "n1", "ok.sh")
        self.says(1, "squeue: error: Invalid node name nosuch\n", "squeue", "-w", "nosuch")
        self.says(1, "", "scontrol", "show", "node", "nosuch", stdout="Node nosuch not found\n")
        self.says(1, "slurm_update error: Invalid node name specified\n", "scontrol", "update", "nodename=nosuch",
                  "state=down", "reason=x")

    def test_node_list_against_node_count(self):
        self.refused(1, "sbatch: error: invalid number of nodes (-N 2-1)\n", "sbatch", "-N", "1", "-w", "n[1-2]", "ok.sh")
        self.refused(1, "sbatch: error: invalid number of nodes (-N 2-1)\n", "sbatch", "-N", "1-1", "-w", "n[1-2]", "ok.sh")

    def test_too_large_is_accepted_and_waits(self):
        for option, reason in ((["-N", "99"], "PartitionConfig"), (["-n", "999"], "PartitionConfig"),
                               (["-c", "99"], "PartitionConfig")):
            job = self.c.sbatch(*option, "ok.sh")
            wait_until(lambda: self.c.job(job)["Reason"] == reason, 30, f"{option} waits with {reason}")
            self.c.run("scancel", job)

    def test_impossible_is_refused(self):
        self.refused(1, "sbatch: error: Memory specification can not be satisfied\n" + REFUSED +
                     "Requested node configuration is not available\n", "sbatch", "--mem=999999", "ok.sh")
        self.refused(1, REFUSED + "Requested node configuration is not available\n", "sbatch", "-x", "n[1-2]", "ok.sh")
        for option in (["-N", "99"], ["-n", "999"], ["-c", "99"]):
            self.refused(1, "allocation failure: Requested node configuration is not available\n", "sbatch", "--test-only",
                         *option, "ok.sh")

    def test_long_texts(self):
        words = REFUSED + "Pathname of a file, directory or other parameter too long\n"
        for option, longest in (("-J", 1024), ("--comment", 1024), ("-A", 1024), ("-o", 4096), ("-D", 4096)):
            job = self.c.sbatch("-H", option, "/" + "x" * (longest - 1), "ok.sh")
            self.refused(1, words, "sbatch", "-H", option, "/" + "x" * longest, "ok.sh")
            self.c.run("scancel", job)

    def test_array_of_a_million_million_tasks(self):
        for spec in ("0-999999999999", "999999999999", "0-99999999999999999999", "1-4294967295", "5-1", "x", "1-"):
            self.refused(1, REFUSED + "Invalid job array specification\n", "sbatch", "-a", spec, "ok.sh")

    def test_dependencies(self):
        for spec in ("afterok:abc", "whenever:1", "afterok:0", "after"):
            self.refused(1, REFUSED + "Job dependency problem\n", "sbatch", "-d", spec, "ok.sh")
        unknown = self.c.sbatch("-o", "/dev/null", "-d", "afterok:99999", "ok.sh")  # Slurm: satisfied
        self.c.wait_state(unknown, "COMPLETED")
        first = self.c.sbatch("-H", "ok.sh")
        second = self.c.sbatch("-H", "-d", f"afterok:{first}", "ok.sh")
        third = self.c.sbatch("-H", "-d", f"afterany:{second}", "ok.sh")
        for job, on, words in ((first, first, "Job dependency problem"), (first, second, "Circular job dependency"),
                               (first, third, "Circular job dependency")):
            self.says(1, f"{words} for job {job}\n", "scontrol", "update", f"jobid={job}", f"dependency=afterok:{on}")
        self.assertEqual(self.c.job(first)["Dependency"], "(null)")
        self.assertEqual(self.c.job(third)["Dependency"], f"afterany:{second}(unfulfilled)")
        self.c.run("scancel", first, second, third)

    def test_unknown_job(self):
        self.says(0, "", "scancel", "99999")
        self.says(0, "", "scancel", "99999_5")
        self.says(1, "scancel: error: Kill job error on job id 99999: Invalid job id specified\n", "scancel", "-s", "USR1", "99999")
        self.says(1, "slurm_load_jobs error: Invalid job id specified\n", "squeue", "-j", "99999")
        self.says(1, "slurm_load_jobs error: Invalid job id specified\n", "scontrol", "show", "job", "99999")
        hold = "Invalid job id specified for job {0}\nslurm_suspend error: Invalid job id specified\n"
        for word in ("hold", "uhold", "release"):
            for job in ("99999", "abc"):
                self.says(1, hold.format(job), "scontrol", word, job)
        for word in ("requeue", "requeuehold", "suspend", "resume"):
            for job in ("99999", "abc"):
                self.says(1, f"Invalid job id specified for job {job}\n", "scontrol", word, job)
        for job in ("99999", "abc"):
            self.says(1, f"Invalid job id specified for job {job}\n", "scontrol", "update", f"jobid={job}", "timelimit=1")

    def test_update_of_a_job(self):
        job = self.c.sbatch("-H", "-J", "before", "ok.sh")
        aborted = "Request aborted\n"
        for word, words in (("bogus=1", "Update of this parameter is not supported: bogus=1\n" + aborted),
                            ("bogus", "Invalid input: bogus\n" + aborted),
                            ("timelimit=bogus", "scontrol: error: Invalid TimeLimit value\n"),
                            ("priority=bogus", "scontrol: error: Invalid Priority value: bogus\n"),
                            ("partition=nosuch", f"Invalid partition name specified for job {job}\n"),
                            ("reqnodelist=nosuch", f"Invalid node name specified for job {job}\n"),
                            ("features=nosuch", f"Invalid feature specification for job {job}\n")):
            # All or nothing: the name before it is not changed either.
            self.says(1, words, "scontrol", "update", f"jobid={job}", "name=after", word)
            self.assertEqual(self.c.job(job)["JobName"], "before", word)
        self.says(1, "No changes specified\n", "scontrol", "update", f"jobid={job}")
        self.says(1, f"Job is pending execution for job {job}\n", "scontrol", "requeue", job)
        self.c.run("scancel", job)

    def test_update_of_a_node(self):
        aborted = "Request aborted\n"
        for words in (["bogus=1", "Update of this parameter is not supported: bogus=1\n" + aborted],
                      ["weight=abc", "scontrol: error: Weight value (abc) is not a valid number\n"],
                      ["state=drain", "You must specify a reason when DOWNING or DRAINING a node. Request denied\n"]):
            self.says(1, words[1], "scontrol", "update", "nodename=n1", words[0])
        r = self.c.run("scontrol", "update", "nodename=n1", "state=bogus", check=False)
        self.assertEqual((r.returncode, r.stderr.splitlines()[:2]), (1, ["Invalid input: state=bogus", "Request aborted"]))
        self.assertEqual(self.c.out("sinfo", "-h", "-n", "n1", "-o", "%T").strip(), "idle")


class Scripts(OneCluster):
    def test_not_a_script(self):
        for name, content, words in (("noshebang.sh", "echo hi\n", NO_SHEBANG),
                                     ("late.sh", "\n#!/bin/sh\n", NO_SHEBANG),
                                     ("elf", b"\x7fELF\0\1\2" * 100, NO_SHEBANG),
                                     ("empty.sh", "", "sbatch: error: Batch script is empty!\n"),
                                     ("blank.sh", "\n \n", "sbatch: error: Batch script contains only whitespace!\n"),
                                     ("nul.sh", b"#!/bin/sh\n#\0\n", "sbatch: error: The Slurm controller does not allow scripts "
                                      "that\nsbatch: error: contain a NULL character '\\0'.\n"),
                                     ("dos.sh", "#!/bin/sh\r\ntrue\r\n", "sbatch: error: Batch script contains DOS line breaks "
                                      "(\\r\\n)\nsbatch: error: instead of expected UNIX line breaks (\\n).\n")):
            self.script(name, content)
            self.refused(1, words, "sbatch", name)
        self.refused(1, "sbatch: error: Batch script is empty!\n", "sbatch", input="")
        self.refused(1, NO_SHEBANG, "sbatch", input="echo hi\n")

    def test_large_scripts(self):
        four = "#!/bin/sh\necho ran\n" + "#xxxxxxxx\n" * 400_000
        self.script("four.sh", four)
        job = self.c.sbatch("-o", "four-%j", "four.sh")
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual((self.out_dir / f"four-{job}").read_text(), "ran\n")
        self.script("five.sh", four + "#xxxxxxxx\n" * 100_000)
        self.refused(1, REFUSED + "Pathname of a file, directory or other parameter too long\n", "sbatch", "five.sh")

    def test_script_file_missing_or_a_directory(self):
        self.refused(1, "sbatch: error: Unable to open file /nonexistent.sh\n", "sbatch", "/nonexistent.sh")
        (self.out_dir / "adir").mkdir()
        self.refused(1, "sbatch: error: Batch script is empty!\n", "sbatch", "adir")

    @unittest.skipUnless(AS_ROOT, "root reads everything, and only root can be somebody else")
    def test_script_file_unreadable(self):
        path = self.script("secret.sh", "#!/bin/sh\n", 0o600)
        self.refused(1, f"sbatch: error: Unable to open file {path}\n", "sbatch", path, user=USER)

    def test_directives(self):
        self.script("pbs.sh", "#!/bin/sh\n#PBS -N named\n#PBS -l nodes=1:ppn=2,walltime=0:10:00\n"
                    "echo $SLURM_JOB_NAME $SLURM_JOB_CPUS_PER_NODE\n")
        job = self.c.sbatch("-o", "pbs-%j", "pbs.sh")
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual((self.out_dir / f"pbs-{job}").read_text(), "named 2\n")
        self.assertEqual(self.c.job(job)["TimeLimit"], "00:10:00")
        self.script("pbsbad.sh", "#!/bin/sh\n#PBS -q nosuch\ntrue\n")
        self.refused(1, "sbatch: error: invalid partition specified: nosuch\n" + REFUSED + "Invalid partition name specified\n",
                     "sbatch", "pbsbad.sh")
        self.script("badopt.sh", "#!/bin/sh\n#SBATCH --bogus=1\ntrue\n")
        self.refused(255, "sbatch: unrecognized option '--bogus=1'\nTry \"sbatch --help\" for more information\n", "sbatch",
                     "badopt.sh")

    def test_export(self):
        self.script("env.sh", "#!/bin/sh\necho ${MINE-none} ${OTHER-none} ${SLURM_EXPORT_ENV-unset} ${SLURM_JOB_ID:+in a job}\n")
        mine = {"MINE": "mine", "OTHER": "other"}
        for value, line in (("ALL", "mine other ALL in a job"), ("NONE", "none none NONE in a job"),
                            ("MINE", "mine none MINE in a job"), ("MINE=x", "x none MINE=x in a job"),
                            ("ALL,MINE=x", "x other ALL,MINE=x in a job")):
            job = self.c.sbatch("-o", "env-%j", f"--export={value}", "env.sh", env=mine)
            self.c.wait_state(job, "COMPLETED")
            self.assertEqual((self.out_dir / f"env-{job}").read_text(), line + "\n", value)


class Files(OneCluster):
    def ended(self, *args):
        job = self.c.sbatch(*args)
        self.c.wait_state(job, "FAILED", "COMPLETED")
        return self.c.job(job)

    def test_files_that_cannot_be_opened_end_the_job(self):
        (self.out_dir / "taken").mkdir()
        for args in (["-o", "/nonexistent/x"], ["-o", str(self.out_dir / "taken")], ["-o", "/dev/null", "-e", "/nonexistent/y"],
                     ["-o", "/dev/null", "-i", "/nonexistent/z"], ["-D", "/nonexistent"]):
            job = self.ended(*args, "--wrap", "touch ran")
            self.assertEqual((job["JobState"], job["ExitCode"], job["Reason"], job["Restarts"]),
                             ("FAILED", "0:53", "JobLaunchFailure", "0"), args)
        self.assertFalse((self.out_dir / "ran").exists())
        self.assertEqual(self.c.run("sbatch", "--wait", "-o", "/nonexistent/x", "ok.sh", check=False).returncode, 1)
        self.assertIn("/nonexistent/x", self.c.log("spurctld"))  # the administrator can see why
        self.assertEqual(self.c.out("sinfo", "-h", "-o", "%T").strip(), "idle")

    def test_working_directory_missing(self):
        path = self.out_dir / "wd"
        job = self.ended("-D", "/nonexistent", "-o", path, "--wrap", "pwd")
        self.assertEqual((job["JobState"], job["ExitCode"]), ("COMPLETED", "0:0"))
        self.assertEqual(path.read_text(), "slurmstepd: error: couldn't chdir to `/nonexistent': No such file or directory: "
                         "going to /tmp instead\n/tmp\n")

    def test_working_directory_gone_at_run_time(self):
        gone = self.out_dir / "gone"
        gone.mkdir()
        job = self.c.sbatch("-H", "ok.sh", cwd=self.out_dir)
        later = self.c.sbatch("-H", "--wrap", "true", cwd=gone)
        gone.rmdir()
        self.c.run("scontrol", "release", job, later)
        self.c.wait_state(job, "COMPLETED")
        self.c.wait_state(later, "FAILED")
        self.assertEqual(self.c.job(later)["ExitCode"], "0:53")

    @unittest.skipUnless(AS_ROOT, "root reads everything, and only root can be somebody else")
    def test_working_directory_unreadable(self):
        private = self.out_dir / "private"
        private.mkdir()
        private.chmod(0o700)
        path = self.out_dir / "unreadable"
        job = self.c.sbatch("-D", private, "-o", path, "--wrap", "pwd", user=USER)
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(path.read_text(), f"slurmstepd: error: couldn't chdir to `{private}': Permission denied: going to /tmp "
                         "instead\n/tmp\n")
        job = self.c.sbatch("-D", private, "--wrap", "pwd", user=USER)
        self.c.wait_state(job, "FAILED")
        self.assertEqual((self.c.job(job)["ExitCode"], os.listdir(private)), ("0:53", []))

    def test_interpreter_missing(self):
        self.script("interp.sh", "#!/nonexistent/sh\ntrue\n")
        path = self.out_dir / "interp"
        job = self.ended("-o", path, "interp.sh")
        self.assertEqual((job["JobState"], job["ExitCode"], job["Reason"]), ("FAILED", "2:0", "NonZeroExitCode"))
        self.assertEqual(path.read_text(), "slurmstepd: error: execve(): bad interpreter(/nonexistent/sh): No such file or "
                         "directory\n")

    def test_wait(self):
        for script, status in (("exit 4", 4), ("kill -9 $$", 1), ("true", 0)):
            r = self.c.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", script, check=False)
            self.assertEqual((r.returncode, r.stderr), (status, ""), script)
            self.assertRegex(r.stdout, r"^Submitted batch job \d+\n$")
        r = self.c.run("sbatch", "--wait", "-o", "/dev/null", "-a", "1-3", "--wrap", "exit $SLURM_ARRAY_TASK_ID", check=False)
        self.assertEqual(r.returncode, 3)  # the highest of the tasks

    def test_srun_files_and_programs(self):
        self.says(1, "srun: error: Could not open stdout file: No such file or directory\n", "srun", "-o",
                  "/nonexistent/x", "true")
        r = self.c.run("srun", "-D", "/nonexistent", "pwd")
        self.assertEqual(r.stdout, "/tmp\n")
        self.assertRegex(r.stderr, r"^slurmstepd-n\d: error: couldn't chdir to `/nonexistent': No such file or directory: going to "
                         r"/tmp instead\n$")
        for program, status, words in (("/nonexistent", 2, "No such file or directory"), ("/etc/passwd", 13, "Permission denied")):
            r = self.c.run("srun", program, check=False)
            self.assertEqual(r.returncode, status, r.stderr)
            self.assertIn(f"error: execve(): {program}: {words}\n", r.stderr)


class Commands(OneCluster):
    def test_options_and_words(self):
        for command, status in (("sbatch", 255), ("srun", 255), ("squeue", 1), ("sinfo", 1), ("scancel", 1)):
            self.says(status, f"{command}: unrecognized option '--bogus'\nTry \"{command} --help\" for more information\n", command,
                      "--bogus")
        for words, stderr in ((["bogus"], "invalid keyword: bogus\n"), (["show"], "too few arguments for keyword:show\n"),
                              (["show", "bogus"], "invalid entity:bogus for keyword:show \n"),
                              (["hold"], "too few arguments for keyword:hold\n"),
                              (["update", "bogus=1"], "No valid entity in update command\nInput line must include \"NodeName\", "
                               "\"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"\n")):
            self.says(1, stderr, "scontrol", *words)

    def test_formats(self):
        # Slurm complains and goes on.
        r = self.c.run("squeue", "-o", "%.5!")
        self.assertEqual((r.stdout.splitlines()[0], r.stderr), ("%.5!", "squeue: error: Invalid job format specification: !\n"))
        r = self.c.run("squeue", "-O", "bogus")
        self.assertEqual(r.stderr, "squeue: error: Invalid job format specification: bogus\n")
        r = self.c.run("sinfo", "-O", "bogus")
        self.assertEqual(r.stderr, "sinfo: error: Invalid job format specification: bogus\n")
        r = self.c.run("squeue", "-S", "P,?", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "squeue: error: Invalid sort specification: ?\n"))

    def test_parsable_and_test_only(self):
        self.assertRegex(self.c.out("sbatch", "--parsable", "-H", "ok.sh"), r"^\d+\n$")
        before = self.jobs()
        r = self.c.run("sbatch", "--test-only", "ok.sh")
        self.assertEqual(r.stdout, "")
        self.assertRegex(r.stderr, r"^sbatch: Job \d+ to start at \S+ using 1 processors on nodes n\d in partition debug\n$")
        self.assertEqual(self.jobs(), before)
        self.c.run("scancel", *before)


if __name__ == "__main__":
    unittest.main()
