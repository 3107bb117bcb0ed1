# SPDX-License-Identifier: Apache-2.0
"""Accounting: how fast records are taken in, and how fast sacct answers from a large database."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from spur_cluster import BIN, SpurCluster, free_port, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))
from test_accounting import Postgres  # noqa: E402

LOAD = BIN / "spur-acct-load"
SIZE = int(os.environ.get("BENCH_ACCT_JOBS", "5000000"))
USERS = 500


def load(*args):
    return float(subprocess.run([str(LOAD)] + [str(a) for a in args], check=True, capture_output=True, text=True).stdout)


def acct_ingest():
    with tempfile.TemporaryDirectory(prefix="spur-acct-") as directory:
        seconds = int(os.environ.get("BENCH_ACCT_SECONDS", "60"))
        yield {"bench": "acct_ingest_outbox", "spur": load("absorb", directory, 10000 * seconds, 10000), "unit": "job ends/s on disk"}
        yield {"bench": "acct_ingest_sqlite", "spur": load("drain", f"sqlite:{directory}/a.sqlite", 200000), "unit": "jobs/s"}
    server = Postgres()
    try:
        yield {"bench": "acct_ingest_postgresql", "spur": load("drain", server.url, 200000), "unit": "jobs/s"}
    finally:
        server.stop()


def asked(env, *args, repeats=5):
    """The fastest of some runs, in milliseconds, and how many lines came."""
    best, lines = 1e9, 0
    for _ in range(repeats):
        begin = time.perf_counter()
        out = subprocess.run([str(BIN / "sacct"), "-n", "-P"] + [str(a) for a in args], env=env, check=True, capture_output=True).stdout
        best = min(best, time.perf_counter() - begin)
        lines = out.count(b"\n")
    return best * 1000, lines


def questions(name, url):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="spur-acct-"))
    (directory / "state").mkdir(mode=0o700)
    load("fill", url or f"sqlite:{directory}/state/accounting.sqlite", SIZE, USERS)
    port = free_port()
    conf = directory / "spur.conf"
    conf.write_text(f"""cluster_name = "bench"
[controller]
listen_addr = "127.0.0.1:{free_port()}"
hosts = ["127.0.0.1"]
state_dir = "{directory}/state"
[accounting]
host = "127.0.0.1"
listen_addr = "127.0.0.1:{port}"
{f'database_url = "{url}"' if url else ''}
[[partitions]]
name = "debug"
default = true
nodes = "ALL"
[[nodes]]
names = "n1"
""")
    env = {**os.environ, "SPUR_CONF": str(conf)}
    daemon = subprocess.Popen([str(BIN / "spurdbd"), "-D", "-f", str(conf)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: subprocess.run([str(BIN / "sacct"), "-j", "1"], env=env, capture_output=True).returncode == 0, 60, "spurdbd answers")
        one, lines = asked(env, "-j", SIZE // 2)
        assert lines == 1, lines
        yield {"bench": f"sacct_5m_job_{name}", "spur": round(one, 1), "unit": "ms", "better": "lower"}
        month, lines = asked(env, "-X", "-u", "10042", "-S", "2025-03-01", "-E", "2025-04-01", "-o", "jobid,state,elapsed")
        assert lines > 0
        yield {"bench": f"sacct_5m_month_{name}", "spur": round(month, 1), "unit": "ms", "better": "lower", "jobs": lines}
    finally:
        daemon.terminate()
        daemon.wait(30)
        shutil.rmtree(directory, ignore_errors=True)


def sacct_5m():
    yield from questions("sqlite", "")
    server = Postgres()
    try:
        yield from questions("postgresql", server.url)
    finally:
        server.stop()
