# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the controller with simulated nodes (agent_fleet.py): scheduling alone, no processes are started."""
import os
import pathlib
import re
import subprocess
import time

import slurm_cluster
from agent_fleet import Fleet, cpu_seconds
from slurm_cluster import SlurmCluster
from spur_cluster import BIN, wait_until

REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))


def load(cluster, count, in_flight, *more):
    """Submits through spur-submit-load; submits per second, each acknowledged as durable."""
    out = cluster.run(BIN / "spur-submit-load", "--count", count, "--in-flight", in_flight, "--run", *more, timeout=900).stdout
    return float(out.split()[0])


def started_and_ended(nodes, jobs, array):
    """All jobs wait behind a partition that is down; from the moment that it comes up until the last end is durable."""
    with Fleet(nodes) as fleet:
        fleet.partition("down")
        load(fleet, jobs // array if array else jobs, 64, *(["--array", array] if array else []))
        agents = fleet.counters(reset=True)["cpu"]
        controller = cpu_seconds(fleet.pid("spurctld"))
        begin = time.monotonic()
        fleet.partition("up")
        end = fleet.wait_count("ended", jobs)
        return (jobs / (end["last"] - begin), (cpu_seconds(fleet.pid("spurctld")) - controller) / jobs * 1e6,
                (end["cpu"] - agents) / jobs * 1e6)


def sched_e2e():
    for name, array in (("sched_e2e", 0), ("sched_e2e_arrays", 1000)):
        runs = sorted(started_and_ended(1000, 100000, array) for _ in range(REPEATS))
        rate, controller, agents = runs[len(runs) // 2]
        yield {"bench": name, "spur": round(rate), "slurm": None,
               "unit": "one-CPU jobs/s started and durably ended on 1,000 nodes" + (", as arrays of 1,000" if array else ""),
               "controller_cpu_us_per_job": round(controller, 1), "agents_cpu_us_per_job": round(agents, 1),
               "runs": [round(r[0]) for r in runs]}


# ---- side by side with Slurm, on nodes without a slurmd. docs/benchmarks.md says what is measured how.

# Slurm as fast as its settings make it place jobs: all of the queue in one cycle, nothing tried at submit.
PLACE_ALL = ("SchedulerParameters=defer,default_queue_depth=100000,partition_job_depth=100000,sched_max_job_start=0,"
             "sched_interval=2,batch_sched_delay=0,bf_interval=300,max_sched_time=29")
# Its own depths and windows; only more often than every 30 s, so that the bench need not wait.
CYCLE_OFTEN = "SchedulerParameters=bf_interval=5,bf_max_time=30,sched_interval=5"
SHAPES = ((1, 1), (2, 8), (4, 16), (8, 32))   # nodes, tasks per node


def slurm_load(cluster, count, *more):
    program = cluster.dir / "submit"
    if not program.exists():
        source = pathlib.Path(__file__).resolve().parent / "slurm_submit.c"
        subprocess.run(["gcc", "-O2", "-o", program, source, "-lslurm"], check=True)
    out = subprocess.run([program, "--run", *map(str, more), str(count)], env=cluster.env, cwd=cluster.dir / "out",
                         capture_output=True, text=True, check=True).stdout
    return float(out.split()[0])


def placed_by_spur(nodes, jobs):
    with Fleet(nodes, hold=True) as fleet:
        fleet.partition("down")
        load(fleet, jobs, 64, "--minutes", 60)
        fleet.counters(reset=True)
        begin = time.monotonic()
        fleet.partition("up")
        return jobs / (fleet.wait_count("launched", jobs)["last"] - begin)


def placed_by_slurm(nodes, jobs):
    with SlurmCluster(nodes=nodes, extra=PLACE_ALL) as slurm:
        slurm.run("scontrol", "update", "partitionname=debug", "state=down", check=True)
        slurm_load(slurm, jobs, "--threads", 2, "--minutes", 60)
        slurm.run("sdiag", "-r", check=True)
        begin = time.monotonic()
        slurm.run("scontrol", "update", "partitionname=debug", "state=up", check=True)
        wait_until(lambda: slurm.diagnosis("", "Jobs started") >= jobs, 600, "all jobs placed", 0.2)
        return jobs / (time.monotonic() - begin)


def cycles_of_spur(fleet, events):
    """Jobs looked at and tested per second of planning, over full cycles that are each set off by a job that comes."""
    log = fleet.dir / "spurctld.log"
    before = log.stat().st_size
    for i in range(events):
        fleet.sbatch("-t", 700 + i, "-o", "/dev/null", "--wrap", "true")
        time.sleep(1)
    rows = re.findall(r"a full cycle looked at (\d+) jobs, (\d+) of them one by one, and starts \d+, in (\d+) us",
                      log.read_bytes()[before:].decode())
    looked, tested, micros = (sum(int(r[i]) for r in rows) for i in range(3))
    return {"looked": looked / micros * 1e6, "tested": tested / micros * 1e6, "cycles": len(rows),
            "depth": round(looked / len(rows)), "ms": round(micros / len(rows) / 1000, 2)}


class FullFleet(Fleet):
    """One job holds every node."""

    def __init__(self, nodes):
        super().__init__(nodes, hold=True, extra='[logging]\ncontroller_level = "debug"')

    def start(self):
        super().start()
        nodes = len(self.names)
        self.sbatch("-N", nodes, "--exclusive", "-t", 600, "-o", "/dev/null", "--wrap", "sleep 36000")
        self.wait_count("launched", nodes)
        return self


def full_spur(nodes, queued):
    """Submits per second while every node is taken, and cycles over the queue that they make; then over a mixed queue."""
    vary = ("--minutes", 10, "--vary", 590)
    with FullFleet(nodes) as fleet:
        figures = {"many": load(fleet, 20000, 64, *vary), "two": load(fleet, 4000, 2, *vary),
                   "wide": load(fleet, 10000, 64, *vary, "--nodes", 4, "--tasks-per-node", 16)}
        time.sleep(1)
        figures["classes"] = cycles_of_spur(fleet, 8)
    with FullFleet(nodes) as fleet:
        load(fleet, 200, 64, *vary)
        for n, tasks in SHAPES:
            load(fleet, queued // 4, 64, *vary, "--nodes", n, "--tasks-per-node", tasks)
        time.sleep(1)
        figures["same"] = cycles_of_spur(fleet, 8)
    return figures


def full_slurm(nodes, queued):
    with SlurmCluster(nodes=nodes, extra=CYCLE_OFTEN) as slurm:
        job = slurm.run("sbatch", "--parsable", "-N", nodes, "--exclusive", "-t", 600, "-o", "/dev/null", "--wrap", "sleep 36000",
                        check=True).stdout.strip()
        wait_until(lambda: slurm.run("squeue", "-h", "-j", job, "-o", "%t").stdout.strip() in ("CF", "R"), 120, "a full cluster", 0.2)
        submits = slurm_load(slurm, 200, "--threads", 2, "--minutes", 10, "--vary", 590)
        # Nothing is tried while the partition is down: the queue is longer sooner.
        slurm.run("scontrol", "update", "partitionname=debug", "state=down", check=True)
        for n, tasks in SHAPES:
            slurm_load(slurm, queued // 4, "--threads", 2, "--minutes", 10, "--vary", 590, "--nodes", n, "--tasks-per-node", tasks)
        slurm.run("scontrol", "update", "partitionname=debug", "state=up", check=True)
        time.sleep(3)
        slurm.run("sdiag", "-r", check=True)
        wait_until(lambda: slurm.diagnosis("Backfilling stats", "Total cycles") >= 3, 120, "three backfill cycles", 1)
        depth = slurm.diagnosis("Backfilling stats", "Depth Mean (try depth)")
        micros = slurm.diagnosis("Backfilling stats", "Mean cycle")
        return {"submits": submits, "looked": depth / micros * 1e6, "depth": depth, "ms": round(micros / 1000)}


def sched_vs_slurm():
    have = slurm_cluster.available()
    for nodes, ours, theirs, queued in ((1000, 50000, 2000, 2000), (10000, 50000, 1000, 400)):
        yield {"bench": f"sched_vs_slurm_place_{nodes}", "spur": round(placed_by_spur(nodes, ours)),
               "slurm": round(placed_by_slurm(nodes, theirs), 1) if have else None,
               "unit": f"one-CPU jobs/s placed on {nodes} free nodes"}
        spur = full_spur(nodes, queued)
        slurm = full_slurm(nodes, queued) if have else {}
        submits = {"slurm": slurm.get("submits")}
        yield {"bench": f"sched_vs_slurm_submit_{nodes}", "spur": spur["many"], **submits,
               "unit": f"durable submits/s, all of {nodes} nodes taken, 64 under way (Slurm: 2, more make it no faster)"}
        yield {"bench": f"sched_vs_slurm_submit2_{nodes}", "spur": spur["two"], **submits,
               "unit": f"durable submits/s, all of {nodes} nodes taken, 2 under way"}
        yield {"bench": f"sched_vs_slurm_submit_wide_{nodes}", "spur": spur["wide"], **submits,
               "unit": f"durable submits/s of jobs that want 4 of {nodes} nodes, 64 under way (Slurm: one CPU)"}
        cycle = {"slurm": slurm.get("looked") and round(slurm["looked"], 1), "slurm_depth": slurm.get("depth"), "slurm_ms": slurm.get("ms")}
        yield {"bench": f"sched_vs_slurm_backfill_{nodes}", "spur": round(spur["same"]["tested"]), **cycle,
               "unit": f"jobs tested one by one per second of backfill, the same {queued + 200} jobs of mixed shapes",
               **{k: spur["same"][k] for k in ("cycles", "depth", "ms")}}
        yield {"bench": f"sched_vs_slurm_backfill_classes_{nodes}", "spur": round(spur["classes"]["looked"]), **cycle,
               "unit": "jobs decided per second of backfill, each by itself or with its class; 34,000 jobs of 1,180 shapes",
               **{k: spur["classes"][k] for k in ("cycles", "depth", "ms")}}
