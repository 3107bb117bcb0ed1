# SPDX-License-Identifier: Apache-2.0
"""The benchmarks by name. Each yields rows {spur, slurm, unit, better}; bench/run prints them."""
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import time

import acct_benches
import ha_benches
import query_benches
import sched_benches
import slurm_cluster
import step_benches
from slurm_cluster import SlurmCluster
from spur_cluster import BIN, SpurCluster, wait_until

HERE = pathlib.Path(__file__).resolve().parent
REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))


def seconds(f):
    begin = time.perf_counter()
    f()
    return time.perf_counter() - begin


def median_of(f, repeats=None):
    return statistics.median(f() for _ in range(repeats or REPEATS))


def with_slurm(measure, **options):
    """The figure of Debian's Slurm from the same run, or None where it cannot be had."""
    if not slurm_cluster.available():
        return None
    with SlurmCluster(**options) as slurm:
        return measure(slurm)


def rss_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


def quiet(cluster, *args):
    """Runs a command many times cheaply: no pipes, no text decoding."""
    program = str(BIN / args[0]) if isinstance(cluster, SpurCluster) else f"/usr/bin/{args[0]}"
    subprocess.run([program] + [str(a) for a in args[1:]], env=cluster.env, cwd=cluster.dir / "out",
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def cancel_all(cluster):
    quiet(cluster, "scancel", "-u", "root" if os.geteuid() == 0 else str(os.geteuid()))


def submits(cluster, count, width):
    """Rate of `sbatch --wrap=true` from `width` shells at once; the loop is a shell's, as a user would write it."""
    per = count // width
    script = f"i=0; while [ $i -lt {per} ]; do sbatch -Q -o /dev/null --wrap=true || exit 1; i=$((i+1)); done"
    first = BIN if isinstance(cluster, SpurCluster) else "/usr/bin"
    env = {**cluster.env, "PATH": f"{first}:{os.environ['PATH']}"}

    def go():
        shells = [subprocess.Popen(["/bin/sh", "-c", script], env=env, cwd=cluster.dir / "out") for _ in range(width)]
        if any([s.wait() for s in shells]):
            raise RuntimeError("a submission failed")
    return per * width / seconds(go)


def submits_run(cluster, count, width):
    """With free CPUs: the jobs run meanwhile, on the same machine."""
    rate = submits(cluster, count, width)
    wait_drained(cluster)
    return rate


def submits_queued(cluster, count, width):
    """With every CPU taken, as on most clusters most of the time: the jobs wait."""
    cluster.run("sbatch", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 900", check=True)
    wait_until(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.strip(), 60, "a job on every CPU")
    rate = submits(cluster, count, width)
    cancel_all(cluster)
    wait_drained(cluster)
    return rate


def submit_rows(name, width, ours, theirs):
    with SpurCluster(cpus=64) as spur:
        run = median_of(lambda: submits_run(spur, ours, width))
        queue = median_of(lambda: submits_queued(spur, ours, width))
    slurm = with_slurm(lambda c: (median_of(lambda: submits_run(c, theirs, width)),
                                  median_of(lambda: submits_queued(c, theirs, width)))) or (None, None)
    yield {"spur": run, "slurm": slurm[0], "unit": "submits/s, free CPUs"}
    yield {"bench": f"{name}_queued", "spur": queue, "slurm": slurm[1], "unit": "submits/s, all CPUs taken"}


def queued(cluster):
    r = cluster.run("squeue", "-h", "-r", "-o", "%i")
    return len(r.stdout.split())


def wait_drained(cluster, limit=600):
    wait_until(lambda: queued(cluster) == 0, limit, "an empty queue", 0.05)


def sbatch_seq():
    yield from submit_rows("sbatch_seq", 1, 1000, 300)


def sbatch_par8():
    yield from submit_rows("sbatch_par8", 8, 2000, 800)


def submit_load(cluster, count, in_flight, *more):
    r = cluster.run(BIN / "spur-submit-load", "--count", count, "--in-flight", in_flight, *more, timeout=600)
    return float(re.search(r"([\d.]+) submits/s", r.stdout).group(1))


def slurm_api(cluster, count):
    program = cluster.dir / "submit"
    subprocess.run(["gcc", "-O2", "-o", program, HERE / "slurm_submit.c", "-lslurm"], check=True)
    out = subprocess.run([program, str(count)], env=cluster.env, cwd=cluster.dir / "out", capture_output=True, text=True,
                         check=True).stdout
    cancel_all(cluster)
    return float(out.split()[0])


def submit_api():
    with SpurCluster(cpus=64) as spur:
        ours = median_of(lambda: submit_load(spur, 20000, 64))
    yield {"spur": ours, "slurm": with_slurm(lambda c: slurm_api(c, 2000)), "unit": "durable submits/s, 64 in flight"}


def end_to_end(cluster, count, submit):
    def go():
        submit(count)
        wait_drained(cluster)
    return count / seconds(go)


def e2e_true():
    with SpurCluster(cpus=64) as spur:
        spur.run("true")
        ours = median_of(lambda: end_to_end(spur, 2000, lambda n: submit_load(spur, n, 64, "--run")))

    def slurm(c):
        def submit(n):
            path = {**c.env, "PATH": f"/usr/bin:{os.environ['PATH']}"}
            subprocess.run(["/bin/sh", "-c", f"for i in $(seq {n}); do sbatch -Q -o /dev/null --wrap=true; done"], env=path,
                           cwd=c.dir / "out", check=True)
        return end_to_end(c, 300, submit)
    yield {"spur": ours, "slurm": with_slurm(slurm), "unit": "jobs/s, 64 cpus, Slurm's defaults"}
    tuned = ("SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,default_queue_depth=1000,"
             "sched_interval=1,bf_interval=1")

    def slurm_tuned(c):
        def submit(n):
            path = {**c.env, "PATH": f"/usr/bin:{os.environ['PATH']}"}
            subprocess.run(["/bin/sh", "-c", f"for i in $(seq {n}); do sbatch -Q -o /dev/null --wrap=true; done"], env=path,
                           cwd=c.dir / "out", check=True)
        return end_to_end(c, 500, submit)
    yield {"bench": "e2e_true_tuned", "spur": ours, "slurm": with_slurm(slurm_tuned, cpus=256, extra=tuned),
           "unit": "jobs/s, Slurm at its best: 256 cpus, no tick"}


def hold_array_or_jobs(cluster, count):
    """Many pending jobs, each a record of its own."""
    if isinstance(cluster, SpurCluster):
        submit_load(cluster, count, 64)
    else:
        program = cluster.dir / "submit"
        subprocess.run(["gcc", "-O2", "-o", program, HERE / "slurm_submit.c", "-lslurm"], check=True)
        subprocess.run([program, str(count)], env=cluster.env, cwd=cluster.dir / "out", stdout=subprocess.DEVNULL, check=True)


def time_squeue(cluster, repeats=5):
    return median_of(lambda: seconds(lambda: quiet(cluster, "squeue")), repeats) * 1000


def squeue_10k():
    with SpurCluster(cpus=64) as spur:
        hold_array_or_jobs(spur, 10000)
        ours = time_squeue(spur)
        one = median_of(lambda: seconds(lambda: quiet(spur, "squeue", "-j", "1")), 20) * 1000

    def slurm(c):
        hold_array_or_jobs(c, 10000)
        return time_squeue(c), median_of(lambda: seconds(lambda: quiet(c, "squeue", "-j", "1")), 20) * 1000
    theirs = with_slurm(slurm)
    yield {"spur": ours, "slurm": theirs and theirs[0], "unit": "ms, 10,000 pending", "better": "lower"}
    yield {"bench": "squeue_one", "spur": one, "slurm": theirs and theirs[1], "unit": "ms, squeue -j ID", "better": "lower"}


def array_1m():
    with SpurCluster(cpus=4, controller="max_array_size = 4000001") as spur:
        spur.sbatch("-H", "--wrap=true")
        before = rss_mib(spur.pid("spurctld"))
        times = []
        for _ in range(10):
            times.append(seconds(lambda: quiet(spur, "sbatch", "-Q", "-H", "--array=0-999999", "--wrap=true")) * 1000)
        grown = (rss_mib(spur.pid("spurctld")) - before) / 10
        shown = spur.out("squeue", "-h", "-o", "%i").split()
        assert any("[0-999999]" in s for s in shown), shown
    yield {"spur": statistics.median(times), "slurm": None, "unit": "ms for sbatch --array=0-999999", "better": "lower"}
    yield {"bench": "array_1m_memory", "spur": grown, "slurm": None, "unit": "MiB of controller memory per such array",
           "better": "lower"}


def cpu_ms(cluster, *args, count=200):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(count):
        quiet(cluster, *args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return used / count * 1000


def fork_cost(count=200):
    """What this program itself pays to start a child that does nothing: taken off, so that the figure is the command's own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(count):
        subprocess.run(["/bin/true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ((after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)) / count * 1000


def cli_cpu():
    with SpurCluster(cpus=4) as spur:
        spur.sbatch("-H", "--wrap=true")
        ours = {c: cpu_ms(spur, *a) for c, a in (("squeue", ["squeue"]), ("sbatch", ["sbatch", "-Q", "-H", "--wrap=true"]))}

    def slurm(c):
        c.run("sbatch", "-H", "--wrap=true")
        return {n: cpu_ms(c, *a) for n, a in (("squeue", ["squeue"]), ("sbatch", ["sbatch", "-Q", "-H", "--wrap=true"]))}
    theirs = with_slurm(slurm) or {}
    note = {"bin_true": round(fork_cost(), 3)}
    yield {"spur": ours["squeue"], "slurm": theirs.get("squeue"), "unit": "ms of CPU per squeue process", "better": "lower", **note}
    yield {"bench": "cli_cpu_sbatch", "spur": ours["sbatch"], "slurm": theirs.get("sbatch"),
           "unit": "ms of CPU per sbatch process", "better": "lower", **note}


def ctld_memory():
    with SpurCluster(cpus=4) as spur:
        hold_array_or_jobs(spur, 100000)
        ours = rss_mib(spur.pid("spurctld"))

    def slurm(c):
        hold_array_or_jobs(c, 20000)
        return rss_mib(c.pid("slurmctld")) * 5
    yield {"spur": ours, "slurm": with_slurm(slurm), "unit": "MiB with 100,000 pending jobs (Slurm: 5 x 20,000)", "better": "lower"}


def ctld_restart():
    def restart(cluster, daemon, sig):
        cluster.kill(daemon, sig)
        begin = time.perf_counter()
        cluster.start_controller()
        r = cluster.run("squeue", "-h", "-o", "%i")
        took = time.perf_counter() - begin
        return took, len(r.stdout.split())
    with SpurCluster(cpus=4) as spur:
        hold_array_or_jobs(spur, 100000)
        times = [restart(spur, "spurctld", s) for s in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)]
        assert all(n == 100000 for _, n in times), times

    def slurm(c):
        hold_array_or_jobs(c, 20000)
        c.kill("slurmctld")
        begin = time.perf_counter()
        c.start_controller()
        c.run("squeue", "-h", "-o", "%i")
        return (time.perf_counter() - begin) * 5
    yield {"spur": statistics.median(t for t, _ in times), "slurm": with_slurm(slurm),
           "unit": "s until a full squeue with 100,000 pending jobs (Slurm: 5 x 20,000)", "better": "lower"}


# Workload traces: SPUR_TRACES, or ../shared/traces beside the project. They are data, not part of it.
TRACES = pathlib.Path(os.environ.get("SPUR_TRACES", HERE.parents[1] / "shared/traces"))


def trace(name):
    path = TRACES / name
    if not path.exists():
        print(f"bench: {path} is missing; SPUR_TRACES names the directory with the traces", file=sys.stderr)
        return None
    return path


def simulate(*args):
    out = subprocess.run([str(BIN / "spur"), "simulate", "--json", *map(str, args)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


def quality_swf():
    """The default policy against EASY (textbook) on the same workload. Lower is better; `easy` is EASY's figure."""
    figures = (("wait_mean", "s of average wait"), ("slowdown_mean", "average bounded slowdown"),
               ("widest_wait_max", "s, longest wait of the widest tenth of the jobs"))
    for name, procs in (("CEA-Curie-2011-2.1-cln.swf.gz", 80640), ("CEA-Curie-2011-2.1-cln.swf.gz", 93312),
                        ("theta_walltime.swf.gz", 4392), ("LLNL-Atlas-2006-2.1-cln.swf.gz", 9216)):
        path = trace(name)
        if path is None:
            continue
        ours = simulate("--trace", path, "--procs", procs)
        easy = simulate("--trace", path, "--procs", procs, "--policy", "easy")
        what = {"slurm": None, "better": "lower", "trace": f"{name.split('.')[0]}@{procs}"}
        for key, unit in figures:
            yield {"spur": ours[key], "unit": unit, "easy": easy[key],
                   "to_easy": round(ours[key] / easy[key], 3) if easy[key] else None, **what}
        yield {"spur": round(ours["utilisation"], 4), "unit": "of the processors in use", "easy": round(easy["utilisation"], 4),
               **what, "better": "higher"}
        yield {"bench": "quality_swf_time", "spur": round(ours["total_seconds"], 2), "planning": round(ours["planning_seconds"], 2),
               "unit": f"s to replay {ours['jobs']} jobs through the planner", **what}


def quality_gpu():
    """GPUs allocated when pods ask for 130 % of them, mean of 10 random orders; `fgd` is what FGD's authors published."""
    nodes = trace("openb_node_list_gpu_node.csv.gz")
    for name, published in (("default", 95.39), ("gpushare40", 94.2)):
        pods = trace(f"openb_pod_list_{name}.csv.gz")
        if nodes is None or pods is None:
            continue

        def mean(policy):
            return statistics.mean(simulate("--trace", pods, "--nodes-file", nodes, "--fill", 130, "--policy", policy, "--seed", seed)
                                   ["gpu_allocation_percent"] for seed in range(1, 11))
        yield {"spur": round(mean("engine"), 3), "slurm": None, "unit": "% of all GPUs allocated", "workload": name,
               "fgd": published, "measure_alone": round(mean("default"), 3), "fgd_here": round(mean("fgd"), 3), "best_fit_here": round(mean("best-fit"), 3)}


def sched_scale():
    """The engine alone, one thread: CPU time per event and cycle, up to 100,000 nodes and a million pending jobs."""
    out = subprocess.run([BIN / "spur-bench-sched", "--table"], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        yield {**json.loads(line), "better": "lower"}


def topology():
    """Wide jobs on 64 random trees of switches; Slurm has no counterpart that can be asked without running jobs."""
    subprocess.run(["ninja", "-C", str(BIN.parent), "topology_bench"], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([BIN / "topology_bench"], check=True, capture_output=True, text=True).stdout
    count, share, each = re.match(r"(\d+) placements, ([\d.]+) % on the fewest leaves, ([\d.]+) us each", out).groups()
    yield {"spur": float(share), "unit": f"% of {count} placements on the fewest leaf switches possible"}
    yield {"bench": "topology_time", "spur": float(each), "unit": "us per placement", "better": "lower"}


def explain():
    """One `spur explain`, from the front of the queue to its end, on 1,000 nodes. Slurm has no counterpart."""
    subprocess.run(["ninja", "-C", str(BIN.parent), "explain_bench"], check=True, stdout=subprocess.DEVNULL)
    for jobs in (10_000, 100_000):
        out = subprocess.run([BIN / "explain_bench", "--jobs", str(jobs), "--questions", "12"], check=True,
                             capture_output=True, text=True).stdout
        told = [row for row in map(json.loads, out.splitlines()) if "place" in row]
        sure = sum(row["certainty"] != "expected" for row in told)
        yield {"bench": f"explain_{jobs // 1000}k", "spur": max(row["ms"] for row in told), "better": "lower",
               "unit": f"ms of CPU at worst, {sum(row['ms'] for row in told) / len(told):.0f} on average; "
                       f"{sure} of {len(told)} starts certain"}


def limits_cost():
    out = subprocess.run([BIN / "spur-bench-limits"], check=True, capture_output=True, text=True).stdout
    for name, value in (line.split() for line in out.splitlines()):
        yield {"bench": "limits_cost_" + name.rsplit("_", 1)[1], "spur": float(value), "slurm": None, "better": "lower",
               "unit": "ns for one look at all limits of a job and its start, with that many jobs of the same account running"}


def preempt():
    """Random clusters whose jobs push each other out: who goes in vain, what is lost, and what a cycle costs. Slurm
    has no counterpart that can be asked without running jobs."""
    def figures(*args):
        out = subprocess.run([BIN / "spur-bench-preempt", *args], check=True, capture_output=True, text=True).stdout
        return {name: float(value) for name, value in (line.split() for line in out.splitlines())}
    found = figures("states", os.environ.get("BENCH_STATES", "10000"))
    yield {"bench": "preempt_in_vain", "spur": found["in_vain"] + found["refused"], "better": "lower",
           "unit": f"of {found['preemptions']:.0f} preemptions in {found['states']:.0f} random states"}
    yield {"bench": "preempt_loss", "spur": found["loss_mean"], "better": "lower",
           "unit": f"x the least work lost possible, mean of {found['judged']:.0f}; worst {found['loss_worst']:.2f}"}
    cost = figures("cost")
    for nodes in (1_000, 10_000):
        yield {"bench": f"preempt_cycle_{nodes}", "spur": cost[f"cycle_ms_{nodes}"], "better": "lower",
               "unit": f"ms of CPU, {cost[f'preemptions_{nodes}']:.0f} preemptions with "
                       f"{cost[f'victims_{nodes}']:.0f} victims found ({cost[f'cycle_ms_without_{nodes}']:.1f} without)"}


ALL = {f.__name__: f for f in (sbatch_seq, sbatch_par8, submit_api, e2e_true, squeue_10k, query_benches.squeue_100k,
                               query_benches.sinfo_10k, query_benches.pollers, array_1m, cli_cpu, ctld_memory,
                               ctld_restart, acct_benches.acct_ingest, acct_benches.sacct_5m, sched_scale, sched_benches.sched_e2e,
                               sched_benches.sched_vs_slurm, quality_swf, quality_gpu, topology, explain, preempt, limits_cost,
                               ha_benches.failover, ha_benches.ha_submit, step_benches.srun_latency, step_benches.steps_rate, step_benches.srun_io)}
