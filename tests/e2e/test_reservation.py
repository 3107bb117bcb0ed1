# SPDX-License-Identifier: Apache-2.0
"""Reservations and partitions by an administrator's word, priorities as sprio tells them."""
import unittest

from spur_cluster import SpurCluster, wait_until


class Reservations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def state(self, node):
        return self.c.out("sinfo", "-h", "-N", "-n", node, "-o", "%t").split()[0]

    def refused(self, *args):
        r = self.c.run(*args, check=False)
        self.assertEqual(r.returncode, 1, r.stdout)
        return r.stderr

    def test_life(self):
        names = self.c.out("sinfo", "-h", "-N", "-o", "%N").split()
        first, second = sorted(set(names))
        self.assertEqual(self.c.out("scontrol", "create", "reservation", "reservationname=r1", "starttime=now", "duration=60",
                                    "users=root", f"nodes={first}"), "Reservation created: r1\n")
        self.assertEqual(self.state(first), "resv")
        shown = self.c.out("scontrol", "-o", "show", "reservation", "r1")
        self.assertIn(f"Nodes={first} NodeCnt=1 CoreCnt=4 ", shown)
        self.assertIn("Users=root ", shown)
        self.assertIn("State=ACTIVE", shown)
        self.assertIn("r1 ", self.c.out("sinfo", "-T"))
        self.assertEqual(self.refused("scontrol", "create", "reservation", "reservationname=r2", "starttime=now", "duration=60",
                                      "users=root", f"nodes={first}"),
                         "Error creating the reservation: Requested reservation overlaps with another reservation\n")
        self.assertEqual(self.c.out("scontrol", "create", "reservation", "starttime=now", "duration=60", "users=root",
                                    "nodecnt=1", "flags=maint"), "Reservation created: root_1\n")
        self.assertEqual(self.c.out("scontrol", "update", "reservationname=r1", "flags+=maint", "duration+=60"),
                         "Reservation updated.\n")
        self.assertEqual(self.state(first), "maint")

        # It is part of the state: a controller that was killed still has it.
        self.c.kill("spurctld", 9)
        self.c.start_controller()
        wait_until(lambda: self.c.run("scontrol", "show", "reservation", "r1", check=False).returncode == 0, 30, "the reservation")
        self.assertIn("Flags=MAINT,SPEC_NODES", self.c.out("scontrol", "-o", "show", "reservation", "r1"))

        self.c.out("scontrol", "delete", "reservationname=root_1")
        self.c.out("scontrol", "delete", "reservation", "r1")
        wait_until(lambda: self.state(first) == "idle", 30, "the node")
        self.assertEqual(self.c.run("scontrol", "show", "reservation", "r1", check=False).stdout, "Reservation r1 not found\n")

    def test_submits_are_checked(self):
        self.assertEqual(self.refused("sbatch", "--reservation=nosuch", "--wrap", "true"),
                         "sbatch: error: Batch job submission failed: Requested reservation is invalid\n")
        self.c.out("scontrol", "create", "reservation", "reservationname=his", "starttime=now+1hour", "duration=60",
                   "users=daemon", "nodecnt=1")
        self.assertEqual(self.refused("sbatch", "--reservation=his", "--wrap", "true"),
                         "sbatch: error: Batch job submission failed: Access denied to requested reservation\n")
        self.c.out("scontrol", "delete", "reservationname=his")
        self.c.out("scontrol", "create", "partitionname=acct", "nodes=ALL", "allowaccounts=a1")
        self.assertEqual(self.refused("sbatch", "-p", "acct", "--wrap", "true"),
                         "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n")
        job = self.c.sbatch("-p", "acct", "-A", "a1", "--wrap", "true")
        self.c.wait_state(job, "COMPLETED")
        self.assertIn("AllowAccounts=a1", self.c.out("scontrol", "-o", "show", "partition", "acct"))
        self.c.out("scontrol", "update", "partitionname=acct", "state=drain", "maxtime=10")
        self.assertIn("MaxTime=00:10:00", self.c.out("scontrol", "-o", "show", "partition", "acct"))
        self.assertIn("State=DRAIN", self.c.out("scontrol", "-o", "show", "partition", "acct"))

    def wait_reason(self, job, reason):
        wait_until(lambda: self.c.out("squeue", "-h", "-j", str(job), "-o", "%r").strip() == reason, 30, reason)

    def test_jobs_in_it(self):
        first = sorted(self.c.out("sinfo", "-h", "-N", "-o", "%N").split())[0]
        self.c.out("scontrol", "create", "reservation", "reservationname=mine", "starttime=now+10minutes", "duration=60",
                   "users=root", f"nodes={first}")
        waits = self.c.sbatch("--reservation=mine", "-t10", "--wrap", "env; sleep 600")
        self.wait_reason(waits, "Reservation")
        self.assertIn("  reservation mine\n", self.c.out("spur", "explain", str(waits)))
        self.c.out("scontrol", "update", "reservationname=mine", "starttime=now")
        self.c.wait_state(waits, "RUNNING")
        self.assertEqual(self.c.out("squeue", "-h", "-j", str(waits), "-o", "%N %v").split(), [first, "mine"])
        self.assertIn("   Reservation=mine\n", self.c.out("scontrol", "show", "job", str(waits)))
        self.assertEqual(self.refused("scontrol", "delete", "reservationname=mine"),
                         "delete_reservation reservationname=mine: Requested reservation is in use\n")
        # A job may be moved into it, and one that waits for it out of it.
        long = self.c.sbatch("-N2", "-t30", "--wrap", "true")
        self.wait_reason(long, "Resources")
        self.assertEqual(self.refused("scontrol", "update", f"jobid={long}", "reservationname=nosuch"),
                         f"Requested reservation is invalid for job {long}\n")
        self.c.out("scontrol", "update", f"jobid={long}", "reservationname=mine", "numnodes=1")
        self.c.wait_state(long, "COMPLETED")
        self.c.out("scancel", str(waits))
        self.c.wait_state(waits, "CANCELLED")
        self.c.out("scontrol", "delete", "reservationname=mine")

    def test_wishes_that_give_way(self):
        blocker = self.c.sbatch("-n1", "-c4", "-t60", "--wrap", "sleep 600")
        self.c.wait_state(blocker, "RUNNING")
        wide = self.c.sbatch("-N2", "--exclusive", "-t10", "--wrap", "true")
        self.wait_reason(wide, "Resources")
        # In front of the wide job there is less than an hour left, but more than ten minutes.
        short = self.c.sbatch("-n1", "-c4", "-t120", "--time-min=10", "--wrap", "sleep 600")
        self.c.wait_state(short, "RUNNING")
        shown = self.c.out("scontrol", "show", "job", str(short))
        self.assertRegex(shown, "TimeLimit=00:(59|60):00 TimeMin=00:10:00|TimeLimit=01:00:00 TimeMin=00:10:00")
        self.c.out("scancel", str(short), str(blocker), str(wide))
        alone = self.c.sbatch("-n1", "--exclusive=user", "--switches=2@10", "--hint=memory_bound", "--wrap", "sleep 600")
        self.c.wait_state(alone, "RUNNING")
        self.assertEqual(self.c.out("squeue", "-h", "-j", str(alone), "-O", "oversubscribe:8,reqswitch:4,wait4switch:8").split(),
                         ["USER", "2", "5:00"])
        self.assertIn("   Switches=2@00:05:00\n", self.c.out("scontrol", "show", "job", str(alone)))
        self.c.out("scancel", str(alone))

    def test_priorities(self):
        blocker = self.c.sbatch("-N2", "--exclusive", "--wrap", "sleep 600")
        self.c.wait_state(blocker, "RUNNING")
        plain = self.c.sbatch("-N2", "--exclusive", "--wrap", "true")
        nice = self.c.sbatch("-N2", "--exclusive", "--nice=50", "--wrap", "true")
        by_hand = self.c.sbatch("-N2", "--exclusive", "--priority=77", "--wrap", "true")
        rows = {}
        for line in self.c.out("sprio", "-h", "-o", "%i %Y %N %S").split("\n")[:-1]:
            job, priority, niceness, site = line.split()
            rows[int(job)] = (int(priority), int(niceness), int(site))
        self.assertEqual(rows[by_hand], (77, 0, 0))
        self.assertEqual(rows[nice][1:], (50, 100000))
        self.assertIn(rows[plain][0] - rows[nice][0], (50, 51))  # it may age between the two
        shown = int(self.c.job(plain)["Priority"])
        self.assertGreaterEqual(shown, 100000)
        self.assertEqual(self.c.out("squeue", "-h", "-j", str(by_hand), "-o", "%Q").strip(), "77")
        for job in (blocker, plain, nice, by_hand):
            self.c.run("scancel", str(job))


if __name__ == "__main__":
    unittest.main()
