# SPDX-License-Identifier: Apache-2.0
"""The daemons as an administrator meets them: names, options, the background, pid files, logs, systemd, reloading, stopping."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import unittest

from spur_cluster import BIN, SpurCluster, free_port, wait_until

AS_ROOT = os.geteuid() == 0


def running(pid):
    """False as well for a process that has ended and that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def without_cgroup_warnings(text):
    """What this machine's cgroups cannot do is told by spurd at every start."""
    return "".join(line for line in text.splitlines(True) if "/sys/fs/cgroup" not in line)


class Site(SpurCluster):
    """A cluster whose daemons go to the background by themselves; they are known by their pid files."""

    def __init__(self, logging="", **kw):
        super().__init__(**kw)
        self.pids = {}
        self.conf.write_text(self.conf.read_text() + f"""
[logging]
controller_file = "{self.dir}/ctld.log"
agent_file = "{self.dir}/agent-%n.log"
{logging}
""")

    def background(self, *args, check=True, env=None):
        r = subprocess.run([str(a) for a in args], env={**self.env, **(env or {})}, cwd=self.dir, text=True, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=60)
        if check:
            self.assert_ok(r, args)
        return r

    @staticmethod
    def assert_ok(r, args):
        if r.returncode != 0:
            raise AssertionError(f"{args}: exit {r.returncode}\n{r.stdout}{r.stderr}")

    def controller(self, *args, name="spurctld", check=True, env=None):
        r = self.background(BIN / name, "-f", self.conf, *args, check=check, env=env)
        if r.returncode == 0:
            self.pids["spurctld"] = int((self.dir / "state/spurctld.pid").read_text())
        return r

    def agent(self, node, *args, name="spurd", check=True, env=None):
        r = self.background(BIN / name, "-N", node, "-f", self.conf, "--listen", "127.0.0.1:0", *args, check=check, env=env)
        if r.returncode == 0:
            self.pids[node] = int((self.dir / f"spool/{node}/spurd.pid").read_text())
        return r

    def start(self):
        self.controller()
        for name in self.names:
            self.agent(name)
        self.wait_idle()
        return self

    def end(self, key, sig=signal.SIGTERM):
        pid = self.pids.pop(key)
        os.kill(pid, sig)
        wait_until(lambda: not running(pid), 60, f"{key} (pid {pid}) ends")
        return pid

    def text(self, name):
        path = self.dir / name
        return path.read_text() if path.exists() else ""

    def wait_log(self, name, words):
        wait_until(lambda: words in self.text(name), 30, f"'{words}' in {name}")

    def stop(self):
        for key in sorted(self.pids, key=lambda k: k == "spurctld"):
            if running(self.pids[key]):
                self.end(key)
        super().stop()


class CommandLine(unittest.TestCase):
    def ask(self, name, *args):
        return subprocess.run([BIN / name, *args], text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)

    def test_versions(self):
        for name in ("slurmctld", "slurmd"):
            r = self.ask(name, "-V")
            self.assertEqual(r.returncode, 0)
            self.assertRegex(r.stdout, r"^slurm 25\.05\.\d+\n$")
        for name in ("spurctld", "spurd"):
            self.assertRegex(self.ask(name, "-V").stdout, rf"^{name} \d+\.\d+\.\d+ \(slurm 25\.05\.\d+\)\n$")

    def test_help_goes_to_stdout(self):
        for name in ("spurctld", "spurd"):
            r = self.ask(name, "--help")
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertIn("-f, --config FILE", r.stdout)

    def test_bad_command_lines(self):
        for args, words in ((["--nonsense"], "unrecognized option '--nonsense'"), (["word"], "unexpected argument 'word'"),
                            (["--log-level", "loud"], '"loud" is no log level'), (["-f", "/nonexistent/x.conf"], "/nonexistent/x.conf")):
            for name in ("spurctld", "spurd"):
                r = self.ask(name, *args)
                self.assertEqual(r.returncode, 1, (name, args))
                self.assertIn(words, r.stderr)
                self.assertEqual(r.stdout, "")


class Background(unittest.TestCase):
    def test_under_slurms_names(self):
        """slurmctld and several slurmd -N NAME on one host: daemons, found by pgrep as scripts look for them; a job runs; TERM ends them."""
        with Site(nodes=1) as s:
            s.end("n1")
            s.end("spurctld")
            names = [f"x{os.getpid()}a", f"x{os.getpid()}b"]
            s.conf.write_text(s.conf.read_text().replace('names = "n1"', f'names = "{",".join(names)}"'))
            r = s.controller(name="slurmctld")
            self.assertEqual((r.stdout, r.stderr), ("", ""))
            for name in names:
                r = s.agent(name, name="slurmd")
                self.assertEqual((r.stdout, without_cgroup_warnings(r.stderr)), ("", ""))
                found = s.out("pgrep", "-f", f"slurmd -N {name}").split()
                self.assertEqual(found, [str(s.pids[name])])
            s.wait_idle(2)
            job = s.sbatch("-N2", "-o", "two", "--wrap", "echo $SLURM_JOB_NODELIST")
            s.wait_state(job, "COMPLETED")
            self.assertEqual(s.text("out/two"), ",".join(names) + "\n")
            for name in names:
                s.end(name)
                self.assertFalse((s.dir / f"spool/{name}/spurd.pid").exists())
            s.end("spurctld")
            left = {p.name for p in (s.dir / "state").iterdir()}
            self.assertFalse(left & {"spurctld.pid", "ctld.sock", "auth.sock"}, left)

    def test_nothing_of_the_terminal_is_kept(self):
        with Site() as s:
            for key, log in (("spurctld", "ctld.log"), ("n1", "agent-n1.log")):
                pid = s.pids[key]
                self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
                ends = [os.readlink(f"/proc/{pid}/fd/{n}") for n in range(3)]
                # What libraries write to stderr goes to the log.
                self.assertEqual(ends, ["/dev/null", "/dev/null", str(s.dir / log)])
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                self.assertNotEqual(fields[3], str(pid), "not the leader of its session")
                self.assertEqual(fields[4], "0", "no terminal")
                self.assertIn("is ready", s.text(log))

    def test_log_is_appended_and_reopened(self):
        with Site() as s:
            s.end("spurctld")
            s.controller()
            for name in ("ctld.log", "agent-n1.log"):
                for line in s.text(name).splitlines():
                    self.assertRegex(line, r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\] ")
            self.assertEqual(s.text("ctld.log").count("is ready"), 2)
            self.assertEqual(s.text("ctld.log").count("stopping"), 1)
            for key, log in (("spurctld", "ctld.log"), ("n1", "agent-n1.log")):
                (s.dir / log).rename(s.dir / f"{log}.1")
                before = s.text(f"{log}.1")
                os.kill(s.pids[key], signal.SIGUSR2)
                wait_until((s.dir / log).exists, 30, f"{log} is opened anew")
                os.kill(s.pids[key], signal.SIGHUP)
                s.wait_log(log, "configuration reloaded")
                self.assertEqual(s.text(f"{log}.1"), before)
                self.assertEqual(os.readlink(f"/proc/{s.pids[key]}/fd/2"), str(s.dir / log))

    def test_json_and_level(self):
        with Site(logging='format = "json"\nlevel = "debug"') as s:
            for name in ("ctld.log", "agent-n1.log"):
                lines = [json.loads(line) for line in s.text(name).splitlines()]
                self.assertTrue(any("is ready" in line["message"] for line in lines))
            s.end("n1")
            quiet = s.dir / "quiet.log"
            s.agent("n1", "--log-level", "error", "-L", quiet)
            s.end("n1")
            self.assertEqual(quiet.read_text(), "")

    def test_the_foreground_logs_to_both(self):
        with Site() as s:
            s.end("spurctld")
            s.start_controller()
            wait_until(lambda: re.search(r"^spurctld: spurctld .* is ready", s.log("spurctld"), re.M), 30, "a line on stderr")
            self.assertEqual(s.text("ctld.log").count("is ready"), 2)
            s.kill("spurctld", signal.SIGINT)

    def test_stopped_while_a_job_runs(self):
        """TERM ends the daemons with status 0 and leaves the job alone; started again, they know how it ended."""
        with Site() as s:
            job = s.sbatch("-o", "slow", "--wrap", f"while [ ! -e {s.dir}/out/go ]; do sleep 0.1; done; exit 3")
            s.wait_state(job, "RUNNING")
            s.end("spurctld")
            s.end("n1")
            s.start_controller()
            s.start_agent("n1")
            s.wait_idle()
            for key in ("spurctld", "spurd-n1"):
                wait_until(lambda: "is ready" in s.log(key), 60, f"{key} is ready")
                p = s.processes.pop(key)
                p.terminate()
                self.assertEqual(p.wait(60), 0, s.log(key))
            (s.dir / "out/go").touch()
            s.controller()
            s.agent("n1")
            s.wait_state(job, "FAILED")
            self.assertEqual(s.job(job)["ExitCode"], "3:0")


class FailedStart(unittest.TestCase):
    """One line on the terminal, the same in the log, status 1, nothing half done."""

    def setUp(self):
        self.s = Site()
        self.addCleanup(self.s.stop)

    def refused(self, r, words, log=None):
        self.assertEqual(r.returncode, 1)
        said = without_cgroup_warnings(r.stderr)
        self.assertRegex(said, r"^spur(ctld|d): fatal: [^\n]+\n$")
        self.assertIn(words, said)
        if log:
            self.assertIn(said.split(": ", 1)[1], self.s.text(log))

    def test_state_directory_in_use(self):
        s = self.s
        s.controller()
        job = s.sbatch("-H", "--wrap", "true")
        taken = f"process {s.pids['spurctld']} (spurctld)"
        for args in ([], ["-D"], ["-c"], ["-i"]):
            r = s.background(BIN / "spurctld", "-f", s.conf, *args, check=False)
            self.refused(r, taken, "ctld.log")
        # Also with -c nothing was taken away from the one that runs.
        self.assertEqual(list((s.dir / "state").glob("cleared-*")), [])
        s.end("spurctld", signal.SIGKILL)
        s.controller()
        self.assertEqual(s.state(job), "PENDING")

    def test_agent_runs_already(self):
        s = self.s.start()
        s.conf.write_text(s.conf.read_text().replace("[agent]", f'[agent]\npid_file = "{s.dir}/other.pid"'))
        for args in ([], ["-D"]):
            r = s.background(BIN / "spurd", "-f", s.conf, "-N", "n1", "--listen", "127.0.0.1:0", *args, check=False)
            self.refused(r, f"process {s.pids['n1']} (spurd)", "agent-n1.log")
        s.wait_idle()

    def test_port_in_use(self):
        s = self.s
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", s.port))
            taken.listen()
            for args in ([], ["-D"]):
                r = s.background(BIN / "spurctld", "-f", s.conf, *args, check=False)
                self.refused(r, f"cannot listen on 127.0.0.1:{s.port}", "ctld.log")
        self.assertFalse((s.dir / "state/spurctld.pid").exists())
        s.controller()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            r = s.background(BIN / "spurd", "-f", s.conf, "-N", "n1", "--listen", address, check=False)
            self.refused(r, address, "agent-n1.log")

    def test_files_that_cannot_be_written(self):
        s = self.s
        good = s.conf.read_text()
        for key, bad, words in (("pid_file", "/nonexistent/x.pid", "cannot open pid file /nonexistent/x.pid: No such file or directory"),
                                ("state_dir", "/proc/nothing/here", "cannot create directory /proc/nothing: No such file or directory")):
            s.conf.write_text(re.sub(rf"^{key} = .*\n", "", good, flags=re.M).replace("[controller]", f'[controller]\n{key} = "{bad}"'))
            for args in ([], ["-D"]):
                self.refused(s.background(BIN / "spurctld", "-f", s.conf, *args, check=False), words, "ctld.log")
        s.conf.write_text(good.replace(f"{s.dir}/ctld.log", "/nonexistent/ctld.log"))
        for args in ([], ["-D"]):
            self.refused(s.background(BIN / "spurctld", "-f", s.conf, *args, check=False), "cannot open log file /nonexistent/ctld.log")

    @unittest.skipUnless(AS_ROOT, "only root can make a directory of somebody else")
    def test_state_directory_of_another_user(self):
        s = self.s
        (s.dir / "state").mkdir()
        os.chown(s.dir / "state", 5, 60)
        self.refused(s.controller(check=False), str(s.dir / "state"), "ctld.log")


class Warnings(unittest.TestCase):
    def test_before_the_daemon_is_ready_they_reach_the_terminal(self):
        s = Site(controller='rest_addr = "127.0.0.1:1"')
        self.addCleanup(s.stop)
        r = s.controller()
        self.assertEqual(r.stderr, f"spurctld: warning: {s.conf}:7: controller.rest_addr: not in force yet\n")
        self.assertEqual(s.text("ctld.log").count("controller.rest_addr: not in force yet"), 1)


class Notify(unittest.TestCase):
    """The part of systemd: a socket that hears what a service says of itself."""

    def setUp(self):
        self.s = Site()
        self.addCleanup(self.s.stop)
        self.path = str(self.s.dir / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)
        self.addCleanup(self.socket.close)

    def hear(self, word):
        while True:
            lines = self.socket.recv(4096).decode().split("\n")
            if word in lines:
                return dict(line.split("=", 1) for line in lines)

    def test_in_the_background(self):
        s = self.s
        for start, key in ((s.controller, "spurctld"), (lambda **kw: s.agent("n1", **kw), "n1")):
            start(env={"NOTIFY_SOCKET": self.path})
            self.assertEqual(self.hear("READY=1")["MAINPID"], str(s.pids[key]))
        s.wait_idle()
        job = s.sbatch("-o", "env", "--wrap", "env")
        s.wait_state(job, "COMPLETED")
        self.assertNotIn("NOTIFY_SOCKET", s.text("out/env"), "jobs must not speak for the service")
        os.kill(s.pids["spurctld"], signal.SIGHUP)
        self.assertIn("MONOTONIC_USEC", self.hear("RELOADING=1"))
        self.hear("READY=1")
        for key in ("n1", "spurctld"):
            s.end(key)
            self.hear("STOPPING=1")

    def test_in_the_foreground(self):
        s = self.s
        s.env["NOTIFY_SOCKET"] = self.path
        s._spawn("spurctld", BIN / "spurctld", "-D", "-f", s.conf)
        self.assertEqual(self.hear("READY=1")["MAINPID"], str(s.pid("spurctld")))
        # Ready means ready: no retry is needed.
        s.run("scontrol", "ping")
        s.start_agent("n1")
        self.assertEqual(self.hear("READY=1")["MAINPID"], str(s.pid("spurd-n1")))
        s.kill("spurd-n1", signal.SIGTERM)
        self.hear("STOPPING=1")


class Reload(unittest.TestCase):
    def setUp(self):
        self.s = Site(nodes=2).__enter__()
        self.addCleanup(self.s.stop)
        self.good = self.s.conf.read_text()

    def hup(self):
        os.kill(self.s.pids["spurctld"], signal.SIGHUP)

    def bigger(self):
        return self.good.replace('names = "n[1-2]"', 'names = "n[1-3]"') + '\n[[partitions]]\nname = "extra"\nnodes = "n3"\nmax_time = "1:00:00"\n'

    def test_a_broken_file_changes_nothing(self):
        s = self.s
        def shown(**asked):
            head, config = s.out("scontrol", "show", "config", **asked).split("\n", 1)
            self.assertRegex(head, "^Configuration data as of ")  # the time of asking: not part of what is compared
            return s.out("scontrol", "show", "partition", **asked), config

        before = shown()
        broken = {
            "unknown key": (self.bigger() + "\n[scheduler]\nintervall_secs = 5\n", 'unknown key "scheduler.intervall_secs"'),
            "no TOML": (self.bigger() + "\n[[[\n", f"{s.conf}:"),
            "unknown node": (self.bigger().replace('nodes = "n3"', 'nodes = "n9"'), "partition extra names an unknown node: n9"),
            "log": (self.bigger().replace(f"{s.dir}/ctld.log", "/nonexistent/l"), "cannot open log file /nonexistent/l"),
            "gone": (None, f"cannot open {s.conf}: No such file or directory"),
        }
        for what, (text, words) in broken.items():
            with self.subTest(what):
                if text is None:
                    s.conf.unlink()
                else:
                    s.conf.write_text(text)
                count = s.text("ctld.log").count("the configuration is not reloaded")
                self.hup()
                wait_until(lambda: s.text("ctld.log").count("the configuration is not reloaded") > count, 30, "a refusal in the log")
                line = [x for x in s.text("ctld.log").splitlines() if "not reloaded" in x][-1]
                self.assertIn("error: the configuration is not reloaded: ", line)
                self.assertIn(words, line)
                asked = dict(env={"SPUR_CONTROLLER_ADDR": f"127.0.0.1:{s.port}", "SPUR_AUTH_SOCKET": f"{s.dir}/state/auth.sock",
                                  "SPUR_CONF": str(s.dir / "small.conf")})
                (s.dir / "small.conf").write_text('cluster_name = "test"\n')
                r = s.run("scontrol", "reconfigure", check=False, **asked)
                self.assertEqual(r.returncode, 1)
                self.assertIn(words, r.stderr)
                self.assertEqual(shown(**asked), before)
        s.conf.write_text(self.good)

    def test_a_good_file_adds_and_keeps(self):
        s = self.s
        running_job = s.sbatch("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
        waiting = s.sbatch("-H", "--wrap", "true")
        s.wait_state(running_job, "RUNNING")
        for how in (self.hup, lambda: s.run("scontrol", "reconfigure")):
            s.conf.write_text(self.bigger())
            how()
            wait_until(lambda: "extra" in s.out("sinfo", "-h", "-o", "%R"), 30, "the new partition")
            self.assertIn("MaxTime=01:00:00", s.out("scontrol", "show", "partition", "extra"))
            if "n3" not in s.pids:
                s.agent("n3")
            wait_until(lambda: s.out("sinfo", "-h", "-n", "n3", "-p", "extra", "-o", "%t").strip() == "idle", 30, "n3 is up")
            job = s.sbatch("-p", "extra", "-o", "x", "--wrap", "echo $SLURMD_NODENAME")
            s.wait_state(job, "COMPLETED")
            self.assertEqual(s.text("out/x"), "n3\n")
            self.assertEqual((s.state(running_job), s.state(waiting)), ("RUNNING", "PENDING"))
            s.conf.write_text(self.good)
            how()
            wait_until(lambda: "extra" not in s.out("sinfo", "-h", "-o", "%R"), 30, "the partition is gone")
            self.assertNotIn("NodeName=n3", s.out("scontrol", "show", "node"))
        self.assertEqual((s.state(running_job), s.state(waiting)), ("RUNNING", "PENDING"))
        s.run("scancel", running_job)

    def test_what_needs_a_restart_says_so(self):
        s = self.s
        s.conf.write_text(self.good.replace('cluster_name = "test"', 'cluster_name = "other"').replace(f":{s.port}", f":{free_port()}", 1))
        self.hup()
        s.wait_log("ctld.log", "in force only after a restart: the cluster's name, the address to listen on")
        s.conf.write_text(self.good)

    def test_a_shorter_lease_reaches_the_agents_in_time(self):
        """Agents beat as often as the lease asks for; one that had not heard of the new one would be taken for dead."""
        s = self.s
        s.conf.write_text(self.good.replace("[controller]", "[controller]\nheartbeat_timeout_secs = 4"))
        count = s.text("agent-n1.log").count("configuration has changed")
        s.run("scontrol", "reconfigure")
        wait_until(lambda: s.text("agent-n1.log").count("configuration has changed") > count, 30, "the agent is told")
        s.wait_idle()
        job = s.sbatch("-o", "/dev/null", "--wrap", "sleep 10")
        s.wait_state(job, "COMPLETED", seconds=90)
        self.assertNotIn("has not answered", s.text("ctld.log"))

    def test_log_settings_change(self):
        s = self.s
        s.conf.write_text(self.good.replace(f"{s.dir}/ctld.log", f"{s.dir}/new.log").replace(f"{s.dir}/agent-", f"{s.dir}/new-"))
        self.hup()
        s.wait_log("new.log", "configuration reloaded")
        os.kill(s.pids["n1"], signal.SIGHUP)
        s.wait_log("new-n1.log", "configuration reloaded")


class SavedState(unittest.TestCase):
    def setUp(self):
        self.s = Site()
        self.addCleanup(self.s.stop)

    def test_clearing_it(self):
        s = self.s
        s.controller()
        job = s.sbatch("-H", "--wrap", "true")
        s.end("spurctld")
        for _ in range(2):  # twice within a second must do as well
            r = s.controller("-c")
            (aside,) = re.findall(r"which is now in (\S+)\n", r.stderr)
            self.assertTrue((pathlib.Path(aside) / "journal.sqlite").exists(), "put aside, not deleted")
            self.assertEqual(s.out("squeue", "-h"), "")
            s.end("spurctld")
        s.controller()
        self.assertEqual(s.sbatch("-H", "--wrap", "true"), job)

    def test_sound_state_is_kept_with_i_and_r(self):
        s = self.s
        s.controller()
        job = s.sbatch("-H", "--wrap", "true")
        for option in ("-i", "-r", "-v"):
            s.end("spurctld")
            self.assertEqual(s.controller(option).stderr, "")
            self.assertEqual(s.state(job), "PENDING", option)

    def test_damaged_state(self):
        s = self.s
        s.controller()
        s.sbatch("-H", "--wrap", "true")
        s.end("spurctld")
        path = s.dir / "state/journal.sqlite"
        data = bytearray(path.read_bytes())
        data[:16] = b"no database here"
        path.write_bytes(data)
        r = s.controller(check=False)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"^spurctld: fatal: [^\n]*journal\.sqlite[^\n]*restore the state directory[^\n]*\n$")
        self.assertEqual(path.read_bytes(), bytes(data), "left as it is")
        r = s.controller("-i")
        self.assertIn("journal.sqlite is no journal", r.stderr)
        (aside,) = re.findall(r"which is now in (\S+)\n", r.stderr)
        self.assertEqual((pathlib.Path(aside) / "journal.sqlite").read_bytes(), bytes(data))
        self.assertEqual(s.out("squeue", "-h"), "")


if __name__ == "__main__":
    unittest.main()
