# SPDX-License-Identifier: Apache-2.0
"""What nodes report (load, free memory), the logs of the scheduler and of agents, allocations whose salloc is gone, and where
nodes are in the network: with real daemons and a site's slurm.conf."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from spur_cluster import BIN, wait_until
from test_slurm_site import SlurmSite, alive

TREE = "SwitchName=s1 Nodes=node0\nSwitchName=s2 Nodes=node[1-2]\nSwitchName=top Switches=s[1-2]\n"
YAML = """- topology: usual
  cluster_default: true
  tree:
    switches:
    - switch: top
      children: s[1-2]
    - switch: s1
      nodes: node0
    - switch: s2
      nodes: node[1-2]
- topology: pods
  block:
    block_sizes: [1]
    blocks:
    - block: b1
      nodes: node[0-1]
    - block: b2
      nodes: node2
"""


class NodeReports(unittest.TestCase):
    def setUp(self):
        self.s = SlurmSite()
        self.addCleanup(self.s.stop)

    def log(self, name):
        path = self.s.dir / "log" / name
        return path.read_text() if path.exists() else ""

    def node(self, name):
        return dict(re.findall(r"(\S+?)=(\S*)", self.s.out(f"scontrol show node -o {name}")))

    def pid_of(self, daemon):
        return int((self.s.dir / f"run/{daemon}.pid").read_text())

    def test_load_and_free_memory(self):
        self.s.run(f"{BIN}/slurmctld")
        for i in range(2):
            self.s.run(f"{BIN}/slurmd -N node{i}")
        self.s.wait_idle(2)
        for name in ("node0", "node1"):
            self.assertRegex(self.node(name)["CPULoad"], r"^\d+\.\d\d$")
            free = int(self.node(name)["FreeMem"])
            total = int(re.search(r"MemTotal: +(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) // 1024
            self.assertTrue(0 < free < total, free)
        self.assertEqual((self.node("node2")["CPULoad"], self.node("node2")["FreeMem"]), ("N/A", "N/A"), "it has not reported yet")
        self.assertRegex(self.s.out("sinfo -h -N -n node0 -o '%O %e'"), r"^\d+\.\d\d \d+\n$")
        self.assertEqual(self.s.out("sinfo -h -N -n node2 -O CPUsLoad:5,FreeMem:5"), "N/A  N/A  \n")
        answer = json.loads(self.s.out("scontrol show node node0 --json"))["nodes"][0]
        self.assertTrue(answer["free_mem"]["set"])
        self.assertGreater(answer["free_mem"]["number"], 0)
        self.assertEqual(type(answer["cpu_load"]), int)
        # As Slurm: what was known stays when the node goes down; a controller that begins hears it anew.
        os.kill(self.pid_of("slurmd-node1"), signal.SIGKILL)
        self.s.run("scontrol update nodename=node1 state=down reason=test")
        self.assertNotEqual(self.node("node1")["CPULoad"], "N/A")
        controller = self.pid_of("slurmctld")
        os.kill(controller, signal.SIGKILL)
        wait_until(lambda: not alive(controller), 10, "slurmctld has ended")
        self.s.run(f"{BIN}/slurmctld")
        wait_until(lambda: self.node("node0")["CPULoad"] != "N/A", 30, "node0 has told its load again")
        self.assertEqual(self.node("node1")["CPULoad"], "N/A")

    def test_logs(self):
        log = self.s.dir / "log/sched.log"
        self.s.edit("^KillWait=2$", f"KillWait=2\nSlurmSchedLogFile={log}\nSlurmSchedLogLevel=0")
        self.s.start()
        config = self.s.out("scontrol show config")
        self.assertRegex(config, rf"SlurmSchedLogFile +?= {log}\n")
        self.assertRegex(config, r"SlurmSchedLogLevel +?= 0\n")
        self.s.run("sbatch -W -o /dev/null --wrap true")
        self.assertEqual(log.read_text(), "")
        self.s.run("scontrol schedloglevel 1")
        self.assertRegex(self.s.out("scontrol show config"), r"SlurmSchedLogLevel +?= 1\n")
        first = self.s.out("sbatch --parsable -w node1 --exclusive -o /dev/null --wrap 'sleep 300'").strip()
        wait_until(lambda: f"JobId={first} allocated resources: NodeList=node1" in log.read_text(), 20, "the start is in the log")
        second = self.s.out("sbatch --parsable -w node1 -o /dev/null --wrap true").strip()
        wait_until(lambda: f"JobId={second}. State=PENDING. Reason=Resources. Partition=primary." in log.read_text(), 20,
                   "why it waits is in the log")
        wait_until(lambda: "Running job scheduler for full queue." in log.read_text(), 70, "its turn has come")
        self.s.run(f"scancel {first} {second}")
        for line in log.read_text().splitlines():
            self.assertRegex(line, r"^sched: \[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\] \S")
        self.s.run("scontrol schedloglevel disable")
        length = len(log.read_text())
        self.s.run("sbatch -W -o /dev/null --wrap true")
        self.assertEqual(len(log.read_text()), length)
        if os.geteuid() == 0:
            self.assertEqual(self.s.run("scontrol schedloglevel 1", None, user="nobody").returncode, 1)
        # of agents
        self.assertNotIn("debug level", self.log("slurmd-node1.log"))
        self.s.run("scontrol setdebug debug2 nodes=node[1-2]")
        wait_until(lambda: "debug level is now debug2" in self.log("slurmd-node1.log"), 10, "node1 logs more")
        self.assertNotIn("debug level", self.log("slurmd-node0.log"))
        self.s.run("scontrol setdebugflags +steps nodes=node2")
        wait_until(lambda: "debug flags are now Steps" in self.log("slurmd-node2.log"), 10, "node2 logs steps")
        refused = self.s.run("scontrol setdebug debug nodes=nosuch", None)
        self.assertEqual((refused.returncode, refused.stderr), (1, "slurm_set_debug_level error: Invalid node name specified\n"))

    def test_inactive_limit(self):
        self.s.edit("^KillWait=2$", "KillWait=2\nInactiveLimit=3")
        self.s.start()
        self.assertRegex(self.s.out("scontrol show config"), r"InactiveLimit +?= 3 sec\n")
        kept = self.s.run("salloc --no-shell -n1").stderr
        kept = re.search(r"job allocation (\d+)", kept)[1]
        command = ["salloc", "-n1", "sh", "-c", f"sleep 2; touch {self.s.dir}/begun-$$; exec sleep 100"]
        held = subprocess.Popen(command, env=self.s.env, stderr=subprocess.PIPE, text=True)
        left = subprocess.Popen(command, env=self.s.env, stderr=subprocess.PIPE, text=True)
        self.addCleanup(held.kill)
        jobs = [re.search(r"job allocation (\d+)", one.stderr.readline())[1] for one in (held, left)]
        # salloc has said that it holds the allocation long before its command is through with this.
        wait_until(lambda: len(list(self.s.dir.glob("begun-*"))) == 2, 20, "the commands run")
        left.send_signal(signal.SIGKILL)
        left.wait()
        self.addCleanup(left.stderr.close)
        self.addCleanup(held.stderr.close)
        wait_until(lambda: "JobState=TIMEOUT Reason=InactiveLimit" in self.s.out(f"scontrol show job {jobs[1]}"), 20,
                   "the allocation is released")
        for job in (jobs[0], kept):
            self.assertIn("JobState=RUNNING", self.s.out(f"scontrol show job {job}"))
        held.terminate()
        held.wait(20)

    def test_addresses_in_the_network(self):
        self.s.edit("^KillWait=2$", "KillWait=2\nTopologyPlugin=topology/tree")
        (self.s.conf.parent / "topology.conf").write_text(TREE)
        self.s.start()
        tell = "sh -c 'echo $SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN'"
        self.assertEqual(sorted(self.s.out(f"srun -N3 {tell}").splitlines()),
                         ["node0 top.s1.node0 switch.switch.node", "node1 top.s2.node1 switch.switch.node",
                          "node2 top.s2.node2 switch.switch.node"])
        # several topologies
        (self.s.conf.parent / "topology.yaml").write_text(YAML)
        self.s.edit("^(PartitionName=primary .*)$", r"\1\nPartitionName=pods Nodes=ALL Topology=pods")
        self.s.run("scontrol reconfigure")
        self.assertEqual(self.s.out("scontrol show topology pods").splitlines(),
                         ["BlockName=b1 BlockIndex=0 Nodes=node[0-1] BlockSize=2", "BlockName=b2 BlockIndex=1 Nodes=node2 BlockSize=1"])
        self.assertIn("SwitchName=s2 Level=0", self.s.out("scontrol show topology unit=s2"))
        self.assertIn("Topology=pods", self.s.out("scontrol show partition pods"))
        self.assertEqual(self.s.out(f"srun -p pods -w node2 {tell}"), "node2 b2.node2 block.node\n")
        # what scontrol show topoconf says is a topology.yaml
        said = self.s.out("scontrol show topoconf")
        (self.s.conf.parent / "topology.yaml").write_text(said.replace("%YAML 1.1\n", "").replace("...\n", ""))
        self.s.run("scontrol reconfigure")
        self.assertEqual(self.s.out("scontrol show topoconf"), said)
        refused = self.s.run("scontrol update partition=primary topology=nosuch", None)
        self.assertNotEqual(refused.returncode, 0)
        self.s.run("scontrol update partition=primary topology=pods")
        self.assertEqual(self.s.out(f"srun -p primary -w node0 {tell}"), "node0 b1.node0 block.node\n")


if __name__ == "__main__":
    unittest.main()
