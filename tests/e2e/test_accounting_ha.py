# SPDX-License-Identifier: Apache-2.0
"""Records for accounting when controllers come and go: one that got the state whole from another has none of the records that
were made before, and leads."""
import shutil
import signal
import sqlite3
import unittest

from ha_cluster import NAMES, HaCluster
from spur_cluster import BIN, free_port, wait_until

JOBS = 60
SCRIPT = "#!/bin/sh\n" + "# so that the log grows and is cut\n" * 2800  # 100 kB


def numbers(path):
    """Of the records in a controller's spool."""
    with sqlite3.connect(f"file:{path}/outbox.sqlite?mode=ro", uri=True) as spool:
        return [row[0] for row in spool.execute("SELECT number FROM outbox ORDER BY number")]


class AccountingOfSeveral(unittest.TestCase):
    def cluster(self, **kw):
        self.dbd_port = free_port()
        return HaCluster(nodes=1, failover_ms=1000, controller="snapshot_mb = 1",
                         extra=f'[accounting]\nhost = "127.0.0.1"\nlisten_addr = "127.0.0.1:{self.dbd_port}"\n', **kw)

    def submit(self, c, count):
        (c.dir / "large.sh").write_text(SCRIPT)
        return [c.sbatch("-H", c.dir / "large.sh") for _ in range(count)]

    def replace(self, c, victim):
        """The controller's disk is lost."""
        c.kill(victim, signal.SIGTERM)
        shutil.rmtree(c.dir / victim)
        c.run("spur", "controllers", "remove", victim)
        c.run("spur", "controllers", "add", f"{victim}({c.address(victim)})")
        c.start_one(victim)
        wait_until(lambda: c.role(victim), 60, "it is back", 0.1)

    def make_lead(self, c, name):
        for _ in range(20):
            leader = wait_until(lambda: c.leader(), 60, "one leads", 0.1)
            if leader == name:
                return
            c.kill(leader, signal.SIGTERM)
            wait_until(lambda: c.leader() not in (None, leader), 60, "another leads", 0.1)
            c.start_one(leader)
            wait_until(lambda: c.role(leader), 60, "it is back", 0.1)
        self.fail(f"{name} never came to lead")

    def recorded(self, c, where):
        with sqlite3.connect(f"file:{c.dir}/{where}/accounting.sqlite?mode=ro", uri=True) as database:
            return [row[0] for row in database.execute("SELECT job FROM job ORDER BY job")]

    def test_records_from_before_its_time(self):
        with self.cluster() as c:
            jobs = self.submit(c, JOBS)  # nobody takes the records
            victim = next(n for n in NAMES if n != c.leader())
            other = next(n for n in NAMES if n not in (victim, c.leader()))
            wait_until(lambda: len(numbers(c.dir / other)) >= JOBS, 30, "all have the records", 0.1)
            self.replace(c, victim)
            wait_until(lambda: "from other controllers" in c.log(victim), 60, "it asks for what it missed", 0.1)
            have = numbers(c.dir / victim)
            self.assertEqual(have, list(range(1, have[-1] + 1)))
            # Also if it lost them again: before they are sent.
            with sqlite3.connect(c.dir / victim / "outbox.sqlite") as spool:
                spool.execute(f"DELETE FROM outbox WHERE number BETWEEN 5 AND {JOBS // 2}")
            self.make_lead(c, victim)
            jobs += self.submit(c, 3)
            c._spawn("spurdbd", BIN / "spurdbd", "-D", "-f", c.conf, "--state-dir", c.dir / other)
            wait_until(lambda: (c.dir / other / "accounting.sqlite").exists() and self.recorded(c, other) == sorted(jobs), 60,
                       "the database has every job once", 0.2)
            self.assertNotIn("are lost", c.log(victim))
            # Whoever follows lets go of what the database has.
            wait_until(lambda: all(not numbers(c.dir / name) for name in NAMES), 60, "the spools are empty", 0.5)


if __name__ == "__main__":
    unittest.main()
