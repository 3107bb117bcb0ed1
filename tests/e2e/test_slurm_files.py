# SPDX-License-Identifier: Apache-2.0
"""Slurm's files, from end to end: an edited slurm.conf in force on the controller and on the nodes, agents without files of
their own, slurmdbd.conf, and the way to spur.conf and back."""
import os
import pwd
import re
import signal
import sqlite3
import subprocess
import unittest

from spur_cluster import BIN, free_port, wait_until
from test_slurm_site import HOST, SlurmSite, alive


def fields_of(text):
    return dict(re.findall(r"(\S+?)=(\S*)", text))


def end(pid):
    if alive(pid):
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid), 30, f"process {pid} has ended")


class Reconfigure(unittest.TestCase):
    def setUp(self):
        self.s = SlurmSite()
        self.addCleanup(self.s.stop)

    def config(self):
        return dict(re.findall(r"(?m)^(\S+) += (.*)$", self.s.out("scontrol show config")))

    def test_all_that_is_in_force(self):
        self.s.edit("^KillWait=2$", "KillWait=2\nGresTypes=gpu\nTopologyPlugin=topology/tree")
        topology = self.s.conf.parent / "topology.conf"
        topology.write_text("SwitchName=s1 Nodes=node[0-2]\n")
        self.s.start()
        before = fields_of(self.s.out("scontrol show partition -o primary"))
        self.assertEqual((before["MaxTime"], before["DefaultTime"], before["PriorityTier"]), ("UNLIMITED", "NONE", "1"))
        self.s.edit("^KillWait=2$", "KillWait=3\nMinJobAge=20\nMaxArraySize=7\nSlurmdTimeout=250\nOverTimeLimit=2\n"
                    "SchedulerParameters=kill_invalid_depend,bf_max_job_test=7\nPriorityType=priority/multifactor\n"
                    "PriorityWeightAge=17\nPriorityWeightPartition=19\nEnforcePartLimits=ALL\nDefMemPerCPU=11\n"
                    "Licenses=ice:2\nJobRequeue=0\nMaxJobCount=4000\nResvOverRun=3\nTaskProlog=/bin/true")
        self.s.edit("^PartitionName=primary .*$", "PartitionName=primary Nodes=node[0-2] Default=YES MaxTime=30 DefaultTime=5 "
                    "PriorityTier=4 MaxNodes=2 OverSubscribe=EXCLUSIVE State=UP LLN=YES")
        self.s.edit("^(NodeName=node1 .*)$", r"\1 Features=blue,green Weight=4 Gres=gpu:2")
        self.s.edit("^(NodeName=node2 .*) RealMemory=1000$", r"\1 RealMemory=2000")
        (self.s.conf.parent / "gres.conf").write_text("NodeName=node1 Name=gpu File=/dev/null,/dev/zero\n")
        topology.write_text("SwitchName=s1 Nodes=node0\nSwitchName=s2 Nodes=node[1-2]\nSwitchName=top Switches=s[1-2]\n")
        self.s.run("scontrol reconfigure")
        config = self.config()
        for key, value in {"KillWait": "3 sec", "MinJobAge": "20 sec", "MaxArraySize": "7", "SlurmdTimeout": "250 sec",
                           "OverTimeLimit": "2 min", "SchedulerParameters": "kill_invalid_depend,bf_max_job_test=7",
                           "PriorityWeightAge": "17", "PriorityWeightPartition": "19", "EnforcePartLimits": "ALL",
                           "DefMemPerCPU": "11", "Licenses": "ice:2", "JobRequeue": "0", "MaxJobCount": "4000",
                           "ResvOverRun": "3 min", "TaskProlog": "/bin/true"}.items():
            self.assertEqual(config[key], value, key)
        after = fields_of(self.s.out("scontrol show partition -o primary"))
        self.assertEqual((after["MaxTime"], after["DefaultTime"], after["PriorityTier"], after["MaxNodes"], after["OverSubscribe"]),
                         ("00:30:00", "00:05:00", "4", "2", "EXCLUSIVE"))
        node = fields_of(self.s.out("scontrol show node -o node1"))
        self.assertEqual((node["AvailableFeatures"], node["Weight"], node["Gres"]), ("blue,green", "4", "gpu:2"))
        self.assertEqual(fields_of(self.s.out("scontrol show node -o node2"))["RealMemory"], "2000")
        self.assertIn("SwitchName=s2", self.s.out("scontrol show topology"))
        # and not only shown
        self.assertNotEqual(self.s.run("sbatch -t 31 --wrap true", None).returncode, 0)
        self.assertNotEqual(self.s.run("sbatch -a 0-7 --wrap true", None).returncode, 0)
        self.assertNotEqual(self.s.run("sbatch -L ice:3 --wrap true", None).returncode, 0)
        self.s.run("sbatch -a 0-6 --wrap true")
        job = self.s.out("sbatch --parsable -C blue --gres=gpu:2 -o /dev/null --wrap 'sleep 60'").strip()
        wait_until(lambda: self.s.out(f"squeue -j {job} -h -o '%T %N'") == "RUNNING node1\n", 60, "the job runs")
        self.assertEqual(self.s.out(f"squeue -j {job} -h -o %l"), "5:00\n")

    def test_agents_hear_of_it(self):
        self.s.start()
        seen = self.s.dir / "seen"
        prolog = self.s.dir / "prolog"
        prolog.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID >>{seen}\n")
        prolog.chmod(0o755)
        self.s.edit("^KillWait=2$", f"KillWait=2\nProlog={prolog}")
        self.s.run("scontrol reconfigure")
        for i in range(self.s.NODES):
            log = self.s.dir / f"log/slurmd-node{i}.log"
            wait_until(lambda: "configuration reloaded" in log.read_text(), 30, f"node{i} reloads")
        self.s.run("srun -N1 -w node1 true")
        self.assertTrue(seen.read_text().strip().isdigit())


class Configless(unittest.TestCase):
    def setUp(self):
        self.s = SlurmSite()
        self.addCleanup(self.s.stop)

    def test_agents_without_files(self):
        include = self.s.conf.parent / "nodes.d"
        include.mkdir()
        lines = [line for line in self.s.conf.read_text().splitlines() if line.startswith("NodeName")]
        (include / "nodes.conf").write_text("\n".join(lines) + "\n")
        text = "\n".join(line for line in self.s.conf.read_text().splitlines() if not line.startswith("NodeName"))
        text = text.replace("KillWait=2", "KillWait=2\nInclude nodes.d/nodes.conf")
        self.s.conf.write_text(text + "\n")
        self.s.run(f"{BIN}/slurmctld")
        agent_env = {k: v for k, v in self.s.env.items() if k != "SLURM_CONF"} | {"HOME": str(self.s.dir)}
        token = self.s.dir / "state/join.token"

        def agent(node, *more):
            return subprocess.run([BIN / "slurmd", "-N", node, "--conf-server", f"127.0.0.1:{self.s.first_port}", *more],
                                  env=agent_env, cwd="/", text=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)

        refused = agent("node0", "--token", str(token))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("enable_configless", refused.stderr)
        self.s.edit("^KillWait=2$", "KillWait=2\nSlurmctldParameters=enable_configless")
        self.s.run("scontrol reconfigure")
        stranger = agent("node0")
        self.assertNotEqual(stranger.returncode, 0)
        self.assertIn("join token", stranger.stderr)
        both = agent("node0", "-f", str(self.s.conf))
        self.assertIn("exclude each other", both.stderr)
        for i in range(self.s.NODES):
            started = agent(f"node{i}", "--token", str(token))
            self.assertEqual(started.returncode, 0, started.stderr)
        self.s.wait_idle()
        cache = self.s.dir / "spool-node1/conf-cache"
        self.assertEqual((cache / "slurm.conf").read_text(), self.s.conf.read_text())
        self.assertEqual((cache / "nodes.d/nodes.conf").read_text(), (include / "nodes.conf").read_text())
        # Commands in jobs find the controller by it.
        out = self.s.out("srun -N1 -w node1 sh -c 'echo $SLURM_CONF; squeue -h -o %T'").split()
        self.assertEqual(out, [str(cache / "slurm.conf"), "RUNNING"])
        # What changes comes along.
        (self.s.conf.parent / "cgroup.conf").write_text("ConstrainCores=no\n")
        self.s.edit("^KillWait=2$", "KillWait=9")
        self.s.run("scontrol reconfigure")
        wait_until(lambda: "KillWait=9" in (cache / "slurm.conf").read_text() and (cache / "cgroup.conf").exists(), 30,
                   "the new files on the nodes")

    def test_nobody_answers(self):
        r = subprocess.run([BIN / "slurmd", "-N", "node0", "--conf-server", "a b/c"], env=self.s.env, text=True, capture_output=True,
                           timeout=60, stdin=subprocess.DEVNULL)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("no configuration from", r.stderr)


class Slurmdbd(unittest.TestCase):
    def setUp(self):
        self.s = SlurmSite()
        self.addCleanup(self.s.stop)
        self.port = free_port()
        self.s.edit("^KillWait=2$", "KillWait=2\nAccountingStorageType=accounting_storage/slurmdbd\n"
                    f"AccountingStorageHost=127.0.0.1\nAccountingStoragePort={self.port}")
        self.conf = self.s.conf.parent / "slurmdbd.conf"
        self.conf.write_text(f"""DbdHost={HOST}
DbdPort={self.port}
AuthType=auth/munge
SlurmUser={pwd.getpwuid(os.geteuid()).pw_name}
LogFile={self.s.dir}/log/slurmdbd.log
PidFile={self.s.dir}/run/slurmdbd.pid
DebugLevel=debug
StorageType=accounting_storage/mysql
StorageLoc=slurm_acct_db
StoragePass=secret
PurgeJobAfter=12months
DebugFlags=DB_QUERY
Parameters=PreserveCaseUser
""")
        self.conf.chmod(0o600)

    def test_by_its_name(self):
        self.assertEqual(self.s.out(f"{BIN}/slurmdbd -V"), "slurm 25.05.0\n")
        self.assertIn("-n: 'x' is no nice value", self.s.run(f"{BIN}/slurmdbd -n x", 1).stderr)
        self.assertIn("is no nice value", self.s.run(f"{BIN}/slurmdbd -n 20", 1).stderr)

    def start_dbd(self, *words):
        """The daemon; stop() of the site ends it, by its pid file's number if it is not ended before."""
        self.s.run(f"{BIN}/slurmdbd {' '.join(words)}")
        pid = int((self.s.dir / "run/slurmdbd.pid").read_text())
        self.addCleanup(end, pid)
        return pid

    def add_line(self, *lines):
        self.conf.write_text(self.conf.read_text() + "\n".join(lines) + "\n")

    def accounts(self):
        """With a controller; the cluster is known, and has an account."""
        self.s.run(f"{BIN}/slurmctld")
        wait_until(lambda: "root" in self.s.run("sshare -anP -o User", None).stdout, 30, "the cluster has its accounts")
        self.s.run("sacctmgr -i add account lab,other")

    def test_nice_value_and_directory(self):
        pid = self.start_dbd("-s", "-n", "3", "-Rsite")
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, pid), 3)
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), str((self.s.dir / "log").resolve()))
        log = (self.s.dir / "log/slurmdbd.log").read_text()
        self.assertIn("-R: lft and rgt of associations are counted from the tree", log)

    def test_users_without_a_default_account(self):
        pid = self.start_dbd()
        self.accounts()
        default = lambda: self.s.out("sacctmgr -nP show user games format=defaultaccount").strip()
        self.s.run("sacctmgr -i add user games account=lab,other")
        self.assertEqual(default(), "lab")
        refused = self.s.run("sacctmgr -i modify user games set defaultaccount=", 1)
        self.assertIn("You can not remove the default account of a user", refused.stderr)
        refused = self.s.run("sacctmgr -i delete account lab,other", 1)
        self.assertIn("You can not remove the default account of a user", refused.stderr)
        end(pid)
        self.add_line("AllowNoDefAcct=yes")
        self.start_dbd()
        self.s.run("sacctmgr -i modify user games set defaultaccount=")
        self.assertEqual(default(), "")
        self.s.run("sacctmgr -i delete user games")
        self.s.run("sacctmgr -i add user games account=lab,other")
        self.assertEqual(default(), "")
        self.s.run("sacctmgr -i modify user games set defaultaccount=lab")
        self.assertEqual(default(), "lab")
        self.s.run("sacctmgr -i delete account lab,other")
        self.assertEqual(default(), "")

    def test_the_case_of_users(self):
        """PreserveCaseUser is in force in setUp's file; without it names are in lower case."""
        pid = self.start_dbd()
        self.accounts()
        self.s.run("sacctmgr -i add user Ann,ANN account=lab")
        users = lambda: self.s.out("sacctmgr -nP show user format=user").split()
        self.assertEqual(users(), ["ANN", "Ann", "root"])
        self.assertEqual(self.s.out("sacctmgr -nP show user Ann format=user").split(), ["Ann"])
        self.assertEqual(self.s.out("sacctmgr -nP show user ann format=user").split(), [])
        self.s.run("sacctmgr -i delete user ANN")
        self.assertEqual(users(), ["Ann", "root"])
        end(pid)
        self.conf.write_text(self.conf.read_text().replace("Parameters=PreserveCaseUser\n", ""))
        self.start_dbd()
        self.s.run("sacctmgr -i add user Bob account=lab")
        self.assertEqual(users(), ["Ann", "bob", "root"])

    def test_what_is_in_force_is_shown(self):
        """All of slurmdbd.conf in sacctmgr show config, at once after reconfigure; never the password."""
        self.start_dbd()
        self.accounts()
        shown = lambda: dict(re.findall(r"(?m)^(\S+) += (.*)$", self.s.out("sacctmgr show config")))
        before = shown()
        me = pwd.getpwuid(os.geteuid())
        self.assertEqual([before[k] for k in ("SLURM_CONF", "SLURMDBD_CONF", "DbdPort", "PurgeJobAfter", "Parameters", "SlurmUser", "TrackWCKey",
                                              "AllowNoDefAcct", "DebugLevel", "AccountingStorageType", "DebugFlags")],
                         [str(self.s.conf), str(self.conf), str(self.port), "12 months", "PreserveCaseUser", f"{me.pw_name}({me.pw_uid})", "No",
                          "No", "debug", "accounting_storage/slurmdbd", "DB_QUERY"])
        self.assertNotIn("secret", self.s.out("sacctmgr show config"))
        self.add_line("PurgeStepAfter=36hours", "DisableArchiveCommands=yes")
        self.s.run("sacctmgr reconfigure")
        self.assertEqual((shown()["PurgeStepAfter"], shown()["DisableArchiveCommands"]), ("36 hours", "Yes"))
        refused = self.s.run("sacctmgr -i archive dump", 1)
        self.assertIn("Requested operation is presently disabled", refused.stderr)

    def test_the_qos_of_new_clusters(self):
        self.add_line("DefaultQOS=Fast")
        self.start_dbd()
        self.assertIn("fast|Added as default", self.s.out("sacctmgr -nP show qos format=name,descr"))
        self.accounts()
        self.s.run("sacctmgr -i add cluster c9; sacctmgr -i add cluster c8 qos=normal")
        self.assertEqual(self.s.out("sacctmgr -nP show assoc account=root format=cluster,user,qos"),
                         "c8||normal\nc8|root|normal\nc9||fast\nc9|root|fast\nsite||fast\nsite|root|fast\n")

    @unittest.skipIf(os.geteuid() != 0, "only root asks as others")
    def test_coordinators_and_long_queries(self):
        self.add_line("DisableCoordDBD=yes", "MaxQueryTimeRange=10-00:00:00")
        self.start_dbd()
        self.accounts()
        self.s.run("sacctmgr -i add user games account=lab; sacctmgr -i add coordinator account=lab names=games")
        refused = self.s.run("sacctmgr -i add account below parent=lab", 1, "games")
        self.assertIn("Access/permission denied", refused.stderr)
        refused = self.s.run("sacct -S 2020-01-01 -n", 95, "games")
        self.assertEqual(refused.stderr, "sacct: error: Too wide of a date range in query\n")
        self.s.run("sacct -S now-2days -n; sacct -j 1 -n", user="games")
        self.s.run("sacct -S 2020-01-01 -n")
        self.s.run("sacctmgr -i modify user games set adminlevel=operator")
        self.s.run("sacct -S 2020-01-01 -n", user="games")

    @unittest.skipIf(os.geteuid() != 0, "only root submits as others")
    def test_wckeys_of_jobs(self):
        """TrackWCKey of slurmdbd.conf: keys become known as jobs name them; without it they do not."""
        pid = self.start_dbd()
        self.accounts()
        self.s.run("sacctmgr -i add user games account=lab")
        keys = lambda: sorted(self.s.out("sacctmgr -nP show wckey where user=games format=wckey").split("\n")[:-1])
        submit = lambda words: self.s.out(f"sbatch -H -D / --parsable {words} --wrap true", "games").strip()
        recorded = lambda job: wait_until(lambda: self.s.run(f"sacct -nPX -j {job} -o jobid,wckey", None).stdout.strip(), 30, "recorded")
        first = submit("--wckey=Tests")
        self.assertEqual(recorded(first), f"{first}|tests")  # in lower case, as in Slurm
        self.settled()
        self.assertEqual(keys(), [])
        end(pid)
        self.add_line("TrackWCKey=yes")
        self.start_dbd()
        job = submit("")
        wait_until(lambda: keys() == ["", "*"], 30, "a key without a name is the default, and the job had the default")
        submit("--wckey=tests")
        wait_until(lambda: keys() == ["", "*", "tests"], 30, "the key is known")
        self.s.run("sacctmgr -i add user games wckey=later")
        self.assertEqual(self.s.out("sacctmgr -nP show user games format=defaultwckey").strip(), "")
        self.s.run("sacctmgr -i modify user games set defaultwckey=later")
        self.assertEqual(self.s.out("sacctmgr -nP show user games format=defaultwckey").strip(), "later")
        # The controller's memory has none: what accounting says of the job is in the database.
        self.s.run("scontrol shutdown slurmctld")
        wait_until(lambda: self.s.run(f"sacct -nPX -j {job} -o jobid,wckey", None).stdout.strip() == f"{job}|*", 30, "as in Slurm")

    def settled(self):
        """All records have come."""
        wait_until(lambda: "DBD Agent queue size: 0" in self.s.out("sdiag"), 30, "no records wait")

    def test_what_is_old_leaves(self):
        """Purge*After and Archive* of each kind: events go into the archive, transactions just go, what is young stays."""
        archive = self.s.dir / "archive"
        self.add_line("TrackWCKey=yes", f"ArchiveDir={archive}", "ArchiveEvents=yes", "PurgeEventAfter=1hours", "PurgeTXNAfter=1hours",
                      "PurgeResvAfter=1hours", "PurgeStepAfter=1hours")
        self.conf.write_text(self.conf.read_text().replace("PurgeJobAfter=12months", "PurgeJobAfter=1hours"))
        pid = self.start_dbd()
        self.accounts()
        for i in range(self.s.NODES):
            self.s.run(f"{BIN}/slurmd -N node{i}")
        self.s.wait_idle()
        self.s.run("scontrol update nodename=node0 state=down reason=broken")
        wait_until(lambda: "broken" in self.s.run("sacctmgr -nP show event nodes=node0 start=2020-01-01", None).stdout,
                   30, "the event is there")
        self.s.run("scontrol update nodename=node0 state=resume")
        base = sqlite3.connect(self.s.dir / "state/accounting.sqlite")
        count = lambda table, rest="": base.execute(f"SELECT count(*) FROM {table} {rest}").fetchone()[0]
        wait_until(lambda: count("event", "WHERE CAST(node AS TEXT) = 'node0' AND ended < 9e18") > 0, 30, "the event is over")
        self.settled()
        end(pid)
        self.assertGreater(count("transactions"), 0)
        young = count("transactions")
        with base:  # two hours ago
            base.execute("UPDATE event SET started = started - 7200000000, ended = ended - 7200000000 WHERE CAST(node AS TEXT) = 'node0' AND ended < 9e18")
            base.execute("INSERT INTO transactions (at, action, actor, cluster, target, info) SELECT at - 7200000000, action, actor, "
                         "cluster, target, info FROM transactions LIMIT 1")
        old_events = count("event", "WHERE CAST(node AS TEXT) = 'node0' AND ended < 9e18")
        self.assertGreater(old_events, 0)
        self.start_dbd()
        wait_until(lambda: count("event", "WHERE CAST(node AS TEXT) = 'node0' AND ended < 9e18") == 0, 30, "the event has left")
        wait_until(lambda: count("transactions") == young, 30, "the transaction has left")
        base.close()
        kinds = {path.name.split("-")[0] for path in archive.iterdir()}
        self.assertEqual(kinds, {"events"})

    def test_a_file_for_all_to_read_is_refused(self):
        self.conf.chmod(0o644)
        r = self.s.run(f"{BIN}/slurmdbd", 1)
        self.assertIn(f"slurmdbd.conf file {self.conf} should be 600 is 644 accessible for group or others", r.stderr)

    def test_a_storage_is_needed(self):
        self.conf.write_text("DbdHost=x\n")
        r = self.s.run(f"{BIN}/slurmdbd -D", 1)
        self.assertIn("StorageType must be specified", r.stderr)

    def test_it_serves(self):
        self.assertTrue(alive(self.start_dbd()))
        self.s.run(f"{BIN}/slurmctld")
        wait_until(lambda: self.s.run("sacctmgr -n show cluster", None).returncode == 0, 30, "accounting is up")
        log = (self.s.dir / "log/slurmdbd.log").read_text()
        self.assertIn("StorageType: there is no MySQL here", log)
        self.assertIn("slurmdbd.conf DebugFlags: not in force yet", log)
        self.assertNotIn("slurmdbd.conf Parameters", log)
        self.assertNotIn("secret", log)
        self.assertTrue((self.s.dir / "state/accounting.sqlite").exists())


class Translation(unittest.TestCase):
    def setUp(self):
        self.s = SlurmSite()
        self.addCleanup(self.s.stop)

    def test_there_and_back(self):
        self.s.edit("^KillWait=2$", "KillWait=2\nMailProg=/bin/mymail\nSchedulerParameters=defer,wibble")
        r = self.s.run("spur import -o spur.conf")
        self.assertRegex(r.stderr, r"slurm.conf:\d+: AuthType: no effect: ")
        self.assertNotIn("MailProg", r.stderr)
        self.assertIn("wibble (unknown)", r.stderr)
        spur = (self.s.dir / "spur.conf").read_text()
        self.assertIn('smtp_command = "/bin/mymail"', spur)
        out = self.s.dir / "back"
        out.mkdir()
        self.s.run("spur export -o back spur.conf")
        back = (out / "slurm.conf").read_text()
        self.assertIn("MailProg=/bin/mymail\n", back)
        self.assertIn("SchedulerParameters=defer,wibble\n", back)
        # The daemons take what came out.
        self.s.conf.write_text(back)
        self.s.start()
        self.assertEqual(self.s.out("srun -N1 hostname -s").strip(), HOST)

    def test_what_is_wrong_is_told(self):
        self.assertIn("is a slurm.conf already", self.s.run(f"spur export {self.s.conf}", 1).stderr)
        self.assertIn("cannot open", self.s.run("spur import /nowhere/slurm.conf", 1).stderr)
        self.assertIn("cannot write", self.s.run("spur import -o /nowhere/spur.conf", 1).stderr)
        self.s.edit("^KillWait=2$", "KillWait=2\nNoSuchKey=1")
        self.assertIn("unrecognized key: NoSuchKey", self.s.run("spur import", 1).stderr)


if __name__ == "__main__":
    unittest.main()
