# SPDX-License-Identifier: Apache-2.0
"""Accounts, limits and shares from end to end: what sacctmgr says reaches the controller through spurdbd, holds jobs back, and is still
there when spurdbd is gone."""
import os
import unittest

from spur_cluster import SpurCluster, free_port, wait_until
from test_accounting import AccountingCluster


class LimitedCluster(AccountingCluster):
    def __init__(self):
        SpurCluster.__init__(self, cpus=8, extra=f'[accounting]\nhost = "127.0.0.1"\nlisten_addr = "127.0.0.1:{free_port()}"\n'
                             'enforce = ["associations", "limits", "qos"]\n[priority]\nfairshare_weight = 1000\ncalc_period = "1"\n')


@unittest.skipUnless(os.geteuid() == 0, "accounts are of root and of other users here")
class Limits(unittest.TestCase):
    def setUp(self):
        self.c = LimitedCluster().start()
        self.addCleanup(self.c.stop)
        wait_until(lambda: "root" in self.c.out("sshare", "-anP", "-o", "User").split("\n"), 30, "the cluster has its accounts")
        self.manage("add", "account", "lab")
        self.manage("add", "user", "root", "account=lab", "maxjobs=1")
        self.known("lab", "root")

    def manage(self, *words):
        self.c.out("sacctmgr", "-i", *words)

    def known(self, account, user):
        wait_until(lambda: f"{account}|{user}" in self.c.out("sshare", "-anP", "-o", "Account,User").replace(" ", ""), 30,
                   f"the controller knows {user} of {account}")

    def reason(self, job):
        return self.c.out("squeue", "-h", "-j", job, "-o", "%T %r").strip()

    def refused(self, *words):
        r = self.c.run("sbatch", *words, "--wrap", "true", check=False)
        # As Slurm: which limit it is, if it is one, and then the refusal.
        self.limit = r.stderr.split("\n")[0].removeprefix("sbatch: error: ") if r.stderr.count("\n") > 1 else None
        return r.returncode, r.stderr.strip().split("\n")[-1].split(": ", 3)[-1]

    def test_who_may_submit(self):
        self.assertEqual(self.refused("-A", "none"), (1, "Invalid account or account/partition combination specified"))
        self.assertEqual(self.refused("-A", "lab", "--qos=none"), (1, "Invalid qos specification"))
        self.manage("add", "qos", "strict", "flags=DenyOnLimit", "maxtres=cpu=2", "maxsubmitpu=1")
        self.manage("add", "user", "games", "account=lab")
        self.known("lab", "games")
        self.assertEqual(self.refused("--uid=games", "-D", "/tmp", "-A", "lab", "--qos=strict"), (1, "Invalid qos specification"), "not of this user")
        self.manage("modify", "user", "root", "where", "account=lab", "set", "qos+=strict")
        policy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
        wait_until(lambda: self.refused("-A", "lab", "--qos=strict", "-n3") == (1, policy), 30, "the new QOS is in force")
        self.assertEqual(self.limit, "QOSMaxCpuPerJobLimit")
        self.c.sbatch("-A", "lab", "--qos=strict", "-n2", "--hold", "--wrap", "true")
        self.assertEqual(self.refused("-A", "lab", "--qos=strict"), (1, policy), "one is there already")
        self.assertEqual(self.limit, "QOSMaxSubmitJobPerUserLimit")

    def test_jobs_wait_and_say_why(self):
        first = self.c.sbatch("-A", "lab", "--wrap", "sleep 300")
        second = self.c.sbatch("-A", "lab", "--wrap", "sleep 300")
        wait_until(lambda: self.reason(first) == "RUNNING None", 30, "one runs")
        wait_until(lambda: self.reason(second) == "PENDING AssocMaxJobsLimit", 30, "the other waits")
        # Limits are the controller's own: they hold without spurdbd, and a controller that starts then has them.
        self.c.kill("spurdbd")
        self.c.kill("spurctld")
        self.c.start_controller()
        wait_until(lambda: self.reason(second) == "PENDING AssocMaxJobsLimit", 30, "it still waits")
        self.c.start_dbd()
        wait_until(lambda: self.c.run("sacctmgr", "-i", "modify", "user", "root", "where", "account=lab", "set", "maxjobs=-1",
                                      "grptres=cpu=2", check=False).returncode == 0, 30, "spurdbd is back")
        wait_until(lambda: self.reason(second) == "RUNNING None", 30, "the limit is gone")
        third = self.c.sbatch("-A", "lab", "--wrap", "sleep 300")
        wait_until(lambda: self.reason(third) == "PENDING AssocGrpCpuLimit", 30, "two CPUs are all there are")
        self.c.out("scancel", first)
        wait_until(lambda: self.reason(third) == "RUNNING None", 30, "one CPU is free")

    def test_usage_lowers_the_share(self):
        self.manage("add", "user", "games", "account=lab")
        self.known("lab", "games")
        self.c.sbatch("-A", "lab", "-n4", "--wrap", "sleep 2")

        def factors():
            rows = (line.split("|") for line in self.c.out("sshare", "-anP", "-o", "Account,User,RawUsage,FairShare").splitlines())
            return {(r[0].strip(), r[1]): (int(r[2]), float(r[3])) for r in rows if r[1]}
        found = wait_until(lambda: (f := factors())[("lab", "root")][0] >= 4 and f, 30, "usage is counted")
        self.assertGreater(found[("lab", "games")][1], found[("lab", "root")][1])
        self.assertEqual(found[("lab", "games")][0], 0)


if __name__ == "__main__":
    unittest.main()
