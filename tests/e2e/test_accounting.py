# SPDX-License-Identifier: Apache-2.0
"""spurdbd with a real cluster: what was run is found by sacct, in SQLite and in PostgreSQL, whoever was killed meanwhile."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from spur_cluster import BIN, SpurCluster, free_port, wait_until


class Postgres:
    """A server of Debian's package in a directory of its own, on a unix socket only."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="spur-pg-"))
        if os.geteuid() == 0:
            shutil.chown(self.dir, "postgres", "postgres")
        self.tools = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self._run("initdb", "-A", "trust", "-U", "spur", "-D", self.dir / "data")
        self.url = f"postgresql://spur@/postgres?host={self.dir}"
        self.start()

    def _run(self, tool, *args):
        command = [str(self.tools / tool)] + [str(a) for a in args]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + command
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        self._run("pg_ctl", "-w", "-D", self.dir / "data", "-l", self.dir / "log", "-o",
                  f"-k {self.dir} -c listen_addresses= -c shared_buffers=32MB", "start")

    def kill(self):
        pid = int((self.dir / "data/postmaster.pid").read_text().split()[0])
        self._run("pg_ctl", "-D", self.dir / "data", "-m", "immediate", "stop")
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 30, "PostgreSQL is gone")

    def stop(self):
        try:
            self._run("pg_ctl", "-w", "-D", self.dir / "data", "-m", "immediate", "stop")
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(self.dir, ignore_errors=True)


class AccountingCluster(SpurCluster):
    def __init__(self, database="", **kw):
        port = free_port()
        extra = f'[accounting]\nhost = "127.0.0.1"\nlisten_addr = "127.0.0.1:{port}"\n'
        extra += 'store = ["job_script", "job_env"]\n'
        if database:
            extra += f'database_url = "{database}"\n'
        super().__init__(extra=extra, **kw)

    def start(self):
        self.start_dbd()
        return super().start()

    def start_dbd(self):
        self._spawn("spurdbd", BIN / "spurdbd", "-D", "-f", self.conf)

    def sacct(self, *args, **kw):
        return self.out("sacct", "-n", "-P", *args, **kw).split()

    def in_database(self, job, *what):
        """The fields once the controller does not know the job: only the database can tell."""
        return self.sacct("-j", job, "-o", ",".join(what))


class OnBoth:
    database = ""

    def setUp(self):
        self.c = AccountingCluster(self.database).start()

    def tearDown(self):
        self.c.stop()

    def ended(self, job):
        return wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "state")[0:1] and
                          self.c.sacct("-X", "-j", job, "-o", "state")[0] not in ("PENDING", "RUNNING"), 60,
                          f"job {job} has ended")

    def test_life_of_a_job(self):
        job = self.c.sbatch("-J", "it's \"odd\"; DROP TABLE job", "--comment", "a|b", "--wrap", "srun -n2 -J twice true; exit 3")
        # Seen at once, whatever the database knows.
        self.assertEqual(len(self.c.sacct("-X", "-j", job, "-o", "jobid")), 1)
        self.ended(job)
        rows = wait_until(lambda: (r := self.c.sacct("-j", job, "-o", "jobid,state,exitcode,ntasks")) and len(r) == 3 and r,
                          30, "job and both steps are recorded")
        self.assertEqual(rows, [f"{job}|FAILED|3:0|", f"{job}.batch|FAILED|3:0|1", f"{job}.0|COMPLETED|0:0|2"])
        out = self.c.out("sacct", "-n", "-P", "-X", "-j", job, "-o", "jobname,comment,derivedexitcode")
        self.assertEqual(out, "it's \"odd\"; DROP TABLE job|a|b|0:0\n")
        self.assertEqual(self.c.sacct("-j", f"{job}.batch", "-o", "jobid"), [f"{job}.batch"])
        self.assertIn("srun -n2", self.c.out("sacct", "-B", "-j", job))
        self.assertIn("PATH=", self.c.out("sacct", "--env-vars", "-j", job))
        data = json.loads(self.c.out("sacct", "--json", "-j", job))
        self.assertEqual([j["job_id"] for j in data["jobs"]], [job])
        self.assertEqual(data["jobs"][0]["state"]["current"], ["FAILED"])
        self.assertEqual(len(data["jobs"][0]["steps"]), 2)

    def test_arrays_and_cancelled_jobs(self):
        job = self.c.sbatch("-a", "1-3", "--wrap", "exit $((SLURM_ARRAY_TASK_ID - 1))")
        wait_until(lambda: sorted(self.c.sacct("-X", "-j", job, "-o", "jobid,state")) ==
                   [f"{job}_1|COMPLETED", f"{job}_2|FAILED", f"{job}_3|FAILED"], 60, "all tasks are recorded")
        self.assertEqual(self.c.sacct("-X", "-j", f"{job}_2", "-o", "jobid,exitcode"), [f"{job}_2|1:0"])
        other = self.c.sbatch("--wrap", "sleep 100")
        wait_until(lambda: self.c.sacct("-X", "-j", other, "-o", "state") == ["RUNNING"], 30, "it runs")
        self.assertIn(str(other), self.c.sacct("-X", "-s", "R", "-o", "jobid"))
        self.c.run("scancel", other)
        wait_until(lambda: self.c.out("sacct", "-n", "-P", "-X", "-j", other, "-o", "state").startswith("CANCELLED by"),
                   30, "it is cancelled")
        self.assertNotIn(str(other), self.c.sacct("-X", "-s", "R", "-o", "jobid"))

    def test_requeued_runs(self):
        job = self.c.sbatch("--requeue", "--wrap", "sleep 100")
        wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "state") == ["RUNNING"], 30, "it runs")
        self.c.run("scontrol", "requeuehold", job)
        runs = wait_until(lambda: (r := self.c.sacct("-D", "-X", "-j", job, "-o", "state")) and len(r) == 2 and r, 30,
                          "two runs are recorded")
        self.assertEqual(runs, ["REQUEUED", "PENDING"])
        self.assertEqual(self.c.sacct("-X", "-j", job, "-o", "state"), ["PENDING"])

    def test_nothing_is_lost(self):
        """Kills of everybody under load; in the end each job and each batch step is there exactly once."""
        jobs = []
        for round_ in range(6):
            jobs += [self.c.sbatch("--wrap", "true") for _ in range(10)]
            victim = ("spurdbd", "spurctld")[round_ % 2]
            self.c.kill(victim)
            if victim == "spurctld":
                self.c.start_controller()
            elif round_ % 4 == 0:
                jobs += [self.c.sbatch("--wrap", "true") for _ in range(5)]
                self.c.start_dbd()
            else:
                self.c.start_dbd()
        wait_until(lambda: not self.c.out("squeue", "-h").strip(), 120, "all jobs have ended")
        expected = sorted(f"{j}|COMPLETED" for j in jobs)
        wait_until(lambda: sorted(self.c.sacct("-X", "-D", "-o", "jobid,state")) == expected, 60, "all are recorded once")
        steps = self.c.sacct("-D", "-o", "jobid")
        self.assertEqual(sorted(s for s in steps if "." in s), sorted(f"{j}.batch" for j in jobs))


class Sqlite(OnBoth, unittest.TestCase):
    def test_without_the_database(self):
        self.c.kill("spurdbd")
        job = self.c.sbatch("--wrap", "true")
        wait_until(lambda: not self.c.out("squeue", "-h").strip(), 60, "the job has ended")
        self.assertEqual(self.c.run("sacct", "-n", check=False).returncode, 1)
        self.c.start_dbd()
        wait_until(lambda: self.c.run("sacct", check=False).returncode == 0, 30, "spurdbd answers")
        wait_until(lambda: f"{job}.batch" in self.c.sacct("-j", job, "-o", "jobid"), 30, "what was missed has come")

    def test_bad_requests(self):
        for args, words in ((["-j", "abc"], "Bad job/step specified: abc"), (["-s", "bogus"], "unrecognized job state value 'bogus'"),
                            (["-S", "never"], "Invalid time specification"), (["-o", "bogus"], "Invalid field requested"),
                            (["-u", "nobody-like-this"], "Invalid user id"), (["-B"], "-j"), (["-c"], "not supported yet")):
            result = self.c.run("sacct", *args, check=False)
            self.assertEqual(result.returncode, 1, args)
            self.assertIn(words, result.stderr, args)

    def test_migration(self):
        out = self.c.out(BIN / "spurdbd", "-f", self.c.conf, "--migrate", "--dry-run")
        self.assertIn("nothing to do", out)
        self.c.kill("spurdbd", signal.SIGTERM)
        base = self.c.dir / "state/accounting.sqlite"
        subprocess.run(["sqlite3", base, "UPDATE spur_schema SET version = 999"], check=True)
        result = self.c.run(BIN / "spurdbd", "-D", "-f", self.c.conf, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("schema version 999", result.stderr)

    def test_reports(self):
        job = self.c.sbatch("-A", "physics", "--wrap", "sleep 2")
        self.ended(job)
        out = self.c.out("sreport", "-P", "-n", "-t", "Seconds", "cluster", "AccountUtilizationByUser", "start=now-2hours",
                         "end=now+1hour")
        self.assertIn("|physics|root|", out)
        self.assertIn("Cluster Utilization", self.c.out("sreport", "cluster", "utilization", "start=now-2hours", "end=now+1hour"))


class PostgresDatabase(OnBoth, unittest.TestCase):
    def setUp(self):
        self.server = Postgres()
        self.database = self.server.url
        super().setUp()

    def tearDown(self):
        super().tearDown()
        self.server.stop()

    def test_database_dies(self):
        before = [self.c.sbatch("--wrap", "true") for _ in range(5)]
        self.server.kill()
        during = [self.c.sbatch("--wrap", "true") for _ in range(5)]
        wait_until(lambda: not self.c.out("squeue", "-h").strip(), 60, "jobs go on")
        self.assertEqual(self.c.run("sacct", check=False).returncode, 1)
        self.server.start()
        expected = sorted(f"{j}|COMPLETED" for j in before + during)
        wait_until(lambda: (r := self.c.run("sacct", "-n", "-P", "-X", "-D", "-o", "jobid,state", check=False)).returncode == 0
                   and sorted(r.stdout.split()) == expected, 60, "all are recorded once")


if __name__ == "__main__":
    unittest.main()
