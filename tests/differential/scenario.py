# SPDX-License-Identifier: Apache-2.0
"""Scenarios: plain text, a step a line. README.md describes the lines."""
import dataclasses
import re
import time

JOB = re.compile(r"(?<![A-Za-z0-9.])([5-7]\d{3})(?![\dMGK])")  # numbers of jobs, see FirstJobId in slurm.conf


@dataclasses.dataclass
class Step:
    verb: str  # $, do, wait, file, cluster, undo, cut, boot
    text: str
    user: str | None = None
    digits: bool = False  # compare without digits
    near: int | None = None  # numbers may differ by this much
    body: str = ""
    line: int = 0


@dataclasses.dataclass
class Result:
    step: Step
    command: str  # as written
    out: str
    err: str
    status: int


def parse(path):
    steps, lines = [], path.read_text().split("\n")
    i = 0
    while i < len(lines):
        line, number = lines[i].rstrip(), i + 1
        i += 1
        if not line or line.startswith("#"):
            continue
        verb, _, rest = line.partition(" ")
        step = Step(verb, rest.strip(), line=number)
        if verb.startswith("$"):
            mark = re.fullmatch(r"\$(#?)(?:~(\d+))?(?:\[(\w+)\])?", verb)
            if not mark:
                raise ValueError(f"{path.name}:{number}: {line}")
            step.verb, step.digits, step.user = "$", bool(mark[1]), mark[3]
            step.near = int(mark[2]) if mark[2] else None
        elif verb in ("file", "cluster"):
            body = []
            while lines[i] != "end":
                body.append(lines[i])
                i += 1
            i += 1
            step.body = "\n".join(body) + "\n" if body else ""
        elif verb not in ("do", "wait", "undo", "cut", "boot"):
            raise ValueError(f"{path.name}:{number}: unknown step {verb}")
        steps.append(step)
    return steps


class Run:
    """One scenario on one side."""

    def __init__(self, side, steps):
        self.side, self.steps, self.results = side, steps, []
        self.jobs = {}  # number: the name that it gets, from the step that showed it first

    def fill(self, text):
        def job(match):
            number = int(match[1])
            if number > len(self.jobs):
                raise AssertionError(f"{self.side.name}: there is no job {{{number}}}; so far: {list(self.jobs)}")
            return list(self.jobs)[number - 1]
        return re.sub(r"\{(\d+)\}", job, text)

    def see(self, text):
        new = 0
        for found in JOB.findall(re.sub(r"AllocNode:Sid=\S+|FreeMem=\d+|\d{4}-\d\d-\d\d", "", text)):
            if found not in self.jobs:
                self.jobs[found] = f"J{self.at % 100:02}{chr(ord('a') + new % 26)}"
                new += 1

    def wait_noon(self):
        left = self.side.noon - time.time()
        if left < 0:
            raise AssertionError(f"{self.side.name}: it has been noon for {-left:.0f} s: the machine was too busy")
        time.sleep(left + 1)

    def wait(self, words):
        what, rest = words[0], words[1:]
        if what == "noon":  # accounting_sides.py
            return self.wait_noon()
        if what == "job":  # wait job {1} RUNNING|COMPLETED
            job, states = rest[0], rest[1].split("|")
            met = lambda: self.side.job_state(job) in states  # noqa: E731
        elif what == "reason":  # wait reason {1} Resources
            job, reasons = rest[0], rest[1].split("|")
            met = lambda: self.side.reason(job) in reasons  # noqa: E731
        elif what == "node":  # wait node n1 drained
            met = lambda: f"{rest[0]} {rest[1]}" in self.side.node_states()  # noqa: E731
        elif what == "file":  # wait file slurm-{1}.out
            met = lambda: (self.side.work / rest[0]).exists()  # noqa: E731
        elif what == "output":  # wait output WORD of COMMAND
            met = lambda: rest[0] in self.side.shell(" ".join(rest[2:]))[0]  # noqa: E731
        else:
            raise AssertionError(f"wait for {what}?")
        end = time.monotonic() + 90
        while not met():
            if time.monotonic() > end:
                raise AssertionError(f"{self.side.name}: in vain: wait {' '.join(words)}")
            time.sleep(0.05)

    def step(self, step):
        text = self.fill(step.text)
        if step.verb == "file":
            path = self.side.work / text
            path.write_text(self.fill(step.body))
            path.chmod(0o755)
        elif step.verb == "cluster":  # select_sides.py
            self.side.renew(step.body)
        elif step.verb == "wait":
            self.wait(text.split())
        elif step.verb == "cut":
            self.side.cut(text)
        elif step.verb == "boot":
            self.side.boot(text)
        elif step.verb in ("do", "undo"):
            out, err, _ = self.side.shell(text)
            self.see(out)
            self.see(err)
        else:
            if hasattr(self.side, "settle"):
                self.side.settle()
            out, err, status = self.side.shell(text, step.user)
            self.see(out)
            self.see(err)
            self.results.append(Result(step, step.text, out, err, status))

    def run(self):
        """Results as far as it got; the error that stopped it, if any. What must be undone is undone in any case."""
        error = None
        try:
            self.side.reset()
            for self.at, step in enumerate(self.steps, 1):
                if step.verb != "undo":
                    self.step(step)
        except Exception as e:  # noqa: BLE001
            error = str(e)
        for step in self.steps:
            if step.verb == "undo":
                try:
                    self.step(step)
                except Exception as e:  # noqa: BLE001
                    error = error or str(e)
        return error
