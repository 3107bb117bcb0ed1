# SPDX-License-Identifier: Apache-2.0
"""Several controllers: how long users wait when the leader goes, and what durability on three costs. HA_ROUNDS says how often
the leader is taken away (kill -9, SIGSTOP, SIGSTOP together with its etcd, and, as root, a cut of its network, in turn)."""
import os
import sys
import time

from ha_cluster import HaCluster
from ha_net import NetHaCluster
from ha_rounds import CUT, KINDS, Rounds, histogram, percentile
from spur_cluster import BIN

ROUNDS = int(os.environ.get("HA_ROUNDS", "200"))


def failover():
    root = os.geteuid() == 0
    kinds = KINDS + [CUT] if root else KINDS
    # Every job is kept: those that were acknowledged are looked for in the end.
    settings = "terminal_job_retention_secs = 86400\nmax_job_count = 4000000"
    with (NetHaCluster if root else HaCluster)(nodes=2, cpus=16, controller=settings) as c:
        rounds = Rounds(c, rate=500)
        for i in range(ROUNDS):
            rounds.lose_leader(kinds[i % len(kinds)])
        rounds.finish()
        gaps = [gap for _, gap in rounds.gaps()]
        print("time without service", *histogram(gaps), sep="\n", file=sys.stderr)
        for kind in kinds:
            some = [gap for k, gap in rounds.gaps() if k == kind]
            if some:
                print(f"{kind:7s} p50 {percentile(some, .5):.2f} s, worst {max(some):.2f} s", file=sys.stderr)
        bad = rounds.violations()
        yield {"bench": "failover_p50", "spur": round(percentile(gaps, .5), 3), "unit": "s", "better": "lower",
               "losses": len(gaps), "acknowledged": len(rounds.acked), "violations": bad}
        yield {"bench": "failover_p99", "spur": round(percentile(gaps, .99), 3), "unit": "s", "better": "lower"}


def leader_env(c):
    leader = c.leader()
    return {"SPUR_CONTROLLER_ADDR": f"{c.address(leader)}:{c.port}", "SPUR_AUTH_SOCKET": f"{c.dir}/{leader}/auth.sock"}


def ha_submit():
    with HaCluster(nodes=1, failover_ms=1000) as c:
        best = 0.0
        for _ in range(3):
            out = c.run(BIN / "spur-submit-load", "--count", 20000, "--in-flight", 128, env=leader_env(c), timeout=300).stdout
            best = max(best, float(out.split()[0]))
        yield {"bench": "ha_submit", "spur": round(best, 1), "unit": "submits/s"}
        answers = c.dir / "one"
        c.run(BIN / "spur-ha-load", "--out", answers, "--rate", 0, "--threads", 1, "--count", 2000, timeout=300)
        times = [int(end) - int(begin) for begin, end, *_ in (line.split() for line in answers.read_text().splitlines())]
        yield {"bench": "ha_submit_latency_p50", "spur": round(percentile(times, .5) / 1000, 2), "unit": "ms", "better": "lower"}

