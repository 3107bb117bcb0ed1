# SPDX-License-Identifier: Apache-2.0
"""Where daemons and commands find their configuration, what the files mean once loaded, and nodes that join with a token."""
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

from spur_cluster import BIN, ROOT, SpurCluster, free_port, wait_until

AS_ROOT = os.geteuid() == 0
EXAMPLES = ROOT / "src/config/testdata"


class Examples(unittest.TestCase):
    """The two configurations of the first pages that people read, taken as they are; only where to listen and keep state differs."""

    def load(self, name, edit=lambda text: text):
        c = SpurCluster()
        self.addCleanup(c.stop)
        conf = c.dir / name
        conf.write_text(edit((EXAMPLES / name).read_text()))
        c._spawn("spurctld", BIN / "spurctld", "-D", "-f", conf, "--state-dir", c.dir / "state", "--listen", f"127.0.0.1:{c.port}")
        c.env.update(SPUR_CONF=str(conf), SPUR_CONTROLLER_ADDR=f"http://127.0.0.1:{c.port}",
                     SPUR_AUTH_SOCKET=str(c.dir / "state/auth.sock"))
        wait_until(c.controller_answers, 30, "spurctld answers")
        return c

    @staticmethod
    def fields(text):
        return dict(f.split("=", 1) for f in text.split() if "=" in f)

    def test_first_cluster(self):
        c = self.load("first_cluster.spur.conf")
        part = self.fields(c.out("scontrol", "-o", "show", "partition", "default"))
        self.assertEqual([part[k] for k in ("Default", "Nodes", "MaxTime", "TotalCPUs", "TotalNodes")],
                         ["YES", "node[001-008]", "1-00:00:00", "512", "8"])
        node = self.fields(c.out("scontrol", "-o", "show", "node", "node008"))
        self.assertEqual([node[k] for k in ("CPUTot", "RealMemory", "Partitions")], ["64", "256000", "default"])
        self.assertEqual(self.fields(c.out("scontrol", "show", "config").replace(" ", ""))["ClusterName"], "my-cluster")
        r = c.run("sbatch", "--mem=256001", "--wrap", "true", check=False)
        self.assertEqual(r.returncode, 1, "more memory than a node has")
        job = c.sbatch("-N8", "-c64", "--mem=250000", "--wrap", "true")
        self.assertEqual(c.job(job)["TimeLimit"], "1-00:00:00")

    def test_production(self):
        """It names two controllers: whoever is none of them says so. The rest of it is looked at with one."""
        r = subprocess.run([BIN / "spurctld", "-D", "-f", EXAMPLES / "production.spur.conf", "--state-dir", tempfile.mkdtemp()],
                           capture_output=True, text=True, timeout=30)
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertIn("is none of the controllers ctrl1, ctrl2; -N says which one this is", r.stderr)
        c = self.load("production.spur.conf",
                      lambda text: text.replace('hosts = ["ctrl1", "ctrl2"]', f'hosts = ["{socket.gethostname().split(".")[0]}"]'))
        gpu, cpu = (self.fields(c.out("scontrol", "-o", "show", "partition", p)) for p in ("gpu", "cpu"))
        self.assertEqual([gpu[k] for k in ("Default", "Nodes", "MaxTime", "TotalNodes")], ["YES", "gpu[001-064]", "3-00:00:00", "64"])
        self.assertEqual([cpu[k] for k in ("Default", "Nodes", "MaxTime", "TotalCPUs")], ["NO", "cpu[001-256]", "7-00:00:00", "65536"])
        node = self.fields(c.out("scontrol", "-o", "show", "node", "gpu064"))
        self.assertEqual([node[k] for k in ("CPUTot", "RealMemory", "Gres")], ["128", "512000", "gpu:mi300x:8"])
        job = c.sbatch("-N4", "--gres=gpu:mi300x:8", "--time=4:00:00", "--ntasks-per-node=8", "--wrap", "true")
        self.assertEqual([c.job(job)[k] for k in ("Partition", "TimeLimit")], ["gpu", "04:00:00"])
        for bad in (["--gres=gpu:mi300x:9"], ["-p", "cpu", "--gres=gpu:1"], ["-p", "gpu", "--mem=512001"], ["-p", "cpu", "--mem=1024001"]):
            self.assertEqual(c.run("sbatch", *bad, "--wrap", "true", check=False).returncode, 1, bad)
        self.assertNotIn("not in force yet", c.log("spurctld"))


class Mistakes(unittest.TestCase):
    def refusal(self, name, text):
        c = SpurCluster()
        self.addCleanup(c.stop)
        path = c.dir / name
        path.write_text(text)
        out = []
        for args in (["spurctld"], ["spurctld", "-D"], ["spurd", "-N", "n1"]):
            r = subprocess.run([BIN / args[0], "-f", path, *args[1:]], text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
            self.assertEqual(r.returncode, 1)
            self.assertRegex(r.stderr, rf"^{args[0]}: fatal: [^\n]+\n$")
            out.append(r.stderr.split(": ", 1)[1])
        self.assertEqual(len(set(out)), 1)
        return out[0].replace(str(path), name)

    def test_unknown_toml_key(self):
        self.assertEqual(self.refusal("spur.conf", 'cluster_name = "x"\n[controller]\nlisten_adr = "[::]:6817"\n'),
                         'fatal: spur.conf:3: unknown key "controller.listen_adr", did you mean "controller.listen_addr"?\n')
        self.assertEqual(self.refusal("spur.conf", '[[nodes]]\nnames = "n1"\ncpu = 4\n'),
                         'fatal: spur.conf:3: unknown key "nodes.cpu", did you mean "cpus"?\n')

    def test_values(self):
        self.assertRegex(self.refusal("spur.conf", '[[nodes]]\nnames = "n1"\ncpus = "many"\n'), r"^fatal: spur\.conf:3: nodes\.cpus must be a whole number")
        self.assertRegex(self.refusal("spur.conf", "a = [1,\n"), r"^fatal: spur\.conf:\d: ")
        # What is no key of Slurm's either is a mistake there as here.
        self.assertEqual(self.refusal("slurm.conf", "ClusterName=x\nFrobnicateNodes=yes\n"),
                         "fatal: slurm.conf:2: Parsing error at unrecognized key: FrobnicateNodes\n")
        self.assertRegex(self.refusal("slurm.conf", "ClusterName=x\nNodeName=n1 CPUs=lots\nPartitionName=p Nodes=n1\n"), r"^fatal: slurm\.conf:2: .*lots")


SLURM_CONF = """ClusterName=Site
SlurmctldHost=localhost
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/ctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmdParameters=config_overrides
GresTypes=gpu
AcctGatherNodeFreq=30
JobCompType=jobcomp/script
JobCompHost=h
NodeName=c1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={port2} CPUs=2 RealMemory=100 Gres=gpu:a100:2 State=UNKNOWN
PartitionName=batch Nodes=c1 Default=YES MaxTime=60 State=UP
"""
GRES_CONF = "NodeName=c1 Name=gpu Type=a100 File=/dev/null\nNodeName=c1 Name=gpu Type=a100 File=/dev/zero\n"


class SlurmFiles(unittest.TestCase):
    """slurm.conf with gres.conf beside it, found in each of the three ways, by daemons and commands alike."""

    def setUp(self):
        self.c = SpurCluster()
        self.addCleanup(self.c.stop)
        self.file = self.c.dir / "slurm.conf"
        self.file.write_text(SLURM_CONF.format(dir=self.c.dir, port=self.c.port, port2=free_port()))
        (self.c.dir / "gres.conf").write_text(GRES_CONF)
        del self.c.env["SPUR_CONF"]
        self.c.env["HOME"] = str(self.c.dir / "nobody-home")

    def check(self):
        c = self.c
        wait_until(lambda: c.out("sinfo", "-h", "-o", "%P %t %N", check=False).strip() == "batch* idle c1", 30, "c1 is up")
        job = c.sbatch("--gres=gpu:a100:1", "-o", "o", "--wrap", "echo $SLURM_CLUSTER_NAME $SLURM_JOB_GPUS; squeue -h -o %i")
        c.wait_state(job, "COMPLETED")
        # Commands inside the job find the same configuration.
        self.assertEqual((c.dir / "out/o").read_text(), f"site 0\n{job}\n")
        self.assertEqual(c.job(job)["TimeLimit"], "01:00:00")

    def start(self, *args):
        c = self.c
        c._spawn("spurctld", BIN / "slurmctld", "-D", *args)
        wait_until(c.controller_answers, 30, "slurmctld answers")
        c._spawn("spurd-c1", BIN / "slurmd", "-D", "-N", "c1", *args)

    def test_option(self):
        self.c.env["SLURM_CONF"] = "/nonexistent"  # -f goes first
        c = self.c
        c._spawn("spurctld", BIN / "slurmctld", "-D", "-f", self.file)
        c._spawn("spurd-c1", BIN / "slurmd", "-D", "-f", self.file, "-N", "c1")
        c.env["SLURM_CONF"] = str(self.file)
        wait_until(c.controller_answers, 30, "slurmctld answers")
        self.check()

    def test_environment(self):
        self.c.env["SLURM_CONF"] = str(self.file)
        self.start()
        self.check()
        # A key of Slurm's that Spur does not know yet is named, once, with its line.
        log = self.c.log("spurctld")
        for line, key in ((11, "AcctGatherNodeFreq"), (12, "JobCompType"), (13, "JobCompHost")):
            self.assertEqual(len(re.findall(rf"spurctld: warning: {self.file}:{line}: [^\n]*{key}", log)), 1, log)
            self.assertEqual(log.count(key), 1, log)

    @unittest.skipUnless(AS_ROOT, "needs a mount namespace")
    def test_default_place(self):
        out = in_own_namespace(self.c, "slurm", [self.file, self.c.dir / "gres.conf"], """
            slurmctld; slurmd -N c1
            until [ "$(sinfo -h -o '%P %t %N')" = 'batch* idle c1' ]; do sleep 0.1; done
            sbatch -W --gres=gpu:a100:1 -o $DIR/out/o --wrap 'echo $SLURM_JOB_GPUS' >/dev/null; cat $DIR/out/o
            kill $(cat $DIR/slurmd-c1.pid) $(cat $DIR/ctld.pid)""")
        self.assertEqual(out.splitlines()[-1], "0")


def in_own_namespace(c, etc, files, script):
    """Runs the script with a copy of /etc that has `files` in /etc/<etc> and neither spur's nor slurm's own, an empty
    /var/spool, and a network of its own, so that default places and ports are free."""
    copy = " ".join(f"'{f}'" for f in files)
    prepare = f"""set -e
        cp -a /etc "$DIR/etc"; rm -rf "$DIR/etc/spur" "$DIR/etc/slurm"; mkdir "$DIR/etc/{etc}"; {f'cp {copy} "$DIR/etc/{etc}"' if files else ''}
        mount --bind "$DIR/etc" /etc; mount -t tmpfs none /var/spool; ip link set lo up
        """
    env = {"DIR": str(c.dir), "PATH": c.env["PATH"], "HOME": "/nonexistent"}
    r = subprocess.run(["unshare", "-mn", "timeout", "120", "sh", "-c", prepare + script], env=env, text=True, capture_output=True,
                       stdin=subprocess.DEVNULL)
    if r.returncode != 0:
        raise AssertionError(f"exit {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout


@unittest.skipUnless(AS_ROOT, "needs a mount namespace")
class NoFile(unittest.TestCase):
    def test_no_file_at_all(self):
        """A controller and an agent, started with nothing but their names, make a cluster of one node."""
        c = SpurCluster()
        self.addCleanup(c.stop)
        out = in_own_namespace(c, "spur", [], """
            spurctld; spurd
            until [ "$(sinfo -h -o %t)" = idle ]; do sleep 0.1; done
            sinfo -h -o '%P %D %N'
            sbatch -W -o $DIR/out/o --wrap 'echo on $SLURMD_NODENAME' >/dev/null; cat $DIR/out/o
            srun echo from srun
            kill $(cat /var/spool/spur/*/spurd.pid) $(cat /var/spool/spur/spurctld.pid)""")
        host = os.uname().nodename.split(".")[0]
        self.assertEqual(out, f"default* 1 {host}\non {host}\nfrom srun\n")


class Join(unittest.TestCase):
    """A node on another host: it has neither the controller's socket nor its credentials."""

    def setUp(self):
        self.c = SpurCluster(nodes=2)
        self.c.start_controller()
        self.addCleanup(self.c.stop)
        self.token = self.c.dir / "state/join.token"
        self.far = self.c.dir / "far.conf"
        self.far.write_text(self.c.conf.read_text().replace(f'{self.c.dir}/state"', f'{self.c.dir}/elsewhere"').replace("/spool/", "/far/"))

    def join(self, *args, node="n1", env=None):
        self.c.env.update(env or {})
        self.c._spawn(f"spurd-{node}", BIN / "spurd", "-D", "-f", self.far, "-N", node, "--controller", f"http://127.0.0.1:{self.c.port}",
                      "--listen", "127.0.0.1:0", *args)

    def state(self, node="n1"):
        return self.c.out("sinfo", "-h", "-n", node, "-o", "%t").strip()

    def runs(self, node="n1"):
        job = self.c.sbatch("-w", node, "-o", "j", "--wrap", "echo $SLURMD_NODENAME")
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual((self.c.dir / "out/j").read_text(), f"{node}\n")

    def test_with_the_token(self):
        self.assertEqual(self.token.stat().st_mode & 0o777, 0o600)
        self.join("--token", self.token)
        self.c.wait_idle(1)
        self.runs()
        # Once enrolled its key is enough, also for a controller that was started anew.
        self.c.kill("spurd-n1", 15)
        self.c.kill("spurctld", 15)
        self.c.start_controller()
        self.join()
        self.c.wait_idle(1)
        self.runs()

    def test_token_from_the_environment_is_not_for_jobs(self):
        self.join(env={"SPUR_JOIN_TOKEN": self.token.read_text().strip()})
        self.c.wait_idle(1)
        del self.c.env["SPUR_JOIN_TOKEN"]
        job = self.c.sbatch("--export=NONE", "-o", "e", "--wrap", "env")
        self.c.wait_state(job, "COMPLETED")
        self.assertNotIn("SPUR_JOIN_TOKEN", (self.c.dir / "out/e").read_text())

    def test_refused(self):
        wrong = self.c.dir / "wrong"
        wrong.write_text("0" * 64)
        for node, args in (("n1", ["--token", wrong]), ("n2", [])):
            self.join(*args, node=node)
            wait_until(lambda: "no link to the controller: " in self.c.log(f"spurd-{node}"), 30, "the agent says why")
            self.assertRegex(self.c.log(f"spurd-{node}"), r"spurd: error: no link to the controller: [^\n]+\n")
            self.assertNotEqual(self.state(node), "idle")
            self.assertIsNone(self.c.processes[f"spurd-{node}"].poll(), "it goes on trying")
        # A node that the cluster does not know is refused whatever it shows.
        self.join("--token", self.token, node="stranger")
        wait_until(lambda: "stranger" in self.c.log("spurctld"), 30, "the controller says so")
        self.assertEqual(len(re.findall("node stranger was refused", self.c.log("spurctld"))), 1)
        self.assertNotIn("stranger", self.c.out("sinfo", "-h", "-N"))

    def test_nobody_takes_a_nodes_place(self):
        self.join("--token", self.token)
        self.c.wait_idle(1)
        key = (self.c.dir / "far/n1/node.key").read_bytes()
        thief = self.far.with_name("thief.conf")
        thief.write_text(self.far.read_text().replace("/far/", "/thief/"))
        self.c._spawn("spurd-thief", BIN / "spurd", "-D", "-f", thief, "-N", "n1", "--controller", f"127.0.0.1:{self.c.port}",
                      "--listen", "127.0.0.1:0")
        wait_until(lambda: "no link to the controller: " in self.c.log("spurd-thief"), 30, "the thief is refused")
        self.assertNotEqual((self.c.dir / "thief/n1/node.key").read_bytes(), key)
        self.runs()


if __name__ == "__main__":
    unittest.main()
