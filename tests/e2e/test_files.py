# SPDX-License-Identifier: Apache-2.0
"""Files to and from the nodes of a job: sbcast, sgather, srun --bcast. Where we are root every agent has a /mnt of its own, so that
what one node gets no other one has."""
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from spur_cluster import BIN, SpurCluster, wait_until

ROOT = os.geteuid() == 0
NODES = 5


class OwnMounts(SpurCluster):
    def start_agent(self, name):
        command = [BIN / "spurd", "-D", "-f", self.conf, "-N", name, "--listen", "127.0.0.1:0"]
        if ROOT:
            mount = "mount --make-rprivate / && mount -t tmpfs -o mode=1777 tmpfs /mnt && exec \"$@\""
            command = ["unshare", "-m", "sh", "-c", mount, "spurd"] + command
        self._spawn(f"spurd-{name}", *command)


class WithJob(unittest.TestCase):
    user, nodes = None, NODES

    @classmethod
    def setUpClass(cls):
        cls.c = OwnMounts(nodes=cls.nodes, cpus=2, controller="kill_wait_secs = 2").__enter__()
        cls.out = cls.c.dir / "out"

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def setUp(self):
        self.job = self.c.sbatch("-N", self.nodes, "-n", self.nodes, "--wrap", "sleep 600", user=self.user)
        self.c.wait_state(self.job, "RUNNING")
        self.addCleanup(self.end)

    def end(self):
        self.c.run("scancel", self.job, check=False)
        self.c.wait_empty()


@unittest.skipUnless(ROOT, "needs mounts of its own for each agent")
class Files(WithJob):
    def everywhere(self, command, **kw):
        """What a command prints on each node."""
        text = self.c.out("srun", "--overlap", f"--jobid={self.job}", "-N", NODES, "-n", NODES, "-l", "sh", "-c", command, **kw)
        return sorted(line.split(": ", 1)[1] for line in text.splitlines())

    def sbcast(self, *args, **kw):
        return self.c.run("sbcast", f"--jobid={self.job}", *args, check=False, **kw)

    def file(self, name, size, mode=0o750):
        path = self.out / name
        path.write_bytes(os.urandom(size))
        path.chmod(mode)
        return path, hashlib.sha256(path.read_bytes()).hexdigest()

    def test_a_file_arrives_on_every_node_intact(self):
        for options in ([], ["-C"], ["-F", "1"], ["-F", "8", "-s", "4k"], ["--compress=none", "-p"]):
            with self.subTest(options):
                path, digest = self.file("data", 3_000_001)
                r = self.sbcast("-f", *options, "data", "/mnt/data")
                self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "", ""))
                self.assertEqual(self.everywhere("sha256sum < /mnt/data; stat -c %a /mnt/data"),
                                 sorted([f"{digest}  -", "750"] * NODES))
        self.assertEqual(set(self.everywhere("stat -c %Y /mnt/data")), {str(int(path.stat().st_mtime))})
        self.assertEqual(set(self.everywhere("ls -A /mnt")), {"data"})  # nothing half-sent beside it

    def test_text_is_compressed_on_the_way_and_arrives_as_it_was(self):
        (self.out / "text").write_bytes(b"the same again and again\n" * 200_000)
        self.assertEqual(self.sbcast("-C", "text", "/mnt/text").returncode, 0)
        self.assertEqual(set(self.everywhere("sha256sum < /mnt/text")),
                         {hashlib.sha256((self.out / "text").read_bytes()).hexdigest() + "  -"})

    def test_what_is_there_stays_unless_forced(self):
        self.file("a", 10)
        self.assertEqual(self.sbcast("a", "/mnt/a").returncode, 0)
        _, digest = self.file("a", 20)
        r = self.sbcast("a", "/mnt/a")
        self.assertEqual(r.returncode, 17)
        self.assertEqual(sorted(r.stderr.splitlines()),
                         [f"sbcast: error: REQUEST_FILE_BCAST(n{i}): File exists" for i in range(1, NODES + 1)])
        self.assertEqual(set(self.everywhere("stat -c %s /mnt/a")), {"10"})
        self.assertEqual(self.sbcast("-f", "a", "/mnt/a").returncode, 0)
        self.assertEqual(set(self.everywhere("sha256sum < /mnt/a")), {digest + "  -"})

    def test_errors_of_the_nodes_and_of_the_caller(self):
        self.file("a", 10)
        for args, status, words in [
                (["a", "/nodir/x"], 2, "REQUEST_FILE_BCAST(n3): No such file or directory"),
                (["-f", "a", "/mnt"], 21, "REQUEST_FILE_BCAST(n1): Is a directory"),
                (["a", "/mnt/"], 1, "sbcast: error: Target filename cannot be a directory."),
                (["nofile", "/mnt/x"], 255, "sbcast: error: Can't open `nofile`: No such file or directory"),
                (["a"], 1, "Need two file names, have 1 names"),
        ]:
            with self.subTest(args):
                r = self.sbcast(*args)
                self.assertEqual(r.returncode, status, r.stderr)
                self.assertIn(words, r.stderr)
        r = self.c.run("sbcast", "--jobid=99999", "a", "/mnt/a", check=False)
        self.assertEqual((r.returncode, r.stderr),
                         (255, "sbcast: error: Slurm job 99999 lookup error: Invalid job id specified\n"))
        r = self.c.run("sbcast", "a", "/mnt/a", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("Need a job id to run this command.", r.stderr)

    def test_a_full_node_says_so_and_keeps_nothing_while_the_others_get_it(self):
        self.everywhere('[ $SLURMD_NODENAME = n2 ] && mkdir /mnt/small && mount -t tmpfs -o size=1m tmpfs /mnt/small || mkdir -p /mnt/small')
        _, digest = self.file("big", 20_000_000)
        r = self.sbcast("big", "/mnt/small/big")
        self.assertEqual((r.returncode, r.stderr), (28, "sbcast: error: REQUEST_FILE_BCAST(n2): No space left on device\n"))
        self.assertEqual(self.everywhere("cd /mnt/small; ls -A; [ -e big ] && sha256sum < big || true"),
                         sorted(["big", f"{digest}  -"] * (NODES - 1)))
        self.everywhere("umount /mnt/small || true")

    def test_only_the_nodes_of_a_step(self):
        self.file("a", 10)
        step = subprocess.Popen(["srun", "--overlap", f"--jobid={self.job}", "-w", "n2,n4", "-N2", "-n2", "sleep", "300"],
                                env=self.c.env, cwd=self.out)
        self.addCleanup(step.wait)
        self.addCleanup(step.terminate)
        wait_until(lambda: f"{self.job}.0" in self.c.out("squeue", "-h", "-s"), 20, "the step runs")
        self.assertEqual(self.c.run("sbcast", f"--jobid={self.job}.0", "a", "/mnt/ofstep").returncode, 0)
        self.assertEqual(self.everywhere("[ -e /mnt/ofstep ] && echo $SLURMD_NODENAME || true"), ["n2", "n4"])
        r = self.c.run("sbcast", f"--jobid={self.job}.77", "a", "/mnt/ofstep", check=False)
        self.assertEqual(r.returncode, 255)
        self.assertIn(f"Slurm job {self.job}.77 lookup error: Invalid job id specified", r.stderr)

    def test_a_transfer_that_is_cut_off_leaves_nothing(self):
        path, _ = self.file("large", 1)
        with open(path, "r+b") as f:
            f.truncate(400 << 20)
        sender = subprocess.Popen(["sbcast", f"--jobid={self.job}", "large", "/mnt/large"], env=self.c.env, cwd=self.out)
        receivers = lambda: [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if f"{self.job}.files]" in read(p)]
        wait_until(receivers, 20, "the file is on its way")
        sender.send_signal(signal.SIGKILL)
        sender.wait()
        wait_until(lambda: not receivers(), 20, "nobody receives any more")
        self.assertEqual(self.everywhere("ls -A /mnt | grep large || true"), [])
        path.unlink()

    def test_the_end_of_the_job_ends_it(self):
        path, _ = self.file("large", 1)
        with open(path, "r+b") as f:
            f.truncate(2 << 30)
        sender = subprocess.Popen(["sbcast", f"--jobid={self.job}", "-s", "4k", "large", "/mnt/large"], env=self.c.env, cwd=self.out,
                                  stderr=subprocess.PIPE, text=True)
        receivers = lambda: [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if f"{self.job}.files]" in read(p)]
        wait_until(lambda: len(receivers()) >= NODES, 20, "the file is on its way")
        self.c.run("scancel", self.job)
        self.assertNotEqual(sender.wait(30), 0)
        sender.stderr.close()
        self.c.wait_empty()
        self.assertEqual(receivers(), [])
        path.unlink()

    def test_srun_sends_the_program_before_it_runs_it(self):
        shutil.copy("/usr/bin/env", self.out / "prog")
        run = lambda *args: self.c.run("srun", "--overlap", f"--jobid={self.job}", "-N2", "-n2", *args, check=False)
        r = run("--bcast=/mnt/there", "./prog")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.everywhere("[ -x /mnt/there ] && echo yes || true"), ["yes"] * NODES)
        r = run("--bcast=/mnt/libs", "--send-libs", "--bcast-exclude=NONE", "./prog")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("LD_LIBRARY_PATH=/mnt/libs_libs", r.stdout.splitlines())
        self.assertIn("libc.so.6", self.everywhere("ls /mnt/libs_libs"))
        r = run("--bcast=/nodir/x", "./prog")
        self.assertEqual(r.returncode, 1)
        self.assertIn("REQUEST_FILE_BCAST(n2): No such file or directory", r.stderr)
        self.assertIn(f"srun: fatal: Failed to broadcast '{self.out}/./prog'. Step launch aborted.", r.stderr)
        r = run("--bcast=/mnt/x", "nosuchprogram")
        self.assertEqual((r.returncode, r.stderr), (1, "srun: fatal: Can not execute nosuchprogram\n"))

    def test_sgather_brings_a_file_from_every_node(self):
        self.everywhere("echo data of $SLURMD_NODENAME > /mnt/result; chmod 640 /mnt/result")
        env = {"SLURM_JOB_ID": str(self.job)}
        r = self.c.run("sgather", "-k", "-p", "/mnt/result", "got", env=env)
        self.assertEqual((r.stdout, r.stderr), ("", ""))
        for i in range(1, NODES + 1):
            self.assertEqual((self.out / f"got.n{i}").read_text(), f"data of n{i}\n")
            self.assertEqual((self.out / f"got.n{i}").stat().st_mode & 0o777, 0o640)
        self.c.run("sgather", "-C", "/mnt/result", "again", env=env)
        self.assertEqual(self.everywhere("ls /mnt/result 2>/dev/null || true"), [])  # not kept
        r = self.c.run("sgather", "/mnt/result", "none", env=env, check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("sgather: error: n1: Can't open /mnt/result: No such file or directory", r.stderr)
        self.assertEqual(self.c.run("sgather", "-f", "/mnt/result", "none", env=env, check=False).returncode, 0)

    def test_sgather_brings_directories(self):
        self.everywhere("mkdir -p /mnt/d/sub; echo $SLURMD_NODENAME > /mnt/d/sub/name; ln -sf sub/name /mnt/d/link; : > /mnt/d/empty")
        env = {"SLURM_JOB_ID": str(self.job)}
        r = self.c.run("sgather", "-k", "/mnt/d", "plain", env=env, check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("Is a directory", r.stderr)
        self.c.run("sgather", "-r", "/mnt/d", "tree", env=env)
        for i in range(1, NODES + 1):
            self.assertEqual((self.out / f"tree.n{i}/link").read_text(), f"n{i}\n")
            self.assertEqual(sorted(os.listdir(self.out / f"tree.n{i}")), ["empty", "link", "sub"])
        self.assertEqual(self.everywhere("ls -d /mnt/d 2>/dev/null || true"), [])


@unittest.skipUnless(ROOT, "needs another user")
class OfUsers(WithJob):
    user, nodes = "daemon", 2

    def test_a_user_writes_and_reads_only_what_he_may(self):
        path = self.out / "mine"
        path.write_text("x")
        path.chmod(0o644)

        def send(dest, user="daemon"):
            return self.c.run("sbcast", f"--jobid={self.job}", "mine", dest, check=False, user=user)
        r = send("/etc/spur-must-not")
        self.assertEqual(r.returncode, 13)
        self.assertIn("REQUEST_FILE_BCAST(n1): Permission denied", r.stderr)
        self.assertEqual(send("/mnt/mine").returncode, 0)
        owner = self.c.out("srun", "--overlap", f"--jobid={self.job}", "-N1", "-n1", "stat", "-c", "%U", "/mnt/mine", user="daemon")
        self.assertEqual(owner, "daemon\n")
        r = send("/mnt/other", "bin")  # somebody else's job
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("lookup error", r.stderr)
        r = self.c.run("sgather", "-k", "/etc/shadow", "shadow", check=False, user="daemon", env={"SLURM_JOB_ID": str(self.job)})
        self.assertEqual(r.returncode, 1)
        self.assertIn("Permission denied", r.stderr)


def read(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
