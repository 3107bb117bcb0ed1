# SPDX-License-Identifier: Apache-2.0
"""Nodes that come and go at run time: made by scontrol, made by agents (slurmd -Z), FUTURE ones whose place a host takes
(slurmd -F). The controller is killed meanwhile, and its configuration edited."""
import json
import re
import subprocess
import unittest

from spur_cluster import BIN, SpurCluster, free_port, wait_until


def hardware():
    """What slurmd -C says of this host, as pairs."""
    line = subprocess.run([BIN / "slurmd", "-C"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return dict(word.split("=") for word in line.split())


HERE = hardware()
LIKE_THIS = f'cpus = {HERE["CPUs"]}\nsockets = {HERE["SocketsPerBoard"]}\ncores_per_socket = {HERE["CoresPerSocket"]}\n' \
            f'threads_per_core = {HERE["ThreadsPerCore"]}\nmemory_mb = 100'


class DynamicCluster(SpurCluster):
    def __init__(self, room=8, **kw):
        super().__init__(controller=f"max_node_count = {room}" if room else "", extra=f"""
[[nodes]]
names = "f[1-2]"
{LIKE_THIS}
state = "FUTURE"
features = ["big"]
[[node_sets]]
name = "fast"
feature = "quick"
[[partitions]]
name = "quick"
nodes = "fast"
""", **kw)

    def start_dynamic(self, key, *words):
        port = self.agent_ports.setdefault(key, free_port())
        self._spawn(f"spurd-{key}", BIN / "spurd", "-D", "-f", self.conf, "-N", key, "--listen", f"127.0.0.1:{port}", *words)

    def node(self, name, *words):
        text = self.out("scontrol", "-o", *words, "show", "node", name, check=False)
        return dict(pair.split("=", 1) for pair in re.findall(r"\S+=(?:\S*)", text))

    def state_of(self, name):
        return self.node(name).get("State", "none")

    def wait_node(self, name, state):
        wait_until(lambda: self.state_of(name) == state, 30, f"{name} is {state} (is {self.state_of(name)})")

    def names_of(self, *words):
        return self.out("sinfo", "-h", "-N", "-o", "%N", *words).split()

    def refused(self, *words):
        result = self.run(*words, check=False)
        assert result.returncode == 1, (words, result)
        return result.stdout + result.stderr

    def restart_controller(self, *words):
        self.kill("spurctld")
        self.start_controller(*words)


class DynamicNodes(unittest.TestCase):
    def test_made_by_an_administrator(self):
        with DynamicCluster(nodes=1) as c:
            c.run("scontrol", "create", "nodename=d[1-3]", "CPUs=4", "RealMemory=1000", "Feature=quick,new", "Weight=5", "State=CLOUD")
            self.assertEqual(c.state_of("d2"), "IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN")
            self.assertEqual(c.node("d2")["Partitions"], "debug,quick")
            self.assertEqual(c.names_of("-p", "quick"), ["d1", "d2", "d3"])
            c.restart_controller()
            self.assertEqual(c.node("d3")["AvailableFeatures"], "quick,new")
            # Its agent finds it in the controller, as one that is in a file.
            port = free_port()
            c._spawn("spurd-d1", BIN / "spurd", "-D", "-Z", "--conf", "CPUs=4 RealMemory=1000 Feature=quick,new Weight=5 State=CLOUD",
                     "-f", c.conf, "-N", "d1", "--listen", f"127.0.0.1:{port}")
            c.wait_node("d1", "IDLE+CLOUD+DYNAMIC_NORM")
            job = c.sbatch("-p", "quick", "-o", c.dir / "out/%j", "--wrap", "echo $SLURMD_NODENAME")
            c.wait_state(job, "COMPLETED")
            self.assertEqual((c.dir / f"out/{job}").read_text(), "d1\n")
            held = c.sbatch("-p", "quick", "--wrap", "sleep 100")
            c.wait_state(held, "RUNNING")
            self.assertEqual(c.refused("scontrol", "delete", "nodename=d[1-2],nosuch"),
                             "scontrol: error: failed to delete nodes d1,nosuch\n"
                             "delete_node nodename=d[1-2],nosuch: Requested nodes are busy\n")
            self.assertEqual(c.names_of("-p", "quick"), ["d1", "d3"], "as many as can go")
            # Other files, and the same files again, leave them alone.
            c.write_conf(c.conf.read_text().replace('name = "quick"', 'name = "swift"'))
            c.run("scontrol", "reconfigure")
            self.assertEqual(c.names_of("-p", "swift"), ["d1", "d3"])
            c.restart_controller()
            self.assertEqual(c.names_of("-p", "swift"), ["d1", "d3"])
            self.assertEqual(c.state(held), "RUNNING")
            c.run("scancel", held)
            wait_until(lambda: "MIXED" not in c.state_of("d1") and "COMPLETING" not in c.state_of("d1"), 30, "d1 is free")
            c.run("scontrol", "delete", "nodename", "d1")
            self.assertEqual(c.names_of("-p", "swift"), ["d3"])
            self.assertIn("not found", c.run("scontrol", "show", "node", "d1", check=False).stdout)
            self.assertIn("COMPLETED", c.out("scontrol", "show", "job", job))
            c.kill("spurctld")
            c.start_controller("-c")
            self.assertEqual(c.names_of("-p", "debug"), ["n1"], "a clean start forgets them")

    def test_refusals(self):
        with DynamicCluster(nodes=1, room=4) as c:
            cloud = "State=CLOUD"
            for words, why in ((["create", "nodename=n1", cloud], "Node 'n1' already exists in the node table"),
                               (["create", "nodename=f1", cloud], "Node 'f1' already exists in the node table"),
                               (["create", "nodename=d[1-2]", cloud], "past MaxNodeCount:4"),
                               (["create", "nodename=d1", cloud, "NoSuchKey=1"],
                                "scontrol: error: Failed to parse nodeline 'nodename=d1 State=CLOUD NoSuchKey=1'\n"
                                "Error creating the node(s): Parsing error at unrecognized key: NoSuchKey\n"),
                               (["create", "nodename=d1"], "Only State=FUTURE and State=CLOUD allowed"),
                               (["create", "nodename=d1", "State=DOWN"],
                                "scontrol: error: Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol\n"
                                "Error creating the node(s): Invalid node state specified\n"),
                               (["create", "nodename=d1", cloud, "Gres=nic:1"], "Invalid generic resource (gres) specification"),
                               (["create", "nodename=d1", cloud, "CPUs=x"], "CPUs"),
                               (["create", "nodename=a/b", cloud], "no node name"),
                               (["delete", "nodename=n1"], "failed to delete nodes n1\ndelete_node nodename=n1: Invalid node state"),
                               (["delete", "nodename=f1"], "Invalid node state specified"),
                               (["delete", "nodename=nosuch"], "Invalid node name specified"),
                               (["update", "nodename=f1", "state=drain", "reason=x"], "Invalid node state specified"),
                               (["update", "nodename=n1", "activefeatures=none"], "Active features not subset")):
                self.assertIn(why, c.refused("scontrol", *words), words)
            c.run("scontrol", "create", "nodename=d1", cloud)
            reservation = c.out("scontrol", "create", "reservation", "users=root", "start=now+1hour", "duration=10", "nodes=d1")
            self.assertIn("Requested nodes are busy", c.refused("scontrol", "delete", "nodename=d1"))
            c.run("scontrol", "delete", "reservation", reservation.split()[-1])
            c.run("scontrol", "delete", "nodename=d1")
            user = c.run("scontrol", "create", "nodename=d1", cloud, check=False, user="nobody")
            self.assertEqual((user.returncode, "d1" in c.names_of()), (1, False))
        with DynamicCluster(nodes=1, room=0) as c:
            self.assertIn("MaxNodeCount", c.refused("scontrol", "create", "nodename=d1", "State=CLOUD"))
            c.start_dynamic("d1", "-Z")
            wait_until(lambda: c.processes["spurd-d1"].poll() is not None, 30, "the agent gives up")
            self.assertEqual(c.processes["spurd-d1"].returncode, 1)
            self.assertIn("MaxNodeCount", c.log("spurd-d1"))

    def test_agents_make_themselves(self):
        with DynamicCluster(nodes=1, room=5) as c:
            c.start_dynamic("z1", "-Z", "--conf", "Feature=quick Weight=3 RealMemory=100", "--extra", "rack7", "--instance-id",
                            "i-1", "--instance-type", "t3.big")
            c.wait_node("z1", "IDLE+DYNAMIC_NORM")
            shown = c.node("z1")
            self.assertEqual([shown[k] for k in ("CPUTot", "RealMemory", "ActiveFeatures", "Weight", "Extra", "InstanceId",
                                                 "InstanceType", "Partitions")],
                             [HERE["CPUs"], "100", "quick", "3", "rack7", "i-1", "t3.big", "debug,quick"])
            answer = json.loads(c.out("scontrol", "show", "node", "z1", "--json"))["nodes"][0]
            self.assertEqual((answer["instance_id"], answer["instance_type"], answer["state"]),
                             ("i-1", "t3.big", ["IDLE", "DYNAMIC_NORM"]))
            job = c.sbatch("-p", "quick", "-o", c.dir / "out/%j", "--wrap", "sleep 3; echo done")
            c.wait_state(job, "RUNNING")
            # The agent and the controller go and come back under it.
            c.kill("spurd-z1")
            c.kill("spurctld")
            c.start_dynamic("z1", "-Z", "--conf", "Feature=quick Weight=3 RealMemory=100")
            c.start_controller()
            c.wait_state(job, "COMPLETED")
            self.assertEqual((c.dir / f"out/{job}").read_text(), "done\n")
            c.wait_node("z1", "IDLE+DYNAMIC_NORM")
            c.start_dynamic("z2", "-Z")
            c.wait_node("z2", "IDLE+DYNAMIC_NORM")
            c.start_dynamic("z3", "-Z")  # n1, f1, f2, z1, z2
            wait_until(lambda: c.processes["spurd-z3"].poll() is not None, 30, "there is no room for another")
            self.assertIn("MaxNodeCount:5", c.log("spurd-z3"))
            c.kill("spurd-z2")
            c.run("scontrol", "delete", "nodename=z2")
            c.start_dynamic("z3", "-Z")
            c.wait_node("z3", "IDLE+DYNAMIC_NORM")

    def test_an_agent_that_comes_before_its_controller(self):
        with DynamicCluster(nodes=1) as c:
            c.kill("spurctld")
            c.start_dynamic("z1", "-Z")
            wait_until(lambda: "is ready" in c.log("spurd-z1"), 30, "the agent goes on")
            c.start_controller()
            c.wait_node("z1", "IDLE+DYNAMIC_NORM")

    def test_future_nodes(self):
        with DynamicCluster(nodes=1) as c:
            self.assertEqual(c.names_of(), ["n1"])
            self.assertEqual(c.out("sinfo", "-h", "-F", "-o", "%t %N").splitlines(), ["futr f[1-2]", "idle n1"])
            self.assertEqual(c.names_of("-F"), ["f1", "f2", "n1"])
            self.assertIn("not found", c.run("scontrol", "show", "node", "f1", check=False).stdout)
            self.assertEqual(c.node("f1", "-F")["State"], "FUTURE")
            self.assertEqual(json.loads(c.out("scontrol", "-F", "show", "node", "f1", "--json"))["nodes"][0]["state"], ["FUTURE"])
            # By hand, and back.
            c.run("scontrol", "update", "nodename=f2", "state=idle")
            self.assertEqual(c.state_of("f2"), "UNKNOWN+NOT_RESPONDING")
            c.run("scontrol", "update", "nodename=f2", "state=future")
            self.assertEqual(c.state_of("f2"), "none")
            # A host takes a place.
            c.start_dynamic("host1", "-F")
            c.wait_node("f1", "IDLE+DYNAMIC_FUTURE")
            self.assertEqual((c.node("f1")["NodeHostName"], c.node("f1")["NodeAddr"]), ("host1", "127.0.0.1"))
            job = c.sbatch("-C", "big", "-o", c.dir / "out/%j", "--wrap", "srun hostname; echo $SLURM_JOB_NODELIST")
            c.wait_state(job, "COMPLETED")
            self.assertIn("f1\n", (c.dir / f"out/{job}").read_text())
            c.start_dynamic("host2", "-Fnosuch")
            wait_until(lambda: c.processes["spurd-host2"].poll() is not None, 30, "no node has that feature")
            self.assertIn("Unable to register", c.log("spurd-host2"))
            c.start_dynamic("host2", "-Fbig")
            c.wait_node("f2", "IDLE+DYNAMIC_FUTURE")
            # The same host gets the same node, also of a controller that was killed.
            c.kill("spurd-host1")
            c.restart_controller()
            self.assertEqual(c.names_of(), ["f1", "f2", "n1"])
            c.start_dynamic("host1", "-F")
            wait_until(lambda: "node f1" in c.log("spurd-host1") and c.state_of("f1") == "IDLE+DYNAMIC_FUTURE", 30, "f1 is back")
            c.kill("spurd-host1")
            c.run("scontrol", "update", "nodename=f1", "state=future")
            self.assertEqual(c.names_of(), ["f2", "n1"])
            c.run("scontrol", "reconfigure")
            self.assertEqual(c.names_of(), ["f2", "n1"])

    def test_active_features(self):
        with DynamicCluster(nodes=1) as c:
            c.run("scontrol", "update", "nodename=n1", "availablefeatures=a,b", "activefeatures=b")
            self.assertEqual(c.out("sinfo", "-h", "-n", "n1", "-p", "debug", "-o", "%f %b").split(), ["a,b", "b"])
            job = c.sbatch("-C", "b", "--wrap", "true")
            c.wait_state(job, "COMPLETED")
            # Slurm's rule: what is active must stay available, and then all of it is active.
            self.assertIn("not subset", c.refused("scontrol", "update", "nodename=n1", "availablefeatures=c"))
            c.run("scontrol", "update", "nodename=n1", "availablefeatures=b,c")
            self.assertEqual(c.out("sinfo", "-h", "-n", "n1", "-p", "debug", "-o", "%f %b").split(), ["b,c", "b,c"])

    def test_what_a_host_tells_of_itself(self):
        with DynamicCluster(nodes=1) as c:
            lines = c.out(BIN / "slurmd", "-C", "-N", "me").splitlines()
            self.assertRegex(lines[0], r"^NodeName=me CPUs=\d+ Boards=1 SocketsPerBoard=\d+ CoresPerSocket=\d+ "
                                       r"ThreadsPerCore=\d+ RealMemory=\d+$")
            self.assertRegex(lines[1], r"^UpTime=\d+-\d\d:\d\d:\d\d$")
            self.assertEqual(c.run(BIN / "slurmd", "-G", "-f", c.conf, "-N", "n1").stderr, "")
            with open(c.conf, "a") as conf:
                conf.write(f'[[nodes]]\nnames = "g1"\ngres = ["tape:drive:2"]\n')
            self.assertEqual(c.run(BIN / "slurmd", "-G", "-f", c.conf, "-N", "g1").stderr,
                             "slurmd: Gres Name=tape Type=drive Count=2 Index=0 ID=1701863796\n")
            for words in (["-Z", "-F"], ["--conf", "CPUs=1"], ["-Z", "--conf", "NodeName=x"], ["-Z", "--conf", "NoSuch=1"]):
                self.assertEqual(c.run(BIN / "slurmd", "-D", "-f", c.conf, "-N", "z9", *words, check=False).returncode, 1, words)


if __name__ == "__main__":
    unittest.main()
