# SPDX-License-Identifier: Apache-2.0
"""What administrators meet: a full disk, a port that is taken, a state directory that is not ours, a configuration that
cannot be meant, a controller that is not there. One clear line, a non-zero exit status, nothing acknowledged lost."""
import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from spur_cluster import BIN, SpurCluster, free_port, wait_until

AS_ROOT = os.geteuid() == 0


def start(c, daemon, *args, timeout=60):
    """A daemon that is expected to give up by itself."""
    return subprocess.run([str(BIN / daemon), *map(str, args)], env=c.env, capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def small_disk(path, size, kind="tmpfs"):
    path.mkdir(exist_ok=True)
    if kind == "tmpfs":
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "small", str(path)], check=True)
    else:
        image = f"{path}.image"
        subprocess.run(["truncate", "-s", size, image], check=True)
        subprocess.run([f"mkfs.{kind}", "-q", "-F", image], check=True)
        if subprocess.run(["mount", "-o", "loop", image, str(path)]).returncode != 0:
            raise unittest.SkipTest("no loop devices here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path):
    """Takes all the space there is."""
    with open(path, "wb", buffering=0) as f:
        for size in (65536, 4096):
            with contextlib.suppress(OSError):
                while True:
                    f.write(b"x" * size)


@unittest.skipUnless(AS_ROOT, "only root can make a small disk")
class FullDisk(unittest.TestCase):
    FULL = "sbatch: error: Batch job submission failed: No space left on device\n"

    def submit_until_full(self, c):
        """The ids that were acknowledged before a submit was refused."""
        acked = []
        script = "#!/bin/sh\n" + "#" * 50_000 + "\n"
        while len(acked) < 500:
            r = c.run("sbatch", "--parsable", "-H", check=False, input=script)
            if r.returncode != 0:
                self.assertEqual((r.returncode, r.stdout, r.stderr), (1, "", self.FULL))
                return acked
            acked.append(int(r.stdout))
        self.fail("the disk does not get full")

    def queue(self, c):
        return sorted(int(x) for x in c.out("squeue", "-h", "-t", "PD", "-o", "%A").split())

    def test_state_directory_in_memory(self):
        self.fill_state_directory("tmpfs")

    @unittest.skipUnless(shutil.which("mkfs.ext4"), "needs mkfs.ext4")
    def test_state_directory_on_a_disk(self):
        self.fill_state_directory("ext4")

    def fill_state_directory(self, kind):
        c = SpurCluster(cpus=2)
        filler = c.dir / "state" / "filler"
        with small_disk(c.dir / "state", "24M", kind), c:
            pid = c.pid("spurctld")
            running = c.sbatch("-o", "/dev/null", "--wrap", f"while [ ! -e {c.dir}/go ]; do sleep 0.1; done; exit 3")
            c.wait_state(running, "RUNNING")
            fill(filler)
            acked = self.submit_until_full(c)
            # Queries go on; the refused one has left nothing.
            self.assertEqual(self.queue(c), acked)
            r = c.run("scontrol", "hold", running, check=False)
            self.assertIn(r.returncode, (0, 1))  # small enough to fit, perhaps
            # A job that ends now is not forgotten.
            (c.dir / "go").touch()
            self.assertEqual(self.submit_until_full(c), [])
            filler.unlink()
            c.wait_state(running, "FAILED", seconds=60)
            self.assertEqual(c.job(running)["ExitCode"], "3:0")
            acked.append(c.sbatch("-H", "--wrap", "true"))
            self.assertEqual(c.pid("spurctld"), pid)
            self.assertIsNone(c.processes["spurctld"].poll())
            # Full again, and killed: all that was acknowledged is there, with space or without.
            fill(filler)
            acked += self.submit_until_full(c)
            c.kill("spurctld")
            c.start_controller(wait=False)
            done = wait_until(lambda: c.processes["spurctld"].poll() is not None or
                              c.run("scontrol", "ping", check=False).returncode == 0, 60, "an answer or an end")
            self.assertTrue(done)
            if c.processes["spurctld"].poll() is not None:  # too full even to start: it says so
                self.assertEqual(c.processes["spurctld"].returncode, 1)
                self.assertRegex(c.log("spurctld").splitlines()[-1], "fatal: .*(full|space)")
                filler.unlink()
                c.start_controller()
            self.assertEqual(self.queue(c), acked)
            filler.unlink(missing_ok=True)
            wait_until(lambda: c.run("sbatch", "-H", "--wrap", "true", check=False).returncode == 0, 60, "a submit with space")

    def test_spool_of_the_agent(self):
        c = SpurCluster(cpus=2)
        spool = c.dir / "spool" / "n1"
        spool.parent.mkdir()
        with small_disk(spool, "2M"), c:
            fill(spool / "filler")
            job = c.sbatch("-o", "/dev/null", "--wrap", "true")
            # The node's fault, not the job's: it goes back to the queue and says why.
            wait_until(lambda: c.job(job)["Restarts"] == "1", 60, "the job is back in the queue")
            self.assertRegex(c.job(job)["Reason"], "(?i)no_space_left_on_device|disk_is_full")
            (spool / "filler").unlink()
            c.wait_state(job, "COMPLETED", seconds=120)

    def test_output_directory(self):
        with SpurCluster(cpus=2) as c, small_disk(c.dir / "out" / "small", "64k"):
            job = c.sbatch("-o", "small/out", "--wrap", "head -c 1000000 /dev/zero")
            c.wait_state(job, "FAILED")
            self.assertEqual((c.job(job)["ExitCode"], c.job(job)["Reason"]), ("1:0", "NonZeroExitCode"))
            self.assertEqual(c.out("sinfo", "-h", "-o", "%T").strip(), "idle")


class StateDirectory(unittest.TestCase):
    def setUp(self):
        self.c = SpurCluster(cpus=2)
        self.addCleanup(self.c.stop)
        self.state = self.c.dir / "state"

    def refuses(self, pattern):
        r = start(self.c, "spurctld", "-D", "-f", self.c.conf)
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertRegex(r.stderr, rf"^spurctld: fatal: {pattern}\n$")

    def used_once(self):
        self.c.start_controller()
        job = self.c.sbatch("-H", "--wrap", "true")
        self.c.kill("spurctld", signal.SIGTERM)
        return job

    def test_of_another_version(self):
        job = self.used_once()
        def set_format(number):
            with contextlib.closing(sqlite3.connect(self.state / "journal.sqlite")) as db:
                before = db.execute("PRAGMA user_version").fetchone()[0]
                db.execute(f"PRAGMA user_version={number}")
                db.commit()
            return before
        ours = set_format(99)
        self.refuses(f"{self.state}/journal.sqlite has format 99, this program knows formats up to {ours}: .*")
        set_format(ours)  # nothing was touched
        self.c.start_controller()
        self.assertEqual(self.c.state(job), "PENDING")

    def test_that_is_no_journal(self):
        self.used_once()
        (self.state / "journal.sqlite").write_bytes(b"hello" * 1000)
        self.refuses(f"{self.state}/journal.sqlite is no journal, or its start is damaged: .*")

    @unittest.skipUnless(AS_ROOT, "only root can give files away")
    def test_of_another_user(self):
        self.state.mkdir()
        shutil.chown(self.state, "games")
        self.refuses(rf"directory {self.state} belongs to games \(uid 5\), but this process runs as root \(uid 0\)")
        self.assertEqual(os.listdir(self.state), [])

    def test_in_use(self):
        self.c.start_controller()
        pid = self.c.pid("spurctld")
        self.refuses(rf"state directory {self.state} is in use by process {pid} \(spurctld\)")
        self.assertEqual(self.c.run("squeue").returncode, 0)

    def test_that_cannot_be_made(self):
        self.c.write_conf(self.c.conf.read_text().replace(str(self.state), "/proc/nope/state"))
        self.refuses("cannot create .*/proc/nope.*")


class Agents(unittest.TestCase):
    def setUp(self):
        self.c = SpurCluster(cpus=2)
        self.addCleanup(self.c.stop)

    def refuses(self, words, *args):
        r = start(self.c, "spurd", "-D", "-f", self.c.conf, "--listen", "127.0.0.1:0", *args)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (1, "", f"spurd: fatal: {words}\n"))

    def test_second_agent_of_a_node(self):
        self.c.start()
        spool = self.c.dir / "spool" / "n1"
        self.refuses(f"state directory {spool} is in use by process {self.c.pid('spurd-n1')} (spurd)", "-N", "n1")
        # The first one has not noticed.
        job = self.c.sbatch("-o", "/dev/null", "--wrap", "true")
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(self.c.job(job)["Restarts"], "0")

    def test_unknown_node(self):
        self.refuses(f"Unable to determine this slurmd's NodeName: nosuch is not in {self.c.conf}", "-N", "nosuch")

    @unittest.skipUnless(AS_ROOT, "only root can give files away")
    def test_spool_of_another_user(self):
        spool = self.c.dir / "spool" / "n1"
        spool.mkdir(parents=True)
        shutil.chown(spool, "games")
        self.refuses(f"directory {spool} belongs to games (uid 5), but this process runs as root (uid 0)", "-N", "n1")


class Interrupted(unittest.TestCase):
    def test_impatient_user_of_srun_leaves_no_job(self):
        with SpurCluster(cpus=2) as c:
            for sig in (signal.SIGINT, signal.SIGTERM):
                srun = subprocess.Popen(["srun", "-N99", "true"], env=c.env, stderr=subprocess.PIPE, text=True, cwd=c.dir)
                lines = [srun.stderr.readline(), srun.stderr.readline()]
                self.assertRegex(lines[1], r"^srun: job \d+ queued and waiting for resources\n$")
                for _ in range(5):
                    srun.send_signal(sig)
                    time.sleep(0.001)
                self.assertRegex(srun.stderr.read(), r"^srun: Job allocation \d+ has been revoked\n$")
                self.assertEqual(srun.wait(60), 1)
                srun.stderr.close()
                self.assertEqual(c.out("squeue", "-h"), "")


class Ports(unittest.TestCase):
    def test_in_use(self):
        c = SpurCluster(cpus=2)
        self.addCleanup(c.stop)
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port = taken.getsockname()[1]
            c.write_conf(c.conf.read_text().replace(str(c.port), str(port)))
            for foreground in (["-D"], []):
                r = start(c, "spurctld", *foreground, "-f", c.conf)
                self.assertEqual((r.returncode, r.stdout, r.stderr),
                                 (1, "", f"spurctld: fatal: cannot listen on 127.0.0.1:{port}: the address is in use or not ours\n"))
            r = start(c, "spurd", "-D", "-f", c.conf, "-N", "n1", "--listen", f"127.0.0.1:{port}")
            self.assertEqual((r.returncode, r.stdout), (1, ""))
            lines = [l for l in r.stderr.splitlines() if ": warning: " not in l]  # of what this machine lacks
            self.assertEqual(lines, [f"spurd: fatal: cannot listen on 127.0.0.1:{port}: the address is in use or not ours"])
        # Free again, it starts: nothing half done was left behind.
        c.start_controller()


class Configuration(unittest.TestCase):
    def setUp(self):
        self.c = SpurCluster(cpus=2)
        self.addCleanup(self.c.stop)

    def test_spur_conf(self):
        for text, words in (('clustername = "x"\n', ':1: unknown key "clustername", did you mean "cluster_name"?'),
                            ('\n[controller]\nlisten_adr = "x"\n',
                             ':3: unknown key "controller.listen_adr", did you mean "controller.listen_addr"?'),
                            ("[controller]\nstate_dir = 5\n", ":2: controller.state_dir must be a string, not a whole number"),
                            ('[[nodes]]\nnames = "n[1-"\n', ':1: Invalid hostlist "n[1-": "[" without "]"')):
            self.c.write_conf(text)
            for daemon in (["spurctld"], ["spurd", "-N", "n1"]):
                r = start(self.c, *daemon, "-D", "-f", self.c.conf)
                self.assertEqual((r.returncode, r.stdout, r.stderr), (1, "", f"{daemon[0]}: fatal: {self.c.conf}{words}\n"))
        self.c.write_conf("cluster_name = \n")
        r = start(self.c, "spurctld", "-D", "-f", self.c.conf)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, rf"^spurctld: fatal: {self.c.conf}:1: .*\n$")
        r = self.c.run("squeue", check=False)
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertRegex(r.stderr, rf"^slurm_load_jobs error: {self.c.conf}:1: .*\n$")

    def test_slurm_conf(self):
        conf = self.c.dir / "slurm.conf"
        for text, words in (("NodeName=n[1-\n", ':1: Invalid hostlist "n[1-": "[" without "]"'),
                            ("ClusterName=x\nBogus=1\n", ":2: Parsing error at unrecognized key: Bogus"),
                            ("NodeName=n1 CPUs=x\n", ":1: CPUs value (x) is not a valid number"),
                            ("NodeName=n1\nPartitionName=p Nodes=n[1-2]\n", ":2: partition p names an unknown node: n2"),
                            ("NodeName=n1\nNodeName=n1\n", ":2: node n1 is declared twice"),
                            ("NodeName=n1 Bogus=1\n", ":1: Parsing error at unrecognized key: Bogus"),
                            ("SlurmctldPort=99999999\n", ':1: SlurmctldPort: "99999999" is no port and no range of ports')):
            conf.write_text(text)
            r = start(self.c, "slurmctld", "-D", "-f", conf)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (1, "", f"spurctld: fatal: {conf}{words}\n"))

    def test_missing(self):
        for variable in ("SPUR_CONF", "SLURM_CONF"):
            env = {k: v for k, v in self.c.env.items() if k != "SPUR_CONF"}
            r = subprocess.run([str(BIN / "squeue")], env={**env, variable: "/nonexistent"}, capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stdout), (1, ""))
            self.assertEqual(r.stderr, "slurm_load_jobs error: cannot open /nonexistent: No such file or directory\n")
        for daemon in ("spurctld", "spurd"):
            r = start(self.c, daemon, "-D", "-f", "/nonexistent")
            self.assertEqual((r.returncode, r.stderr), (1, f"{daemon}: fatal: cannot open /nonexistent: No such file or directory\n"))

    def test_reload_is_all_or_nothing(self):
        self.c.start_controller()
        good = self.c.conf.read_text()
        # The key is wrong, the node before it would be new.
        self.c.write_conf(good.replace('names = "n1"', 'names = "n[1-2]"') + "\nbogus_key = 1\n")
        r = self.c.run("scontrol", "reconfigure", check=False)
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertIn("bogus_key", r.stderr)
        self.c.write_conf(good)
        self.assertEqual(self.c.out("sinfo", "-h", "-N", "-o", "%N").split(), ["n1"])


class NoController(unittest.TestCase):
    DOWN = "Unable to contact slurm controller (connect failure)"

    def test_each_command_says_so_in_time(self):
        c = SpurCluster(cpus=2)
        self.addCleanup(c.stop)
        c.start_controller()
        job = c.sbatch("-H", "--wrap", "true")
        c.kill("spurctld")  # its sockets are still there
        for left in (True, False):
            if not left:
                for name in ("ctld.sock", "auth.sock"):
                    (c.dir / "state" / name).unlink()
            for command, status, words in (
                    (["squeue"], 1, f"slurm_load_jobs error: {self.DOWN}\n"),
                    (["sinfo"], 1, f"slurm_load_partitions: {self.DOWN}\n"),
                    (["scancel", job], 8, f"scancel: error: Kill job error on job id {job}: {self.DOWN}\n"),
                    (["scancel", "-u", "root"], 1, f"slurm_load_jobs error: {self.DOWN}\n"),
                    (["sbatch", "--wrap", "true"], 1, f"sbatch: error: Batch job submission failed: {self.DOWN}\n"),
                    (["srun", "true"], 1, f"srun: error: Unable to allocate resources: {self.DOWN}\n"),
                    (["scontrol", "show", "job"], 1, f"slurm_load_jobs error: {self.DOWN}\n"),
                    (["scontrol", "show", "node"], 1, f"slurm_load_node error: {self.DOWN}\n"),
                    (["scontrol", "reconfigure"], 1, f"slurm_reconfigure error: {self.DOWN}\n"),
                    (["scontrol", "update", f"jobid={job}", "timelimit=1"], 1, f"{self.DOWN} for job {job}\n")):
                # Slurm gives up after 9 s (with MessageTimeout=10).
                r = c.run(*command, check=False, timeout=9)
                self.assertEqual((r.returncode, r.stdout, r.stderr), (status, "", words), command)
            r = c.run("scontrol", "ping", check=False, timeout=9)
            self.assertEqual((r.returncode, r.stdout.splitlines()[0]), (1, "Slurmctld(primary) at localhost is DOWN"))
        c.start_controller()
        self.assertEqual(c.state(job), "PENDING")


if __name__ == "__main__":
    unittest.main()
