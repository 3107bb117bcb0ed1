# SPDX-License-Identifier: Apache-2.0
"""The two clusters with accounting: Slurm over slurmdbd and MariaDB, Spur over spurdbd and SQLite. The rest as in sides.py.

Reports are of whole hours that are over. So the clusters live in a time zone of their own, in which it is a little before noon
when they start, and the scenario with the reports waits for noon."""
import datetime
import time

import sides
import slurm_accounting
from spur_cluster import BIN, free_port, wait_until

# Added to slurm.conf on both sides. Slurm gathers what processes use only every half minute, and what they use differs anyway.
ACCOUNTING = """AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment,job_script,job_env
TrackWCKey=yes
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=NONE
PriorityWeightFairshare=10000
"""


class Noon:
    """When it is noon where the clusters are. The jobs of the reports must have ended by then: in the first round there is time
    enough on a machine that is not too busy, in later rounds there is more."""
    SECONDS = 110

    def __init__(self, number):
        self.at = int(time.time()) + self.SECONDS * number

    def zone(self):
        """As TZ wants it: what is added to local time to get UTC."""
        utc = datetime.datetime.fromtimestamp(self.at, datetime.timezone.utc)
        seconds = (utc.hour - 12) * 3600 + utc.minute * 60 + utc.second
        hours, rest = divmod(abs(seconds), 3600)
        return f"DIF{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}:{rest % 60:02}"


def add_accounting(side, noon):
    side.noon = noon.at
    side.env["TZ"] = noon.zone()
    side.database_port = free_port()
    side.ports["DATABASE_PORT"] = side.database_port
    text = side.conf.read_text().replace(
        "AccountingStorageType=accounting_storage/none\n",
        "AccountingStorageType=accounting_storage/slurmdbd\n" + ACCOUNTING.format(port=side.database_port))
    side.conf.write_text(text)


def wait_for_cluster(side):
    """Until the controller has made itself known to the database."""
    wait_until(lambda: side.shell("sacctmgr -nP show cluster format=controlport")[0].strip() not in ("", "0"), 60,
               f"{side.name}: the cluster is registered", 0.2)


class SlurmAccountingSide(slurm_accounting.Database, sides.SlurmSide):
    def __init__(self, parent, noon):
        sides.SlurmSide.__init__(self, parent)
        add_accounting(self, noon)
        self.conf.write_text(self.conf.read_text() + f"AccountingStoragePass={self.dir}/munge/sock\n")
        self.prepare_database(self.database_port)

    def start_controller(self):
        self.start_database()
        super().start_controller()
        wait_for_cluster(self)


class SpurAccountingSide(sides.SpurSide):
    def __init__(self, parent, noon):
        super().__init__(parent)
        add_accounting(self, noon)

    def start_controller(self, wait=True):
        self._spawn("spurdbd", BIN / "spurdbd", "-D", "-f", self.conf)
        wait_until(lambda: self.shell("sacctmgr -n show qos")[2] == 0, 30, "spurdbd answers", 0.1)
        super().start_controller(wait=wait)
        wait_for_cluster(self)
