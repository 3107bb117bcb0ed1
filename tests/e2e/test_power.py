# SPDX-License-Identifier: Apache-2.0
"""Nodes that are switched off and on: the programs note what they are told, the test ends agents and starts them again, as
just booted. Controllers are killed meanwhile."""
import json
import re
import time
import unittest

from spur_cluster import BIN, SpurCluster, wait_until


class PowerCluster(SpurCluster):
    """The programs only note what they were told; the test itself is the power switch."""

    def __init__(self, idle=100000, timeout=60, off=1, extra_power="", **kw):
        super().__init__(**kw)
        self.noted = self.dir / "noted"
        for name in ("suspend", "resume", "fail"):
            script = self.dir / f"{name}.sh"
            script.write_text(f"""#!/bin/sh
if [ -n "$SLURM_RESUME_FILE" ]; then cat "$SLURM_RESUME_FILE" >>{self.dir}/told; echo >>{self.dir}/told; fi
echo {name} "$@" >>{self.noted}
""")
            script.chmod(0o755)
        with open(self.conf, "a") as conf:
            conf.write(f"""
[hooks]
reboot_timeout_secs = {timeout}
[power]
suspend_command = "{self.dir}/suspend.sh"
resume_command = "{self.dir}/resume.sh"
resume_fail_command = "{self.dir}/fail.sh"
suspend_timeout_secs = {idle}
switch_off_secs = {off}
{extra_power}
""")

    def notes(self):
        return self.noted.read_text().splitlines() if self.noted.exists() else []

    def node(self, name):
        text = self.out("scontrol", "-o", "show", "node", name)
        reason = re.search(r"Reason=(.*) \[", text)
        return re.search(r" State=(\S+)", text)[1], reason[1] if reason else ""

    def wait_node(self, name, state, seconds=20):
        wait_until(lambda: self.node(name)[0] == state, seconds, f"{name} in {state} (is {self.node(name)})")

    def wait_notes(self, notes, seconds=20):
        wait_until(lambda: self.notes() == notes, seconds, f"programs {notes} (ran: {self.notes()})")

    def cut(self, name):
        self.kill(f"spurd-{name}")

    def boot(self, name):
        self._spawn(f"spurd-{name}", BIN / "spurd", "-D", "-b", "-f", self.conf, "-N", name, "--listen",
                    f"127.0.0.1:{self.agent_ports[name]}")

    def switch_off(self, name):
        self.run("scontrol", "power", "down", name)
        self.wait_node(name, "IDLE+POWERING_DOWN")
        self.cut(name)
        self.wait_node(name, "IDLE+POWERED_DOWN")


class Power(unittest.TestCase):
    def test_a_job_switches_its_node_on(self):
        with PowerCluster(nodes=2) as c:
            c.switch_off("n1")
            c.wait_notes(["suspend n1"])
            self.assertEqual(sorted(c.out("sinfo", "-h", "-o", "%t %N").splitlines()), ["idle n2", "idle~ n1"])
            self.assertEqual(c.out("sinfo", "-h", "-t", "powered_down", "-o", "%N").split(), ["n1"])
            # A node that is there goes first, whatever the order of names.
            other = c.sbatch("--wrap", "true")
            c.wait_state(other, "COMPLETED")
            self.assertEqual(c.job(other)["NodeList"], "n2")
            job = c.sbatch("-w", "n1", "-t", "1", "--extra=mine", "-o", c.dir / "out/%j", "--wrap", "echo here; hostname")
            c.wait_state(job, "CONFIGURING")
            c.wait_node("n1", "MIXED+NOT_RESPONDING+POWERING_UP")
            c.wait_notes(["suspend n1", "resume n1"])
            self.assertEqual(c.out("squeue", "-h", "-o", "%i %t").split(), [str(job), "CF"])
            told = json.loads((c.dir / "told").read_text())
            self.assertEqual(told["all_nodes_resume"], "n1")
            self.assertEqual([(j["job_id"], j["nodes_resume"], j["extra"]) for j in told["jobs"]], [(job, "n1", "mine")])
            time.sleep(3)
            self.assertEqual(c.state(job), "CONFIGURING")
            c.boot("n1")
            c.wait_state(job, "COMPLETED")
            self.assertIn("here", (c.dir / f"out/{job}").read_text())
            c.wait_node("n1", "IDLE")
            self.assertEqual(c.notes(), ["suspend n1", "resume n1"], "each once")

    def test_idle_nodes_go_by_themselves_and_spared_ones_stay(self):
        with PowerCluster(nodes=3, idle=3, extra_power='spared_nodes = "n3"') as c:
            job = c.sbatch("-w", "n2", "--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            c.wait_node("n1", "IDLE+POWERED_DOWN")
            c.wait_notes(["suspend n1"])
            self.assertEqual(c.node("n2")[0], "MIXED")
            c.run("scancel", job)
            c.wait_node("n2", "IDLE+POWERED_DOWN")
            time.sleep(2)
            self.assertEqual(c.node("n3")[0], "IDLE")

    def test_the_controller_is_killed_meanwhile(self):
        with PowerCluster(nodes=1, off=4) as c:
            job = c.sbatch("--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            c.run("scontrol", "update", "nodename=n1", "state=power_down_asap", "reason=new disk")
            self.assertEqual(c.node("n1"), ("MIXED+DRAIN+POWER_DOWN", "new disk"))
            c.kill("spurctld")
            c.start_controller()
            self.assertEqual(c.node("n1"), ("MIXED+DRAIN+POWER_DOWN", "new disk"))
            c.run("scancel", job)
            c.wait_node("n1", "IDLE+POWERING_DOWN")
            c.wait_notes(["suspend n1"])
            c.cut("n1")
            c.kill("spurctld")
            c.start_controller()
            c.wait_notes(["suspend n1"] * 2)
            c.wait_node("n1", "IDLE+POWERED_DOWN")
            job = c.sbatch("-o", c.dir / "out/%j", "--wrap", "echo here")
            c.wait_notes(["suspend n1"] * 2 + ["resume n1"])
            c.kill("spurctld")
            c.start_controller()
            self.assertEqual(c.state(job), "CONFIGURING")
            self.assertEqual(c.node("n1")[0], "MIXED+NOT_RESPONDING+POWERING_UP")
            c.wait_notes(["suspend n1"] * 2 + ["resume n1"] * 2)
            c.boot("n1")
            c.wait_state(job, "COMPLETED")
            self.assertEqual((c.dir / f"out/{job}").read_text(), "here\n")

    def test_a_node_that_does_not_come(self):
        with PowerCluster(nodes=2, timeout=3) as c:
            c.switch_off("n1")
            wide = c.sbatch("-N2", "--wrap", "true")
            gone = c.sbatch("-w", "n1", "--no-requeue", "--wrap", "true")
            c.wait_state(wide, "CONFIGURING")
            c.wait_node("n1", "DOWN+POWERED_DOWN+NOT_RESPONDING")
            self.assertEqual(c.node("n1")[1], "ResumeTimeout reached")
            c.wait_notes(["suspend n1", "resume n1", "fail n1"])
            c.wait_state(gone, "NODE_FAIL")
            c.wait_state(wide, "PENDING")
            self.assertEqual(c.out("sinfo", "-h", "-n", "n1", "-o", "%t").split(), ["down~"])
            # Somebody looks after it.
            c.run("scontrol", "update", "nodename=n1", "state=resume")
            c.wait_state(wide, "CONFIGURING")
            c.boot("n1")
            c.wait_state(wide, "COMPLETED")

    def test_salloc_and_cancel(self):
        with PowerCluster(nodes=1) as c:
            c.switch_off("n1")
            job = c.sbatch("--wrap", "true")
            c.wait_node("n1", "MIXED+NOT_RESPONDING+POWERING_UP")
            c.run("scancel", job)
            c.wait_state(job, "CANCELLED")
            self.assertEqual(c.node("n1")[0], "IDLE+NOT_RESPONDING+POWERING_UP", "it is on its way all the same")
            c._spawn("salloc", BIN / "salloc", "-n1", "srun", "hostname")
            time.sleep(2)
            self.assertIsNone(c.processes["salloc"].poll(), "it waits for its node")
            c.boot("n1")
            self.assertEqual(c.processes.pop("salloc").wait(30), 0)

    def test_force(self):
        with PowerCluster(nodes=1) as c:
            job = c.sbatch("--wrap", "sleep 300")
            c.wait_state(job, "RUNNING")
            c.run("scontrol", "power", "down", "force", "ALL", "reason=heat")
            c.wait_node("n1", "IDLE+POWERING_DOWN")
            self.assertEqual(c.node("n1")[1], "heat")
            self.assertEqual(c.state(job), "PENDING")

    def test_without_programs(self):
        cluster = SpurCluster(nodes=1)
        with cluster as c:
            for words in (["power", "down", "n1"], ["update", "nodename=n1", "state=power_up"]):
                refused = c.run("scontrol", *words, check=False)
                self.assertEqual((refused.returncode, refused.stderr), (1, "slurm_update error: Invalid node state specified\n"))


class Cloud(unittest.TestCase):
    def test_a_node_of_the_cloud(self):
        cluster = PowerCluster(nodes=1, extra_power='[[nodes]]\nnames = "c1"\ncpus = 4\nmemory_mb = 4000\nstate = "CLOUD"')
        cluster.wait_idle = lambda: cluster.wait_node("n1", "IDLE")  # the other one is as good as idle
        with cluster as c:
            self.assertEqual(c.node("c1")[0], "IDLE+CLOUD+POWERED_DOWN")
            job = c.sbatch("-w", "c1", "--wrap", "true")
            c.wait_node("c1", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP")
            c.start_agent("c1")
            c.wait_state(job, "COMPLETED")
            c.wait_node("c1", "IDLE+CLOUD")


if __name__ == "__main__":
    unittest.main()
