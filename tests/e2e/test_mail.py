# SPDX-License-Identifier: Apache-2.0
"""--mail-type: what the leading controller's mail program is called with. Subjects are those of Slurm 22.05."""
import re
import unittest

from spur_cluster import SpurCluster, wait_until


class Mail(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=1, cpus=4, controller="kill_wait_secs = 2")
        cls.addClassCleanup(cls.c.stop)
        d = cls.c.dir
        program = d / "mailer"
        # A file by job and subject, there when it is whole.
        program.write_text(f"""#!/bin/sh
{{ for word in "$@"; do echo "[$word]"; done; env | sort; }} > {d}/out/part.$$
mv {d}/out/part.$$ {d}/out/mail.$SLURM_JOB_ID.$(echo $SLURM_JOB_MAIL_TYPE | tr -c 'A-Za-z0-9\\n' _)
""")
        program.chmod(0o755)
        cls.c.write_conf(cls.c.conf.read_text() + f"""
[notifications]
smtp_command = "{program}"
mail_domain = "example.org"
""")
        cls.c.start()
        cls.me = cls.c.out("id", "-un").strip()

    def mail(self, job, kind):
        """Arguments and environment of a mail, once it was sent."""
        path = self.c.dir / f"out/mail.{job}.{kind}"
        wait_until(path.exists, 30, f"{kind} of {job}: {self.c.log('spurctld')}")
        lines = path.read_text().splitlines()
        return [x[1:-1] for x in lines[:3]], dict(x.split("=", 1) for x in lines[3:] if "=" in x)

    def kinds(self, job):
        return sorted(p.name.split(".", 2)[2] for p in (self.c.dir / "out").glob(f"mail.{job}.*"))

    def test_began_and_ended(self):
        job = self.c.sbatch("-J", "x", "-o", "o.txt", "-D", self.c.dir / "out", "--mail-type=ALL", "--wrap=true")
        words, env = self.mail(job, "Began")
        self.assertEqual(words[0], "-s")
        self.assertRegex(words[1], rf"^Slurm Job_id={job} Name=x Began, Queued time 00:00:\d\d$")
        self.assertEqual(words[2], f"{self.me}@example.org")
        self.assertEqual((env["SLURM_JOB_STATE"], env["SLURM_JOB_NODELIST"], env["SLURM_JOB_USER"]), ("RUNNING", "n1", self.me))
        self.assertRegex(env["SLURM_JOB_QUEUED_TIME"], r"^00:00:\d\d$")
        self.assertEqual(env["SLURM_JOB_STDOUT"], f"{self.c.dir}/out/o.txt")
        words, env = self.mail(job, "Ended")
        self.assertRegex(words[1], rf"^Slurm Job_id={job} Name=x Ended, Run time 00:00:\d\d, COMPLETED, ExitCode 0$")
        self.assertEqual(env["SLURM_JOB_EXIT_CODE_MAX"], "0")
        self.assertIn(f"MailUser={self.me}@example.org MailType=INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT",
                      self.c.out("scontrol", "show", "job", job))

    def test_failed_to_somebody_else(self):
        job = self.c.sbatch("-J", "bad", "-o", "/dev/null", "--mail-type=FAIL", "--mail-user=a@b.c", "--wrap=exit 3")
        words, env = self.mail(job, "Failed")
        self.assertRegex(words[1], rf"^Slurm Job_id={job} Name=bad Failed, Run time 00:00:\d\d, FAILED, ExitCode 3$")
        self.assertEqual(words[2], "a@b.c")
        self.assertEqual(env["SLURM_JOB_EXIT_CODE2"], "3:0")
        self.assertEqual(self.kinds(job), ["Failed"])

    def test_a_name_is_no_command(self):
        job = self.c.sbatch("-J", "$(touch oops); `id`", "-o", "/dev/null", "--mail-type=END", "--mail-user=-x;y", "--wrap=true")
        words, _ = self.mail(job, "Ended")
        self.assertTrue(words[1].startswith(f"Slurm Job_id={job} Name=$(touch oops); `id` Ended"), words)
        self.assertEqual(words[2], "-x;y")

    def test_arrays_and_dependencies(self):
        job = self.c.sbatch("-J", "arr", "-o", "/dev/null", "-a", "0-1", "--mail-type=ALL", "--wrap=exit $SLURM_ARRAY_TASK_ID")
        wait_until(lambda: [p for p in (self.c.dir / "out").glob("mail.*.Failed")
                            if f"Slurm Array Summary Job_id={job}_* ({job}) Name=arr Failed, Mixed, ExitCode [0-1]" in p.read_text()],
                   30, "the summary")
        bad = self.c.sbatch("-o", "/dev/null", "--wrap=exit 1")
        self.c.wait_state(bad, "FAILED")
        vain = self.c.sbatch("-J", "dep", "-o", "/dev/null", "-d", f"afterok:{bad}", "--mail-type=INVALID_DEPEND", "--wrap=true")
        words, env = self.mail(vain, "Invalid_dependency")
        self.assertEqual(words[1], f"Slurm Job_id={vain} Name=dep Invalid dependency")
        self.assertEqual(env["SLURM_JOB_STATE"], "PENDING")
        self.c.run("scancel", vain)

    def test_requeued(self):
        job = self.c.sbatch("-J", "again", "-o", "/dev/null", "--requeue", "--mail-type=REQUEUE", "--wrap=sleep 1000")
        self.c.wait_state(job, "RUNNING")
        self.c.run("scontrol", "requeue", job)
        words, _ = self.mail(job, "Requeued")
        self.assertTrue(re.match(rf"Slurm Job_id={job} Name=again Requeued, Run time 00:00:\d\d$", words[1]), words)
        self.c.run("scancel", job)


if __name__ == "__main__":
    unittest.main()
