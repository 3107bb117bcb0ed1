# SPDX-License-Identifier: Apache-2.0
"""A Spur cluster of many simulated nodes: the real controller, and one process (spur-agent-load) that speaks for all of its
nodes over the real agents' protocol and starts nothing."""
import os
import pathlib
import subprocess
import time

from spur_cluster import BIN, SpurCluster

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """CPU time of a process so far, all threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Fleet(SpurCluster):
    """`hold`: what is launched runs until it is ended by somebody; otherwise it ends at once."""

    def __init__(self, nodes, cpus=64, hold=False, **options):
        super().__init__(nodes=nodes, cpus=cpus, **options)
        self.hold = hold

    def start(self):
        self.start_controller()
        log = open(self.dir / "agents.log", "ab")
        command = [str(BIN / "spur-agent-load"), "--nodes", f"n[1-{len(self.names)}]"] + (["--hold"] if self.hold else [])
        agents = subprocess.Popen(command, env=self.env, cwd=self.dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                  text=True)
        log.close()
        self.processes["agents"] = agents
        if agents.stdout.readline().strip() != "ready":
            raise AssertionError("the simulated nodes did not come up: " + self.log("agents"))
        return self

    def counters(self, reset=False):
        agents = self.processes["agents"]
        agents.stdin.write("reset\n" if reset else "tell\n")
        agents.stdin.flush()
        return {k: float(v) for k, v in (f.split("=") for f in agents.stdout.readline().split())}

    def wait_count(self, what, count, seconds=600, every=0.05):
        """Until so many were `launched` or `ended`; the counters then."""
        end = time.monotonic() + seconds
        while True:
            now = self.counters()
            if now[what] >= count:
                return now
            if time.monotonic() > end:
                raise AssertionError(f"{now[what]:.0f} of {count} {what} within {seconds} s")
            time.sleep(every)

    def partition(self, state):
        self.run("scontrol", "update", "partitionname=debug", f"state={state}")

    def stop(self):
        if "agents" in self.processes:
            self.processes["agents"].stdin.close()
        super().stop()
