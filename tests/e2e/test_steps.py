# SPDX-License-Identifier: Apache-2.0
"""Steps that share a job: what each is given, who waits for whom, and what srun says about it."""
import re
import subprocess
import unittest

from spur_cluster import SpurCluster, wait_until


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
