# SPDX-License-Identifier: Apache-2.0
"""Verbs of scontrol and sacctmgr with real daemons: notify, write config, token, show assoc_mgr; ping, reconfigure, shutdown."""
import base64
import glob
import hashlib
import hmac
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from spur_cluster import SpurCluster, wait_until
from test_accounting import AccountingCluster

KEY = b"0123456789abcdef0123456789abcdef"


class Scontrol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, controller='tokens = ["auth/jwt"]\n')
        cls.addClassCleanup(cls.c.stop)
        cls.key = cls.c.dir / "jwt.key"
        cls.key.write_bytes(KEY)
        cls.key.chmod(0o600)
        cls.c.write_conf(cls.c.conf.read_text().replace(
            'tokens =', f'token_parameters = ["jwt_key={cls.key}", "max_token_lifespan=3600"]\ntokens ='))
        cls.c.start()

    def tearDown(self):
        self.c.run("scancel", "-u", str(os.geteuid()), check=False)
        self.c.wait_empty()

    def spawn(self, name, *args):
        err = self.c.dir / f"out/{name}.err"
        with open(err, "wb") as file:
            process = subprocess.Popen([str(a) for a in args], env=self.c.env, cwd=self.c.dir, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=file)
        self.addCleanup(process.wait, 30)
        return process, err

    def running(self, name):
        line = wait_until(lambda: self.c.out("squeue", "-h", "-n", name, "-t", "R", "-o", "%A").strip(), 30, f"{name} runs")
        return int(line)

    def notify(self, *words, **kw):
        r = self.c.run("scontrol", "notify", *words, check=False, **kw)
        return r.returncode, r.stdout + r.stderr

    def test_batch_job_has_it_in_its_output(self):
        out = self.c.dir / "out/batch"
        job = self.c.sbatch("-o", out, "--wrap", "echo ready; sleep 60")
        wait_until(lambda: out.exists() and "ready" in out.read_text(), 30, "the script runs")
        self.assertEqual(self.notify(job, "mind", "the  gap"), (0, ""))
        wait_until(lambda: out.read_text() == "ready\nslurmstepd: error: mind the  gap\n", 30, "the line is there")
        # Also by an agent that did not start it.
        self.c.kill(f"spurd-{self.c.out('squeue', '-h', '-j', job, '-o', '%N').strip()}")
        self.c.start_agent(self.c.out("squeue", "-h", "-j", job, "-o", "%N").strip())
        self.c.wait_idle()

        def again():
            self.notify(f"{job}.0", "again")
            return "slurmstepd: error: again\n" in out.read_text()
        wait_until(again, 30, "the line is there", 0.5)

    def test_salloc_and_srun_say_it(self):
        salloc, said = self.spawn("salloc", "salloc", "-J", "held", "-n1", "srun", "-n1", "sleep", "60")
        job = self.running("held")
        wait_until(lambda: f"{job}.0" in self.c.out("squeue", "-s", "-h"), 30, "its step runs")
        self.assertEqual(self.notify(job, "to salloc"), (0, ""))
        self.assertEqual(self.notify(job, "once more"), (0, ""))
        wait_until(lambda: "once more" in said.read_text(), 30, "salloc says it")
        self.assertEqual(re.findall(r"^.*(?:to salloc|once more)$", said.read_text(), re.M),
                         ["salloc: to salloc", "salloc: once more"], "salloc alone, not the srun inside")
        self.c.run("scancel", job)
        salloc.wait(30)
        srun, said = self.spawn("srun", "srun", "-J", "stepped", "-n1", "sleep", "60")
        job = self.running("stepped")
        wait_until(lambda: f"{job}.0" in self.c.out("squeue", "-s", "-h"), 30, "its step runs")
        self.assertEqual(self.notify(job, "to srun"), (0, ""))
        wait_until(lambda: said.read_text() == "srun: to srun\n", 30, "srun says it")
        self.c.run("scancel", job)
        srun.wait(30)

    def test_one_that_waits_says_it_too(self):
        blocker = self.c.sbatch("-o", "/dev/null", "--exclusive", "-N2", "--wrap", "sleep 60")
        self.c.wait_state(blocker, "RUNNING")
        salloc, said = self.spawn("waits", "salloc", "-J", "waits", "-N2", "true")
        wait_until(lambda: "queued and waiting" in said.read_text(), 30, "it waits")
        job = int(self.c.out("squeue", "-h", "-n", "waits", "-o", "%A"))
        self.assertEqual(self.notify(job, "soon"), (0, ""))
        wait_until(lambda: "salloc: soon\n" in said.read_text(), 30, "salloc says it")
        self.c.run("scancel", job, blocker)
        salloc.wait(30)

    def test_notify_refusals(self):
        self.assertEqual(self.notify(), (1, "too few arguments for keyword:notify\n"))
        self.assertEqual(self.notify("1"), (1, "too few arguments for keyword:notify\n"))
        self.assertEqual(self.notify("abc", "x"), (1, "Invalid job_id abc\n"))
        self.assertEqual(self.notify("99999", "x"), (1, "job notify failure: Invalid job id specified\n"))
        job = self.c.sbatch("-o", "/dev/null", "--hold", "--wrap", "true")
        self.assertEqual(self.notify(job, "x"), (1, "job notify failure: Requested operation is presently disabled\n"))
        if os.geteuid() == 0:
            self.assertEqual(self.notify(job, "x", user="games"), (1, "job notify failure: Invalid user id\n"))
        self.c.run("scancel", job)
        self.assertEqual(self.notify(job, "x"), (1, "job notify failure: Job/step already completing or completed\n"))

    def test_write_config(self):
        saved = self.c.out("scontrol", "write", "config")
        path = re.fullmatch(rf"Slurm config saved to ({self.c.dir}/slurm\.conf\.\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d)\n", saved)[1]
        text = pathlib.Path(path).read_text()
        self.assertTrue(text.startswith("#" * 56 + "\n#  Configuration file for Slurm - 20"))
        for line in ("ClusterName=test", f"StateSaveLocation={self.c.dir}/state", "AuthAltTypes=auth/jwt", "OverTimeLimit=0", "#TaskPluginParam="):
            self.assertIn(f"\n{line}\n", text)
        self.assertRegex(text, r"\nNodeName=n2 .*RealMemory=4000.*\nNodeName=n1 ")
        self.assertRegex(text, r"\nPartitionName=debug Default=YES MinNodes=0 Nodes=n\[1-2\] State=UP\n\Z")
        # What was written can be read again: the same nodes and partitions.
        r = self.c.run("scontrol", "write", "config", self.c.dir / "out/mine")
        self.assertEqual(len(glob.glob(f"{self.c.dir}/out/mine.20*")), 1, r.stdout)
        r = self.c.run("scontrol", "write", "config", "/nosuch/x")
        self.assertRegex(r.stderr, r"^Could not create file /nosuch/x\.\S+: No such file or directory\n$")

    def test_token(self):
        def claims(*words, **kw):
            line = self.c.out("scontrol", "token", *words, **kw)
            token = re.fullmatch(r"SLURM_JWT=(\S+)\n", line)[1]
            head, body, mac = token.split(".")
            real = hmac.new(KEY, f"{head}.{body}".encode(), hashlib.sha256).digest()
            self.assertEqual(base64.urlsafe_b64encode(real).rstrip(b"=").decode(), mac)
            part = [json.loads(base64.urlsafe_b64decode(x + "==")) for x in (head, body)]
            self.assertEqual(part[0], {"alg": "HS256", "typ": "JWT"})
            return part[1]
        now = time.time()
        mine = claims()
        self.assertEqual(mine["sun"], self.c.out("id", "-un").strip())
        self.assertEqual(mine["exp"] - mine["iat"], 1800)
        self.assertLess(abs(mine["iat"] - now), 30)
        span = claims("lifespan=60", "username=alice")
        self.assertEqual((span["sun"], span["exp"] - span["iat"]), ("alice", 60))
        r = self.c.run("scontrol", "token", "bogus", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "Invalid option: `bogus`\n"))
        if os.geteuid() == 0:
            self.assertEqual(claims(user="games")["sun"], "games")
            for words in (["username=root"], ["lifespan=3601"]):
                r = self.c.run("scontrol", "token", *words, check=False, user="games")
                self.assertEqual((r.returncode, r.stderr.splitlines()[-1]), (1, "Error fetching token"))
        self.key.chmod(0o644)
        r = self.c.run("scontrol", "token", check=False)
        self.key.chmod(0o600)
        self.assertEqual(r.returncode, 1)
        self.assertIn("others cannot read", r.stderr)


class Accounts(unittest.TestCase):
    def setUp(self):
        self.c = AccountingCluster().start()
        self.addCleanup(self.c.stop)

    def test_show_assoc_mgr(self):
        for line in ("add account phys grpjobs=20 grptres=cpu=100", "add account chem parent=phys",
                     "add user games account=chem maxjobs=5", "add qos high maxjobspu=3 maxtrespu=cpu=6 priority=50"):
            self.c.run("sacctmgr", "-i", *line.split())
        shown = wait_until(lambda: (t := self.c.out("scontrol", "show", "assoc_mgr")) and "QOS=high" in t and "games" in t and t, 30,
                           "the controller has them")
        self.assertTrue(shown.startswith("Current Association Manager state\n\nUser Records\n\nUserName="), shown)
        self.assertRegex(shown, r"\nUserName=games\(\d+\) DefAccount=chem DefWckey=\(null\) AdminLevel=None\n")
        self.assertRegex(shown, r"\nClusterName=test Account=root UserName= Partition= Priority=0 ID=\d+\n    SharesRaw/Norm/Level/Factor=1/")
        self.assertRegex(shown, r"\n    ParentAccount=phys\(\d+\) Lineage=/phys/chem/ DefAssoc=No\n")
        self.assertRegex(shown, r"\n    ParentAccount= Lineage=/phys/chem/0-games/ DefAssoc=Yes\n")
        self.assertIn("\n    GrpJobs=20(0) GrpJobsAccrue=N(0)\n", shown)
        self.assertIn("\n    MaxJobs=5(0) MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n", shown)
        self.assertRegex(shown, r"\n    GrpTRES=cpu=100\(0\),mem=N\(0\)")
        self.assertRegex(shown, r"\nQOS=high\(\d+\)\n    UsageRaw=0\.000000\n    GrpJobs=N\(0\) ")
        self.assertIn("\n    Account Limits\n        No Accounts\n    User Limits\n        No Users\n", shown)
        self.assertEqual(self.c.out("scontrol", "show", "assoc_mgr", "users=games", "flags=users").count("UserName="), 1)
        self.assertEqual(self.c.out("scontrol", "show", "assoc_mgr", "flags=qos", "qos=high").count("QOS="), 1)
        if os.geteuid() != 0:
            return
        # What a job holds is in its account, all above it, and its QOS.
        self.c.run("sacctmgr", "-i", "modify", "user", "games", "set", "qos+=high")

        def taken():
            r = self.c.run("sbatch", "-A", "chem", "--qos=high", "-n2", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 60", user="games",
                           check=False, cwd="/tmp")
            return r.returncode == 0
        wait_until(taken, 30, "the QOS is his", 0.5)
        shown = wait_until(lambda: (t := self.c.out("scontrol", "show", "assoc_mgr", "accounts=phys")) and "GrpJobs=20(1)" in t and t, 30,
                           "the job counts")
        self.assertRegex(shown, r"\n    GrpTRES=cpu=100\(2\),")
        self.assertRegex(shown, r"\n      games\(\d+\)\n        MaxJobsPU=3\(1\) MaxJobsAccruePU=N\(0\) MaxSubmitJobsPU=N\(1\)\n"
                                r"        MaxTRESPU=cpu=6\(2\),")
        self.assertRegex(shown, r"\n    Account Limits\n      chem\n        MaxJobsPA=N\(1\) ")

    def test_ping_reconfigure_shutdown(self):
        self.assertEqual(self.c.out("sacctmgr", "ping"), "slurmdbd(primary) at 127.0.0.1 is UP\n")
        r = self.c.run("sacctmgr", "ping", "x", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "too many arguments for ping keyword\n"))
        dump = ("sacctmgr", "-i", "archive", "dump", "jobs", "purgejobafter=36hours")
        self.assertEqual(self.c.run(*dump, check=False).returncode, 1, "there is no place for archives")
        whole = self.c.conf.read_text().replace("[accounting]\n", f'[accounting]\narchive_dir = "{self.c.dir}/archive"\n')
        self.c.write_conf(whole)
        self.assertEqual(self.c.out("sacctmgr", "reconfigure"), "")
        self.assertIn("configuration reloaded", self.c.log("spurdbd"))
        self.c.run(*dump)
        good = self.c.dir / "good.conf"  # for sacctmgr
        good.write_text(whole)
        self.c.write_conf(whole + "nonsense = [\n")
        r = self.c.run("sacctmgr", "reconfigure", check=False, env={**self.c.env, "SPUR_CONF": str(good)})
        self.assertEqual(r.returncode, 1)
        self.assertIn(" Problem reconfiguring server: ", r.stderr)
        self.c.write_conf(whole)
        if os.geteuid() == 0:
            for verb in ("reconfigure", "shutdown"):
                r = self.c.run("sacctmgr", verb, check=False, user="games")
                self.assertEqual(r.returncode, 1)
                self.assertIn("Access/permission denied", r.stderr)
        self.assertIsNone(self.c.processes["spurdbd"].poll())
        self.assertEqual(self.c.out("sacctmgr", "shutdown"), "")
        wait_until(lambda: self.c.processes["spurdbd"].poll() is not None, 30, "spurdbd is gone")
        self.assertEqual(self.c.processes["spurdbd"].returncode, 0)
        r = self.c.run("sacctmgr", "ping", check=False)
        self.assertEqual((r.returncode, r.stdout), (1, "slurmdbd(primary) at 127.0.0.1 is DOWN\n"))

    def test_triggers_of_spurdbd(self):
        program = self.c.dir / "program"
        program.write_text(f"#!/bin/sh\necho $* > {self.c.dir}/out/part.$$ && mv {self.c.dir}/out/part.$$ {self.c.dir}/out/told.$1\n")
        program.chmod(0o755)
        for word in ("-g", "-G", "-e"):
            self.c.run("strigger", "--set", word, "-p", f"{program} {word}")
        self.assertEqual([x.split()[1:4] for x in self.c.out("strigger", "--get", "-N").splitlines()],
                         [["slurmdbd", "*", "primary_slurmdbd_failure"], ["slurmdbd", "*", "primary_slurmdbd_resumed_operation"],
                          ["slurmctld", "*", "primary_slurmctld_acct_buffer_full"]])
        self.c.kill("spurdbd")
        failed = self.c.dir / "out/told.-g"
        wait_until(failed.exists, 30, f"the failure is told: {self.c.log('spurctld')}")
        self.assertEqual(failed.read_text(), "-g primary_slurmdbd_failure\n")
        self.assertFalse((self.c.dir / "out/told.-G").exists())
        self.c.start_dbd()
        wait_until((self.c.dir / "out/told.-G").exists, 60, "its return is told")
        self.assertEqual(len(self.c.out("strigger", "--get", "-N").splitlines()), 1, "nothing is full")


if __name__ == "__main__":
    unittest.main()
