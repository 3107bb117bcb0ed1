# SPDX-License-Identifier: Apache-2.0
"""strigger: programs that the controller runs when something happens, with real daemons."""
import os
import unittest

from spur_cluster import BIN, SpurCluster, wait_until

HEADER = "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM\n"


class Strigger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4)
        cls.addClassCleanup(cls.c.stop)
        cls.c.start()
        cls.program = cls.c.dir / "program"
        cls.program.write_text(f"#!/bin/sh\n{{ id -u; echo \"$@\"; }} > {cls.c.dir}/out/part.$$ && "
                               f"mv {cls.c.dir}/out/part.$$ {cls.c.dir}/out/told.$1\n")
        cls.program.chmod(0o755)

    def setUp(self):
        for line in self.c.out("strigger", "--get", "-N").splitlines():
            self.c.run("strigger", "--clear", f"--id={line.split()[0]}")

    def set(self, tag, *words, **kw):
        return self.c.run("strigger", "--set", f"--program={self.program} {tag}", *words, **kw)

    def told(self, tag, seconds=30):
        """What the program was told, once it was; its user."""
        path = self.c.dir / f"out/told.{tag}"
        wait_until(path.exists, seconds, f"the trigger {tag} has run: {self.c.log('spurctld')}")
        user, words = path.read_text().splitlines()
        path.unlink()
        self.assertEqual(int(user), os.geteuid())
        return words

    def ids(self):
        return [int(x.split()[0]) for x in self.c.out("strigger", "--get", "-N").splitlines()]

    def test_shown_and_cleared(self):
        self.assertEqual(self.c.out("strigger", "--get"), "")
        job = self.c.sbatch("-o", "/dev/null", "--hold", "--wrap=true")
        self.c.run("strigger", "--set", "--node", "--down", "-p", "/bin/true")
        self.c.run("strigger", "--set", f"--jobid={job}", "--time", "--offset=-10", "-p", "/bin/echo a b")
        self.c.run("strigger", "--set", "--node=n1", "--up", "--down", "-p", "/bin/true", "--flags=perm")
        self.c.run("strigger", "--set", "-A", "-p", "/bin/true")
        first, second, third, fourth = self.ids()
        me = f"{self.c.out('id', '-un').strip():<8}"
        self.assertEqual(self.c.out("strigger", "--get"), HEADER +
                         f"{first:>7} node            * down                                     0 {me}       /bin/true\n"
                         f"{second:>7} job       {job:>7} time                                   -10 {me}       /bin/echo a b\n"
                         f"{third:>7} node           n1 unknown                                  0 {me} PERM  /bin/true\n"
                         f"{fourth:>7} slurmctld       * primary_slurmctld_resumed_operation      0 {me}       /bin/true\n")
        self.assertEqual(self.c.out("strigger", "--get", "-N", f"--id={second}").count("\n"), 1)
        self.assertEqual(self.c.out("strigger", "--get", "-N", "-n").count("\n"), 2)
        self.assertEqual(self.c.out("strigger", "--get", "-N", "-d").count("\n"), 1)
        self.assertEqual(self.c.out("strigger", "--get", "-N", "-j", job).count("\n"), 1)
        r = self.c.run("strigger", "--clear", "--id=99", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "slurm_clear_trigger: No such process\n"))
        self.assertEqual(self.c.run("strigger", "-Q", "--clear", "--id=99", check=False).returncode, 0)
        r = self.c.run("strigger", "--clear", "-v", f"--id={first}")
        self.assertEqual(r.stderr, f"strigger: trigger {first} cleared\n")
        self.c.run("strigger", "--clear", f"--jobid={job}")
        self.assertEqual(self.ids(), [third, fourth])
        self.c.run("scancel", job)

    def test_jobs(self):
        job = self.c.sbatch("-o", "/dev/null", "-t", "10", "--wrap=sleep 100")
        self.c.wait_state(job, "RUNNING")
        self.set("time", "-j", job, "--time", "--offset=-598")
        self.set("fini", "-j", job, "--fini")
        self.assertEqual(self.told("time"), f"time {job}")
        self.c.run("scancel", job)
        self.assertEqual(self.told("fini"), f"fini {job}")
        self.assertEqual(self.ids(), [])

    def test_nodes(self):
        self.set("down", "--node", "--down", "--flags=PERM")
        self.set("up", "--node=n[1-2]", "--up")
        self.set("drained", "--node", "--drained")
        self.set("idle", "--node", "--idle", "--offset=1")
        self.assertIn(self.told("idle"), ("idle n1", "idle n2", "idle n[1-2]"))
        self.c.run("scontrol", "update", "nodename=n1", "state=drain", "reason=x")
        self.assertEqual(self.told("drained"), "drained n1")
        self.c.run("scontrol", "update", "nodename=n1", "state=resume")
        self.c.run("scontrol", "update", "nodename=n[1-2]", "state=down", "reason=x")
        self.assertEqual(self.told("down"), "down n[1-2]")  # both at once
        self.c.run("scontrol", "update", "nodename=n2", "state=resume")
        self.assertEqual(self.told("up"), "up n2")
        self.c.run("scontrol", "update", "nodename=n2", "state=down", "reason=x")
        self.assertEqual(self.told("down"), "down n2")  # it is permanent
        self.assertEqual(len(self.ids()), 1)
        self.c.run("scontrol", "update", "nodename=n[1-2]", "state=resume")
        self.c.wait_idle()

    def test_controller_and_configuration(self):
        self.set("reconfig", "-r")
        self.set("op", "-A")
        self.set("kept", "--node=n1", "--fail", "--offset=7")
        self.c.kill("spurctld")
        self.c.start_controller()
        self.assertEqual(self.told("op"), "op primary_slurmctld_resumed_operation")
        text = self.c.conf.read_text()
        self.c.write_conf(text.replace("memory_mb = 4000", "memory_mb = 3999"))
        self.c.run("scontrol", "reconfigure")
        self.assertEqual(self.told("reconfig"), "reconfig reconfig")
        self.assertIn("fail                                     7", self.c.out("strigger", "--get"))
        self.c.write_conf(text)
        self.c.run("scontrol", "reconfigure")
        self.c.wait_idle()

    def test_refused(self):
        exact = "strigger: error: You must use exactly one of the following options: --set, --get or --clear\n"
        for words, message in (
                ([], exact), (["--set", "--get"], exact),
                (["--clear"], "strigger: error: You must specify a --id, --jobid, or --user to clear\n"),
                (["--set", "--node", "--down"], "strigger: error: You must specify a --program value\n"),
                (["--set", "--node", "--down", "-p", "true"], 'strigger: error: The --program value must start with "/"\n'),
                (["--set", "--node", "--down", "-p", "/no/such"], "strigger: error: Invalid --program value, file not found\n"),
                (["--set", "--fini", "-p", "/bin/true"], "strigger: error: You must specify a --jobid value\n"),
                (["--set", "-j", "4000000", "--fini", "-p", "/bin/true"], "slurm_set_trigger: Invalid job id specified\n"),
                (["--set", "-j", "x", "--fini", "-p", "/bin/true"], "strigger: error: Invalid jobid x\n"),
                (["--set", "--node=nx", "--up", "-p", "/bin/true"], "slurm_set_trigger: Invalid node name specified\n"),
                (["--set", "--node", "--up", "-p", "/bin/true", "--offset=40000"],
                 "strigger: error: The --offset parameter must be between +/-32000\n"),
                (["--set", "--node", "--up", "-p", "/bin/true", "--flags=x"], "strigger: error: Invalid flags x\n"),
                (["--get", "--user=nobody-like-this"], "strigger: error: Invalid user nobody-like-this\n")):
            with self.subTest(words):
                r = self.c.run("strigger", *words, check=False)
                self.assertEqual((r.returncode, r.stderr), (1, message))
        r = self.c.run("strigger", "--set", "-p", "/bin/true", check=False)
        lines = r.stderr.split("\n")
        self.assertEqual(lines[0], "strigger: error: You must specify a trigger (--down, --up, --reconfig, --time, --fini, --burst_buffer,")
        self.assertEqual(lines[-4:], ["--primary_database_failure, or ", "--primary_database_resumed_operation)", "", ""])
        r = self.c.run("strigger", "--set", "-h", "-p", "/bin/true", check=False)
        self.assertEqual((r.returncode, r.stderr),
                         (1, "strigger: error: triggers for primary_database_failure are not supported yet\n"))

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_other_users(self):
        r = self.c.run("strigger", "--set", "--node", "--down", "-p", "/bin/true", user="games", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "slurm_set_trigger: Access/permission denied\n"))
        self.c.run("strigger", "--set", "--node", "--down", "-p", "/bin/true")
        trigger, = self.ids()
        r = self.c.run("strigger", "--clear", f"--id={trigger}", user="games", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "slurm_clear_trigger: Access/permission denied\n"))
        self.assertEqual(self.ids(), [trigger])


@unittest.skipIf(os.geteuid() != 0, "needs root")
class OfUsers(unittest.TestCase):
    def test_programs_run_as_who_set_them(self):
        # Only slurm.conf has SlurmctldParameters; the rest is as in spur.conf.
        with SpurCluster(nodes=1) as c:
            told = c.dir / "out/told"
            program = c.dir / "program"
            program.write_text(f"#!/bin/sh\n{{ id -un; id -gn; id -Gn; echo \"$@\"; env; }} > {told}.part && mv {told}.part {told}\n")
            program.chmod(0o755)
            conf = c.dir / "slurm.conf"
            conf.write_text(c.out("spur", "export", c.conf) + "SlurmctldParameters=allow_user_triggers\n")
            c.kill("spurctld")
            c._spawn("spurctld", BIN / "spurctld", "-D", "-f", conf)
            wait_until(c.controller_answers, 30, "spurctld answers")
            job = c.sbatch("-o", "/dev/null", "-D", "/tmp", "--hold", "--wrap=true", user="games")
            c.run("strigger", "--set", "-j", job, "--fini", "-p", f"{program} a", user="games")
            c.run("scancel", job, user="games")
            wait_until(told.exists, 30, f"the program has run: {c.log('spurctld')}")
            lines = told.read_text().splitlines()
            self.assertEqual(lines[:4], ["games", c.out("id", "-gn", "games").strip(), c.out("id", "-Gn", "games").strip(),
                                         f"a {job}"])
            self.assertNotIn("SPUR_CONF=" + str(c.conf), lines)  # nothing of the daemon's own environment


if __name__ == "__main__":
    unittest.main()
