# SPDX-License-Identifier: Apache-2.0
"""Takes the leading controller away again and again while jobs are submitted, and checks afterwards what must be true."""
import collections
import os
import random
import signal
import subprocess
import time

from spur_cluster import BIN, wait_until

KINDS = ["kill", "stop", "freeze"]


class Rounds:
    def __init__(self, cluster, rate=500, threads=8, run_every=25, seed=1):
        self.c = cluster
        self.random = random.Random(seed)
        self.answers = cluster.dir / "answers"
        self.starts = cluster.dir / "out" / "starts"
        script = f"#!/bin/sh\necho $SLURM_JOB_ID $SLURM_RESTART_COUNT >> {self.starts}\nsleep 0.5\n"
        self.load = subprocess.Popen([str(BIN / "spur-ha-load"), "--out", str(self.answers), "--rate", str(rate), "--threads",
                                      str(threads), "--run-every", str(run_every), "--script", script],
                                     env=cluster.env, cwd=cluster.dir)
        self.losses = []  # (kind, when in microseconds)

    def lose_leader(self, kind):
        """Takes it away, waits until another leads, and brings it back."""
        name = wait_until(self.c.leader, 60, "a controller leads", 0.02)
        process = self.c.processes[name]
        etcd = self.c.etcd_pid(name)
        self.losses.append((kind, time.monotonic_ns() // 1000, name))
        if kind == "kill":
            self.c.kill(name)
        else:
            process.send_signal(signal.SIGSTOP)
            self.c.stopped.add(name)
            if kind == "freeze":
                os.kill(etcd, signal.SIGSTOP)
        wait_until(lambda: self.c.leader() not in (None, name), 60, f"another leads after {kind} of {name}", 0.05)
        time.sleep(self.random.uniform(0.5, 1.5))
        if kind == "kill":
            self.c.start_one(name)
        else:
            if kind == "freeze":
                os.kill(etcd, signal.SIGCONT)
            process.send_signal(signal.SIGCONT)
            self.c.stopped.discard(name)
        wait_until(lambda: self.c.role(name), 60, f"{name} is back", 0.05)
        time.sleep(self.random.uniform(0.3, 0.8))

    def finish(self):
        self.load.send_signal(signal.SIGTERM)
        self.load.wait(120)
        self.acked, self.failed, self.times = {}, [], []
        for line in self.answers.read_text().splitlines():
            begin, end, name, rest = line.split(" ", 3)
            if rest.startswith("-"):
                self.failed.append((name, rest))
            else:
                self.acked[name] = int(rest)
                self.times.append(int(end))
        self.times.sort()

    def gaps(self):
        """For each loss, the longest time without any acknowledgement around it, in seconds."""
        out = []
        ends = [at for _, at, _ in self.losses[1:]] + [None]
        for (kind, at, name), end in zip(self.losses, ends):
            # The one that began when the next loss came is the next one's.
            window = [t for t in self.times if at - 100_000 <= t and (end is None or t < end)]
            longest = max((b - a for a, b in zip(window, window[1:]) if b > at), default=10_000_000)
            out.append((kind, longest / 1e6))
        return out

    def violations(self):
        """What must never happen; empty if nothing did."""
        bad = []
        if self.failed:
            bad.append(f"{len(self.failed)} submits failed: {self.failed[:3]}")
        ids = list(self.acked.values())
        twice = [i for i, n in collections.Counter(ids).items() if n > 1]
        if twice:
            bad.append(f"ids given twice: {twice[:5]}")
        listed = {}
        names = collections.Counter()
        for line in self.c.out("squeue", "-h", "-t", "all", "-o", "%i %j", timeout=120).splitlines():
            job, name = line.split()
            listed[int(job)] = name
            names[name] += 1
        lost = [(n, i) for n, i in self.acked.items() if listed.get(i) != n]
        if lost:
            bad.append(f"{len(lost)} acknowledged submits are not there: {lost[:5]}")
        doubled = [n for n, k in names.items() if k > 1 and n.startswith("l")]
        if doubled:
            bad.append(f"submitted once, there twice: {doubled[:5]}")
        if self.starts.exists():
            runs = collections.Counter(self.starts.read_text().splitlines())
            again = [r for r, k in runs.items() if k > 1]
            if again:
                bad.append(f"started twice: {again[:5]}")
        states = set(self.c.out("sinfo", "-h", "-N", "-o", "%t").split())
        if any(s.startswith(("down", "unk")) for s in states):
            bad.append(f"nodes are {states}")
        return bad


def histogram(values, width=0.1):
    rows = collections.Counter(int(v / width) for v in values)
    return [f"{k * width:5.1f}-{(k + 1) * width:.1f} s {n:4d} {'#' * n}" for k, n in sorted(rows.items())]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
