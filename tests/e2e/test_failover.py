# SPDX-License-Identifier: Apache-2.0
"""Three controllers, each with its own etcd member: any one of them may go at any moment."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from ha_cluster import NAMES, HaCluster
from ha_rounds import KINDS, Rounds
from spur_cluster import BIN, wait_until

ROUNDS = int(os.environ.get("FAILOVER_ROUNDS", "3"))


class Failover(unittest.TestCase):
    def test_nothing_acknowledged_is_lost(self):
        """The leader is killed, stopped, and frozen with its etcd, while jobs are submitted and run."""
        with HaCluster(nodes=2, cpus=8) as c:
            rounds = Rounds(c, rate=100, threads=4)
            for i in range(ROUNDS):
                rounds.lose_leader(KINDS[i % len(KINDS)])
            rounds.finish()
            self.assertGreater(len(rounds.acked), 10)
            self.assertEqual(rounds.violations(), [])

    def test_jobs_go_on_and_end_under_another(self):
        with HaCluster(nodes=1, cpus=4) as c:
            job = c.sbatch("-o", "j", "--wrap", "sleep 3; echo done; exit 7")
            c.wait_state(job, "RUNNING")
            waiting = subprocess.Popen([BIN / "sbatch", "--wait", "-o", "/dev/null", "--wrap", "sleep 2; exit 5"], env=c.env,
                                       cwd=c.dir / "out", stdout=subprocess.DEVNULL)
            wait_until(lambda: len(c.out("squeue", "-h", "-t", "R", "-o", "%i").split()) == 2, 20, "both run")
            c.kill(c.leader())
            self.assertEqual(waiting.wait(60), 5)
            c.wait_state(job, "FAILED")
            self.assertEqual(c.job(job)["ExitCode"], "7:0")
            self.assertEqual((c.dir / "out" / "j").read_text(), "done\n")
            self.assertEqual(c.out("srun", "echo", "hello"), "hello\n")

    def test_followers_answer_and_a_minority_says_what_is_wrong(self):
        with HaCluster(nodes=1) as c:
            job = c.sbatch("-H", "--wrap", "true")
            leader = c.leader()
            for name in NAMES:
                here = {"SPUR_CONTROLLER_ADDR": f"{c.address(name)}:{c.port}"}
                wait_until(lambda: c.out("squeue", "-h", "-o", "%i", env=here).split() == [str(job)], 10, f"{name} shows the job")
                self.assertIn("debug", c.out("sinfo", "-h", env=here))
            follower = next(n for n in NAMES if n != leader)
            # Two of three go, with their etcd: what is left cannot write, says so soon, and still shows what it knows.
            for name in NAMES:
                if name != follower:
                    os.kill(c.etcd_pid(name), signal.SIGSTOP)
                    c.processes[name].send_signal(signal.SIGSTOP)
                    c.stopped.add(name)
            stopped = [c.etcd_pid(n) for n in NAMES if n != follower]
            try:
                alone = {"SPUR_CONTROLLER_ADDR": f"{c.address(follower)}:{c.port}"}
                self.assertEqual(c.out("squeue", "-h", "-o", "%i", env=alone).split(), [str(job)])
                refused = wait_until(lambda: self.refusal(c, alone), 30, "the minority refuses")
                self.assertIn("no controller leads", refused)
                self.assertIn("must be up and reach each other", refused)
                shown = c.run("squeue", "-h", "-o", "%i", env=alone)
                self.assertEqual(shown.stdout.split(), [str(job)])
                self.assertRegex(shown.stderr, f"^squeue: warning: as of ..:..:..: no controller leads, and {follower} shows")
                warned = json.loads(c.out("squeue", "--json", env=alone))["warnings"]
                self.assertIn("no controller leads", warned[0]["description"])
                asked = c.run("squeue", "--consistent", check=False, env=alone)
                self.assertEqual((asked.returncode, asked.stdout), (1, ""))
                self.assertIn("no controller leads", asked.stderr)
                self.assertIn("has heard of no leader for", c.run("scontrol", "ping", env=alone).stderr)
            finally:
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
                for name in list(c.stopped):
                    c.processes[name].send_signal(signal.SIGCONT)
                    c.stopped.discard(name)
            # One that stood still takes itself for the leader for a moment, and the others say that nobody leads until they hear it.
            wait_until(lambda: c.run("sbatch", "-H", "--wrap", "true", check=False).returncode == 0, 30, "jobs are taken again")
            self.assertGreater(c.sbatch("-H", "--wrap", "true"), job)

    @staticmethod
    def refusal(c, env):
        result = c.run("sbatch", "-H", "--wrap", "true", check=False, env=env, timeout=60)
        return "no controller leads" in result.stderr and result.stderr

    def test_rolling_restart_fails_no_command(self):
        with HaCluster(nodes=1, cpus=4) as c:
            rounds = Rounds(c, rate=50, threads=2, run_every=10)
            for name in NAMES:
                c.kill(name, signal.SIGTERM)
                c.start_one(name)
                wait_until(lambda: c.role(name), 60, f"{name} is back", 0.05)
            wait_until(c.leader, 30, "a controller leads", 0.05)
            rounds.finish()
            self.assertGreater(len(rounds.acked), 10)
            self.assertEqual(rounds.violations(), [])

    def test_takeover(self):
        """The one that is asked for leads at once, and nothing that was acknowledged is lost."""
        with HaCluster(nodes=1, cpus=4) as c:
            job = c.sbatch("--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            wait_until(lambda: all(c.role(name) for name in NAMES), 30, "all are up")
            for index in (1, 2, 1):
                c.run("scontrol", "takeover", index)
                wait_until(lambda: c.leader() == NAMES[index], 10, f"{NAMES[index]} leads", 0.05)
                self.assertEqual(c.state(job), "RUNNING")
            before = c.leader()
            c.run("scontrol", "takeover")
            wait_until(lambda: c.leader() not in (before, None), 10, "another one leads", 0.05)
            refused = c.run("scontrol", "takeover", 3, check=False)
            self.assertEqual((refused.returncode, refused.stderr), (1, "takeover: invalid backup controller index (3)\n"))
            c.sbatch("-H", "--wrap", "true")
            self.assertEqual(c.state(job), "RUNNING")
            c.run("scancel", job)

    def test_a_reboot_is_seen_through_by_another(self):
        with HaCluster(nodes=1, extra='[hooks]\nreboot = "/bin/true"\n') as c:
            c.run("scontrol", "reboot", "n1")
            c.kill(c.leader())
            wait_until(c.leader, 30, "a controller leads", 0.05)
            self.assertIn("State=DOWN+REBOOT_ISSUED", c.out("scontrol", "show", "node", "n1"))
            c.kill("spurd-n1", signal.SIGTERM)
            c._spawn("spurd-n1", BIN / "spurd", "-D", "-b", "-f", c.conf, "-N", "n1", "--listen",
                     f"{c.agent_address}:{c.agent_ports['n1']}", "--token", c.dir / "join.token")
            wait_until(lambda: c.out("sinfo", "-h", "-o", "%t").split() == ["idle"], 30, "the node is back")

    def test_a_node_is_switched_on_by_whoever_leads(self):
        with tempfile.TemporaryDirectory() as directory:
            program, noted = pathlib.Path(directory) / "power.sh", pathlib.Path(directory) / "noted"
            program.write_text(f'#!/bin/sh\n[ -z "$SLURM_RESUME_FILE" ] || echo "$@" >>{noted}\n')
            program.chmod(0o755)
            power = f'[power]\nsuspend_command = "{program}"\nresume_command = "{program}"\nsuspend_timeout_secs = 100000\n' \
                    'switch_off_secs = 1\n'
            with HaCluster(nodes=1, extra=power) as c:
                state = lambda: c.out("sinfo", "-h", "-o", "%t").split()  # noqa: E731
                c.run("scontrol", "power", "down", "n1")
                wait_until(lambda: state() == ["idle%"], 20, "n1 is being switched off")
                c.kill("spurd-n1")
                wait_until(lambda: state() == ["idle~"], 20, "n1 is off")
                job = c.sbatch("--wrap", "true")
                wait_until(lambda: noted.exists(), 20, "n1 is being switched on")
                c.kill(c.leader())
                wait_until(c.leader, 30, "a controller leads", 0.05)
                self.assertEqual((c.state(job), state()), ("CONFIGURING", ["mix#"]))
                wait_until(lambda: noted.read_text().split() == ["n1", "n1"], 20, "the new leader has it done, too")
                c._spawn("spurd-n1", BIN / "spurd", "-D", "-b", "-f", c.conf, "-N", "n1", "--listen",
                         f"{c.agent_address}:{c.agent_ports['n1']}", "--token", c.dir / "join.token")
                c.wait_state(job, "COMPLETED")

    def test_etcd_that_ends_is_started_again(self):
        with HaCluster(nodes=1) as c:
            name = c.leader()
            before = c.etcd_pid(name)
            os.kill(before, signal.SIGKILL)
            wait_until(lambda: c.etcd_pid(name) not in (None, before), 30, "another etcd runs")
            self.assertGreater(c.sbatch("-H", "--wrap", "true"), 0)

    def test_a_member_without_its_snapshot_gets_the_state_from_another(self):
        """So much is submitted that the log in etcd is cut; one that begins before the cut asks the others."""
        with HaCluster(nodes=1, failover_ms=2000, controller="snapshot_mb = 1") as c:
            def submit(count):
                leader = c.leader()
                c.run(BIN / "spur-submit-load", "--count", count, "--in-flight", 64, timeout=200,
                      env={"SPUR_CONTROLLER_ADDR": f"{c.address(leader)}:{c.port}",
                           "SPUR_AUTH_SOCKET": f"{c.dir}/{leader}/auth.sock"})
            snapshots = [c.dir / name / "snapshot.bin" for name in NAMES]
            submit(40000)
            wait_until(lambda: all(s.exists() for s in snapshots), 60, "all have a snapshot")
            submit(40000)  # with the leader's second one the log is cut
            victim = next(n for n in NAMES if n != c.leader())
            c.kill(victim, signal.SIGTERM)
            (c.dir / victim / "snapshot.bin").unlink()
            c.start_one(victim)
            here = {"SPUR_CONTROLLER_ADDR": f"{c.address(victim)}:{c.port}"}
            wait_until(lambda: c.role(victim), 60, f"{victim} is back")
            wait_until(lambda: len(c.out("squeue", "-h", "-o", "%i", env=here).split()) == 80000, 60, "it has all jobs")
            self.assertIn("asking the other controllers", c.log(victim))

    def test_wrong_surroundings_are_told(self):
        with HaCluster(nodes=1) as c:
            def refused(*more, conf=None):
                p = subprocess.run([BIN / "spurctld", "-D", "-f", conf or c.conf, *map(str, more)], env=c.env, text=True,
                                   capture_output=True, timeout=60)
                self.assertNotEqual(p.returncode, 0)
                return p.stderr
            self.assertIn("is none of the controllers", refused("-N", "c9", "--state-dir", c.dir / "x"))
            (c.dir / "single").mkdir(mode=0o700)
            (c.dir / "single" / "journal.sqlite").touch()
            self.assertIn("state of a single controller", refused("-N", "c1", "--state-dir", c.dir / "single"))
            self.assertIn("not supported with several", refused("-c", "-N", "c1", "--state-dir", c.dir / "x"))
            bare = c.dir / "bare.conf"
            bare.write_text("\n".join(l for l in c.conf.read_text().splitlines() if not l.startswith("secret_file")))
            self.assertIn("copy it from controller c1", refused("-N", "c2", "--state-dir", c.dir / "y", conf=bare))


if __name__ == "__main__":
    unittest.main()
