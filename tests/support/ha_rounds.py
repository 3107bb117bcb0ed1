# SPDX-License-Identifier: Apache-2.0
"""Takes the leading controller away again and again while jobs are submitted, and checks afterwards what must be true."""
import collections
import os
import random
import signal
import subprocess
import time

from spur_cluster import BIN, wait_until

KINDS = ["kill", "stop", "freeze"]  # spurctld with kill -9, spurctld with SIGSTOP, it and its etcd with SIGSTOP
CUT = "cut"  # it and its etcd off the network; only with NetHaCluster
DEVICES = 4  # of a node, where devices are given out


class Rounds:
    def __init__(self, cluster, rate=500, threads=8, run_every=25, seed=1, devices=False):
        self.c = cluster
        self.random = random.Random(seed)
        self.answers = cluster.dir / "answers"
        self.starts = cluster.dir / "out" / "starts"
        self.uses = cluster.dir / "out" / "uses"
        self.ends = []  # (job, state) as the leader showed them, in order
        script = f"#!/bin/sh\necho $SLURM_JOB_ID $SLURM_RESTART_COUNT >> {self.starts}\n"
        if devices:  # what is held, from when to when
            line = f"$SLURM_JOB_ID $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $(cut -d' ' -f1 /proc/uptime) >> {self.uses}\n"
            script += f"echo begin {line}sleep 0.5\necho end {line}"
        else:
            script += "sleep 0.5\n"
        more = ["--gres", "gpu:1"] if devices else []
        self.load = subprocess.Popen(cluster.within("") + [
            str(BIN / "spur-ha-load"), "--out", str(self.answers), "--rate", str(rate), "--threads", str(threads), "--run-every",
            str(run_every), "--script", script, *more], env=cluster.env, cwd=cluster.dir)
        cluster.processes["load"] = self.load  # so that it ends with the cluster
        self.losses = []  # (kind, when in microseconds, who)

    def lose_leader(self, kind):
        """Takes it away, waits until another leads, and brings it back."""
        name = wait_until(self.c.leader, 60, "a controller leads", 0.02)
        process = self.c.processes[name]
        etcd = self.c.etcd_pid(name)
        self.losses.append((kind, time.monotonic_ns() // 1000, name))
        if kind == "kill":
            self.c.kill(name)
        elif kind == CUT:
            self.c.cut(name)
        else:
            process.send_signal(signal.SIGSTOP)
            self.c.stopped.add(name)
            if kind == "freeze":
                os.kill(etcd, signal.SIGSTOP)
        wait_until(lambda: self.c.leader() not in (None, name), 60, f"another leads after {kind} of {name}", 0.05)
        time.sleep(self.random.uniform(0.5, 1.5))
        self.see_ends()
        if kind == "kill":
            self.c.start_one(name)
        elif kind == CUT:
            self.c.mend(name)
        else:
            if kind == "freeze":
                os.kill(etcd, signal.SIGCONT)
            process.send_signal(signal.SIGCONT)
            self.c.stopped.discard(name)
        wait_until(lambda: self.c.role(name), 60, f"{name} is back", 0.05)
        time.sleep(self.random.uniform(0.3, 0.8))

    def see_ends(self):
        """What has ended, by the leader's word."""
        shown = self.c.run("squeue", "-h", "-t", "CD,F,CA,NF,TO", "-o", "%i %T", check=False, timeout=120, env={"SPUR_CONSISTENT": "1"})
        self.ends += [tuple(line.split()) for line in shown.stdout.splitlines()]

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

    def slow_ones(self, longer_than):
        """What the controllers' logs say about each loss after which there was no service for so many seconds."""
        to_wall = time.time() - time.monotonic()
        out = []
        for (kind, gap), (_, at, name) in zip(self.gaps(), self.losses):
            if gap <= longer_than:
                continue
            out.append(f"{kind} of {name}, {gap:.2f} s without service:")
            begin, end = at / 1e6 + to_wall - 0.2, at / 1e6 + to_wall + gap + 0.5
            span = [time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(t)) + f".{int(t % 1 * 1000):03d}" for t in (begin, end)]
            for path in sorted(self.c.dir.glob("c[0-9].times")):
                lines = [line for line in path.read_text(errors="replace").splitlines() if span[0] <= line[1:24] <= span[1]]
                out += [f"  {path.stem} {line}" for line in lines[:30]]
        return out

    def violations(self):
        """What must never happen; empty if nothing did. Reads what was recorded, and asks the cluster what it has."""
        if self.failed:
            bad = [f"{len(self.failed)} submits failed: {self.failed[:3]}"]
        else:
            bad = []
        rows = [line.split() for line in self.c.out("squeue", "-h", "-t", "all", "-o", "%i %j %T", timeout=300,
                                                     env={"SPUR_CONSISTENT": "1"}).splitlines()]
        bad += self.wrong_submits({int(job): name for job, name, _ in rows})
        bad += self.wrong_starts()
        bad += wrong_ends(self.ends + [(job, state) for job, _, state in rows])
        if self.uses.exists():
            bad += wrong_uses(self.uses.read_text().splitlines())
        states = set(self.c.out("sinfo", "-h", "-N", "-o", "%t").split())
        if any(s.startswith(("down", "unk")) for s in states):
            bad.append(f"nodes are {states}")
        return bad

    def wrong_submits(self, listed):
        bad = []
        twice = [i for i, n in collections.Counter(self.acked.values()).items() if n > 1]
        if twice:
            bad.append(f"ids given twice: {twice[:5]}")
        lost = [(n, i) for n, i in self.acked.items() if listed.get(i) != n]
        if lost:
            bad.append(f"{len(lost)} acknowledged submits are not there: {lost[:5]}")
        names = collections.Counter(n for n in listed.values() if n.startswith("l"))
        doubled = [n for n, k in names.items() if k > 1]
        if doubled:
            bad.append(f"submitted once, there twice: {doubled[:5]}")
        unknown = [n for n in names if n not in self.acked and n not in dict(self.failed)]
        if unknown:
            bad.append(f"there without having been acknowledged: {unknown[:5]}")
        return bad

    def wrong_starts(self):
        if not self.starts.exists():
            return []
        again = [r for r, k in collections.Counter(self.starts.read_text().splitlines()).items() if k > 1]
        return [f"started twice: {again[:5]}"] if again else []

    def wrong_accounting(self, rows):
        """What the database has (job, state) against what ran and how it ended by the controllers' own word."""
        recorded = {}
        for job, state in rows:
            if job in recorded:
                return [f"job {job} is twice in the database"]
            recorded[job] = state
        ran = {line.split()[0] for line in self.starts.read_text().splitlines()} if self.starts.exists() else set()
        shown = dict(line.split() for line in self.c.out("squeue", "-h", "-t", "all", "-o", "%i %T", timeout=300,
                                                         env={"SPUR_CONSISTENT": "1"}).splitlines())
        wrong = [(job, shown.get(job), recorded.get(job)) for job in sorted(ran) if recorded.get(job) != shown.get(job)]
        return [f"{len(wrong)} jobs are otherwise in the database: {wrong[:5]}"] if wrong else []


def wrong_ends(seen):
    """An end is final: no job is seen with two of them, nor alive after one."""
    final, bad = {}, []
    for job, state in seen:
        if job in final and state != final[job]:
            bad.append(f"job {job} was {final[job]} and then {state}")
        if state in ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"):
            final[job] = state
    return bad[:5]


def wrong_uses(lines):
    """No device of a node is held by two jobs at once."""
    spans = collections.defaultdict(dict)
    for line in lines:
        words = line.split()
        if len(words) != 5:
            return [f"a line about devices is {line!r}"]
        what, job, node, devices, at = words
        for device in devices.split(","):
            spans[node, device].setdefault(job, {})[what] = float(at)
    bad = []
    for place, jobs in spans.items():
        ordered = sorted((times["begin"], times.get("end", times["begin"]), job) for job, times in jobs.items() if "begin" in times)
        for (_, end, one), (begin, _, other) in zip(ordered, ordered[1:]):
            if begin < end:
                bad.append(f"device {place} was held by {one} and {other} at once")
    return bad[:5]


def histogram(values, width=0.1):
    rows = collections.Counter(int(v / width) for v in values)
    return [f"{k * width:5.1f}-{(k + 1) * width:.1f} s {n:4d} {'#' * n}" for k, n in sorted(rows.items())]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
