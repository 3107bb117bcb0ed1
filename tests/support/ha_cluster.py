# SPDX-License-Identifier: Apache-2.0
"""Three controllers on loopback (127.0.0.1, .2 and .3, one port), each with its own etcd member, and agents. Everything it
started is ended by stop(), by pid."""
import os
import secrets
import signal
import subprocess

from spur_cluster import BIN, SpurCluster, free_port, wait_until

NAMES = ["c1", "c2", "c3"]


class HaCluster(SpurCluster):
    def __init__(self, nodes=2, controller="", failover_ms=300, etcd=None, **kw):
        super().__init__(nodes=nodes, controller=controller, **kw)
        self.peer_port = free_port()
        self.stopped = set()
        secret = self.dir / "controllers.secret"
        secret.write_text(secrets.token_hex(32) + "\n")
        secret.chmod(0o600)
        source = f"etcd = {etcd}" if etcd else f"etcd_peer_port = {self.peer_port}"
        text = self.conf.read_text()
        text = text.replace('hosts = ["127.0.0.1"]', f"{self.hosts(NAMES)}\n{source}\nfailover_ms = {failover_ms}\n"
                                                      f'secret_file = "{secret}"')
        # No controller's own: commands and agents find the controllers by their addresses.
        text = text.replace(f'state_dir = "{self.dir}/state"', f'state_dir = "{self.dir}/nobody"')
        self.conf.write_text(text)
        self.env["SPUR_AUTH_SOCKET"] = ":".join(f"{self.dir}/{name}/auth.sock" for name in NAMES)

    def hosts(self, names):
        return "hosts = [" + ", ".join(f'"{name}({self.address(name)})"' for name in names) + "]"

    def set_hosts(self, names):
        """Names other controllers in the configuration; who runs keeps what it has read."""
        lines = [self.hosts(names) if line.startswith("hosts = ") else line for line in self.conf.read_text().splitlines()]
        self.conf.write_text("\n".join(lines) + "\n")

    def address(self, name):
        return f"127.0.0.{int(name[1:])}"

    def at(self, name):
        """The environment of a command that knows this controller alone."""
        return {"SPUR_CONTROLLER_ADDR": f"{self.address(name)}:{self.port}"}

    timed_logs = False  # controllers also write <name>.times, with the time of each line

    def start_one(self, name, *more):
        more += ("-L", self.dir / f"{name}.times") if self.timed_logs else ()
        self._spawn(name, BIN / "spurctld", "-D", "-f", self.conf, "-N", name, "--state-dir", self.dir / name,
                    "--listen", f"{self.address(name)}:{self.port}", *more)

    def start_controller(self, wait=True):
        for name in NAMES:
            self.start_one(name)
        if wait:
            wait_until(lambda: all(self.role(name) for name in NAMES) and self.leader(), 60, "all answer and one leads", 0.05)

    agent_address = "127.0.0.1"

    def start_agent(self, name):
        # The token is the same on all controllers.
        port = self.agent_ports.setdefault(name, free_port())
        token = self.dir / "join.token"
        if not token.exists():
            token.write_text((self.dir / "c1" / "join.token").read_text())
            token.chmod(0o600)
        self._spawn(f"spurd-{name}", BIN / "spurd", "-D", "-f", self.conf, "-N", name, "--listen",
                    f"{self.agent_address}:{port}", "--token", token)

    def role(self, name):
        """"primary", "backup", or nothing of one that does not answer."""
        if name not in self.processes or name in self.stopped:
            return None
        if self.processes[name].poll() is not None:
            raise AssertionError(f"{name} ended: " + self.log(name))
        out = self.run("scontrol", "ping", check=False, env=self.at(name)).stdout
        return out.split("(")[1].split(")")[0] if "is UP" in out else None

    def leader(self):
        return next((name for name in NAMES if self.role(name) == "primary"), None)

    def etcd_pid(self, name):
        path = self.dir / name / "etcd" / "etcd.pid"
        try:
            pid = int(path.read_text())
            os.kill(pid, 0)
        except (OSError, ValueError):
            return None
        return pid

    def stop(self):
        pids = [self.etcd_pid(path.name) for path in self.dir.glob("c[0-9]")]
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
        directory = self.dir
        super_stop = super().stop
        super_stop()
        # Of a controller that was killed, the member lives on.
        for pid in pids:
            if pid is None:
                continue
            try:
                if os.readlink(f"/proc/{pid}/exe").endswith("/etcd") and os.readlink(f"/proc/{pid}/cwd").startswith(str(directory)):
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
