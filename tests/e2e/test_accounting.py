# SPDX-License-Identifier: Apache-2.0
"""spurdbd with a real cluster: what was run is found by sacct, in SQLite and in PostgreSQL, whoever was killed meanwhile."""
import json
import os
import pathlib
import random
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


class OnBoth:
    database = ""

    def setUp(self):
        # Whatever the test takes: its jobs are looked at in the end.
        self.c = AccountingCluster(self.database, controller="terminal_job_retention_secs = 86400").start()

    def tearDown(self):
        self.c.stop()

    def ended(self, job):
        return wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "state")[0:1] and
                          self.c.sacct("-X", "-j", job, "-o", "state")[0] not in ("PENDING", "RUNNING"), 60,
                          f"job {job} has ended")

    def test_life_of_a_job(self):
        job = self.c.sbatch("-n", "2", "-J", "it's \"odd\"; DROP TABLE job", "--comment", "a|b", "--wrap", "srun -n2 -J twice true; exit 3")
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
        wait_until(lambda: self.c.sacct("-D", "-X", "-j", job, "-o", "state") == ["REQUEUED", "PENDING"], 30,
                   "both runs are recorded")
        self.assertEqual(self.c.sacct("-X", "-j", job, "-o", "state"), ["PENDING"])

    def victims(self):
        """What may die, and how it is started again."""
        return {"spurdbd": (lambda: self.c.kill("spurdbd"), self.c.start_dbd),
                "spurctld": (lambda: self.c.kill("spurctld"), self.c.start_controller)}

    def test_nothing_is_lost(self):
        """Kills under load, at random; in the end the database has each job and each batch step exactly once, and both sides
        agree on what every job used. SPUR_ACCT_KILLS=200 for as many."""
        dice = random.Random(int(os.environ.get("SPUR_ACCT_SEED", "1")))
        victims, jobs = self.victims(), []
        for _ in range(int(os.environ.get("SPUR_ACCT_KILLS", "9"))):
            jobs += [self.c.sbatch("--wrap", "true") for _ in range(dice.randrange(1, 8))]
            time.sleep(dice.random() / 5)
            name = dice.choice(sorted(victims))
            kill, start = victims[name]
            kill()
            if name != "spurctld":  # its absence is noticed by nobody
                jobs += [self.c.sbatch("--wrap", "true") for _ in range(dice.randrange(0, 4))]
            start()
        wait_until(lambda: not self.c.out("squeue", "-h").strip(), 300, "all jobs have ended")
        # The controller's own books, then the database's alone.
        ours = sorted(self.c.out("squeue", "-h", "-t", "all", "-o", "%A|%T|%S|%e|%C").split())
        self.assertEqual(sorted(line.split("|")[0] for line in ours), sorted(str(j) for j in jobs))
        settled = lambda: (r := self.c.run("sacct", "-n", "-P", "-D", "-o", "jobidraw,state", check=False)).returncode == 0 and \
            len(r.stdout.split()) == 2 * len(jobs) and r.stdout.count("COMPLETED") == 2 * len(jobs)
        wait_until(settled, 120, "all are recorded")
        self.c.kill("spurctld")
        theirs = sorted(self.c.out("sacct", "-n", "-P", "-X", "-D", "-o", "jobidraw,state,start,end,alloccpus").split())
        difference = set(ours) ^ set(theirs)
        print(f"{len(jobs)} jobs, {len(difference)} difference", flush=True)
        self.assertEqual(theirs, ours)
        steps = sorted(s for s in self.c.sacct("-D", "-o", "jobidraw") if "." in s)
        self.assertEqual(steps, sorted(f"{j}.batch" for j in jobs))


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
                            (["-u", "nobody-like-this"], "Invalid user id"), (["-B"], "-j"), (["-c"], "Slurm job completion is disabled"),
                            (["-f", "/nosuch"], "is not a valid file"), (["-F", "bogus"], "Invalid job flag bogus")):
            result = self.c.run("sacct", *args, check=False)
            self.assertEqual(result.returncode, 1, args)
            self.assertIn(words, result.stderr, args)

    def test_an_older_schema_goes_forward(self):
        """As the first version left it. What was there then is older than a day, so it is kept when it is deleted."""
        answers = lambda: self.c.run("sacctmgr", "-n", "show", "qos", check=False).returncode == 0
        wait_until(lambda: self.c.run("sacctmgr", "-i", "add", "account", "before", check=False).returncode == 0, 30, "the cluster is known")
        self.c.kill("spurdbd", signal.SIGTERM)
        base = self.c.dir / "state/accounting.sqlite"
        subprocess.run(["sqlite3", base, "ALTER TABLE entity DROP COLUMN created; ALTER TABLE entity DROP COLUMN deleted; "
                        "UPDATE spur_schema SET version = 1"], check=True)
        for _ in range(2):
            out = self.c.out(BIN / "spurdbd", "-f", self.c.conf, "--migrate", "--dry-run")
            self.assertIn("schema version 1, newest 2", out)
            self.assertIn("deleted", out)
        self.c.out(BIN / "spurdbd", "-f", self.c.conf, "--migrate")
        self.assertIn("nothing to do", self.c.out(BIN / "spurdbd", "-f", self.c.conf, "--migrate", "--dry-run"))
        self.c.start_dbd()
        wait_until(answers, 30, "spurdbd answers")
        names = lambda *words: self.c.out("sacctmgr", "-nP", "show", "account", "format=account,flags", *words).split("\n")
        self.c.out("sacctmgr", "-i", "add", "account", "young")
        self.c.out("sacctmgr", "-i", "delete", "account", "before,young")
        self.assertEqual(names("where", "name=before,young"), [""])
        self.assertEqual(names("withdeleted", "where", "name=before,young"), ["before|DELETED", ""])
        self.c.kill("spurdbd")
        self.c.start_dbd()
        wait_until(answers, 30, "spurdbd answers")
        self.assertEqual(names("withdeleted", "where", "name=before,young"), ["before|DELETED", ""])
        self.c.out("sacctmgr", "-i", "add", "account", "before")
        self.assertEqual(names("withdeleted", "where", "name=before,young"), ["before|", ""])

    def test_migration(self):
        out = self.c.out(BIN / "spurdbd", "-f", self.c.conf, "--migrate", "--dry-run")
        self.assertIn("nothing to do", out)
        self.c.kill("spurdbd", signal.SIGTERM)
        base = self.c.dir / "state/accounting.sqlite"
        subprocess.run(["sqlite3", base, "UPDATE spur_schema SET version = 999"], check=True)
        result = self.c.run(BIN / "spurdbd", "-D", "-f", self.c.conf, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("schema version 999", result.stderr)

    def test_archive(self):
        job = self.c.sbatch("--wrap", "true")
        wait_until(lambda: len(self.c.sacct("-j", job, "-o", "state")) == 2, 60, "job and step are recorded")
        base = self.c.dir / "state/accounting.sqlite"
        count = lambda: int(subprocess.run(["sqlite3", base, "SELECT count(*) FROM job"], check=True, capture_output=True).stdout)
        wait_until(lambda: "COMPLETED" in self.c.sacct("-X", "-j", job, "-o", "state"), 30, "it has ended")
        self.c.kill("spurdbd", signal.SIGTERM)
        self.assertEqual(count(), 1)
        subprocess.run(["sqlite3", base, "PRAGMA busy_timeout=5000; UPDATE job SET ended = 1000000"], check=True, capture_output=True)
        self.c.conf.write_text(self.c.conf.read_text().replace(
            "[accounting]", f'[accounting]\nkeep_days = 30\narchive_dir = "{self.c.dir}/archive"'))
        self.c.start_dbd()
        files = wait_until(lambda: list((self.c.dir / "archive").glob("*.archive")), 30, "the job is archived")
        wait_until(lambda: count() == 0, 30, "it has left the database")
        self.c.kill("spurdbd", signal.SIGTERM)
        out = self.c.out(BIN / "spurdbd", "-f", self.c.conf, "--load-archive", files[0])
        self.assertIn("1 jobs", out)
        self.assertEqual(count(), 1)
        files[0].write_text("garbage")
        self.assertEqual(self.c.run(BIN / "spurdbd", "-f", self.c.conf, "--load-archive", files[0], check=False).returncode, 1)

    def test_archive_by_hand(self):
        """sacctmgr archive dump and load, show and clear stats, while spurdbd runs."""
        job = self.c.sbatch("--wrap", "true")
        wait_until(lambda: len(self.c.sacct("-j", job, "-o", "state")) == 2, 60, "job and step are recorded")
        wait_until(lambda: "COMPLETED" in self.c.sacct("-X", "-j", job, "-o", "state"), 30, "it has ended")
        base = self.c.dir / "state/accounting.sqlite"
        sql = lambda text: subprocess.run(["sqlite3", base, "PRAGMA busy_timeout=5000; " + text], check=True, capture_output=True).stdout
        count = lambda where="1": int(sql(f"SELECT count(*) FROM job WHERE {where}").split()[-1])
        wait_until(lambda: count("ended > 0") == 1, 30, "the database has its end, of which the controller told first")
        sql("UPDATE job SET ended = 1000000")
        archive = self.c.dir / "by-hand"
        archive.mkdir(mode=0o700)
        self.assertIn("nothing is to leave", self.c.run("sacctmgr", "-i", "archive", "dump", f"directory={archive}", check=False).stderr)
        self.assertIn("SUCCESS", self.c.run("sacctmgr", "-i", "archive", "dump", f"directory={archive}", "jobs", "purgejobafter=1hour").stderr)
        self.assertEqual(count(), 0)
        files = list(archive.glob("*.archive"))
        self.assertEqual(len(files), 1)
        self.assertEqual(self.c.run("sacctmgr", "archive", "load", f"file={files[0]}").stdout, "SUCCESS\n")
        self.assertEqual(count(), 1)
        self.assertEqual(self.c.run("sacctmgr", "archive", "load", "file=/nosuch", check=False).returncode, 1)
        self.assertIn("denied", self.c.run("sacctmgr", "-i", "archive", "dump", f"directory={archive}", "jobs", "purgejobafter=1hour",
                                           check=False, user="daemon").stderr)
        stats = self.c.out("sacctmgr", "show", "stats")
        self.assertRegex(stats, r"\tArchive +\( +\d+\) count:[34] ")
        self.c.run("sacctmgr", "clear", "stats")
        self.assertNotIn("Archive", self.c.out("sacctmgr", "show", "stats"))

    def test_raw_usage(self):
        self.c.run("sacctmgr", "-i", "add", "account", "lab")
        self.c.run("sacctmgr", "-i", "add", "user", "root", "account=lab")
        usage = lambda account: int(self.c.out("sshare", "-nP", "-A", account, "-o", "rawusage").split()[0])
        wait_until(lambda: self.c.out("sshare", "-nP", "-A", "lab", "-o", "rawusage").split(), 30, "the controller knows the account")
        self.ended(self.c.sbatch("-A", "lab", "--wrap", "sleep 2"))
        self.assertGreater(usage("lab"), 0)
        refused = self.c.run("sacctmgr", "-i", "modify", "account", "lab", "set", "rawusage=5", check=False)
        self.assertEqual((refused.returncode, refused.stderr), (1, "sacctmgr: error: Raw usage can only be set to 0 (zero)\n"))
        self.assertNotEqual(self.c.run("sacctmgr", "-i", "modify", "account", "lab", "set", "rawusage=0", check=False, user="daemon").returncode, 0)
        self.assertGreater(usage("lab"), 0)
        self.assertEqual(self.c.out("sacctmgr", "-i", "modify", "account", "lab", "set", "rawusage=0"),
                         "No cluster specified, resetting on local cluster test\n")
        self.assertEqual((usage("lab"), usage("root")), (0, 0))

    def test_reports(self):
        job = self.c.sbatch("-A", "physics", "--wrap", "sleep 2")
        self.ended(job)
        # A report ends at the nearest hour: here it is always the next one.
        self.c.env["TZ"] = "HERE-0:30" if time.gmtime().tm_min < 30 else "HERE0"
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

    def victims(self):
        return {**super().victims(), "postgres": (self.server.kill, self.server.start)}

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
