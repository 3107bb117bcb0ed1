# SPDX-License-Identifier: Apache-2.0
"""A real Spur cluster on loopback for tests and benchmarks: its own directory, its own ports, real daemons in the
foreground. Everything it started is ended by stop(), by pid."""
import fcntl
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SPUR_BIN", ROOT / "build/release/bin"))


def free_port():
    """A port that nobody gets before it is used: each is handed out once in 20,000, to all tests of this user together, and
    the kernel takes none of them for connections."""
    with open(pathlib.Path(tempfile.gettempdir()) / f"spur-test-ports.{os.geteuid()}", "a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        turn.seek(0)
        last = turn.read()
        port = int(last) if last.isdigit() else 12000 + os.getpid() % 20000
        while True:
            port = port + 1 if 12000 <= port < 31999 else 12000
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    s.bind(("0.0.0.0", port))
                except OSError:
                    continue
            turn.truncate(0)
            turn.write(str(port))
            return port


def wait_until(condition, seconds=30, what="condition", every=0.02):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(every)
    raise AssertionError(f"{what} did not come true within {seconds} s")


def talk(terminal, until, word):
    """Reads a terminal until something is seen, types a word, and reads on to the end. What was seen."""
    seen = b""
    while until not in seen:
        seen += os.read(terminal, 1000)
    os.write(terminal, word)
    try:
        while chunk := os.read(terminal, 1000):
            seen += chunk
    except OSError:
        pass  # the other side is gone
    os.close(terminal)
    return seen


class SpurCluster:
    def __init__(self, nodes=1, cpus=4, memory_mb=4000, controller="", partition="", node="", extra="", base=None):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="spur-", dir=base))
        self.dir.chmod(0o755)
        (self.dir / "out").mkdir()
        (self.dir / "out").chmod(0o777)
        self.names = [f"n{i}" for i in range(1, nodes + 1)]
        self.port = free_port()
        self.agent_ports = {}
        self.processes = {}
        listed = f"n[1-{nodes}]" if nodes > 1 else "n1"
        self.conf = self.dir / "spur.conf"
        self.write_conf(f"""cluster_name = "test"
[controller]
listen_addr = "127.0.0.1:{self.port}"
hosts = ["127.0.0.1"]
state_dir = "{self.dir}/state"
declared_hardware_wins = true
{controller}
[agent]
spool_dir = "{self.dir}/spool/%n"
[[partitions]]
name = "debug"
default = true
nodes = "ALL"
{partition}
[[nodes]]
names = "{listed}"
cpus = {cpus}
memory_mb = {memory_mb}
{node}
{extra}
""")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SPUR", "SBATCH", "SQUEUE", "SINFO"))}
        self.env["SPUR_CONF"] = str(self.conf)
        self.env["PATH"] = f"{BIN}:{self.env['PATH']}"

    def write_conf(self, text):
        self.conf.write_text(text)

    def start(self):
        self.start_controller()
        for name in self.names:
            self.start_agent(name)
        self.wait_idle()
        return self

    def within(self, key):
        """Words in front of a program, for clusters that put theirs into namespaces."""
        return []

    def _spawn(self, key, *args):
        log = open(self.dir / f"{key}.log", "ab")
        self.processes[key] = subprocess.Popen(self.within(key) + [str(a) for a in args], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                               env=self.env, cwd=self.dir)
        log.close()

    def start_controller(self, *words, wait=True):
        self._spawn("spurctld", BIN / "spurctld", "-D", "-f", self.conf, *words)
        if wait:
            wait_until(self.controller_answers, 30, "spurctld answers")

    def controller_answers(self):
        if self.processes["spurctld"].poll() is not None:
            raise AssertionError("spurctld ended: " + self.log("spurctld"))
        return self.run("scontrol", "ping", check=False).returncode == 0

    def start_agent(self, name):
        # The same each time, as on a real node: other agents know it from the jobs that they share.
        port = self.agent_ports.setdefault(name, free_port())
        self._spawn(f"spurd-{name}", BIN / "spurd", "-D", "-f", self.conf, "-N", name, "--listen", f"127.0.0.1:{port}")

    def wait_idle(self, count=None):
        count = count or len(self.names)
        wait_until(lambda: sum(int(x) for x in self.out("sinfo", "-h", "-t", "idle,mix,alloc", "-o", "%D").split() or ["0"]) == count,
                   30, f"{count} nodes are up")

    def kill(self, key, sig=signal.SIGKILL):
        p = self.processes.pop(key)
        p.send_signal(sig)
        p.wait(30)

    def pid(self, key):
        return self.processes[key].pid

    def log(self, key):
        path = self.dir / f"{key}.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def run(self, *args, check=True, user=None, input=None, timeout=60, env=None, cwd=None):
        command = [str(a) for a in args]
        if user is not None:
            gid = pwd.getpwnam(user).pw_gid
            command = ["setpriv", f"--reuid={user}", f"--regid={gid}", "--init-groups"] + command
        command = self.within("") + command
        result = subprocess.run(command, env={**self.env, **(env or {})}, cwd=cwd or self.dir / "out", text=True,
                                capture_output=True, input=input, timeout=timeout,
                                stdin=None if input is not None else subprocess.DEVNULL)
        if check and result.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def out(self, *args, **kw):
        return self.run(*args, **kw).stdout

    def sbatch(self, *args, **kw):
        return int(self.out("sbatch", "--parsable", *args, **kw).split(";")[0])

    def state(self, job):
        text = self.out("scontrol", "-o", "show", "job", job, check=False)
        return dict(f.split("=", 1) for f in text.split() if "=" in f).get("JobState", "")

    def job(self, job):
        text = self.out("scontrol", "-o", "show", "job", job, check=False)
        return dict(f.split("=", 1) for f in text.split() if "=" in f)

    def wait_state(self, job, *states, seconds=30):
        wait_until(lambda: self.state(job) in states, seconds, f"job {job} in {states} (is {self.state(job)})")

    def wait_empty(self, seconds=60):
        wait_until(lambda: not self.out("squeue", "-h", "-o", "%i").strip(), seconds, "an empty queue", 0.01)

    def stop(self):
        for key in sorted(self.processes, key=lambda k: k == "spurctld"):
            p = self.processes[key]
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
        for p in self.processes.values():
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.processes = {}
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            for key in self.processes:
                print(f"--- {key}\n{self.log(key)}")
            self.stop()
            raise

    def __exit__(self, kind, value, trace):
        if value is not None:
            for key in self.processes:
                print(f"--- {key}\n{self.log(key)}")
        self.stop()
