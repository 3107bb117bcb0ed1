# SPDX-License-Identifier: Apache-2.0
"""Steps: how long srun takes, how many a job can start, how fast data goes through."""
import hashlib
import os
import pathlib
import statistics
import subprocess
import time

import slurm_cluster
from slurm_cluster import SlurmCluster
from spur_cluster import BIN, SpurCluster

AGENTS = 4
STEPS = 1000
IO_BYTES = 1 << 30


def clusters(**options):
    """Spur, then Slurm where it can be had, one after the other."""
    yield "spur", SpurCluster(nodes=options.get("agents", 1), cpus=options["cpus"])
    if slurm_cluster.available():
        yield "slurm", SlurmCluster(**options)


def environment(cluster):
    first = BIN if isinstance(cluster, SpurCluster) else "/usr/bin"
    return {**cluster.env, "PATH": f"{first}:{os.environ['PATH']}"}


def program(cluster, name):
    return str(BIN / name) if isinstance(cluster, SpurCluster) else f"/usr/bin/{name}"


def run(cluster, name, *args, **kw):
    return subprocess.run([program(cluster, name), *args], env=environment(cluster), cwd=cluster.dir / "out", check=True,
                          stdin=kw.pop("stdin", subprocess.DEVNULL), stdout=kw.pop("stdout", subprocess.DEVNULL), **kw)


def median_seconds(f, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows(figures, unit, better):
    for name, figure in figures["spur"].items():
        yield {"bench": name, "spur": round(figure, 2), "slurm": round(figures["slurm"][name], 2) if "slurm" in figures else None,
               "unit": unit, "better": better}


def srun_latency():
    figures = {}
    for kind, cluster in clusters(cpus=16, agents=AGENTS):
        with cluster:
            for _ in range(3):
                run(cluster, "srun", "hostname")
            figures[kind] = {
                "srun_hostname": median_seconds(lambda: run(cluster, "srun", "hostname"), 30) * 1000,
                "srun_64_tasks": median_seconds(lambda: run(cluster, "srun", "-n64", f"-N{AGENTS}", "true"), 10) * 1000,
            }
    yield from rows(figures, "ms", "lower")


def steps_rate():
    """Steps of one task in one allocation, from four loops at once; and what they cost the controller."""
    figures, costs = {}, {}
    each = STEPS // 4
    loop = f"i=0; while [ $i -lt {each} ]; do srun -n1 -N1 --exact true || exit 1; i=$((i+1)); done"
    script = f"for w in 1 2 3 4; do ({loop}) & pids=\"$pids $!\"; done; for p in $pids; do wait $p || exit 1; done"
    for kind, cluster in clusters(cpus=8):
        with cluster:
            run(cluster, "srun", "true")
            controller = cluster.pid("spurctld" if kind == "spur" else "slurmctld")
            before, begin = cpu_seconds(controller), time.perf_counter()
            run(cluster, "salloc", "-Q", "-n8", "sh", "-c", script)
            figures[kind] = {"steps_rate": 4 * each / (time.perf_counter() - begin)}
            costs[kind] = {"steps_rate_controller_cpu": (cpu_seconds(controller) - before) / (4 * each) * 1e6}
    yield from rows(figures, "steps/s", "higher")
    yield from rows(costs, "us of CPU per step", "lower")


def srun_io():
    """A gigabyte of noise through `srun cat`, from a file to a reader that only sums it up."""
    block = os.urandom(1 << 20)
    figures = {}
    for kind, cluster in clusters(cpus=4):
        with cluster:
            source = cluster.dir / "out" / "noise"
            wanted = hashlib.blake2b()
            with open(source, "wb") as f:
                for i in range(IO_BYTES >> 20):
                    piece = i.to_bytes(8, "little") + block[8:]
                    wanted.update(piece)
                    f.write(piece)
            copy = cluster.dir / "out" / "copy"
            begin = time.perf_counter()
            with open(source, "rb") as i, open(copy, "wb") as o:
                run(cluster, "srun", "cat", stdin=i, stdout=o)
            took = time.perf_counter() - begin
            got = hashlib.blake2b()
            with open(copy, "rb") as f:
                while piece := f.read(1 << 20):
                    got.update(piece)
            if got.digest() != wanted.digest():
                raise RuntimeError(f"{kind}: what came back is not what went in")
            figures[kind] = {"srun_io": IO_BYTES / took / 1e6}
    yield from rows(figures, "MB/s", "higher")
