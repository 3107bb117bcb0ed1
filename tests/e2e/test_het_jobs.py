# SPDX-License-Identifier: Apache-2.0
"""Heterogeneous jobs: submitted, started, shown, cancelled and requeued as one, across crashes of the controller."""
import signal
import unittest

from spur_cluster import SpurCluster, wait_until


class HetJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SpurCluster(nodes=3, cpus=4, controller="kill_wait_secs = 2")
        cls.cluster.start()
        cls.cluster.wait_idle()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster
        self.c.run("scancel", "-u", "root", check=False)
        self.c.wait_empty()
        self.c.run("sbatch", "-W", "-N3", "-o", "/dev/null", "--wrap", "true")  # the agents are back from a restart

    def shown(self, job, what="%i %T"):
        lines = self.c.out("squeue", "-h", "-t", "all", "-o", f"%i|{what}", "-j", job).strip().splitlines()
        return [line.split("|", 1)[1] for line in sorted(lines)]

    def text(self, name):
        path = self.c.dir / "out" / name
        return path.read_text() if path.exists() else ""

    def wait_for(self, job, *lines):
        wait_until(lambda: self.shown(job) == list(lines), 30, f"{lines} (is {self.shown(job)})")

    def test_runs_and_is_told_of_its_components(self):
        c = self.c
        job = c.sbatch("-n1", "-t", "5", "-J", "lead", "-o", "env-%j", ":", "-N2", "-n4", "-J", "follow", "--wrap",
                       "env | grep ^SLURM | sort; echo end; exit 3")
        self.wait_for(job, f"{job}+0 FAILED", f"{job}+1 FAILED")
        wait_until(lambda: "end" in self.text(f"env-{job}"), 20, "the output")
        said = dict(line.split("=", 1) for line in self.text(f"env-{job}").splitlines() if "=" in line)
        self.assertEqual(said["SLURM_HET_SIZE"], "2")
        self.assertEqual(said["SLURM_JOB_ID"], str(job))
        self.assertEqual(said["SLURM_JOB_ID_HET_GROUP_1"], str(job + 1))
        self.assertEqual(said["SLURM_JOB_NAME_HET_GROUP_0"], "lead")
        self.assertEqual(said["SLURM_JOB_NAME_HET_GROUP_1"], "follow")
        self.assertEqual(said["SLURM_JOB_NUM_NODES_HET_GROUP_1"], "2")
        self.assertEqual(said["SLURM_NTASKS_HET_GROUP_1"], "4")
        self.assertEqual(said["SLURM_JOB_NODELIST_HET_GROUP_0"], said["SLURM_JOB_NODELIST"])
        self.assertNotIn(said["SLURM_JOB_NODELIST"], c.out("scontrol", "show", "hostnames",
                                                           said["SLURM_JOB_NODELIST_HET_GROUP_1"]).split())
        follower = c.job(job + 1)
        self.assertEqual((follower["HetJobId"], follower["HetJobOffset"], follower["HetJobIdSet"]),
                         (str(job), "1", f"{job}-{job + 1}"))
        self.assertEqual((follower["ExitCode"], follower["TimeLimit"]), ("3:0", "00:05:00"))
        self.assertEqual(self.text(f"slurm-{job + 1}.out"), "", "only the first component runs the script")

    def test_components_of_the_script(self):
        c = self.c
        (c.dir / "out" / "het.sh").write_text("#!/bin/sh\n#SBATCH -n1 -J x -t 3\n#SBATCH hetjob\n#SBATCH -n2 -J y\nsleep 60\n")
        job = c.sbatch("-H", "het.sh")
        self.assertEqual(self.shown(job, "%i %j %C %l"), [f"{job}+0 x 1 3:00", f"{job}+1 y 2 3:00"])
        two = c.sbatch("-H", "-J", "one", ":", "-J", "two", ":", "-J", "three", "het.sh")
        self.assertEqual(self.shown(two, "%j %C"), ["one 1", "two 2", "three 1"])

    def test_waits_until_all_fit(self):
        c = self.c
        blocker = c.sbatch("-N1", "-n4", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 100")
        c.wait_state(blocker, "RUNNING")
        job = c.sbatch("-N1", "--exclusive", "-t", "5", "-o", "/dev/null", ":", "-N2", "--exclusive", "--wrap", "sleep 100")
        wait_until(lambda: self.shown(job, "%i %r") == [f"{job}+0 Resources", f"{job}+1 Resources"], 20, "a reason")
        starts = self.shown(job, "%S")
        self.assertEqual(starts[0], starts[1])
        self.assertNotEqual(starts[0], "N/A")
        c.run("scancel", blocker)
        self.wait_for(job, f"{job}+0 RUNNING", f"{job}+1 RUNNING")
        began = self.shown(job, "%S")
        self.assertEqual(began[0], began[1])

    def test_cancelled(self):
        c = self.c
        job = c.sbatch("-H", "-n1", "-o", "/dev/null", ":", "-n1", "--wrap", "sleep 100")
        one = c.run("scancel", f"{job}+1", check=False)
        self.assertEqual(one.returncode, 60)
        self.assertIn(f"Kill job error on job id {job}+1: Operation not permitted on individual component of "
                      "heterogeneous job", one.stderr)
        c.run("scontrol", "release", job)
        self.wait_for(job, f"{job}+0 RUNNING", f"{job}+1 RUNNING")
        c.run("scancel", f"{job}+1")
        self.wait_for(job, f"{job}+0 RUNNING", f"{job}+1 CANCELLED")
        c.run("scancel", job)
        self.wait_for(job, f"{job}+0 CANCELLED", f"{job}+1 CANCELLED")

    def test_requeued_across_a_crash_of_the_controller(self):
        c = self.c
        job = c.sbatch("-n1", "-o", "runs", "--open-mode=append", ":", "-N2", "-n2", "--wrap",
                       "echo run ${SLURM_RESTART_COUNT:-0}; sleep 100")
        self.wait_for(job, f"{job}+0 RUNNING", f"{job}+1 RUNNING")
        c.kill("spurctld", signal.SIGKILL)
        c.start_controller()
        self.wait_for(job, f"{job}+0 RUNNING", f"{job}+1 RUNNING")
        c.run("scontrol", "requeue", job)
        wait_until(lambda: "run 1" in self.text("runs"), 30, "the second run")
        self.wait_for(job, f"{job}+0 RUNNING", f"{job}+1 RUNNING")
        self.assertEqual(c.job(job + 1)["Restarts"], "1")
        late = c.run("scontrol", "requeue", job + 1, check=False)
        self.assertIn("Job not heterogeneous job leader", late.stdout + late.stderr)

    def test_a_submit_survives_whole_or_not_at_all(self):
        c = self.c
        before = None
        for _ in range(3):
            job = c.sbatch("-H", "-n1", ":", "-n1", ":", "-n1", "--wrap", "true")
            c.kill("spurctld", signal.SIGKILL)
            c.start_controller()
            self.assertEqual(self.shown(job), [f"{job}+{i} PENDING" for i in range(3)])
            if before:
                self.assertEqual(job, before + 3)
            before = job

    def test_refused(self):
        c = self.c
        for line, message in ((["-a", "1-3", "-n1", ":", "-n1"], "Invalid job array specification"),
                              (["-n1", ":", "-p", "nosuch"], "Invalid partition name specified"),
                              (["-w", c.names[0], ":", "-w", c.names[0]], "Invalid node name specified")):
            refused = c.run("sbatch", *line, "--wrap", "true", check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"sbatch: error: Batch job submission failed: {message}", refused.stderr)
        self.assertEqual(c.out("squeue", "-h"), "")

    def test_test_only(self):
        said = self.c.run("sbatch", "--test-only", "-N1", ":", "-N2", "-n3", "--wrap", "true")
        self.assertRegex(said.stderr, r"Job \d+ to start at \S+ using 4 processors on nodes \S+ in partition \S+")

    def test_steps(self):
        c = self.c
        (c.dir / "out" / "steps.sh").write_text("""#!/bin/sh
#SBATCH -n1 -t 2 -o steps.out
#SBATCH hetjob
#SBATCH -N2 -n2
srun -l sh -c 'echo A $SLURM_JOB_ID $SLURM_PROCID'
srun -l --het-group=1 sh -c 'echo B $SLURM_JOB_ID $SLURM_PROCID $SLURM_NTASKS'
srun -l --het-group=0,1 sh -c 'echo C $SLURM_JOB_ID $SLURM_PROCID $SLURM_NTASKS $SLURM_NODEID $SLURM_NNODES'
srun -l sh -c 'echo D $SLURM_PROCID' : sh -c 'echo E $SLURM_PROCID; exit 7'
echo rc $?
srun --het-group=5 true
echo rc $?
""")
        job = c.sbatch("steps.sh")
        c.wait_state(job, "COMPLETED")
        said = sorted(self.text("steps.out").splitlines())
        for line in (f"0: A {job} 0", f"0: B {job} 0 2", f"1: B {job} 1 2", f"0: C {job} 0 3 0 3", f"1: C {job} 1 3 1 3",
                     f"2: C {job} 2 3 2 3", "0: D 0", "1: E 1", "2: E 2", "rc 7", "rc 1",
                     "srun: error: Requested het-group offset exceeds highest hetjob index (5 > 1)"):
            self.assertIn(line, said)

    def test_an_allocation_with_several_programs(self):
        c = self.c
        ran = c.run("srun", "-l", "-n1", "sh", "-c", "echo a $SLURM_PROCID; exit 3", ":", "-n2", "sh", "-c",
                    "echo b $SLURM_PROCID $SLURM_HET_SIZE; exit 5", check=False)
        self.assertEqual(ran.returncode, 5, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()), ["0: a 0", "1: b 1 2", "2: b 2 2"])
        c.wait_empty()

    def test_edited_by_component(self):
        c = self.c
        job = c.sbatch("-H", "-n1", "-t", "5", "-J", "a", ":", "-n2", "-J", "b", "--wrap", "true")
        c.run("scontrol", "update", f"jobid={job}", "timelimit=7")
        c.run("scontrol", "update", f"jobid={job}+1", "name=z")
        self.assertEqual(self.shown(job, "%j %l %C"), ["a 7:00 1", "z 7:00 2"])


if __name__ == "__main__":
    unittest.main()
