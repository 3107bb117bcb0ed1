# SPDX-License-Identifier: Apache-2.0
"""scontrol reboot and cancel_reboot with a RebootProgram that only notes that it ran: the test itself lets the node go and come
back, as just booted. And what else is said to a daemon: abort, show slurmd."""
import re
import signal
import time
import unittest

from spur_cluster import BIN, SpurCluster, wait_until


class RebootCluster(SpurCluster):
    def __init__(self, timeout=120, program=True, **kw):
        super().__init__(**kw)
        self.rebooted = self.dir / "rebooted"
        script = self.dir / "reboot.sh"
        script.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME >>{self.rebooted}\n")
        script.chmod(0o755)
        if program:
            with open(self.conf, "a") as conf:
                conf.write(f'[hooks]\nreboot = "{script}"\nreboot_timeout_secs = {timeout}\n')

    def reboots(self):
        return self.rebooted.read_text().split() if self.rebooted.exists() else []

    def node(self, name):
        text = self.out("scontrol", "-o", "show", "node", name)
        reason = re.search(r"Reason=(.*) \[", text)
        return re.search(r" State=(\S+)", text)[1], reason[1] if reason else ""

    def wait_node(self, name, state, seconds=20):
        wait_until(lambda: self.node(name)[0] == state, seconds, f"{name} in {state} (is {self.node(name)})")

    def start_booted(self, name):
        self._spawn(f"spurd-{name}", BIN / "spurd", "-D", "-b", "-f", self.conf, "-N", name, "--listen",
                    f"127.0.0.1:{self.agent_ports[name]}")

    def boot(self, name):
        self.kill(f"spurd-{name}", signal.SIGTERM)
        self.start_booted(name)


class Reboot(unittest.TestCase):
    def test_an_idle_node_reboots_and_comes_back(self):
        with_nodes = RebootCluster(nodes=2)
        with with_nodes as c:
            c.run("scontrol", "reboot", "n1")
            c.wait_node("n1", "DOWN+REBOOT_ISSUED")
            wait_until(lambda: c.reboots() == ["n1"], 10, "the program ran on n1")
            self.assertEqual(c.node("n1")[1], "reboot requested : reboot issued")
            self.assertEqual(c.out("sinfo", "-h", "-n", "n1", "-o", "%t %T").split(), ["boot^", "reboot^"])
            self.assertEqual(c.out("sinfo", "-h", "-t", "reboot^", "-o", "%N").split(), ["n1"])
            # Nothing starts there.
            job = c.sbatch("-w", "n1", "--wrap", "true")
            time.sleep(1)
            self.assertEqual(c.state(job), "PENDING")
            # An agent that is only restarted has not booted, and does not run the program again.
            c.kill("spurd-n1")
            c.start_agent("n1")
            time.sleep(7)
            self.assertEqual(c.node("n1")[0], "DOWN+REBOOT_ISSUED")
            self.assertEqual(c.reboots(), ["n1"])
            c.boot("n1")
            c.wait_node("n1", "IDLE")
            self.assertEqual(c.node("n1")[1], "")
            c.wait_state(job, "COMPLETED")

    def test_asap_waits_for_jobs_and_survives_the_controller(self):
        with RebootCluster(nodes=1) as c:
            job = c.sbatch("--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            c.run("scontrol", "reboot", "ASAP", "nextstate=DOWN", "reason=new kernel", "n1")
            self.assertEqual(c.node("n1"), ("MIXED+DRAIN+REBOOT_REQUESTED", "new kernel"))
            self.assertEqual(c.out("sinfo", "-h", "-o", "%t").split(), ["drng@"])
            self.assertIn("NextState=DOWN", c.out("scontrol", "show", "node", "n1"))
            other = c.sbatch("--wrap", "true")
            c.kill("spurctld")
            c.start_controller()
            self.assertEqual(c.node("n1"), ("MIXED+DRAIN+REBOOT_REQUESTED", "new kernel"))
            self.assertEqual(c.state(other), "PENDING")
            self.assertEqual(c.reboots(), [])
            c.run("scancel", job)
            c.wait_node("n1", "DOWN+DRAIN+REBOOT_ISSUED")
            wait_until(lambda: c.reboots() == ["n1"], 10, "the program ran")
            c.kill("spurctld")
            c.start_controller()
            self.assertEqual(c.node("n1")[0], "DOWN+DRAIN+REBOOT_ISSUED")
            c.boot("n1")
            c.wait_node("n1", "DOWN")
            self.assertEqual(c.node("n1")[1], "new kernel : reboot issued : reboot complete")
            self.assertEqual(c.reboots(), ["n1"], "once, whatever controller says so")
            c.run("scontrol", "update", "nodename=n1", "state=resume")
            c.wait_state(other, "COMPLETED")

    def test_cancelled(self):
        with RebootCluster(nodes=1) as c:
            job = c.sbatch("--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            c.run("scontrol", "reboot", "ASAP", "ALL")
            c.run("scontrol", "cancel_reboot", "n1")
            self.assertEqual(c.node("n1"), ("MIXED", ""))
            again = c.run("scontrol", "cancel_reboot", "n1", check=False)
            self.assertEqual((again.returncode, again.stderr), (1, "slurm_update error: Invalid node state specified\n"))
            c.run("scancel", job)
            c.wait_node("n1", "IDLE")
            self.assertEqual(c.reboots(), [])

    def test_a_node_that_does_not_come_back(self):
        with RebootCluster(nodes=1, timeout=3) as c:
            c.run("scontrol", "reboot", "n1")
            c.wait_node("n1", "DOWN+REBOOT_ISSUED")
            c.kill("spurd-n1")
            c.wait_node("n1", "DOWN")
            self.assertEqual(c.node("n1")[1], "reboot requested : reboot issued : reboot timed out")

    def test_without_a_program(self):
        with RebootCluster(nodes=1, program=False) as c:
            for word in ("n1", "ALL"):
                refused = c.run("scontrol", "reboot", word, check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertEqual(refused.stderr, "scontrol: error: RebootProgram isn't defined\n"
                                                 "scontrol_reboot_nodes error: Unspecified error\n")


class Daemons(unittest.TestCase):
    def test_abort_leaves_what_was_acknowledged(self):
        with RebootCluster(nodes=1) as c:
            job = c.sbatch("-H", "--wrap", "true")
            c.run("scontrol", "abort")
            process = c.processes.pop("spurctld")
            self.assertEqual(process.wait(20), -signal.SIGABRT)
            c.start_controller()
            self.assertEqual(c.state(job), "PENDING")

    def test_show_slurmd(self):
        with RebootCluster(nodes=2) as c:
            job = c.sbatch("-w", "n2", "--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            wait_until(lambda: f"= {job}.batch\n" in c.out("scontrol", "show", "slurmd", env={"SLURMD_NODENAME": "n2"}), 10,
                       "the batch step is there")
            shown = dict(re.split(r"\s+= ", line) for line in c.out("scontrol", "show", "slurmd", "n1").splitlines())
            self.assertEqual((shown["Hostname"], shown["Active Steps"]), ("n1", "NONE"))
            self.assertEqual(int(shown["Slurmd PID"]), c.pid("spurd-n1"))
            self.assertIn("Last slurmctld msg time", shown)
            gone = c.run("scontrol", "show", "slurmd", "nowhere", check=False)
            self.assertEqual(gone.returncode, 1)
            self.assertTrue(gone.stderr.startswith("slurm_load_slurmd_status: "), gone.stderr)


if __name__ == "__main__":
    unittest.main()
