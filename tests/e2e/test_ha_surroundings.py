# SPDX-License-Identifier: Apache-2.0
"""Several controllers in surroundings that are not as they should be: a full disk, a full etcd, an etcd of others, certificates
that are over, a part that is cut off; and clients that know one controller only."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.request

from ha_cluster import NAMES, HaCluster
from ha_rounds import Rounds
from spur_cluster import BIN, free_port, wait_until


class Etcd:
    """One of the site's own, over TCP."""

    def __init__(self, *more, scheme="http"):
        for _ in range(3):
            self.start(scheme, *more)
            try:
                return wait_until(self.serves, 20, "etcd serves", 0.1) and None
            except AssertionError:
                print("an etcd did not begin to serve:", (self.dir / "log").read_text()[-2000:], flush=True)
                self.stop()
        raise AssertionError("no etcd begins to serve")

    def start(self, scheme, *more):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="spur-etcd-"))
        self.port = free_port()
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{free_port()}"
        with open(self.dir / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name=e", f"--data-dir={self.dir}/data", f"--listen-client-urls={self.url}",
                 f"--advertise-client-urls={self.url}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                 f"--initial-cluster=e={peer}", *more], stdout=log, stderr=log)

    def serves(self):
        if "ready to serve client requests" not in (self.dir / "log").read_text(errors="replace"):
            return False
        if self.url.startswith("https:"):
            return True
        try:
            return b"true" in urllib.request.urlopen(self.url + "/health", timeout=2).read()
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)


class FullDisk(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "needs root: a small file system is mounted")
    def test_a_member_steps_aside_and_comes_back(self):
        c = HaCluster(nodes=1, cpus=4, failover_ms=1000)
        place = c.dir / "c1"
        place.mkdir(mode=0o711)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=220m,mode=0711", "tmpfs", place], check=True)
        try:
            c.start()
            fill = place / "fill"
            with open(fill, "wb") as out:
                try:
                    while True:
                        out.write(b"x" * 65536)
                        out.flush()
                except OSError:
                    pass
            rounds = Rounds(c, rate=100, threads=4, run_every=50)
            wait_until(lambda: f"the disk of {place}/etcd is full" in c.log("c1"), 120, "it says that its disk is full", 0.2)
            wait_until(lambda: any(c.role(n) == "primary" for n in ("c2", "c3")), 60, "another leads", 0.2)
            c.sbatch("-H", "--wrap", "true")
            fill.unlink()
            wait_until(lambda: "has room again" in c.log("c1"), 60, "it says that there is room", 0.2)
            rounds.finish()
            self.assertEqual(rounds.violations(), [])
            count = len(c.out("squeue", "-h", "-t", "all", "-o", "%i").split())
            wait_until(lambda: len(c.out("squeue", "-h", "-t", "all", "-o", "%i", env=c.at("c1")).split()) == count, 60,
                       "c1 has all jobs", 0.2)
        finally:
            c.stop()
            subprocess.run(["umount", "-l", place], check=False)
            shutil.rmtree(c.dir, ignore_errors=True)


class OthersEtcd(unittest.TestCase):
    def refused(self, c, *more):
        p = subprocess.run([BIN / "spurctld", "-D", "-f", c.conf, *map(str, more)], env=c.env, text=True, capture_output=True,
                           timeout=60)
        self.assertNotEqual(p.returncode, 0)
        return p.stderr

    def test_two_clusters_and_a_full_etcd(self):
        etcd = Etcd("--quota-backend-bytes=16777216")
        try:
            with HaCluster(nodes=1, failover_ms=1000, etcd=[etcd.url]) as c:
                self.assertGreater(c.sbatch("-H", "--wrap", "true"), 0)
                other = HaCluster(nodes=1, etcd=[etcd.url])
                try:
                    other.set_hosts(["c7", "c8", "c9"])
                    self.assertIn("two clusters on one etcd need different names",
                                  self.refused(other, "-N", "c7", "--state-dir", other.dir / "x"))
                    text = other.conf.read_text()
                    other.conf.write_text(text.replace('cluster_name = "test"', 'cluster_name = "other"'))
                    # The state of the first cluster, in the hands of the second.
                    shutil.copytree(c.dir / "c2", other.dir / "c7", ignore=shutil.ignore_patterns("*.sock*"))
                    self.assertIn("this etcd knows of no such cluster", self.refused(other, "-N", "c7", "--state-dir", other.dir / "c7"))
                finally:
                    other.stop()
                self.fill(c)
        finally:
            etcd.stop()

    def fill(self, c):
        script = c.dir / "big.sh"
        script.write_text("#!/bin/sh\n" + "# " + "x" * 1_000_000 + "\n")
        def full():
            p = c.run("sbatch", "-H", script, check=False, timeout=120)
            return p.returncode != 0 and p.stderr
        said = wait_until(full, 120, "etcd is full", 0)
        self.assertIn("space quota", said)
        self.assertIn("defragment", said)
        self.assertIn("debug", c.out("sinfo", "-h"))

    def certificate(self, place, days):
        """An authority and a certificate for 127.0.0.1 that is good for so many days from now."""
        def run(*words):
            subprocess.run(["openssl", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=place)
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", 30)
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=etcd")
        (place / "ext").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
        run("x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "own.pem", "-days", days,
            "-extfile", "ext")

    def test_certificates_that_are_over(self):
        place = pathlib.Path(tempfile.mkdtemp(prefix="spur-certs-"))
        etcd = None
        try:
            self.certificate(place, 20)
            good = (place / "own.pem").read_text()
            shutil.copytree(place, place / "good")
            subprocess.run(["openssl", "x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                            "over.pem", "-days", "-1", "-extfile", "ext"], check=True, cwd=place, stderr=subprocess.DEVNULL)
            etcd = Etcd(f"--cert-file={place}/over.pem", f"--key-file={place}/own.key", scheme="https")
            c = HaCluster(nodes=1, etcd=[etcd.url], controller=f'etcd_ca_file = "{place}/ca.pem"')
            try:
                c.start_one("c1")
                wait_until(lambda: "certificate" in c.log("c1"), 60, "it says that etcd's certificate is not good", 0.2)
                self.assertIn("expired, or of another authority", c.log("c1"))
                c.kill("c1", signal.SIGTERM)
                text = c.conf.read_text()
                c.conf.write_text(text.replace(f'etcd_ca_file = "{place}/ca.pem"', f'etcd_ca_file = "{place}/ca.pem"\n'
                                               f'etcd_cert_file = "{place}/over.pem"\netcd_key_file = "{place}/own.key"'))
                said = self.refused(c, "-N", "c1", "--state-dir", c.dir / "c1")
                self.assertRegex(said, re.escape(f"{place}/over.pem") + " is not valid any more .*renew it")
            finally:
                c.stop()
        finally:
            if etcd:
                etcd.stop()
            shutil.rmtree(place)


class Clients(unittest.TestCase):
    def test_who_knows_a_follower_only_reaches_the_leader(self):
        with HaCluster(nodes=1, failover_ms=1000) as c:
            follower = next(n for n in NAMES if n != c.leader())
            job = c.sbatch("-H", "--wrap", "true", env=c.at(follower))
            self.assertGreater(job, 0)
            c.run("scancel", job, env=c.at(follower))
            self.assertIn("JobState=CANCELLED", c.out("scontrol", "show", "job", job))
            # What was just written is there, wherever one asks.
            for _ in range(10):
                job = c.sbatch("-H", "--wrap", "true")
                for name in NAMES:
                    self.assertIn(f"JobId={job}", c.out("scontrol", "show", "job", job, env=c.at(name)))
                    self.assertEqual(c.out("squeue", "-h", "-j", job, "-o", "%i", env=c.at(name)).split(), [str(job)])
                c.run("scancel", job)
                for name in NAMES:
                    self.assertIn("JobState=CANCELLED", c.out("scontrol", "show", "job", job, env=c.at(name)))
            for consistent in ({"SPUR_CONSISTENT": "1"}, {}):
                job = c.sbatch("-H", "--wrap", "true")
                option = [] if consistent else ["--consistent"]
                shown = c.out("squeue", "-h", "-j", job, "-o", "%i", *option, env={**c.at(follower), **consistent})
                self.assertEqual(shown.split(), [str(job)])
                self.assertIn("debug", c.out("sinfo", "-h", *option, env={**c.at(follower), **consistent}))
                self.assertIn(f"JobId={job}", c.out("scontrol", *option, "show", "job", job, env={**c.at(follower), **consistent}))
            self.assertEqual(c.out("srun", "echo", "hello", env=c.at(follower)), "hello\n")

    def test_a_script_beyond_etcds_limit(self):
        with HaCluster(nodes=1, failover_ms=1000) as c:
            script = c.dir / "out" / "long.sh"
            script.write_text("#!/bin/sh\n" + ("# " + "y" * 997 + "\n") * 4000 + "echo long\n")
            job = c.sbatch("-o", "said", script)
            c.wait_state(job, "COMPLETED")
            self.assertEqual((c.dir / "out" / "said").read_text(), "long\n")
            c.kill(c.leader())
            c.run("scontrol", "write", "batch_script", job, "copy")
            self.assertEqual((c.dir / "out" / "copy").read_text(), script.read_text())


if __name__ == "__main__":
    unittest.main()
