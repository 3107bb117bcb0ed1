# SPDX-License-Identifier: Apache-2.0
"""Every option of every command with values that nobody should give: missing, empty, huge, negative, not UTF-8, hostile to
a shell, full of terminal escapes. A command may refuse, with a sentence on stderr and one of Slurm's exit statuses, or take the
value; it may not crash, hang, run anything, or pass control characters on to the terminal. The options are read from the
tables in src/cli, so that a new one is tested without being named here."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import unittest

from spur_cluster import BIN, SpurCluster, free_port

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src" / "cli"
JOB_COMMANDS = {"sbatch": "kSbatch", "srun": "kSrun", "salloc": "kSalloc"}
COMMANDS = ["sacct", "sacctmgr", "sattach", "sbcast", "scancel", "scontrol", "sdiag", "scrontab", "sgather", "sinfo", "sprio", "squeue",
            "sreport", "sshare", "sstat", "strigger"]
MISSING = object()
VALUES = {
    "missing": MISSING,
    "empty": b"",
    "huge": b"9" * 4000,
    "long": b"x" * 70000,
    "negative": b"-5",
    "zero": b"0",
    "not UTF-8": b"\xff\xfe\x80",
    "escapes": b"\x1b[31mred\x1b]0;title\x07",
    "shell": b"$(touch pwned);`touch pwned`|touch pwned&'\"\\",
    "format": b"%n%s%999d%%",
    "list": b",,;,:=@+-",
    "brackets": b"n[1-99999999999]",
}
# What Slurm's commands end with: all well, an error, sbatch's and srun's -1, scancel's last byte of an error's number.
STATUSES = {0, 1, 2, 191, 255}
ROW = re.compile(r"""\{\{"(?P<name>[a-z][\w-]*)"\s*,\s*(?:'(?P<letter>.)'|0)\s*,?\s*(?P<takes>[VNM])?""")
SECONDS = 20


def options_of(command):
    """(name, letter or None, takes) of each option, from its table."""
    if command in JOB_COMMANDS:
        rows = []
        for line in (SOURCE / "job_options.cc").read_text().split("\n"):
            found = ROW.search(line)
            rest = line[found.end():] if found else ""
            where = re.search(r"\}, *((?:k\w+ ?\|? ?)+)", rest)
            if found and (not where or "kBoth" in where[1] or JOB_COMMANDS[command] in where[1]):
                rows.append(found)
    else:
        table = SOURCE / f"{command}_options.cc"  # where the table has a file of its own
        rows = list(ROW.finditer((table if table.exists() else SOURCE / f"cmd_{command}.cc").read_text()))
    return [(m["name"], m["letter"], m["takes"] or "N") for m in rows]


def readable(text):
    """Whether nothing in it moves a terminal's cursor or changes its colours."""
    return not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", text.replace(b"\r\n", b"\n"))


class OptionValues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, memory_mb=1000).__enter__()
        cls.work = cls.c.dir / "out"
        (cls.work / "ok.sh").write_text("#!/bin/sh\ntrue\n")
        # For commands that would run something: a controller that is not there.
        cls.nobody = cls.c.dir / "nobody.conf"
        cls.nobody.write_text(f'cluster_name = "test"\n[controller]\nlisten_addr = "127.0.0.1:{free_port()}"\nhosts = ["127.0.0.1"]\n'
                              f'state_dir = "{cls.c.dir}/nobody"\n[[partitions]]\nname = "debug"\nnodes = "ALL"\n')

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def line(self, command, words):
        """What is asked of each command besides: something harmless that ends by itself."""
        binary = os.fsencode(BIN / command)
        if command == "sbatch":
            return [binary, b"-H", *words, b"ok.sh"]
        if command in ("srun", "salloc"):
            return [binary, *words, b"true"]
        if command == "scontrol":
            return [binary, *words, b"show", b"hostnames", b"n1"]
        if command == "sacctmgr":
            return [binary, *words, b"show", b"cluster"]
        if command == "sreport":
            return [binary, *words, b"cluster", b"utilization"]
        return [binary, *words]

    def check(self, command, option, words, value):
        env = dict(self.c.env)
        if command in ("srun", "salloc"):
            env["SPUR_CONF"] = str(self.nobody)
        line = self.line(command, words)
        if value is MISSING:
            line = line[:1] + words
        try:
            r = subprocess.run(line, env=env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"{line}: still running after {SECONDS} s"
        if r.returncode not in STATUSES:
            return f"{line}: status {r.returncode}\n{r.stderr[:300]}"
        if r.returncode != 0 and not r.stderr.strip() and b"-Q" not in words and b"--quiet" not in words:
            return f"{line}: status {r.returncode} and not a word"
        # A format is the user's own text for his own terminal: what he typed into it is printed as he typed it.
        if option != "format" and not (readable(r.stdout) and readable(r.stderr)):
            return f"{line}: control characters\n{r.stdout[:300]}{r.stderr[:300]}"
        return None

    def cases(self, command):
        for name, letter, takes in options_of(command):
            if takes == "N":
                yield name, [os.fsencode(f"--{name}=x")], b"x"  # takes none
                continue
            for value in VALUES.values():
                if value is MISSING:
                    if takes == "V":
                        yield name, [os.fsencode(f"--{name}")], value
                    continue
                yield name, [os.fsencode(f"--{name}=") + value], value
                if letter and value:
                    yield name, [os.fsencode(f"-{letter}") + value], value

    def skip(self, command, name):
        # They wait for what does not come, by their nature.
        return (command, name) in {("squeue", "iterate"), ("sinfo", "iterate"), ("squeue", "watch")}

    def everything_of(self, command):
        cases = [c for c in self.cases(command) if not self.skip(command, c[0])]
        self.assertGreater(len(cases), 5, f"the table of {command} was not understood")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            wrong = [w for w in pool.map(lambda c: self.check(command, *c), cases) if w]
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(cases)}")
        self.assertFalse((self.work / "pwned").exists(), "a value was run")
        self.c.run("scontrol", "ping")


def add(command):
    setattr(OptionValues, f"test_{command}", lambda self: self.everything_of(command))


for each in [*COMMANDS, *JOB_COMMANDS]:
    add(each)


class Names(unittest.TestCase):
    """Names with terminal escapes are shown harmlessly by whatever shows names."""

    def test_escapes(self):
        evil = "a\x1b[31mb\x1b]0;x\x07c"
        with SpurCluster(nodes=1, cpus=4, memory_mb=1000) as c:
            job = c.sbatch("-H", "-J", evil, f"--comment={evil}", f"--wckey={evil}", f"--account={evil}", "--wrap", "true")
            c.run("scontrol", "update", "nodename=n1", "state=drain", f"reason={evil}", check=False)
            for line in (["squeue"], ["squeue", "-o", "%j %k %a %Z"], ["squeue", "-O", "Name:40,Comment:40,Account:40"],
                         ["squeue", "--json"], ["squeue", "--yaml"], ["scontrol", "show", "job", job],
                         ["scontrol", "-o", "show", "job", job], ["scontrol", "--json", "show", "job", job], ["sprio"],
                         ["sprio", "-o", "%i %o %u"], ["sinfo", "-R"], ["sinfo", "-N", "-l"], ["sinfo", "-o", "%E %n"],
                         ["scontrol", "show", "node"], ["scontrol", "--json", "show", "node"],
                         ["sstat", "-j", job], ["sacct"], ["scancel", "-v", "-n", evil, "-u", "games"]):
                r = c.run(*line, check=False)
                self.assertTrue(readable(r.stdout.encode()) and readable(r.stderr.encode()), f"{line}: {r.stdout!r}{r.stderr!r}")


if __name__ == "__main__":
    unittest.main()
