# SPDX-License-Identifier: Apache-2.0
"""scrontab: tables of jobs that come back at set times, with real daemons."""
import os
import pwd
import re
import time
import unittest

from spur_cluster import SpurCluster, wait_until

ME = pwd.getpwuid(os.geteuid()).pw_name


def seconds_of(text):
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


class Scrontab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=1, cpus=4, controller='scron = ["enable"]')
        cls.addClassCleanup(cls.c.stop)
        cls.c.start()

    def setUp(self):
        self.c.run("scrontab", "-r", check=False)

    def jobs(self):
        """Waiting and running jobs, by number."""
        return [int(x) for x in self.c.out("squeue", "-h", "-S", "i", "-o", "%i").split()]

    def set(self, text, *words, check=True):
        return self.c.run("scrontab", *words, "-", input=text, check=check)

    def test_table_is_kept_and_removed(self):
        r = self.c.run("scrontab", "-l", check=False)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (1, "", f"no crontab for {ME}\n"))
        text = "# mine\nA=1\n#SCRON -J tea -t 5\n#SCRON -p debug\n0 16 * * mon-fri echo tea\n@yearly echo year\n"
        self.set(text)
        self.assertEqual(self.c.out("scrontab", "-l"), text)
        first, second = self.jobs()
        job = self.c.out("scontrol", "show", "job", first)
        self.assertIn('CronJob=Yes CrontabSpec="0 16 * * 1-5"', job)
        self.assertIn("JobName=tea", job)
        self.assertIn("TimeLimit=00:05:00", job)
        begin = time.localtime(seconds_of(self.c.job(second)["EligibleTime"]))
        self.assertEqual((begin.tm_mon, begin.tm_mday, begin.tm_hour, begin.tm_min), (1, 1, 0, 0))
        self.assertIn('"CRON_JOB"', self.c.out("squeue", "--json"))
        self.set(text.replace("16", "17"))  # another table: other jobs
        self.assertEqual(len(self.jobs()), 2)
        self.assertNotIn(first, self.jobs())
        self.assertEqual(self.c.state(first), "CANCELLED")
        self.c.run("scrontab", "-r")
        self.assertEqual(self.jobs(), [])
        r = self.c.run("scrontab", "-r", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, f"no crontab for {ME}\n"))

    def test_job_comes_back(self):
        out = self.c.dir / "out/ran"
        self.set(f"WHO=me\n#SCRON -o /dev/null\n* * * * * echo \"$SLURM_JOB_ID $WHO $HOME\" >> {out}; pwd >> {out}\n")
        job, = self.jobs()
        begin = self.c.job(job)["EligibleTime"]
        self.assertTrue(begin.endswith(":00"))
        self.c.kill("spurctld")  # the table, the job and its time are in the journal
        self.c.start_controller()
        self.assertEqual(self.c.job(job)["EligibleTime"], begin)
        wait_until(out.exists, 90, "the job has run")
        wait_until(lambda: self.c.job(job).get("JobState") == "PENDING" and self.c.job(job)["EligibleTime"] != begin, 20,
                   "it waits again")
        home = pwd.getpwnam(ME).pw_dir
        self.assertEqual(out.read_text().splitlines()[:2], [f"{job} me {home}", os.path.realpath(home)])
        again = self.c.job(job)["EligibleTime"]
        self.assertGreaterEqual(seconds_of(again), seconds_of(begin) + 60)
        self.assertEqual(self.c.job(job)["Restarts"], "0")
        r = self.c.run("scontrol", "update", f"jobid={job}", "timelimit=3", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("Cannot modify scrontab jobs through scontrol", r.stdout + r.stderr)

    def test_cancelled_entry_is_disabled(self):
        self.set("#SCRON -t 5\n@yearly true\n@monthly true\n")
        first, second = self.jobs()
        self.c.run("scancel", first)
        self.assertEqual(self.c.out("scrontab", "-l"), "#DISABLED: #SCRON -t 5\n#DISABLED: @yearly true\n@monthly true\n")
        self.assertEqual(self.jobs(), [second])

    def test_what_is_wrong_is_named(self):
        self.set("@yearly true\n")
        kept = self.jobs()
        for text, words in (("0 0 * *\n", "line 1"), ("# a\n61 * * * * true\n", "line 2"), ("@never true\n", "@never"),
                            ("#SCRON -p nowhere\n@daily true\n", "lines 1-2: Invalid partition name specified"),
                            ("#SCRON --bogus\n@daily true\n", "lines 1-2"), ("#SCRON -t x\n@daily true\n", "Invalid"),
                            ("#SCRON -a 1-3\n@daily true\n", "array"), ("#SCRON -d afterok:1\n@daily true\n", "dependency"),
                            ("0 0 31 2 * true\n", "lines 1-1")):
            with self.subTest(text):
                r = self.set(text, check=False)
                self.assertEqual(r.returncode, 1, r.stderr)
                self.assertIn(words, r.stderr)
        self.assertEqual(self.jobs(), kept)
        self.assertEqual(self.c.out("scrontab", "-l"), "@yearly true\n")
        for words in (["-l", "-r"], ["-e", "file"], ["a", "b"], ["-u", "nobody-like-this", "-l"], ["/nonexistent"], ["--bogus"]):
            self.assertEqual(self.c.run("scrontab", *words, check=False).returncode, 1, words)

    def test_edit(self):
        editor = self.c.dir / "editor"
        editor.write_text("#!/bin/sh\ncp \"$1\" \"$1.seen\"; mv \"$1.seen\" " + str(self.c.dir / "seen") +
                          "\ntest -e " + str(self.c.dir / "next") + " && cat " + str(self.c.dir / "next") + " > \"$1\"\nexit 0\n")
        editor.chmod(0o755)
        env = {"EDITOR": str(editor)}
        r = self.c.run("scrontab", "-e", env=env)  # it changes nothing
        self.assertEqual(self.c.run("scrontab", "-l", check=False).returncode, 1)
        (self.c.dir / "next").write_text("@yearly true\n")
        self.c.run("scrontab", "-e", env=env)
        self.assertEqual(self.c.out("scrontab", "-l"), "@yearly true\n")
        (self.c.dir / "next").write_text("@yearly true\n99 * * * * true\n")
        r = self.c.run("scrontab", "-e", env=env, input="y\nn\n", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("retry the edit", r.stdout)
        self.assertEqual((self.c.dir / "seen").read_text(), "@yearly true\n#BAD: 99 * * * * true\n")
        self.assertEqual(self.c.out("scrontab", "-l"), "@yearly true\n")
        r = self.c.run("scrontab", "-e", env={"EDITOR": "false"}, check=False)
        self.assertEqual(r.returncode, 1)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_other_users(self):
        user = "games"
        self.c.run("scrontab", "-u", user, "-", input="#SCRON -D /tmp\n@yearly true\n")
        self.assertEqual(self.c.out("scrontab", "-u", user, "-l"), "#SCRON -D /tmp\n@yearly true\n")
        self.assertEqual(self.c.out("scrontab", "-l", user=user), "#SCRON -D /tmp\n@yearly true\n")
        self.assertEqual(self.c.out("squeue", "-h", "-o", "%u").split(), [user])
        r = self.c.run("scrontab", "-u", "root", "-l", user=user, check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "scrontab: error: Access/permission denied\n"))
        r = self.c.run("scrontab", "-u", "root", "-r", user=user, check=False)
        self.assertEqual(r.returncode, 1)
        self.c.run("scrontab", "-r", user=user)
        self.assertEqual(self.jobs(), [])


class Switches(unittest.TestCase):
    def test_disabled_unless_the_site_says_so(self):
        with SpurCluster(nodes=1) as c:
            for words in (["-l"], ["-r"], ["-"]):
                r = c.run("scrontab", *words, input="@daily true\n", check=False)
                self.assertEqual((r.returncode, r.stderr), (1, "scrontab: fatal: scrontab is disabled on this cluster\n"), words)
            text = c.conf.read_text().replace("[agent]", 'scron = ["enable", "explicit_scancel"]\n[agent]')
            c.write_conf(text)
            c.run("scontrol", "reconfigure")
            self.assertTrue(re.search(r"ScronParameters\s+= enable,explicit_scancel", c.out("scontrol", "show", "config")))
            c.run("scrontab", "-", input="@yearly true\n")
            job = c.out("squeue", "-h", "-o", "%i").strip()
            r = c.run("scancel", job, check=False)
            self.assertEqual(r.stderr, f"scancel: error: Kill job error on job id {job}: "
                                       "Cannot cancel scrontab jobs without --cron flag.\n")
            self.assertNotEqual(r.returncode, 0)
            self.assertEqual(c.state(job), "PENDING")
            c.run("scancel", "--cron", job)
            self.assertEqual(c.state(job), "CANCELLED")


if __name__ == "__main__":
    unittest.main()
