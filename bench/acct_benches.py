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

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/differential")]
import slurm_accounting  # noqa: E402
import slurm_cluster  # noqa: E402
from test_accounting import Postgres  # noqa: E402

LOAD = BIN / "spur-acct-load"
SIZE = int(os.environ.get("BENCH_ACCT_JOBS", "5000000"))
SLURM_SIZE = int(os.environ.get("BENCH_ACCT_SLURM_JOBS", "50000"))  # that slurmdbd's database can be filled with in reasonable time
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


def asked(env, *args, repeats=5, sacct=BIN / "sacct"):
    """The fastest of some runs, in milliseconds, and how many lines came."""
    best, lines = 1e9, 0
    for _ in range(repeats):
        begin = time.perf_counter()
        out = subprocess.run([str(sacct), "-n", "-P"] + [str(a) for a in args], env=env, check=True, capture_output=True).stdout
        best = min(best, time.perf_counter() - begin)
        lines = out.count(b"\n")
    return best * 1000, lines


# What spur-acct-load fills in, for slurmdbd: the same users, hours and states, straight into its table.
SLURM_ROWS = """SET SESSION sql_mode='';
INSERT INTO bench_job_table (job_db_inx, mod_time, account, `partition`, job_name, id_assoc, id_job, id_qos, id_resv, id_user, id_group,
 id_wckey, priority, state, timelimit, time_submit, time_eligible, time_start, time_end, nodelist, nodes_alloc, cpus_req, exit_code,
 tres_alloc, tres_req, work_dir, constraints, submit_line)
SELECT seq, 1735689600, CONCAT('account', seq MOD 50), 'debug', 'job', 2, seq, 1, 0, IF(seq MOD {users} = 42, 5, 10000 + seq MOD {users}), 100, 1, 100, 3, 60,
 1735689600 + FLOOR(seq * 31536000 / {size}), 1735689600 + FLOOR(seq * 31536000 / {size}), 1735689660 + FLOOR(seq * 31536000 / {size}),
 1735690260 + FLOOR(seq * 31536000 / {size}), 'n1', 1, 4, 0, '1=4,2=1000,4=1,5=4', '1=4,2=1000,4=1,5=4', '/', '', 'sbatch job.sh'
FROM seq_1_to_{size};
"""


def slurm_answers():
    """Milliseconds of the two questions with SLURM_SIZE jobs in slurmdbd; nothing where it cannot run."""
    if not slurm_cluster.available():
        return None
    with slurm_accounting.SlurmWithAccounting(nodes=4) as slurm:
        slurm.sql(SLURM_ROWS.format(users=USERS, size=SLURM_SIZE))
        one, lines = asked(slurm.env, "-X", "-j", SLURM_SIZE // 2, "-S", "2024-01-01", sacct="/usr/bin/sacct")
        assert lines == 1, lines
        # Debian's sacct takes only users that there are: games has the jobs of user 10042.
        month, lines = asked(slurm.env, "-X", "-u", "games", "-S", "2025-03-01", "-E", "2025-04-01", "-o", "jobid,state,elapsed",
                             sacct="/usr/bin/sacct")
        assert lines > 0
        return one, month


def against_slurm():
    """The same two questions on both, with as many jobs as slurmdbd was given."""
    theirs = slurm_answers()
    if theirs is None:
        return
    for ours in questions("sqlite", "", SLURM_SIZE):
        slurm = theirs[0 if "_job_" in ours["bench"] else 1]
        yield {**ours, "bench": ours["bench"].replace("sacct_5m", "sacct_slurmdbd"), "slurm": round(slurm, 1),
               "ratio": round(slurm / ours["spur"], 2), "jobs_in_database": SLURM_SIZE}


def questions(name, url, size=None):
    size = size or SIZE
    directory = pathlib.Path(tempfile.mkdtemp(prefix="spur-acct-"))
    (directory / "state").mkdir(mode=0o700)
    load("fill", url or f"sqlite:{directory}/state/accounting.sqlite", size, USERS)
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
        one, lines = asked(env, "-j", size // 2)
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
    yield from against_slurm()
    yield from questions("sqlite", "")
    server = Postgres()
    try:
        yield from questions("postgresql", server.url)
    finally:
        server.stop()
