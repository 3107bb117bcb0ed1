# SPDX-License-Identifier: Apache-2.0
"""What must differ is made equal here, and only that; README.md lists it. And the known differences."""
import dataclasses
import re

from scenario import JOB

# Each keeps the width of what it replaces, so that columns still tell whether they are aligned.
RULES = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "YYYY-MM-DDTHH:MM:SS"),
    (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \d{4}",
     "Day Mon DD HH:MM:SS YYYY"),
    (r"\b1[789]\d{8}\b", "UNIXSECOND"),
    (r"\b(00:0)\d:\d\d\b", r"\1M:SS"),
    (r"(AllocNode:Sid=)\S+", r"\1HOST:SID"),
    (r"(CPULoad=)\S+", r"\1LOAD"),
    (r"(FreeMem=)\S+", r"\1FREE"),
    (r"\bslurm-wlm (?=\d)", "slurm "),  # the name of Debian's package
    (r"\b(?:22\.05\.8|25\.05\.0)\b", "VV.VV.V"),
]


# Run times as squeue and scontrol show them. What looks the same where exit codes are shown is a signal.
RUN_TIME = r"(?<![\d:-])(?<!Code=)0:\d\d(?![\d:])"
SHOWS_EXIT_CODES = re.compile(r"\bsacct |exit_code|DerivedEC")


class Normaliser:
    def __init__(self, side, jobs):
        self.side, self.jobs = side, jobs

    def text(self, text, digits=False, command=""):
        text = text.replace(str(self.side.dir), "/DIR")
        for name, port in self.side.ports.items():
            text = re.sub(rf"\b{port}\b", name, text)
        for pattern, into in RULES:
            text = re.sub(pattern, into, text)
        if not SHOWS_EXIT_CODES.search(command):
            text = re.sub(RUN_TIME, "0:SS", text)
        if digits:  # also those of jobs: what looks like a job's number may be a number of seconds
            return re.sub(r"\d+ *", "9 ", text)
        return JOB.sub(lambda m: self.jobs.get(m[1], m[1]), text)


@dataclasses.dataclass
class Known:
    """A difference that is meant: which commands, why, and how Slurm's answer is rewritten into ours."""
    name: str
    reason: str = ""
    command: str = ""
    rewrites: list = dataclasses.field(default_factory=list)  # (of ours?, pattern, text)
    whole: bool = False
    chance: bool = False  # may or may not be met in a run
    used: int = 0
    used_rewrites: list = dataclasses.field(default_factory=list)  # places in `rewrites` of those that changed something


def read_known(path):
    known = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            known.append(Known(line.strip("[]")))
            continue
        key, _, value = line.partition(": ")
        if key == "reason":
            known[-1].reason = value
        elif key == "command":
            known[-1].command = value
        elif key in ("rewrite", "rewrite ours"):
            pattern, _, into = value.partition(" -> ")
            known[-1].rewrites.append((key == "rewrite ours", pattern, into.replace("\\n", "\n")))
        elif key == "whole":
            known[-1].whole = True
        elif key == "by chance":
            known[-1].chance = True
        else:
            raise ValueError(f"{path.name}:{number}: {line}")
    for entry in known:
        if not (entry.reason and entry.command and (entry.rewrites or entry.whole)):
            raise ValueError(f"{path.name}: [{entry.name}] lacks a reason, a command or a rewrite")
    return known


NUMBER = re.compile(r" *(\d+(?:\.\d+)?)")


def with_near_numbers(theirs, ours, most):
    """Slurm's answer with our numbers in place of those that are near enough: times differ by a moment on two clusters."""
    def one(their_text, our_text):
        if not isinstance(their_text, str) or NUMBER.sub("9", their_text) != NUMBER.sub("9", our_text):
            return their_text
        pairs = zip(NUMBER.findall(their_text), NUMBER.findall(our_text))
        return our_text if all(abs(float(a) - float(b)) <= most for a, b in pairs) else their_text
    return tuple(one(a, b) for a, b in zip(theirs, ours))


def rewritten(answer, pattern, into):
    out, err, status = answer
    if pattern.startswith("status "):
        return (out, err, int(into)) if status == int(pattern.split()[1]) else answer
    return re.sub(pattern, into, out, flags=re.M), re.sub(pattern, into, err, flags=re.M), status


def judge(theirs, ours, scenario, command, known):
    """equal, listed or unexplained. `theirs` and `ours` are (out, err, status), made comparable already."""
    if theirs == ours:
        return "equal"
    used = []
    for entry in known:
        if not re.search(entry.command, f"{scenario}: {command}"):
            continue
        if entry.whole:
            entry.used += 1
            return "listed"
        for i, (of_ours, pattern, into) in enumerate(entry.rewrites):
            before = (theirs, ours)
            if of_ours:
                ours = rewritten(ours, pattern, into)
            else:
                theirs = rewritten(theirs, pattern, into)
            if (theirs, ours) != before:
                used.append((entry, i))
    if theirs != ours:
        return "unexplained"
    for entry, i in used:
        entry.used += 1
        entry.used_rewrites += [i] * (i not in entry.used_rewrites)
    return "listed"
