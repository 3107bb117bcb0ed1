# SPDX-License-Identifier: Apache-2.0
"""PrivateData: what ordinary users see of others, with real daemons. Where Slurm 22.05 says something, so do we."""
import os
import unittest

from spur_cluster import BIN, SpurCluster, free_port, wait_until

USER, OTHER = "daemon", "games"


@unittest.skipUnless(os.geteuid() == 0, "needs several users")
class PrivateData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port = free_port()
        cls.c = SpurCluster(
            nodes=2, cpus=4, controller='private_data = ["jobs", "nodes", "partitions", "reservations", "usage"]',
            extra=f'[accounting]\nhost = "127.0.0.1"\nlisten_addr = "127.0.0.1:{port}"\nprivate_data = ["all"]\n')
        cls.addClassCleanup(cls.c.stop)
        cls.c._spawn("spurdbd", BIN / "spurdbd", "-D", "-f", cls.c.conf)
        cls.c.start()
        run = cls.c.run
        run("sacctmgr", "-i", "add", "account", "lab")
        run("sacctmgr", "-i", "add", "account", "shop")
        run("sacctmgr", "-i", "add", "user", "root", "account=lab")
        run("sacctmgr", "-i", "add", "user", USER, "account=shop")
        run("sacctmgr", "-i", "add", "user", OTHER, "account=shop")
        wait_until(lambda: cls.c.out("sshare", "-naP", "-o", "user").split().count(USER), 30, "the controller knows the users")
        cls.theirs = cls.c.sbatch("-A", "lab", "-o", "/dev/null", "--wrap", "sleep 1000")
        cls.own = cls.c.sbatch("-A", "shop", "-D", "/tmp", "-o", "/dev/null", "--wrap", "sleep 1000", user=USER)
        for job in (cls.theirs, cls.own):
            cls.c.wait_state(job, "RUNNING")
        run("scontrol", "create", "reservation", "reservationname=r1", "users=root", "nodes=n1", "start=now+1hour", "duration=60",
            "flags=ignore_jobs")
        run("scontrol", "create", "reservation", "reservationname=r2", f"users={USER}", "nodes=n2", "start=now+1hour", "duration=60",
            "flags=ignore_jobs")

    def says(self, status, out, err, *words, user=USER):
        r = self.c.run(*words, user=user, check=False)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (status, out, err))

    def test_jobs(self):
        self.says(0, f"{self.own}\n", "", "squeue", "-h", "-o", "%i")
        self.says(1, "", "slurm_load_jobs error: Invalid job id specified\n", "squeue", "-h", "-j", self.theirs)
        self.says(1, "", "slurm_load_jobs error: Invalid job id specified\n", "scontrol", "show", "job", self.theirs)
        self.assertEqual(self.c.out("scontrol", "-o", "show", "job", user=USER).count("JobId="), 1)
        self.assertNotIn(str(self.theirs), self.c.run("scontrol", "-o", "show", "steps", user=USER, check=False).stdout)
        self.assertIn(f"JobId={self.own} ", self.c.out("scontrol", "-o", "show", "job", self.own, user=USER))
        self.says(0, "", "", "squeue", "-h", "-o", "%i", user=OTHER)
        self.assertEqual(sorted(self.c.out("squeue", "-h", "-o", "%i").split()), sorted([str(self.theirs), str(self.own)]))
        self.assertNotEqual(self.c.run("scontrol", "wait_job", self.theirs, user=USER, check=False).returncode, 0)
        # What he may not see he may not touch, either.
        self.assertIn("Access/permission denied", self.c.run("scancel", self.theirs, user=USER, check=False).stderr)

    def test_nodes_and_partitions(self):
        self.says(1, "", "slurm_load_partitions: Access/permission denied\n", "sinfo")
        self.says(1, "", "slurm_load_node error: Access/permission denied\n", "scontrol", "show", "node", "n1")
        self.says(1, "", "slurm_load_node error: Access/permission denied\n", "scontrol", "show", "node")
        self.says(1, "", "slurm_load_partitions error: Access/permission denied\n", "scontrol", "show", "partition", "debug")
        self.assertIn("n1", self.c.out("sinfo", "-h", "-N"))
        self.assertEqual(self.c.out("srun", "-t1", "-A", "shop", "echo", "works", user=USER), "works\n")

    def test_reservations(self):
        mine = self.c.out("scontrol", "-o", "show", "reservation", user=USER)
        self.assertEqual(mine.count("ReservationName="), 1)
        self.assertIn("ReservationName=r2 ", mine)
        self.says(1, "Reservation r1 not found\n", "", "scontrol", "show", "reservation", "r1")
        self.assertEqual(self.c.out("scontrol", "-o", "show", "reservation").count("ReservationName="), 2)

    def test_usage(self):
        self.assertEqual(self.c.out("sshare", "-naP", "-o", "account,user", user=USER).split(), [f"shop|{USER}"])
        self.assertEqual(self.c.out("sshare", "-naP", "-o", "user", user=OTHER).split(), [OTHER])

    def test_accounting(self):
        ids = lambda user: self.c.out("sacct", "-naXP", "-o", "jobid", user=user).split()
        wait_until(lambda: str(self.own) in ids(USER), 30, "the database has the job")
        self.assertNotIn(str(self.theirs), ids(USER))
        self.assertNotIn(str(self.own), ids(OTHER))
        wait_until(lambda: {str(self.theirs), str(self.own)} <= set(ids(None)), 30, "root sees both")
        users = self.c.out("sacctmgr", "-nP", "show", "user", "format=user", user=USER).split()
        self.assertEqual(users, [USER])
        rows = self.c.out("sacctmgr", "-nP", "show", "assoc", "format=account,user", user=USER).split()
        self.assertIn(f"shop|{USER}", rows)
        self.assertFalse([row for row in rows if row.endswith((f"|{OTHER}", "|root")) or row.startswith("lab|")], rows)
        self.assertEqual(self.c.out("sacctmgr", "-nP", "show", "account", "format=account", user=USER).split(), [])
        events = self.c.run("sacctmgr", "show", "event", user=USER, check=False)
        self.assertNotEqual(events.returncode, 0)
        self.assertIn("Access/permission denied", events.stderr + events.stdout)

    def test_operators_and_coordinators(self):
        self.c.run("sacctmgr", "-i", "add", "coordinator", "account=shop", f"name={OTHER}")
        wait_until(lambda: self.c.out("squeue", "-h", "-o", "%i", user=OTHER).split() == [str(self.own)], 30, "a coordinator sees it")
        self.assertEqual(self.c.out("sacctmgr", "-nP", "show", "account", "format=account", user=OTHER).split(), ["shop"])
        self.c.run("sacctmgr", "-i", "modify", "user", OTHER, "set", "adminlevel=operator")
        wait_until(lambda: str(self.theirs) in self.c.out("squeue", "-h", "-o", "%i", user=OTHER).split(), 30, "an operator sees all")
        self.assertIn("n1", self.c.out("sinfo", "-h", "-N", user=OTHER))
        self.assertIn("lab", self.c.out("sacctmgr", "-nP", "show", "account", "format=account", user=OTHER).split())
        self.c.run("sacctmgr", "-i", "modify", "user", OTHER, "set", "adminlevel=none")
        self.c.run("sacctmgr", "-i", "delete", "coordinator", "account=shop", f"name={OTHER}")
        wait_until(lambda: not self.c.out("squeue", "-h", "-o", "%i", user=OTHER).split(), 30, "and is nobody again")


if __name__ == "__main__":
    unittest.main()
