# SPDX-License-Identifier: Apache-2.0
"""Who may do what, with real users. Needs root to become them; as an ordinary user only what needs one user is tested."""
import os
import unittest

from spur_cluster import SpurCluster, wait_until

AS_ROOT = os.geteuid() == 0
# Two users that every Debian has.
ALICE, MALLORY = "games", "man"
ALICE_UID, ALICE_GID = 5, 60


@unittest.skipUnless(AS_ROOT, "only root can act as other users")
class Users(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(cpus=4).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def test_a_user_cannot_touch_another_users_job(self):
        job = self.c.sbatch("-H", "--wrap", "true", user=ALICE)
        self.assertEqual(self.c.job(job)["UserId"], f"{ALICE}({ALICE_UID})")
        r = self.c.run("scancel", job, user=MALLORY, check=False)
        self.assertEqual(r.returncode, 210)
        self.assertEqual(r.stderr, f"scancel: error: Kill job error on job id {job}: Access/permission denied\n")
        for words in (["hold", job], ["release", job], ["requeue", job], ["update", f"jobid={job}", "timelimit=1"]):
            r = self.c.run("scontrol", *words, user=MALLORY, check=False)
            self.assertEqual(r.returncode, 1, words)
        self.assertEqual(self.c.state(job), "PENDING")
        self.c.run("scancel", job, user=ALICE)
        self.assertEqual(self.c.state(job), "CANCELLED")

    def test_only_administrators_change_the_cluster(self):
        for words in (["update", "nodename=n1", "state=drain", "reason=x"], ["reconfigure"], ["shutdown"]):
            r = self.c.run("scontrol", *words, user=MALLORY, check=False)
            self.assertEqual(r.returncode, 1, words)
        self.assertEqual(self.c.out("sinfo", "-h", "-o", "%t").strip() in ("idle", "mix", "alloc"), True)

    def test_jobs_run_as_their_user(self):
        job = self.c.sbatch("-o", "id-%j", "--wrap", "id -u; id -g; id -G; umask", user=ALICE)
        self.c.wait_state(job, "COMPLETED")
        path = self.c.dir / "out" / f"id-{job}"
        self.assertEqual(path.read_text().split()[:3], [str(ALICE_UID), str(ALICE_GID), str(ALICE_GID)])
        self.assertEqual(path.stat().st_uid, ALICE_UID)

    def test_a_node_vouches_for_the_users_of_its_jobs_only(self):
        away = f"SPUR_CONTROLLER_ADDR=127.0.0.1:{self.c.port} SPUR_AUTH_SOCKET=$SPUR_NODE_AUTH_SOCKET"
        job = self.c.sbatch("-o", "vouch-%j", user=ALICE, input=f'''#!/bin/sh
{away} squeue -h -o %i -j $SLURM_JOB_ID
echo $SPUR_NODE_AUTH_SOCKET
{away} scontrol update nodename=n1 state=drain reason=x
while [ ! -e vouched ]; do sleep 0.05; done
''')
        path = self.c.dir / "out" / f"vouch-{job}"
        wait_until(lambda: path.exists() and "slurm_update" in path.read_text(), 20, "the job has asked")
        lines = path.read_text().splitlines()
        self.assertEqual(lines[0], str(job))
        self.assertEqual(lines[2], "slurm_update error: Invalid user id")
        r = self.c.run("squeue", user=MALLORY, check=False,
                       env={"SPUR_CONTROLLER_ADDR": f"127.0.0.1:{self.c.port}", "SPUR_AUTH_SOCKET": lines[1]})
        self.assertEqual(r.returncode, 1)
        self.assertEqual(r.stderr, "slurm_load_jobs error: Protocol authentication error\n")
        (self.c.dir / "out" / "vouched").touch()
        self.c.wait_state(job, "COMPLETED")

    def test_output_through_a_symlink_to_a_foreign_file_is_refused(self):
        target = self.c.dir / "secret"
        target.write_text("untouched\n")
        target.chmod(0o600)
        link = self.c.dir / "out" / "link"
        link.symlink_to(target)
        job = self.c.sbatch("-o", str(link), "--wrap", "echo pwned", user=ALICE)
        self.c.wait_state(job, "FAILED")
        self.assertEqual(target.read_text(), "untouched\n")

    def test_a_negative_nice_is_for_administrators(self):
        r = self.c.run("sbatch", "-H", "--nice=-5", "--wrap", "true", user=ALICE, check=False)
        self.assertEqual((r.returncode, r.stderr), (1, "sbatch: error: Batch job submission failed: Invalid --nice value\n"))

    def test_without_a_credential_nothing_works(self):
        for address in (f"127.0.0.1:{self.c.port}", f"unix:{self.c.dir}/state/ctld.sock"):
            r = self.c.run("squeue", check=False,
                           env={"SPUR_CONTROLLER_ADDR": address, "SPUR_AUTH_SOCKET": "/nonexistent"})
            self.assertNotEqual(r.returncode, 0, address)
            self.assertTrue(r.stderr, address)

    def test_every_way_in_is_as_strict(self):
        """The local socket, gRPC over a unix socket and gRPC over TCP: the same user may do the same."""
        job = self.c.sbatch("-H", "--wrap", "true")
        for address in (None, f"127.0.0.1:{self.c.port}", f"unix:{self.c.dir}/state/ctld.sock"):
            env = {"SPUR_CONTROLLER_ADDR": address} if address else {}
            r = self.c.run("scancel", job, user=ALICE, check=False, env=env)
            self.assertIn("denied", r.stderr.lower(), address)
            r = self.c.run("scontrol", "update", "nodename=n1", "state=down", "reason=x", user=ALICE, check=False, env=env)
            self.assertNotEqual(r.returncode, 0, address)
            own = self.c.sbatch("-H", "--wrap", "true", user=ALICE, env=env)
            self.assertIn(f"({ALICE_UID})", self.c.out("scontrol", "show", "job", own))
            self.c.run("scancel", own, user=ALICE, env=env)
        self.assertEqual(self.c.state(job), "PENDING")

    def test_an_unknown_user_gets_nowhere(self):
        """uid 65534 is what the kernel shows for everybody it cannot name."""
        r = self.c.run("squeue", user="nobody", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("authentication", r.stderr)


if __name__ == "__main__":
    unittest.main()
