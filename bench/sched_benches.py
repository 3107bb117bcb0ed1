# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the controller with simulated nodes (agent_fleet.py): scheduling alone, no processes are started."""
import os
import time

from agent_fleet import Fleet, cpu_seconds
from spur_cluster import BIN

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
