# SPDX-License-Identifier: Apache-2.0
"""The set of controllers of a running cluster changes, and its state moves into etcd and back, while jobs run."""
import os
import shutil
import signal
import subprocess
import unittest

from ha_cluster import NAMES, HaCluster
from ha_rounds import Rounds
from spur_cluster import BIN, SpurCluster, wait_until


class Controllers(unittest.TestCase):
    def rows(self, c, **kw):
        return {line.split()[0]: line.split() for line in c.out("spur", "controllers", "list", **kw).splitlines()[1:]}

    def test_one_comes_and_one_goes(self):
        """A fourth is added, the leader removed, and nobody who submits meanwhile sees anything of it."""
        with HaCluster(nodes=1, cpus=4, failover_ms=1000) as c:
            rounds = Rounds(c, rate=40, threads=2, run_every=10)
            self.assertEqual(sorted(self.rows(c)), NAMES)
            self.assertEqual([row[2] for row in self.rows(c).values()].count("leader"), 1)
            refused = c.run("spur", "controllers", "add", "c2", check=False)
            self.assertEqual((refused.returncode, refused.stderr), (1, "spur controllers: error: c2 is a controller already\n"))
            refused = c.run("spur", "controllers", "add", "c4", check=False, user="daemon")
            self.assertIn("denied", refused.stderr)
            c.run("spur", "controllers", "add", f"c4({c.address('c4')})")
            c.set_hosts([*NAMES, "c4"])
            c.start_one("c4")
            wait_until(lambda: c.role("c4"), 60, "c4 answers", 0.1)
            wait_until(lambda: self.rows(c).get("c4", ["", "", ""])[2] == "follower", 60, "c4 follows", 0.1)
            gone = c.leader()
            process = c.processes[gone]
            c.run("spur", "controllers", "remove", gone)
            self.assertEqual(process.wait(60), 0)
            self.assertIn(f"{gone} is none of the controllers of cluster test any more", c.log(gone))
            c.processes.pop(gone)
            c.set_hosts([n for n in [*NAMES, "c4"] if n != gone])
            wait_until(lambda: any(c.role(n) == "primary" for n in [*NAMES, "c4"]), 60, "another leads", 0.1)
            rounds.finish()
            self.assertGreater(len(rounds.acked), 10)
            self.assertEqual(rounds.violations(), [])
            self.assertEqual(sorted(self.rows(c)), sorted({*NAMES, "c4"} - {gone}))
            # It does not come back by being started.
            c.start_one(gone)
            self.assertEqual(c.processes.pop(gone).wait(60), 1)
            self.assertIn("controllers of cluster test", c.log(gone))

    def test_a_member_whose_etcd_files_are_lost(self):
        with HaCluster(nodes=1, failover_ms=1000) as c:
            job = c.sbatch("-H", "--wrap", "true")
            victim = next(n for n in NAMES if n != c.leader())
            c.kill(victim, signal.SIGTERM)
            shutil.rmtree(c.dir / victim / "etcd")
            c.start_one(victim)
            wait_until(lambda: f"spur controllers remove {victim}" in c.log(victim), 60, "it says what to do", 0.1)
            self.assertGreater(c.sbatch("-H", "--wrap", "true"), job)
            c.run("spur", "controllers", "remove", victim)
            wait_until(lambda: c.processes[victim].poll() is not None, 60, "it stops", 0.1)
            c.processes.pop(victim)
            c.run("spur", "controllers", "add", f"{victim}({c.address(victim)})")
            c.start_one(victim)
            wait_until(lambda: c.role(victim), 60, "it is back", 0.1)
            wait_until(lambda: len(c.out("squeue", "-h", "-o", "%i", env=c.at(victim)).split()) == 2, 30, "it shows the jobs")


class Conversion(unittest.TestCase):
    def convert(self, c, kind, name, check=True):
        return c.run("spur", "controllers", "convert", kind, "-f", c.conf, "-N", name, "--state-dir", c.dir / name, check=check,
                     timeout=120)

    def test_into_etcd_and_back_while_a_job_runs(self):
        c = HaCluster(nodes=1, cpus=4, failover_ms=1000)
        several = c.conf.read_text()
        c.set_hosts(["c1"])
        try:
            c.start_one("c1")
            wait_until(lambda: c.role("c1"), 60, "the single controller answers", 0.1)
            c.start_agent("n1")
            c.wait_idle()
            job = c.sbatch("-o", "long", "--wrap", "for i in $(seq 300); do test -e go && break; sleep 0.2; done; echo over")
            held = c.sbatch("-H", "-J", "held", "--wrap", "true")
            c.wait_state(job, "RUNNING")
            busy = self.convert(c, "etcd", "c1", check=False)
            self.assertNotEqual(busy.returncode, 0)
            self.assertIn("is in use by process", busy.stderr)
            c.kill("c1", signal.SIGTERM)
            c.conf.write_text(several)
            c.start_one("c1")
            self.assertNotEqual(c.processes.pop("c1").wait(60), 0)
            self.assertIn("spur controllers convert etcd", c.log("c1"))
            told = self.convert(c, "etcd", "c1").stderr
            self.assertIn("2 jobs", told)
            again = self.convert(c, "etcd", "c1", check=False)
            self.assertIn("has no journal.sqlite", again.stderr)
            c.start_controller()
            for name in NAMES:
                wait_until(lambda: c.out("squeue", "-h", "-o", "%i %T", env=c.at(name)).split("\n")[:-1] ==
                           [f"{held} PENDING", f"{job} RUNNING"], 30, f"{name} has both jobs", 0.1)
            self.assertEqual(c.sbatch("-H", "--wrap", "true"), held + 1)
            self.back(c, job, held)
        finally:
            c.stop()

    def back(self, c, job, held):
        """The other two still run when the first is converted; they stop by themselves."""
        c.kill("c1", signal.SIGTERM)
        wait_until(lambda: any(c.role(n) == "primary" for n in ("c2", "c3")), 60, "another leads", 0.1)
        late = c.sbatch("-H", "--wrap", "true")
        self.assertEqual(late, held + 2)
        self.assertIn("4 jobs", self.convert(c, "sqlite", "c1").stderr)
        for name in ("c2", "c3"):
            self.assertEqual(c.processes.pop(name).wait(60), 0)
            self.assertIn("is none of the controllers", c.log(name))
        c.set_hosts(["c1"])
        c.start_one("c1")
        wait_until(lambda: c.role("c1"), 60, "the single controller answers", 0.1)
        self.assertEqual(c.sbatch("-H", "--wrap", "true"), late + 1)
        self.assertEqual(c.state(job), "RUNNING")
        (c.dir / "out" / "go").touch()
        c.wait_state(job, "COMPLETED", seconds=60)
        self.assertEqual((c.dir / "out" / "long").read_text(), "over\n")
        c.run("scontrol", "release", held)
        c.wait_state(held, "COMPLETED")

    def test_nothing_to_convert(self):
        c = HaCluster(nodes=1)
        try:
            self.assertIn("has no journal.sqlite", self.convert(c, "etcd", "c1", check=False).stderr)
            self.assertIn("no state of several", self.convert(c, "sqlite", "c1", check=False).stderr)
            self.assertIn("neither etcd nor sqlite", self.convert(c, "mysql", "c1", check=False).stderr)
        finally:
            c.stop()


if __name__ == "__main__":
    unittest.main()
