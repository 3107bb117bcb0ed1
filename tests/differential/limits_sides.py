# SPDX-License-Identifier: Apache-2.0
"""The two clusters of run-limits: those of sides.py, with accounting on and limits in force."""
import subprocess

from sides import BIN, Side, SlurmSide, SpurSide, free_port, wait_until
from slurm_accounting import SlurmWithAccounting

ACCOUNTING = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStorageTRES=gres/gpu,license/lic
{enforce}TrackWCKey=yes
"""
ENFORCE = "associations,limits,qos"


class Limited(Side):
    def prepare(self, name, parent):
        super().prepare(name, parent)
        self.dbd_port = free_port()
        self.plain_conf = self.conf.read_text().replace("AccountingStorageType=accounting_storage/none\n", "")
        self.write(ENFORCE, "")

    def write(self, enforce, extra):
        enforce = f"AccountingStorageEnforce={enforce}\n" if enforce else ""
        self.conf.write_text(ACCOUNTING.format(port=self.dbd_port, enforce=enforce) + self.extra + self.plain_conf + extra)

    def configure(self, words):
        """Other settings, and the controller anew: "Key=value Key=value", of which AccountingStorageEnforce replaces its own."""
        settings = dict(word.split("=", 1) for word in words.split())
        enforce = settings.pop("AccountingStorageEnforce", ENFORCE)
        replaced = self.plain_conf
        for key in settings:
            replaced = "\n".join(line for line in replaced.split("\n") if not line.startswith(key + "="))
        keep, self.plain_conf = self.plain_conf, replaced
        self.write(enforce, "".join(f"{k}={v}\n" for k, v in settings.items()))
        self.plain_conf = keep
        self.end_controller()
        self.start_controller()
        self.wait_idle()



class LimitedSlurm(Limited, SlurmSide):
    def __init__(self, parent):
        self.extra = f"AccountingStoragePass={parent}/a/munge/sock\n"
        SlurmSide.__init__(self, parent)
        (self.dir / "db").mkdir()
        self.dbd_conf = self.dir / "slurmdbd.conf"
        self.dbd_conf.write_text(f"""AuthType=auth/munge
AuthInfo=socket={self.dir}/munge/sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={self.dbd_port}
SlurmUser=root
LogFile={self.dir}/log/slurmdbd.log
PidFile={self.dir}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
TrackWCKey=yes
""")
        self.dbd_conf.chmod(0o600)
        (self.dir / "sbin" / "slurmdbd").symlink_to("/usr/sbin/slurmdbd")
        self.env["MYSQL_UNIX_PORT"] = str(self.dir / "db/sock")

    start_database = SlurmWithAccounting.start_database

    def start_controller(self):
        if "mariadbd" not in self.processes:
            self.start_database()
        SlurmSide.start_controller(self)
        wait_until(lambda: self.run("sacctmgr", "-nP", "show", "cluster", "format=controlport").stdout.strip() not in ("", "0"),
                   60, "the cluster registers", 0.2)

    def end_controller(self):
        self.kill("slurmctld")

    def stop(self):
        for key in [k for k in self.processes if k.startswith("slurmd-")] + ["slurmd", "slurmctld", "slurmdbd", "mariadbd"]:
            if key in self.processes:
                try:
                    self.kill(key)
                except subprocess.TimeoutExpired:
                    pass
        SlurmSide.stop(self)


class LimitedSpur(Limited, SpurSide):
    extra = ""

    def __init__(self, parent):
        SpurSide.__init__(self, parent)

    def start(self):
        self._spawn("spurdbd", BIN / "spurdbd", "-D", "-f", self.conf)
        return SpurSide.start(self)

    def start_controller(self, wait=True):
        SpurSide.start_controller(self, wait=wait)
        wait_until(lambda: "root" in self.shell("sshare -anP -o User")[0].split("\n"), 60, "the cluster has its accounts", 0.1)

    def end_controller(self):
        self.kill("spurctld")
