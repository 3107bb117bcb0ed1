# SPDX-License-Identifier: Apache-2.0
"""The parts of the comparison: which scenarios run on which pair of clusters. Each part is played by a process of its own (see
run), which prints what differs and hands its figures back as JSON.

A scenario in which something differs is played again, on clusters that are new, up to three times in all. What differs every
time is unexplained. What came and went depended on the moment; it is told, with its count, and does not count."""
import contextlib
import dataclasses
import difflib
import json
import os
import pathlib
import shutil
import sys
import threading
import time

import accounting_sides
import compare
import fair_trees
import processes
import scenario
import select_sides
import sides

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
COUNTED = ("compared", "equal", "listed", "unexplained")


@dataclasses.dataclass(frozen=True)
class Part:
    folder: str  # of scenarios; "" if there are none
    listed: str  # the file of differences that are meant
    make: object  # (parent, round) to the two sides
    in_order: bool = False  # scenarios build on each other


def command_sides(parent, _):
    return sides.SlurmSide(parent), sides.SpurSide(parent)


def accounting_pair(parent, number):
    noon = accounting_sides.Noon(number)
    return accounting_sides.SlurmAccountingSide(parent, noon), accounting_sides.SpurAccountingSide(parent, noon)


def select_pair(parent, _):
    return select_sides.SlurmSelectSide(parent), select_sides.SpurSelectSide(parent)


PARTS = {
    "commands": Part("scenarios", "known-differences.txt", command_sides),
    "accounting": Part("accounting", "accounting-known.txt", accounting_pair, in_order=True),
    "reports": Part("reports", "accounting-known.txt", accounting_pair, in_order=True),
    "select": Part("select", "select-known.txt", select_pair),
    "trees": Part("", "", accounting_pair),
}


def with_scenarios(wanted):
    """The parts that are needed for these scenarios; all parts for none."""
    return [name for name, part in PARTS.items()
            if not wanted or part.folder and any((HERE / part.folder / f"{word}.txt").exists() for word in wanted)]


def both(action, *actors):
    """Runs action on both sides at once; the first error is raised here."""
    results, errors = [None] * len(actors), []

    def one(i):
        try:
            results[i] = action(actors[i])
        except BaseException as e:  # noqa: BLE001
            errors.append(e)
    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(len(actors))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def shown(parts):
    out, err, status = parts
    return [f"| {line}" for line in out.split("\n")[:-1]] + [f"! {line}" for line in err.split("\n")[:-1]] + \
        ([] if out.endswith("\n") or not out else ["\\ no newline"]) + [f"= {status}"]


def print_difference(name, row):
    step, (theirs, ours), _ = row
    print(f"--- {name}:{step.line}: {step.text}")
    for line in difflib.unified_diff(shown(theirs), shown(ours), "slurm", "spur", lineterm="", n=1):
        if not line.startswith(("---", "+++", "@@")):
            print("    " + line)


def play(path, slurm, spur, known):
    """The scenario on both sides: (step, both answers, verdict) of each command, by line, and what stopped a side."""
    steps = scenario.parse(path)
    runs = [scenario.Run(side, steps) for side in (slurm, spur)]
    errors = both(lambda r: r.run(), *runs)
    normalise = [compare.Normaliser(r.side, r.jobs) for r in runs]
    rows = {}
    for theirs, ours in zip(runs[0].results, runs[1].results):
        pair = [(n.text(r.out, r.step.digits, r.command), n.text(r.err, r.step.digits, r.command), r.status)
                for n, r in zip(normalise, (theirs, ours))]
        if theirs.step.near is not None:
            pair[0] = compare.with_near_numbers(*pair, theirs.step.near)
        rows[theirs.step.line] = theirs.step, pair, compare.judge(*pair, path.stem, theirs.command, known)
    return rows, next((error for error in errors if error), None)


class Tally:
    """What one scenario came to, over its rounds."""

    def __init__(self, name):
        self.name, self.rows, self.stops = name, {}, []  # rows by line, one of each round; an error or None of each round

    def take(self, rows, stop):
        self.stops.append(stop)
        for line, row in rows.items():
            self.rows.setdefault(line, []).append(row)

    def differing(self, line):
        return [row for row in self.rows[line] if row[2] == "unexplained"]

    def is_open(self):
        """Whether something differed, or stopped it, each time so far."""
        return all(self.stops) or any(len(self.differing(line)) == len(rows) for line, rows in self.rows.items())

    def settle(self, counts, verbose):
        """Adds to the counts; returns what came and went, a line of text for each."""
        went = []
        for line, rows in sorted(self.rows.items()):
            differing = self.differing(line)
            agreeing = [row for row in rows if row[2] != "unexplained"]
            row = (agreeing or differing)[-1]
            counts["compared"] += 1
            counts[row[2]] += 1
            if not agreeing or differing or verbose and row[2] != "equal":
                print_difference(self.name, (differing or [row])[-1])
            if agreeing and differing:
                went.append(f"{self.name}:{line} differed in {len(differing)} of {len(rows)} runs")
                print(f"    came and went: {went[-1]}")
        stops = [stop for stop in self.stops if stop]
        if stops:
            print(f"--- {self.name}: stopped: {stops[-1]}")
        if stops and len(stops) == len(self.stops):
            counts["unexplained"] += 1
        elif stops:
            went.append(f"{self.name} was stopped in {len(stops)} of {len(self.stops)} runs")
        sys.stdout.flush()
        return went


def play_round(part, number, paths, tallies, known, folder):
    """One round on a pair of clusters of its own. Only scenarios that are open are counted; those before them that they build on
    are played as well."""
    began = time.monotonic()
    parent = folder / f"round{number}"
    parent.mkdir()
    pair = part.make(parent, number)
    try:
        both(lambda side: side.start(), *pair)
        print(f"both are up after {time.monotonic() - began:.0f} s", flush=True)
        for path in paths:
            rows, stop = play(path, *pair, known)
            if number == 1 or tallies[path.stem].is_open():
                tallies[path.stem].take(rows, stop)
    finally:
        both(lambda side: side.stop(), *pair)
        shutil.rmtree(parent, ignore_errors=True)


def play_scenarios(part, wanted, folder, verbose):
    paths = sorted((HERE / part.folder).glob("*.txt"))
    if wanted and not part.in_order:
        paths = [p for p in paths if p.stem in wanted]
    if wanted and part.in_order:  # and all that they build on
        paths = paths[:max((i + 1 for i, p in enumerate(paths) if p.stem in wanted), default=0)]
    known = compare.read_known(HERE / part.listed)
    tallies = {path.stem: Tally(path.stem) for path in paths}
    for number in range(1, ROUNDS + 1):
        again = [i for i, p in enumerate(paths) if number == 1 or tallies[p.stem].is_open()]
        if not again:
            break
        if number > 1:
            print(f"round {number}: again, on new clusters: " + " ".join(paths[i].stem for i in again), flush=True)
        play_round(part, number, paths[:again[-1] + 1] if part.in_order else [paths[i] for i in again], tallies, known, folder)
    counts, went = dict.fromkeys(COUNTED, 0), []
    for tally in tallies.values():
        went += tally.settle(counts, verbose)
    return {"counts": counts, "came and went": went, "scenarios": len(paths),
            "used": {entry.name: entry.used_rewrites for entry in known if entry.used}}


def play_trees(part, folder):
    counts = dict.fromkeys(COUNTED, 0)
    slurm, _ = part.make(folder, 1)
    try:
        slurm.start()
        fair_trees.compare(slurm, counts)
    finally:
        slurm.stop()
    return {"counts": counts, "came and went": [], "scenarios": 0, "used": {}}


def run(name, wanted, folder, verbose):
    """The part, in this process; its figures are in the file result.json afterwards."""
    part, above = PARTS[name], os.getppid()
    try:
        result = play_scenarios(part, wanted, folder, verbose) if part.folder else play_trees(part, folder)
        (folder / "result.json").write_text(json.dumps(result))
    finally:
        if os.getppid() != above:  # who would have tidied up is gone
            processes.end_those_of(folder)
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # the last part does it
                folder.parent.rmdir()
