# SPDX-License-Identifier: Apache-2.0
"""SlurmUser and SlurmdUser: who the daemons are when root starts them, what they make, what they may still do, and what an
outside suite does around them: commands of users, of SlurmUser and of others, programs by links in directories of its own."""
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import unittest

from spur_cluster import BIN, free_port, wait_until
from test_slurm_site import HOST, SlurmSite, alive, pids_of

USER = "games"  # a fresh Debian has it, and daemon and nobody
ROOT = os.geteuid() == 0


def status_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: text.split(f"\n{name}:\t")[1].split("\n")[0].split() for name in ("Uid", "Gid", "Groups", "CapPrm", "CapEff")}


def pid_in(path):
    return int(path.read_text())


class UserSite(SlurmSite):
    """Its controller is SlurmUser's, its agents are root's; programs are links in bin and sbin."""

    def __init__(self, nodes=3, link=os.symlink):
        super().__init__()
        self.NODES = nodes
        me = pwd.getpwuid(os.geteuid()).pw_name
        self.edit(f"^SlurmUser={me}$", f"SlurmUser={USER}")
        self.edit(f"^SlurmdUser={me}$", "SlurmdUser=root")
        shutil.chown(self.dir / "state", USER, pwd.getpwnam(USER).pw_gid)
        self.bin, self.sbin = self.dir / "bin", self.dir / "sbin"
        self.bin.mkdir()
        self.sbin.mkdir()
        for name in ("squeue", "sinfo", "sbatch", "srun", "salloc", "scontrol", "scancel", "sacctmgr", "sacct", "sstat"):
            os.symlink(BIN / name, self.bin / name)
        for name in ("slurmctld", "slurmd", "slurmdbd"):
            link(BIN / name, self.sbin / name)
        self.env["PATH"] = f"{self.bin}:/usr/bin:/bin"
        self.template(nodes)

    def template(self, nodes):
        """One line as a template, and further nodes with the ports behind it, as a suite adds them."""
        text = self.conf.read_text()
        lines = [line for line in text.splitlines() if not line.startswith("NodeName=")]
        ports = [free_port() for _ in range(nodes)]
        at = next(i for i, line in enumerate(lines) if line.startswith("PartitionName="))
        lines[at:at] = [f"NodeName=node{i} NodeHostname={HOST} NodeAddr=127.0.0.1 Port={ports[i]} CPUs=1" for i in range(nodes)]
        self.conf.write_text("\n".join(lines) + "\n")

    def start_controller(self, user=None, status=0):
        return self.run(f"{self.sbin}/slurmctld", status, user)

    def start(self, user=None):
        self.start_controller(user)
        for i in range(self.NODES):
            self.run(f"{self.sbin}/slurmd -N node{i}")
        self.wait_idle()

    def controller(self):
        return pid_in(self.dir / "run/slurmctld.pid")

    def wait_gone(self, pid):
        wait_until(lambda: not alive(pid), 30, f"process {pid} is gone")


@unittest.skipUnless(ROOT, "needs root to become somebody else")
class SlurmUser(unittest.TestCase):
    def site(self, **kw):
        self.s = UserSite(**kw)
        self.addCleanup(self.s.stop)
        return self.s

    def check_is_user(self, pid):
        entry = pwd.getpwnam(USER)
        status = status_of(pid)
        self.assertEqual(status["Uid"], [str(entry.pw_uid)] * 4)
        self.assertEqual(status["Gid"], [str(entry.pw_gid)] * 4)
        self.assertEqual(status["Groups"], [str(g) for g in sorted(os.getgrouplist(USER, entry.pw_gid))])
        self.assertEqual((int(status["CapPrm"][0], 16), int(status["CapEff"][0], 16)), (0, 0))

    def test_a_controller_of_root_becomes_the_user(self):
        """In all its threads; and what it made before, and makes from then on, is that user's."""
        s = self.site()
        s.start()
        pid = s.controller()
        self.check_is_user(pid)
        for task in os.listdir(f"/proc/{pid}/task"):
            self.assertIn(f"\nUid:\t{pwd.getpwnam(USER).pw_uid}\t", pathlib.Path(f"/proc/{pid}/task/{task}/status").read_text())
        uid = pwd.getpwnam(USER).pw_uid
        made = [p for p in (s.dir / "state").rglob("*")] + [s.dir / "log/slurmctld.log", s.dir / "run/slurmctld.pid"]
        self.assertGreater(len(made), 5)
        self.assertEqual([str(p) for p in made if p.lstat().st_uid != uid], [])
        self.assertEqual((s.dir / "log/slurmctld.log").stat().st_mode & 0o777, 0o600)
        # The directories of both are root's: the pid file cannot be removed, and says nothing then.
        self.assertEqual((s.dir / "run").stat().st_uid, 0)
        s.run("scontrol shutdown slurmctld")
        s.wait_gone(pid)
        self.assertEqual((s.dir / "run/slurmctld.pid").read_text(), "")
        s.start_controller()
        s.wait_idle()
        self.assertNotEqual(s.controller(), pid)

    def test_the_user_starts_it_himself(self):
        s = self.site()
        for d in ("log", "run"):
            shutil.chown(s.dir / d, USER)
        s.start(USER)
        self.check_is_user(s.controller())
        job = int(re.search(r"job (\d+)", s.out(f"cd {s.dir}; sbatch -o /dev/null --wrap 'id -un > /dev/null'", "daemon"))[1])
        wait_until(lambda: "JobState=COMPLETED" in s.out(f"scontrol show job {job}"), 30, "the job is over")
        pid = s.controller()
        s.run("scontrol shutdown slurmctld", user=USER)
        s.wait_gone(pid)
        self.assertFalse((s.dir / "run/slurmctld.pid").exists())

    def test_root_and_the_user_by_turns(self):
        """What one of them leaves, pid file and sockets among it, the other can use: also after a kill."""
        s = self.site(nodes=1)
        for d in ("log", "run"):
            shutil.chown(s.dir / d, USER)
        s.start()
        for user in (USER, None, USER, None):
            pid = s.controller()
            if user:
                os.kill(pid, 9)
            else:
                s.run("scontrol shutdown slurmctld", user=USER)
            s.wait_gone(pid)
            s.start_controller(user)
            self.check_is_user(s.controller())
        s.wait_idle()

    def test_the_user_is_an_administrator(self):
        s = self.site()
        s.start()
        s.run("scontrol update nodename=node1 state=drain reason=test", user=USER)
        self.assertIn("Reason=test", s.out("scontrol show node node1"))
        s.run("scontrol update nodename=node1 state=resume", user=USER)
        job = int(re.search(r"job (\d+)", s.out("sbatch -H -o /dev/null --wrap true", "daemon"))[1])
        s.run(f"scontrol update jobid={job} nice=-50", user=USER)
        s.run(f"scancel {job}", user=USER)
        wait_until(lambda: "JobState=CANCELLED" in s.out(f"scontrol show job {job}"), 30, "the job is cancelled")
        job = int(re.search(r"job (\d+)", s.out("sbatch -H -o /dev/null --wrap true"))[1])
        for line in ("scontrol reconfigure", "scontrol shutdown", f"scancel {job}", "scontrol update nodename=node1 state=drain reason=x"):
            self.assertNotEqual(s.run(line, None, "daemon").returncode, 0, line)
        s.edit("^KillWait=2$", "KillWait=9")
        s.run("scontrol reconfigure", user=USER)
        self.assertRegex(s.out("scontrol show config", "daemon"), r"(?m)^KillWait +=[ ]9 sec$")
        self.assertRegex(s.out("scontrol show config"), rf"(?m)^SlurmUser +=[ ]{USER}\({pwd.getpwnam(USER).pw_uid}\)$")

    def test_its_programs_are_the_users(self):
        """PrologSlurmctld, the mail program, triggers: nothing that it runs is root's."""
        s = self.site(nodes=1)
        out = s.dir / "out"
        out.mkdir()
        out.chmod(0o777)
        for name in ("prolog", "mail"):
            (s.dir / name).write_text(f"#!/bin/sh\nid -un > {out}/{name}.part && mv {out}/{name}.part {out}/{name}\n")
            (s.dir / name).chmod(0o755)
        s.edit("^KillWait=2$", f"KillWait=2\nPrologSlurmctld={s.dir}/prolog\nMailProg={s.dir}/mail")
        s.start()
        s.run("sbatch -o /dev/null --mail-type=END --wrap true", user="daemon")
        for name in ("prolog", "mail"):
            wait_until(lambda: (out / name).exists(), 30, f"{name} ran")
            self.assertEqual((out / name).read_text(), f"{USER}\n")

    def test_a_place_that_is_not_the_users(self):
        """Slurm's errors, and nobody goes on as root."""
        s = self.site(nodes=1)
        shutil.chown(s.dir / "state", 0, 0)
        r = s.start_controller(status=1)
        self.assertIn(f"fatal: Incorrect permissions on state save loc: {s.dir}/state", r.stderr)
        (s.dir / "state").rmdir()
        r = s.start_controller(status=1)
        self.assertIn(f"fatal: mkdir({s.dir}/state): Permission denied", r.stderr)
        (s.dir / "state").write_text("")
        self.assertIn(f"State save loc: {s.dir}/state: Not a directory!", s.start_controller(status=1).stderr)
        self.assertEqual(pids_of(f"{s.sbin}/slurmctld"), [])

    def test_who_does_not_exist_and_who_may_not(self):
        s = self.site(nodes=1)
        entry = pwd.getpwnam(USER)
        for d in ("log", "run"):
            (s.dir / d).chmod(0o777)
        r = s.start_controller("daemon", status=1)
        self.assertIn(f"fatal: Failed to set GID to {entry.pw_gid}", r.stderr)
        words = ["setpriv", f"--reuid={pwd.getpwnam('daemon').pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", s.sbin / "slurmctld"]
        r = subprocess.run(words, env=s.env, text=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(r.returncode, 1)
        self.assertIn(f"fatal: Can not set uid to SlurmUser({entry.pw_uid}): Operation not permitted", r.stderr)
        s.edit(f"^SlurmUser={USER}$", "SlurmUser=nosuchuser")
        self.assertIn("fatal: Invalid user for SlurmUser nosuchuser", s.start_controller(status=1).stderr)
        self.assertEqual(pids_of(f"{s.sbin}/slurmctld"), [])

    def test_a_link_in_place_of_the_log(self):
        """Root opens the log in a directory of the user's: what a link there leads to is not given away."""
        s = self.site(nodes=1)
        for d in ("log", "run"):
            shutil.chown(s.dir / d, USER)
        secret = s.dir / "secret"
        secret.write_text("root's\n")
        secret.chmod(0o600)
        for name in ("log/slurmctld.log", "run/slurmctld.pid"):
            os.symlink(secret, s.dir / name)
            s.start_controller(status=1)
            self.assertEqual((secret.stat().st_uid, secret.read_text()), (0, "root's\n"))
            (s.dir / name).unlink()
            shutil.rmtree(s.dir / "log")
            shutil.rmtree(s.dir / "run")
            for d in ("log", "run"):
                (s.dir / d).mkdir()
                shutil.chown(s.dir / d, USER)

    def test_the_agents_user(self):
        s = self.site(nodes=1)
        s.start_controller()
        r = s.run(f"{s.sbin}/slurmd -N node0", 1, USER)
        uid = pwd.getpwnam(USER).pw_uid
        self.assertIn("fatal: You are running slurmd as something other than user root(0). If you want to run as this user add "
                      f"SlurmdUser={USER} to the slurm.conf file.", r.stderr)
        s.edit("^SlurmdUser=root$", f"SlurmdUser={USER}")
        self.assertIn(f"something other than user {USER}({uid}). If you want to run as this user add SlurmdUser=root to",
                      s.run(f"{s.sbin}/slurmd -N node0", 1).stderr)
        for d in ("log", "run"):
            (s.dir / d).chmod(0o777)
        (s.dir / "spool-node0").mkdir()
        shutil.chown(s.dir / "spool-node0", USER)
        s.run(f"{s.sbin}/slurmd -N node0", user=USER)
        s.run("scontrol reconfigure")
        s.wait_idle()
        self.assertEqual(s.out("srun id -un", USER), f"{USER}\n")

    def test_accounting_of_the_user(self):
        s = self.site(nodes=1)
        port = free_port()
        s.edit("^KillWait=2$", "KillWait=2\nAccountingStorageType=accounting_storage/slurmdbd\n"
               f"AccountingStorageHost=127.0.0.1\nAccountingStoragePort={port}")
        conf = s.conf.parent / "slurmdbd.conf"
        conf.write_text(f"DbdHost={HOST}\nDbdPort={port}\nSlurmUser={USER}\nLogFile={s.dir}/log/slurmdbd.log\n"
                        f"PidFile={s.dir}/run/slurmdbd.pid\nStorageType=accounting_storage/mysql\nStorageLoc=slurm_acct_db\n")
        conf.chmod(0o600)
        r = s.run(f"{s.sbin}/slurmdbd", 1)
        self.assertIn(f"fatal: slurmdbd.conf not owned by SlurmUser root!={USER}", r.stderr)
        shutil.chown(conf, USER)
        s.run(f"{s.sbin}/slurmdbd")
        pid = pid_in(s.dir / "run/slurmdbd.pid")
        self.check_is_user(pid)
        self.assertIn(pid, pids_of("slurmdbd"))
        s.start()
        wait_until(lambda: s.run("sacctmgr -nP show cluster format=cluster,controlport", None).stdout.startswith("site|") and
                   not s.out("sacctmgr -nP show cluster format=controlport").startswith("0"), 30, "the cluster is known")
        s.run("sacctmgr -i add account a; sacctmgr -i add user daemon account=a", user=USER)
        job = int(re.search(r"job (\d+)", s.out("sbatch -o /dev/null --wrap true", "daemon"))[1])
        wait_until(lambda: s.out(f"sacct -XPnj {job} -o State,User,Account") == "COMPLETED|daemon|a\n", 30, "the job is recorded")
        self.assertNotEqual(s.run("sacctmgr -i add account b", None, "daemon").returncode, 0)
        self.assertIn("daemon|Administrator", s.out("sacctmgr -i modify user daemon set adminlevel=admin >/dev/null; "
                                                    "sacctmgr -n -P list user daemon format=user,admin"))
        s.run("sacctmgr reconfigure", user=USER)
        s.run("sacctmgr shutdown", user=USER)
        s.wait_gone(pid)
        s.run(f"{s.sbin}/slurmdbd", user=None)
        self.assertIn("a", s.out("sacctmgr -nP show account format=account").split())
        end = pid_in(s.dir / "run/slurmdbd.pid")
        s.run("sacctmgr shutdown")
        s.wait_gone(end)


@unittest.skipUnless(ROOT, "needs root to become somebody else")
class OutsideSuite(unittest.TestCase):
    """Twenty nodes on one host, started as root, stopped by one command, edited between two starts."""

    def setUp(self):
        self.s = UserSite(nodes=20)
        self.addCleanup(self.s.stop)

    def pids(self):
        return self.s.daemons()

    def test_twenty_nodes(self):
        s = self.s
        s.start()
        for i in (0, 7, 19):
            pid = pid_in(s.dir / f"run/slurmd-node{i}.pid")
            self.assertIn(pid, pids_of(f"slurmd -N node{i}"))
            self.assertEqual(os.readlink(f"/proc/{pid}/exe"), os.path.realpath(BIN / "slurmd"))
        self.assertEqual(s.out("srun -N20 -l hostname | wc -l", USER).strip(), "20")
        self.assertEqual(s.out("sinfo -h -o %N", "daemon").strip(), "node[0-19]")
        for _ in range(2):  # two restarts in a row, at once
            pids = self.pids()
            self.assertEqual(len(pids), 21)
            s.run("scontrol shutdown")
            wait_until(lambda: not any(alive(pid) for pid in pids), 30, "all daemons gone")
            s.start()
        job = int(re.search(r"job (\d+)", s.out("sbatch -N20 -o /dev/null --wrap 'srun sleep 60'", USER))[1])
        wait_until(lambda: f"StepId={job}.0" in s.run(f"scontrol show steps {job}", None).stdout, 30, "its step")
        pids = self.pids()
        s.run("scontrol shutdown")
        wait_until(lambda: not any(alive(pid) for pid in pids), 30, "all daemons gone")
        s.start_controller()
        for i in range(20):
            s.run(f"{s.sbin}/slurmd -N node{i}")
        s.run(f"scancel {job}", user=USER)
        s.wait_idle()

    def test_edited_between_starts(self):
        s = self.s
        s.start()
        pids = self.pids()
        s.run("scontrol shutdown")
        wait_until(lambda: not any(alive(pid) for pid in pids), 30, "all daemons gone")
        s.edit("^(NodeName=node0 .*) CPUs=1$", r"\1 CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=4000 Gres=gpu:2")
        s.edit("^(NodeName=node1 .*) CPUs=1$", r"\1 CPUs=4 Features=f1,f2")
        s.edit("^KillWait=2$", "KillWait=2\nGresTypes=gpu\nLicenses=lic:5")
        s.edit("^PartitionName=primary", "PartitionName=p2 Nodes=node[0-4] MaxTime=30\nPartitionName=primary")
        (s.conf.parent / "gres.conf").write_text("NodeName=node0 Name=gpu File=/dev/tty[0-1]\n")
        s.start()
        node = dict(re.findall(r"(\S+?)=(\S*)", s.out("scontrol show nodes -o node0")))
        self.assertEqual([node[k] for k in ("CPUTot", "Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "Gres")],
                         ["8", "2", "2", "2", "4000", "gpu:2"])
        self.assertEqual(s.out("srun -p p2 -w node0 --gres=gpu:2 -n8 true; echo $?").strip(), "0")
        self.assertIn("TotalNodes=5", s.out("scontrol show partition p2 -o"))
        # And at run time.
        s.edit("^(NodeName=node1 .*) CPUs=4 Features=f1,f2$", r"\1 CPUs=2 Features=f3")
        s.edit("^PartitionName=p2 .*$", "PartitionName=p3 Nodes=node[5-6]")
        (s.conf.parent / "gres.conf").write_text("NodeName=node0 Name=gpu File=/dev/tty0\n")
        s.edit(" Gres=gpu:2$", " Gres=gpu:1")
        s.run("scontrol reconfigure", user=USER)
        self.assertIn("AvailableFeatures=f3", s.out("scontrol show node node1"))
        self.assertEqual(s.run("scontrol show partition p2", None).returncode, 1)
        self.assertIn("TotalNodes=2", s.out("scontrol show partition p3 -o"))
        self.assertIn("Gres=gpu:1\n", s.out("scontrol show node node0"))

    def test_stale_files(self):
        """Killed daemons leave pid files and sockets; others may have the numbers by now."""
        s = self.s
        s.NODES = 2
        s.start_controller()
        for i in range(2):
            s.run(f"{s.sbin}/slurmd -N node{i}")
        s.wait_idle()
        for pid in self.pids():
            os.kill(pid, 9)
            s.wait_gone(pid)
        me = os.getpid()
        for file in (s.dir / "run").glob("*.pid"):
            file.write_text(f"{me}\n")
        s.start()
        self.assertNotIn(me, self.pids())
        r = s.start_controller(status=1)
        self.assertRegex(r.stderr, r"fatal: state directory .* is in use by process \d+ \(slurmctld\)")
        self.assertIn("is UP", s.out("scontrol ping"))


@unittest.skipUnless(ROOT, "needs root to become somebody else")
class OwnNames(unittest.TestCase):
    """Who looks for daemons by /proc/PID/exe finds them under Slurm's names where those are links to the files themselves."""

    def test_by_their_files(self):
        s = UserSite(nodes=1, link=lambda from_, to: os.link(os.path.realpath(from_), to))
        self.addCleanup(s.stop)
        os.link(BIN / "spurstepd", s.sbin / "spurstepd")  # looked for beside slurmd
        s.start()
        for name, pid in (("slurmctld", s.controller()), ("slurmd", pid_in(s.dir / "run/slurmd-node0.pid"))):
            self.assertEqual(os.readlink(f"/proc/{pid}/exe"), str(s.sbin / name))
        self.assertEqual(s.out("srun id -un", USER), f"{USER}\n")


if __name__ == "__main__":
    unittest.main()
