# SPDX-License-Identifier: Apache-2.0
"""Debian's Slurm with accounting on: slurmdbd over a MariaDB of its own, in the cluster's directory, no system service."""
import subprocess

from slurm_cluster import SlurmCluster
from spur_cluster import free_port, wait_until


class Database:
    """Beside a SlurmCluster, which has `dir`, `env`, `conf`, `run` and `_spawn`: its slurmdbd and MariaDB."""

    def prepare_database(self, port):
        (self.dir / "db").mkdir()
        dbd_conf = self.dir / "slurmdbd.conf"
        dbd_conf.write_text(f"""AuthType=auth/munge
AuthInfo=socket={self.dir}/munge/sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
LogFile={self.dir}/log/slurmdbd.log
PidFile={self.dir}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
TrackWCKey=yes
""")
        dbd_conf.chmod(0o600)
        (self.dir / "sbin" / "slurmdbd").symlink_to("/usr/sbin/slurmdbd")
        # The client library of MariaDB takes the socket's path from here.
        self.env["MYSQL_UNIX_PORT"] = str(self.dir / "db/sock")
        self.env["SLURM_CONF"] = str(self.conf)

    def start_database(self):
        if "mariadbd" in self.processes:
            return
        data = self.dir / "db/data"
        # Every MariaDB that starts removes temporary tables from there, others' too.
        temporary = self.dir / "db/tmp"
        temporary.mkdir()
        made = subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}",
                               "--auth-root-authentication-method=normal", "--skip-test-db"],
                              env={**self.env, "TMPDIR": str(temporary)}, text=True, capture_output=True)
        if made.returncode != 0:
            raise AssertionError(f"mariadb-install-db: exit {made.returncode}\n{made.stdout}{made.stderr}")
        self._spawn("mariadbd", "mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={self.dir}/db/sock",
                    f"--tmpdir={temporary}",
                    "--skip-networking", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
                    f"--pid-file={self.dir}/db/pid")
        wait_until(lambda: (self.dir / "db/sock").exists(), 60, "mariadbd")
        self._spawn("slurmdbd", self.dir / "sbin/slurmdbd", "-D")
        wait_until(lambda: self.run("sacctmgr", "-n", "show", "qos").returncode == 0, 60, "slurmdbd answers", 0.2)

    def sql(self, statements):
        """Straight into slurmdbd's database."""
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.dir}/db/sock", "slurm_acct_db"], input=statements, text=True,
                              capture_output=True, check=True).stdout

    def stop(self):
        for key in [k for k in self.processes if k.startswith("slurmd") and k != "slurmdbd"] + ["slurmctld", "slurmdbd", "mariadbd"]:
            if key in self.processes:
                try:
                    self.kill(key)
                except subprocess.TimeoutExpired:
                    pass
        super().stop()


class SlurmWithAccounting(Database, SlurmCluster):
    def __init__(self, extra="", **kw):
        self.port = free_port()
        super().__init__(extra="", **kw)
        text = self.conf.read_text()
        text = text.replace("AccountingStorageType=accounting_storage/none",
                            f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
                            f"AccountingStoragePort={self.port}\nAccountingStoragePass={self.dir}/munge/sock\n{extra}")
        self.conf.write_text(text)
        self.prepare_database(self.port)

    def start_controller(self):
        self.start_database()
        super().start_controller()
        wait_until(lambda: self.run("sacctmgr", "-nP", "show", "cluster", "format=controlport").stdout.strip() not in ("", "0"),
                   60, "the cluster registers", 0.2)
