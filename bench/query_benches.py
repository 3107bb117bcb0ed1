# SPDX-License-Identifier: Apache-2.0
"""Who looks: long lists, many nodes, many who poll."""
import os
import re
import statistics
import subprocess
import time

import slurm_cluster
from agent_fleet import Fleet
from slurm_cluster import SlurmCluster
from spur_cluster import BIN, SpurCluster, wait_until

REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
USERS = (20000, 10)  # uids that nobody has: the first, and how many


def once(cluster, *args):
    """Wall time in ms of one command, output to /dev/null."""
    program = str(BIN / args[0]) if isinstance(cluster, SpurCluster) else f"/usr/bin/{args[0]}"
    begin = time.perf_counter()
    subprocess.run([program, *args[1:]], env=cluster.env, cwd=cluster.dir / "out", stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1000


def wall(cluster, *args):
    return statistics.median(once(cluster, *args) for _ in range(2 * REPEATS + 1))


def submit(cluster, count, *more, uid=None):
    command = [str(BIN / "spur-submit-load"), "--count", str(count), "--in-flight", "64", *more]
    r = subprocess.run(command, env=cluster.env, cwd=cluster.dir / "out", text=True, capture_output=True, timeout=900,
                       **({} if uid is None else {"user": uid, "group": uid, "extra_groups": []}))
    if r.returncode != 0:
        raise RuntimeError(r.stderr)
    return float(re.search(r"([\d.]+) submits/s", r.stdout).group(1))


def slurm_of_10k(options):
    """Slurm's squeue of 10,000 pending jobs."""
    if not slurm_cluster.available():
        return None
    with SlurmCluster() as slurm:
        program = slurm.dir / "submit"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slurm_submit.c")
        subprocess.run(["gcc", "-O2", "-o", program, source, "-lslurm"], check=True)
        subprocess.run([program, "10000"], env=slurm.env, cwd=slurm.dir / "out", stdout=subprocess.DEVNULL, check=True)
        return [wall(slurm, "squeue", *more) for more in options]


def squeue_100k():
    """Pending jobs of which hardly two have the same time limit; the whole list, by one squeue. Slurm's figure is that of
    10,000 jobs; squeue_100k_10k is ours of as many."""
    options = ((), ("-o", "%all"))
    theirs = slurm_of_10k(options) or [None, None]
    with SpurCluster(cpus=64) as spur:
        submit(spur, 10000, "--minutes", "10", "--vary", "590")
        ten = [wall(spur, "squeue", *more) for more in options]
        submit(spur, 90000, "--minutes", "10", "--vary", "590")
        hundred = wall(spur, "squeue")
        assert len(spur.out("squeue", "-h").splitlines()) == 100000
    yield {"spur": hundred, "slurm": None, "unit": "ms, squeue of 100,000 pending jobs", "better": "lower"}
    yield {"bench": "squeue_100k_10k", "spur": ten[0], "slurm": theirs[0], "unit": "ms, squeue of 10,000 pending jobs",
           "better": "lower"}
    yield {"bench": "squeue_100k_wide", "spur": ten[1], "slurm": theirs[1], "better": "lower",
           "unit": "ms, squeue -o %all of 10,000 pending jobs"}


def sinfo_10k():
    options = ((), ("-N", "-l"))
    with Fleet(10000) as spur:
        wait_until(lambda: "10000" in spur.out("sinfo", "-h", "-t", "idle", "-o", "%D"), 120, "10,000 nodes are idle")
        ours = [wall(spur, "sinfo", *more) for more in options]
    theirs = [None, None]
    if slurm_cluster.available():
        with SlurmCluster(nodes=10000) as slurm:
            theirs = [wall(slurm, "sinfo", *more) for more in options]
    yield {"spur": ours[0], "slurm": theirs[0], "unit": "ms, sinfo with 10,000 nodes", "better": "lower"}
    yield {"bench": "sinfo_10k_lines", "spur": ours[1], "slurm": theirs[1], "unit": "ms, sinfo -N -l with 10,000 nodes",
           "better": "lower"}


def polled(spur, what, jobs):
    """Submit rates without and with a thousand who poll, by turns and each of the two first as often as the other, always
    into an empty queue: a machine that gets slower meanwhile, or a journal that gets longer, is not taken for their fault.
    And what the pollers were told."""
    rates, figures = {False: [], True: []}, {}
    owner = "root" if os.geteuid() == 0 else str(os.geteuid())
    for turn in range(2 * (REPEATS + 2)):
        among = turn % 4 in (1, 2)
        if among:
            seconds = max(4, round(1.5 * jobs / rates[False][-1]) + 2)
            command = [str(BIN / "spur-poll-load"), "--pollers", "1000", "--seconds", str(seconds), *what]
            pollers = subprocess.Popen(command, env=spur.env, cwd=spur.dir / "out", text=True, stdout=subprocess.PIPE)
            time.sleep(1.2)  # each has had its first turn
        rates[among].append(submit(spur, jobs))
        if among:
            out, _ = pollers.communicate(timeout=120)
            if pollers.returncode != 0:
                raise RuntimeError("spur-poll-load failed")
            figures = {k: float(v) for k, v in (f.split("=") for f in out.split())}
            figures["rate"] = figures["polls"] / seconds
        spur.run("scancel", "-u", owner, timeout=300)
        time.sleep(2)  # what is put away after that many ends is not theirs, either
    return statistics.median(rates[False]), statistics.median(rates[True]), figures


def pollers():
    """A thousand who ask once a second each, while jobs are submitted as fast as the controller takes them (64 under way).
    Load, pollers and controller share this machine. `pollers`: each asks for the jobs of one of ten users, who have 100 each
    (as `squeue -u` does); `pollers_job`: each asks for one job (`squeue -j`); `pollers_all`: each for the
    whole queue, which grows meanwhile: these are answered as the machine can, and must not slow the others down, either."""
    jobs = int(os.environ.get("BENCH_POLL_JOBS", "50000"))
    with SpurCluster(cpus=64) as spur:
        if os.geteuid() == 0:
            for k in range(USERS[1]):
                submit(spur, 100, uid=USERS[0] + k)
        for name, what in (("pollers", ("--users", f"{USERS[0]}:{USERS[1]}")), ("pollers_job", ("--job", "1")),
                           ("pollers_all", ("--all",))):
            alone, among, figures = polled(spur, what, jobs)
            yield {"bench": name, "spur": round(100 * (1 - among / alone), 2), "slurm": None, "better": "lower",
                   "unit": "% fewer submits/s with 1,000 pollers", "alone": round(alone), "among": round(among),
                   "polls_per_s": round(figures["rate"]), "late": figures["late"], "p50_ms": figures["p50_ms"],
                   "p99_ms": figures["p99_ms"]}
