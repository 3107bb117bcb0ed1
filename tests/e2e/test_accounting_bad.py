# SPDX-License-Identifier: Apache-2.0
"""Accounting under bad conditions: names of all kinds, what is in use, databases that refuse. Each has a clear error, nothing is lost, and
jobs go on."""
import os
import signal
import sqlite3
import subprocess
import unittest

from spur_cluster import BIN, wait_until
from test_accounting import AccountingCluster, Postgres

NASTY = ["o'brien", 'say "hi"', "x'); DROP TABLE job; --", "two\nlines", "tab\there", "\\backslash", "$(reboot)", "%s%n", "ünïcode", "a" * 900]


class Names(unittest.TestCase):
    def setUp(self):
        self.c = AccountingCluster().start()
        self.addCleanup(self.c.stop)

    def test_names_of_jobs(self):
        """Whatever bytes a job's name and comment have, the job runs and its history has them."""
        jobs = {}
        for name in NASTY:
            jobs[self.c.sbatch("-J", name, "--comment", name, "--wrap", "true")] = name
        long = self.c.run("sbatch", "-J", "a" * 10000, "--wrap", "true", check=False)
        self.assertNotEqual(long.returncode, 0)
        self.assertTrue(long.stderr.startswith("sbatch: error: "))
        raw = self.c.run("sh", "-c", "sbatch --parsable -J \"$(printf 'not\\377utf8')\" --wrap true").stdout.strip()
        wait_until(lambda: len(set(self.c.sacct("-X", "-s", "CD", "-S", "today", "-E", "now", "-o", "jobid"))) == len(NASTY) + 1, 60,
                   "all are recorded")
        for job, name in jobs.items():
            shown = self.c.out("sacct", "-nP", "-X", "-j", job, "-o", "comment").rstrip("\n")
            self.assertNotIn("\x1b", shown)
            if name.isprintable() and name.isascii():
                self.assertEqual(shown, name)
        self.assertIn("not", self.c.out("sacct", "-nP", "-X", "-j", raw, "-o", "jobname"))
        # By name they are found again, and the tables are all there.
        self.assertEqual(self.c.sacct("-X", "--name", NASTY[2], "-o", "state"), ["COMPLETED"])
        self.assertEqual(self.c.run("sacctmgr", "-n", "show", "qos").returncode, 0)

    def test_names_of_accounts(self):
        for name in ("two\nlines", "bell\a", "a" * 10000, ""):
            result = self.c.run("sacctmgr", "-i", "add", "account", name, check=False)
            self.assertNotEqual(result.returncode, 0, name[:20])
            self.assertTrue(result.stdout + result.stderr)
        raw = self.c.run("sh", "-c", "sacctmgr -i add account \"$(printf 'x\\377')\" >/dev/null 2>&1", check=False)
        self.assertNotEqual(raw.returncode, 0)
        for name in ("o'brien", "x'); drop table entity; --"):
            self.c.run("sacctmgr", "-i", "add", "account", name)
        shown = self.c.out("sacctmgr", "-nP", "show", "account", "format=account").split("\n")
        self.assertIn("x`); drop table entity; --", [line.strip() for line in shown])

    def test_names_of_all_else(self):
        """What is no name is refused before anything is written; what is only odd is kept as it is."""
        self.c.run("sacctmgr", "-i", "add", "account", "lab")
        before = self.c.out("sacctmgr", "-nP", "show", "transactions", "format=action,where,info")
        kinds = {"user": ["account=lab"], "qos": [], "cluster": [], "resource": ["server=s", "count=1", "servertype=t"]}
        for kind, words in kinds.items():
            for name in ("two\nlines", "bell\a", "a" * 10000):
                result = self.c.run("sacctmgr", "-i", "add", kind, name, *words, check=False)
                self.assertNotEqual(result.returncode, 0, (kind, name[:20]))
                self.assertTrue(result.stdout + result.stderr, (kind, name[:20]))
            raw = self.c.run("sh", "-c", f"sacctmgr -i add {kind} \"$(printf 'x\\377')\" {' '.join(words)} >/dev/null 2>&1", check=False)
            self.assertNotEqual(raw.returncode, 0, kind)
        for key in ("two\nlines", "a" * 10000):
            self.assertNotEqual(self.c.run("sacctmgr", "-i", "add", "user", "root", f"wckey={key}", check=False).returncode, 0)
        self.assertEqual(self.c.out("sacctmgr", "-nP", "show", "transactions", "format=action,where,info"), before)
        odd = "x'); drop table entity; --"
        self.c.run("sacctmgr", "-i", "add", "qos", odd)
        self.c.run("sacctmgr", "-i", "add", "user", odd, "account=lab")
        self.c.run("sacctmgr", "-i", "add", "user", "root", f"wckey={odd}")
        kept = odd.replace("'", "`")
        for kind, column in (("qos", "name"), ("user", "user"), ("wckey", "wckey")):
            shown = self.c.out("sacctmgr", "-nP", "show", kind, f"format={column}").split("\n")
            self.assertIn(kept, [line.strip() for line in shown], kind)
        # They are there after a restart, too.
        self.c.kill("spurdbd", signal.SIGKILL)
        self.c.start_dbd()
        wait_until(lambda: kept in self.c.run("sacctmgr", "-nP", "show", "qos", "format=name", check=False).stdout, 30, "it is read again")

    def test_a_cycle_of_parents(self):
        self.c.run("sacctmgr", "-i", "add", "account", "a")
        self.c.run("sacctmgr", "-i", "add", "account", "b", "parent=a")
        for account, parent in (("a", "a"), ("root", "b")):
            result = self.c.run("sacctmgr", "-i", "modify", "account", account, "set", f"parent={parent}", check=False)
            self.assertNotEqual(result.returncode, 0, (account, parent))
        # Below its own child: the child takes its place first, as in Slurm, so there is never a circle.
        self.c.run("sacctmgr", "-i", "modify", "account", "a", "set", "parent=b", check=False)
        tree = self.c.out("sacctmgr", "-nP", "show", "assoc", "format=account,parentname", "tree")
        self.assertIn("root", tree)
        rows = dict(line.strip().split("|")[:2] for line in tree.strip().split("\n") if line.strip())
        at, seen = "a", set()
        while at and at != "root" and at in rows:
            self.assertNotIn(at, seen)
            seen.add(at)
            at = rows[at]


class InUse(unittest.TestCase):
    def setUp(self):
        self.c = AccountingCluster()
        conf = self.c.conf.read_text()
        self.c.write_conf(conf.replace("[accounting]\n", '[accounting]\nenforce = ["associations", "limits", "qos"]\n'))
        self.c.start()
        self.addCleanup(self.c.stop)
        self.c.run("sacctmgr", "-i", "add", "account", "used")
        self.c.run("sacctmgr", "-i", "add", "qos", "fast")
        self.c.run("sacctmgr", "-i", "add", "user", "root", "account=used", "qos=normal,fast")

    def test_account_and_qos_of_a_running_job(self):
        job = wait_until(lambda: (r := self.c.run("sbatch", "--parsable", "-A", "used", "-q", "fast", "--wrap", "sleep 60", check=False))
                         .returncode == 0 and r.stdout.strip(), 30, "the controller knows the account")
        wait_until(lambda: self.c.out("squeue", "-h", "-j", job, "-o", "%T").strip() == "RUNNING", 30, "it runs")
        wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "account") == ["used"], 30, "it is recorded")
        for words in (["account", "used"], ["user", "root", "account=used"], ["qos", "fast"]):
            result = self.c.run("sacctmgr", "-i", "delete", *words, check=False)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("Job", result.stdout + result.stderr, words)
        self.assertEqual(self.c.out("squeue", "-h", "-j", job, "-o", "%T").strip(), "RUNNING")
        self.c.run("scancel", job)
        wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "account,qos,state")[0].startswith("used|fast|CANCELLED"), 30, "it ended")
        wait_until(lambda: self.c.run("sacctmgr", "-i", "delete", "account", "used", check=False).returncode == 0, 30, "now it goes")
        # The history keeps the name.
        self.assertEqual(self.c.sacct("-X", "-j", job, "-o", "account"), ["used"])


class Refusals(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "only root can start a server as another user")
    def test_a_wrong_password(self):
        server = Postgres()
        self.addCleanup(server.stop)
        sql = lambda text: subprocess.run(["psql", "-q", server.url, "-c", text], check=True, capture_output=True)
        sql("ALTER ROLE spur PASSWORD 'right'")
        hba = server.dir / "data/pg_hba.conf"
        hba.write_text("local all all scram-sha-256\n")
        server.kill()
        server.start()
        wrong = server.url.replace("spur@", "spur:wrong@")
        c = AccountingCluster(wrong)
        self.addCleanup(c.stop)
        result = c.run(BIN / "spurdbd", "-D", "-f", c.conf, check=False, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn("password", result.stderr)
        self.assertNotIn("wrong@", result.stderr)
        # Jobs run meanwhile, and what they did arrives once the password is right.
        c.start_controller()
        for name in c.names:
            c.start_agent(name)
        c.wait_idle()
        job = c.sbatch("--wrap", "true")
        wait_until(lambda: not c.out("squeue", "-h").strip(), 60, "the job has ended")
        c.write_conf(c.conf.read_text().replace("spur:wrong@", "spur:right@"))
        c.start_dbd()
        wait_until(lambda: c.run("sacct", "-nP", "-X", "-j", job, "-o", "state", check=False).stdout.strip() == "COMPLETED", 60, "it has come")

    def test_a_database_of_a_newer_schema(self):
        c = AccountingCluster()
        self.addCleanup(c.stop)
        file = c.dir / "base.sqlite"
        c.write_conf(c.conf.read_text().replace("[accounting]\n", f'[accounting]\ndatabase_url = "sqlite:{file}"\n'))
        c.start()
        before = c.sbatch("--wrap", "true")
        wait_until(lambda: c.sacct("-X", "-j", before, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        c.kill("spurdbd", signal.SIGTERM)
        def set_version(number):
            with sqlite3.connect(file) as base:
                before, = base.execute("SELECT version FROM spur_schema").fetchone()
                base.execute("UPDATE spur_schema SET version = ?", (number,))
            return before
        version = set_version(99)
        for words in ([], ["--migrate"], ["--migrate", "--dry-run"]):
            result = c.run(BIN / "spurdbd", "-D", "-f", c.conf, *words, check=False, timeout=60)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("99", result.stderr, words)
        # Jobs go on, and what they did arrives in the database that fits.
        during = c.sbatch("--wrap", "true")
        wait_until(lambda: not c.out("squeue", "-h").strip(), 60, "the job has ended")
        self.assertEqual(set_version(version), 99)
        c.start_dbd()
        wait_until(lambda: c.run("sacct", "-nP", "-X", "-j", f"{before},{during}", "-o", "state", check=False).stdout.split() ==
                   ["COMPLETED"] * 2, 60, "nothing is lost")

    @unittest.skipIf(os.geteuid() != 0, "only root can mount a small file system")
    def test_a_full_disk(self):
        c = AccountingCluster()
        small = c.dir / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", small], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no tmpfs can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", small])
        self.addCleanup(c.stop)
        c.write_conf(c.conf.read_text().replace("[accounting]\n", f'[accounting]\ndatabase_url = "sqlite:{small}/base.sqlite"\n'))
        c.start()
        before = c.sbatch("--wrap", "true")
        wait_until(lambda: c.sacct("-X", "-j", before, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        fill = os.open(small / "fill", os.O_WRONLY | os.O_CREAT)
        try:
            while os.write(fill, b"x" * 4096):
                pass
        except OSError:
            pass
        os.close(fill)
        during = [str(c.sbatch("--comment", "y" * 900, "--wrap", "true")) for _ in range(20)]
        wait_until(lambda: not c.out("squeue", "-h").strip(), 60, "jobs go on")
        os.unlink(small / "fill")
        wait_until(lambda: set(during) <= set(c.sacct("-X", "-s", "CD", "-S", "today", "-E", "now", "-o", "jobid")), 90, "nothing is lost")

    def test_windows_of_the_future(self):
        c = AccountingCluster().start()
        self.addCleanup(c.stop)
        job = c.sbatch("--wrap", "true")
        wait_until(lambda: c.sacct("-X", "-j", job, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        env = {"SPUR_CONF": str(c.conf)}
        c.kill("spurctld", signal.SIGTERM)
        out = c.run("sacct", "-nP", "-X", "-j", job, "-o", "elapsedraw", "-S", "2020-01-01", env=env).stdout.strip()
        self.assertGreaterEqual(int(out), 0)
        faked = c.run("sacct", "-aX", "-S", "now+1day", check=False)
        self.assertEqual(faked.returncode, 1)
        self.assertIn("Start time", faked.stderr)
        for report in (["cluster", "utilization"], ["user", "top"]):
            c.run("sreport", *report, "start=2020-01-01", "end=now+2days")


class Backlog(unittest.TestCase):
    def test_it_is_seen_and_bounded(self):
        """No new jobs at the bound; those that are there go on, and all of them are recorded in the end."""
        c = AccountingCluster()
        self.addCleanup(c.stop)
        c.conf.write_text(c.conf.read_text().replace("[accounting]\n", "[accounting]\nmax_backlog = 40\n"))
        c.start()
        first = c.sbatch("--wrap", "true")
        wait_until(lambda: c.sacct("-X", "-j", first, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        c.kill("spurdbd")
        running = c.sbatch("--wrap", f"while ! test -e {c.dir}/go; do sleep 0.1; done")
        jobs, refused = [first, running], None
        for _ in range(100):
            result = c.run("sbatch", "--parsable", "-H", "--wrap", "true", check=False)
            if result.returncode != 0:
                refused = result
                break
            jobs.append(int(result.stdout))
        self.assertIsNotNone(refused, "the bound was never reached")
        self.assertIn("no job is taken while accounting is", refused.stderr)
        self.assertIn("at most 40", refused.stderr)
        queue = lambda: int(c.out("sdiag").split("DBD Agent queue size:")[1].split()[0])
        self.assertGreaterEqual(queue(), 40)
        c.wait_state(running, "RUNNING")
        (c.dir / "go").touch()
        wait_until(lambda: c.state(running) == "COMPLETED", 30, "what runs goes on")
        c.start_dbd()
        wait_until(lambda: c.run("sbatch", "-H", "--wrap", "true", check=False).returncode == 0, 60, "jobs are taken again")
        wait_until(lambda: queue() == 0, 30, "nothing waits any more")
        c.run("scancel", *[str(j) for j in jobs[2:]])
        c.run("spur", "accounting")
        # Of the database alone.
        wait_until(lambda: queue() == 0 and not c.out("squeue", "-h", "-j", ",".join(map(str, jobs)), "-t", "PD,R").strip(), 60, "all have ended")
        c.kill("spurctld")
        ended = c.sacct("-X", "-D", "-j", ",".join(map(str, jobs)), "-o", "jobid,state")
        self.assertEqual(len(ended), len(jobs) + 2 * (len(jobs) - 2), ended)  # "CANCELLED by 0" is three words
        self.assertEqual(sorted(int(word.split("|")[0]) for word in ended if "|" in word), sorted(jobs))


SHIFTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static const volatile long* shift;
__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("CLOCK_SHIFT"), O_RDONLY);
  if (file >= 0) shift = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
}
int clock_gettime(clockid_t which, struct timespec* at) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(which, at);
  if (which == CLOCK_REALTIME && shift && shift != MAP_FAILED) at->tv_sec += *shift;
  return status;
}
"""


class Clock(unittest.TestCase):
    def test_it_is_set_back(self):
        """Two hours, under a running job: no time of a job is before the one that must come first, and nothing is counted twice."""
        c = AccountingCluster()
        self.addCleanup(c.stop)
        (c.dir / "shift.c").write_text(SHIFTED)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", c.dir / "shift.so", c.dir / "shift.c"], check=True)
        (c.dir / "shift").write_bytes((0).to_bytes(8, "little", signed=True))
        c.env |= {"LD_PRELOAD": str(c.dir / "shift.so"), "CLOCK_SHIFT": str(c.dir / "shift")}
        c.start()
        before = c.sbatch("--wrap", "true")
        wait_until(lambda: c.sacct("-X", "-j", before, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        running = c.sbatch("--wrap", f"while ! test -e {c.dir}/go; do sleep 0.1; done")
        c.wait_state(running, "RUNNING")
        with open(c.dir / "shift", "r+b") as file:
            file.write((-7200).to_bytes(8, "little", signed=True))
        after = c.sbatch("--wrap", "true")
        (c.dir / "go").touch()
        jobs = [before, running, after]
        wait_until(lambda: [c.state(j) for j in jobs[1:]] == ["COMPLETED"] * 2, 60, "both end")
        rows = wait_until(lambda: (r := c.out("sacct", "-nP", "-D", "-j", ",".join(map(str, jobs)), "-o",
                                              "jobid,submit,start,end,elapsedraw,state").splitlines()) and
                          len(r) == 6 and all(line.endswith("COMPLETED") for line in r) and r, 30, "all are recorded, once")
        for row in rows:
            _, submit, start, end, elapsed, _ = row.split("|")
            self.assertLessEqual(submit, start, row)
            self.assertLessEqual(start, end, row)
            self.assertGreaterEqual(int(elapsed), 0, row)
            self.assertLess(int(elapsed), 3600, row)


class Reports(unittest.TestCase):
    def setUp(self):
        self.c = AccountingCluster()
        self.c.write_conf(self.c.conf.read_text().replace(
            "[accounting]\n", '[accounting]\nprices = ["cpu=36", "mem=0"]\ncurrency = "EUR"\n'))
        self.c.start()
        self.addCleanup(self.c.stop)

    def test_four_forms(self):
        job = self.c.sbatch("-A", "phys<&>ics", "-n2", "--wrap", "sleep 2")
        wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        text = self.c.out("spur", "report")
        for words in ("CPU hours by account and user", "Minutes in the queue", "hours of the cluster", "Used of what was granted",
                      "Cost (EUR)", "phys<&>ics"):
            self.assertIn(words, text)
        import csv
        import io
        import json
        import xml.dom.minidom
        rows = list(csv.DictReader(io.StringIO(self.c.out("spur", "report", "usage", "--csv"))))
        self.assertEqual((rows[0]["account"], rows[0]["user"], rows[0]["jobs"]), ("phys<&>ics", "root", "1"))
        self.assertAlmostEqual(float(rows[0]["cost"]), 36 * float(rows[0]["cpu_hours"]), delta=0.5)
        parsed = json.loads(self.c.out("spur", "report", "--json"))
        self.assertEqual(set(parsed) >= {"usage", "waits", "capacity", "efficiency"}, True)
        self.assertEqual(parsed["waits"]["rows"][0]["jobs"], 1)
        picture = xml.dom.minidom.parseString(self.c.out("spur", "report", "--svg"))
        self.assertGreater(len(picture.getElementsByTagName("rect")), 5)
        for words in (["bogus"], ["--csv"], ["-S", "never"], ["-u", "nobody-like-this"]):
            self.assertEqual(self.c.run("spur", "report", *words, check=False).returncode, 1, words)

    def test_efficiency_of_a_job(self):
        job = self.c.sbatch("-n1", "--mem=100", "--wrap", "python3 -c 'import time; t=time.time()\nwhile time.time()-t<2: pass'")
        wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "state") == ["COMPLETED"], 30, "it is recorded")
        out = self.c.out("seff", job)
        for words in (f"Job ID: {job}", "User/Group: root/root", "State: COMPLETED (exit code 0)", "Cores: 1", "CPU Efficiency:",
                      "Memory Utilized:", "Memory Efficiency:"):
            self.assertIn(words, out)
        self.assertIn("less than a minute", self.c.out("spur", "efficiency", job))
        self.assertEqual(self.c.run("seff", "99999", check=False).returncode, 2)
        self.assertEqual(self.c.run("seff", "x", check=False).returncode, 1)

    def test_runaway_jobs(self):
        """A job that the database has as running and no controller knows: found, and ended when that is wanted."""
        job = self.c.sbatch("--wrap", "sleep 600")
        wait_until(lambda: self.c.sacct("-X", "-j", job, "-o", "state") == ["RUNNING"], 30, "it runs")
        # Records may still be on their way: then it answers that nothing can be said yet.
        wait_until(lambda: "No runaway jobs" in self.c.run("sacctmgr", "show", "runawayjobs", check=False).stdout, 30, "none")
        self.c.kill("spurctld", signal.SIGTERM)
        self.c.start_controller("-c")  # without its saved state
        shown = wait_until(lambda: str(job) in (r := self.c.run("sacctmgr", "show", "runawayjobs", input="n\n", check=False).stdout) and r, 30, "it is found")
        self.assertIn("RUNNI+", shown)
        self.c.run("sacctmgr", "-i", "show", "runawayjobs")
        self.assertEqual(self.c.sacct("-X", "-j", job, "-o", "state"), ["COMPLETED"])
        self.assertIn("No runaway jobs", self.c.out("sacctmgr", "show", "runawayjobs"))


if __name__ == "__main__":
    unittest.main()
