# SPDX-License-Identifier: Apache-2.0
"""What `make quickstart` and `make down` do after the build, as whoever runs the tests and, with root, as an ordinary user."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

from spur_cluster import BIN, ROOT

USERS = [None, "games"] if os.geteuid() == 0 else [None]


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="spur-quickstart-"))
        self.base.chmod(0o777)
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)

    def run_it(self, *args, user=None, home=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SPUR"))}
        env.update(SPUR_BIN=str(BIN), HOME=str(home or self.base / "home"))
        become = ["setpriv", f"--reuid={user}", "--regid=60", "--init-groups"] if user else []
        return subprocess.run([*become, ROOT / "tools/quickstart", *args], env=env, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=300)

    def up(self, *args, **kw):
        r = self.run_it("up", *args, **kw)
        self.assertEqual((r.returncode, r.stderr), (0, ""), r.stdout)
        self.assertRegex(r.stdout, r"Submitted batch job \d+\n")
        self.assertRegex(r.stdout, r"hello +\w+ +R ")
        self.assertRegex(r.stdout, r"Hello from job \d+ on \S+ with 1 CPU\(s\)\n +Done at ")
        self.assertIn("Try next", r.stdout)
        self.assertNotIn("\033", r.stdout, "colours are for terminals")
        return r.stdout

    def test_twice_up_and_twice_down(self):
        for user in USERS:
            for words in ([], [str(self.base / f"a dir of {user}")]):
                with self.subTest(user=user, words=words):
                    how = dict(user=user, home=self.base / f"home-{user}")
                    try:
                        self.assertEqual(self.up(*words, **how).count(" started (pid "), 3)
                        self.assertEqual(self.up(*words, **how).count(" runs already (pid "), 3)
                    finally:
                        first, second = (self.run_it("down", *words, **how) for _ in range(2))
                    self.assertEqual((first.returncode, first.stdout.count("stopped ")), (0, 3))
                    self.assertEqual((second.returncode, second.stdout.count("is not running")), (0, 3))

    def test_a_port_that_is_in_use(self):
        """The first time another one is taken; so is it later, when the one that was chosen has gone to somebody else."""
        where = str(self.base / "x")
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", 6817))
                taken.listen()
            except OSError:
                pass  # somebody has it already: as good
            self.addCleanup(self.run_it, "down", where)
            self.up(where)
            self.run_it("down", where)
        conf = (pathlib.Path(where) / "etc/spur.conf").read_text()
        port = int(conf.split('listen_addr = "127.0.0.1:')[1].split('"')[0])
        self.assertNotEqual(port, 6817)
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            taken.listen()
            self.assertIn(f"port {port} is in use, taking ", self.up(where))

    def test_what_cannot_work_says_so(self):
        for words, said in ((["sideways"], "Usage: "), (["up", str(self.base / ("x" * 120))], "too long for the path of a socket"),
                            (["up", "/proc/nothing"], "/proc/nothing")):
            r = self.run_it(*words)
            self.assertNotEqual(r.returncode, 0, words)
            self.assertIn(said, r.stderr)


if __name__ == "__main__":
    unittest.main()
