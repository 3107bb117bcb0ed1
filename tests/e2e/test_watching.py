# SPDX-License-Identifier: Apache-2.0
"""Watching instead of polling: squeue --watch, spur wait, spur top; and what only people on a terminal see."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

from spur_cluster import BIN, SpurCluster, wait_until


class Screen:
    """A command on a terminal of its own."""

    def __init__(self, cluster, *args, rows=30, columns=140, env=None):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cluster.dir / "out")
            os.execve(str(BIN / args[0]), [str(a) for a in args], {**cluster.env, "TERM": "xterm", **(env or {})})
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        try:
            while select.select([self.fd], [], [], seconds)[0]:
                got = os.read(self.fd, 65536)
                if not got:
                    return
                self.seen += got
        except OSError:
            pass  # the other side is gone

    def wait_for(self, pattern, what=None, seconds=30):
        def there():
            self.read()
            return re.search(pattern, self.text(), re.DOTALL)
        return wait_until(there, seconds, what or f"{pattern!r} on the screen, which shows {self.text()[-2000:]!r}")

    def text(self):
        return self.seen.decode(errors="replace")

    def type(self, keys):
        self.seen = b""
        os.write(self.fd, keys)

    def wait(self):
        """The exit status, once it has ended."""
        status = []

        def ended():
            self.read()
            pid, code = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                status.append(code)
            return pid != 0
        wait_until(ended, 20, "the command has ended")
        self.read()
        os.close(self.fd)
        return status[0]


class Watching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SpurCluster(nodes=1, cpus=4)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def tearDown(self):
        self.cluster.run("scancel", "-u", str(os.geteuid()), check=False)
        wait_until(lambda: not self.cluster.out("squeue", "-h"), 30, "an empty queue")

    def job(self, *args, wrap="sleep 300"):
        return self.cluster.sbatch("-o", "/dev/null", *args, "--wrap", wrap)

    # ---- spur wait

    def test_wait_gives_the_highest_exit_status(self):
        jobs = [self.job(wrap=f"exit {code}") for code in (0, 3, 1)]
        answer = self.cluster.run("spur", "wait", *jobs, check=False)
        self.assertEqual(answer.returncode, 3, answer.stderr)
        self.assertEqual(sorted(answer.stdout.splitlines()),
                         sorted([f"{jobs[0]} COMPLETED 0:0", f"{jobs[1]} FAILED 3:0", f"{jobs[2]} FAILED 1:0"]))

    def test_wait_for_any_and_for_some_tasks(self):
        long, short = self.job(), self.job(wrap="exit 5")
        answer = self.cluster.run("spur", "wait", "--any", long, short, check=False)
        self.assertEqual((answer.returncode, answer.stdout), (5, f"{short} FAILED 5:0\n"))
        array = self.job("-a", "1-3", wrap="exit $SLURM_ARRAY_TASK_ID")
        self.assertEqual(self.cluster.run("spur", "wait", "-q", array, check=False).returncode, 3)
        self.assertEqual(self.cluster.run("spur", "wait", "-q", f"{array}_[1-2]", check=False).returncode, 2)

    def test_wait_gives_up(self):
        job = self.job()
        answer = self.cluster.run("spur", "wait", "--timeout=1", job, check=False)
        self.assertEqual((answer.returncode, answer.stderr), (124, "spur wait: error: not ended within 0:01\n"))
        answer = self.cluster.run("spur", "wait", "999999", check=False)
        self.assertEqual((answer.returncode, answer.stderr), (1, "spur wait: error: 999999: Invalid job id specified\n"))

    def test_wait_outlives_the_controller(self):
        mark = self.cluster.dir / "out" / "go"
        job = self.job(wrap=f"while [ ! -e {mark} ]; do sleep 0.1; done; exit 6")
        self.cluster.wait_state(str(job), "RUNNING")
        waiting = subprocess.Popen([str(BIN / "spur"), "wait", str(job)], env=self.cluster.env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        self.cluster.kill("spurctld")
        self.cluster.start_controller()
        mark.touch()
        out, err = waiting.communicate(timeout=60)
        self.assertEqual((waiting.returncode, out), (6, f"{job} FAILED 6:0\n"), err)

    # ---- squeue --watch

    def watch(self, *args):
        process = subprocess.Popen([str(BIN / "squeue"), "--watch", *args], env=self.cluster.env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = []

        def read():
            for line in process.stdout:
                lines.append(line.rstrip("\n").split("|", 1)[1])
        threading.Thread(target=read, daemon=True).start()

        def end():
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        self.addCleanup(end)
        return process, lines

    def test_changes_are_lines(self):
        held = self.job("-H")
        process, lines = self.watch("-o", "%i %T %r")
        wait_until(lambda: f"listed|{held} PENDING JobHeldUser" in lines, 20, "the job that was there is listed")
        job = self.job(wrap="true")
        wait_until(lambda: f"changed|{job} COMPLETED None" in lines, 30, f"the end of the job is told, after {lines}")
        self.cluster.run("scontrol", "release", held)
        wait_until(lambda: f"changed|{held} RUNNING None" in lines, 30, "the released job runs")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), -signal.SIGINT)

    def test_a_watcher_who_sleeps_holds_nobody_up(self):
        before = self.job("-H")
        process, lines = self.watch("-h", "-o", "%i")
        wait_until(lambda: f"listed|{before}" in lines, 20, "the watcher has his list")
        first = self.job("-H")
        wait_until(lambda: f"changed|{first}" in lines, 20, "the watcher watches")
        process.send_signal(signal.SIGSTOP)
        self.cluster.run(BIN / "spur-submit-load", "--count", "3000", "--in-flight", "32", timeout=120)
        self.assertIn(str(first), self.cluster.out("squeue", "-h", "-j", first))
        last = self.job("-H")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: f"changed|{last}" in lines, 60, "he hears of all that he missed")
        self.assertEqual(len([line for line in lines if line.startswith("changed")]), 3002)

    def test_on_a_terminal_it_is_a_screen(self):
        job = self.job("-J", "onscreen")
        screen = Screen(self.cluster, "squeue", "--watch")
        screen.wait_for(r"JOBID.*onscreen")
        self.cluster.run("scancel", job)
        screen.seen = b""
        screen.wait_for(r"\x1b\[H[^\n]*0 lines")
        screen.type(b"q")
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(screen.text().endswith("\x1b[?25h\x1b[?1049l"), repr(screen.text()[-100:]))

    # ---- spur top

    def test_top(self):
        runs = self.job("-J", "runner", "-n2")
        waits = self.job("-J", "waiter", "-n4")
        self.cluster.wait_state(str(runs), "RUNNING")
        screen = Screen(self.cluster, "spur", "top")
        screen.wait_for(r"CPU \x1b\[\d+m\[#+\.+\]\x1b\[0m 2/4.*runner.*waiter.*waits for free resources")
        screen.type(b"/waiter\r")
        screen.wait_for(r"filter: waiter")
        screen.type(b"c")
        screen.wait_for(rf"cancel job {waits} \(waiter\)\? y/n")
        screen.type(b"n")
        screen.wait_for(r"q quit")
        self.assertIn(str(waits), self.cluster.out("squeue", "-h"))
        screen.type(b"cy")
        wait_until(lambda: str(waits) not in self.cluster.out("squeue", "-h", "-o", "%i").split(), 20, "it is cancelled")
        screen.type(b"a")
        screen.wait_for(r"1 running, 0 waiting")
        screen.resize(12, 60)
        os.kill(screen.pid, signal.SIGWINCH)
        screen.seen = b""
        screen.wait_for(r"\x1b\[H.*\x1b\[J")
        last = re.findall(r"\x1b\[H(.*?)\x1b\[J", screen.text(), re.DOTALL)[-1]
        lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", line) for line in last.split("\n")]
        self.assertEqual(len(lines), 12)
        self.assertLessEqual(max(len(line) for line in lines), 60)
        screen.type(b"q")
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(screen.text().endswith("\x1b[?25h\x1b[?1049l"), repr(screen.text()[-100:]))

    def test_top_gives_the_terminal_back_whatever_ends_it(self):
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            screen = Screen(self.cluster, "spur", "top")
            before = termios.tcgetattr(screen.fd)
            screen.wait_for(r"q quit")
            self.assertNotEqual(termios.tcgetattr(screen.fd)[3], before[3])
            os.kill(screen.pid, ending)
            wait_until(lambda: (screen.read(), "\x1b[?1049l" in screen.text())[1], 10, "the screen is given back")
            self.assertEqual(termios.tcgetattr(screen.fd)[3], before[3])
            self.assertEqual(os.waitstatus_to_exitcode(screen.wait()), -ending)

    def test_top_says_that_the_controller_is_away(self):
        screen = Screen(self.cluster, "spur", "top")
        screen.wait_for(r"0 running")
        self.cluster.kill("spurctld")
        screen.wait_for(r"the controller does not answer")
        self.cluster.start_controller()
        screen.seen = b""
        screen.wait_for(r"\x1b\[Hspur|\x1b\[H\x1b\[1mspur")
        job = self.job("-J", "afterwards")
        screen.wait_for(r"afterwards")
        self.cluster.run("scancel", job)
        screen.type(b"q")
        self.assertEqual(screen.wait(), 0)

    def test_top_needs_a_terminal(self):
        answer = self.cluster.run("spur", "top", check=False)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("needs a terminal", answer.stderr)

    # ---- for people, and only for them

    def test_words_and_colours_are_for_terminals(self):
        self.job("-H", "-a", "1-8", "-J", "patient")
        for args, env, words, colours in ((("spur", "queue"), {}, True, True),
                                          (("spur", "queue"), {"NO_COLOR": "1"}, True, False),
                                          (("spur", "queue", "--color=never"), {}, True, False),
                                          (("squeue",), {}, False, False)):
            screen = Screen(self.cluster, *args, env=env)
            self.assertEqual(screen.wait(), 0)
            self.assertEqual("held by its user" in screen.text(), words, (args, screen.text()))
            self.assertEqual("\x1b[" in screen.text(), colours, (args, screen.text()))
            self.assertEqual("[..........] 0/8" in screen.text(), words, (args, screen.text()))
        piped = self.cluster.out("spur", "queue")
        self.assertIn("(JobHeldUser)", piped)
        self.assertNotIn("\x1b", piped)
        self.assertIn("\x1b[", self.cluster.out("spur", "queue", "--color=always"))
        self.assertNotIn("\x1b", self.cluster.out("spur", "nodes"))
        screen = Screen(self.cluster, "spur", "nodes")
        self.assertEqual(screen.wait(), 0)
        self.assertIn("\x1b[32mi", screen.text().replace(" ", ""))
        wrong = self.cluster.run("spur", "queue", "--color=blue", check=False)
        self.assertEqual((wrong.returncode, wrong.stderr),
                         (1, "spur queue: error: Invalid --color: blue (auto, always or never)\n"))

    # ---- completions and manual pages

    def complete(self, line):
        """What bash offers for a line that ends at the cursor."""
        script = """
source <(spur completion bash)
COMP_LINE=$1 COMP_POINT=${#1}
words=${1//=/ = }
read -r -a COMP_WORDS <<<"$words"
[[ $1 == *[\\ =] ]] && COMP_WORDS+=("")
[[ $1 == *= ]] && unset 'COMP_WORDS[-1]'
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_spur
printf '%s\\n' "${COMPREPLY[@]}"
"""
        return self.cluster.out("bash", "-c", script, "bash", line).split()

    def test_bash_completes(self):
        job = str(self.job("-H"))
        for line, offered in (("squeue --only", ["--only-job-state"]), ("spur qu", ["queue"]), ("spur queue --exp", ["--expand-patterns"]),
                              ("squeue -p ", ["debug"]), ("squeue --partition=", ["debug"]), ("squeue --partition=de", ["debug"]),
                              ("sbatch -p debug,de", ["debug,debug"]), ("sinfo -n ", ["n1"]), ("scancel ", [job]),
                              ("spur wait --any ", [job]), ("scontrol rel", ["release"]), ("spur completion z", ["zsh"]),
                              ("squeue --states=PEND", ["PENDING"])):
            with self.subTest(line=line):
                self.assertEqual(self.complete(line), offered)
        self.assertIn("--nodelist=", self.complete("srun --node"))
        # The script is one that bash takes, and registers every command.
        registered = self.cluster.out("bash", "-c", "source <(spur completion bash); complete -p")
        for name in ("spur", "squeue", "sbatch", "sacctmgr"):
            self.assertRegex(registered, rf"complete -o default -F _spur {name}\b")

    def test_other_shells_take_theirs(self):
        checked = []
        for shell in ("zsh", "fish"):
            text = self.cluster.out("spur", "completion", shell)
            self.assertIn("only-job-state", text)
            if not shutil.which(shell):
                print(f"not checked: {shell} is not installed, so it did not parse its completions")
                continue
            with tempfile.NamedTemporaryFile("w", suffix="." + shell) as script:
                script.write(text)
                script.flush()
                answer = subprocess.run([shell, "-n", script.name], capture_output=True, text=True)
                self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            checked.append(shell)

    def test_manual_pages(self):
        with tempfile.TemporaryDirectory() as pages:
            self.cluster.run("spur", "man", "--all", pages)
            names = sorted(os.listdir(pages))
            for name in ("spur.1", "squeue.1", "sbatch.1", "spur-wait.1", "spur-top.1"):
                self.assertIn(name, names)
            lint = shutil.which("man") and subprocess.run(["man", "--warnings", "-l", "/dev/null"], capture_output=True)
            if not shutil.which("groff") and not (lint and lint.returncode == 0):
                print("not checked: neither man nor groff is installed, so nobody read the manual pages")
                return
            for name in names:
                path = os.path.join(pages, name)
                command = (["groff", "-man", "-ww", "-z", path] if shutil.which("groff")
                           else ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path])
                answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MANROFFSEQ": ""})
                self.assertEqual((answer.returncode, answer.stderr), (0, ""), name)


if __name__ == "__main__":
    unittest.main()
