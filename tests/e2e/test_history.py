# SPDX-License-Identifier: Apache-2.0
"""Looking back: what commands printed at a moment is what they print for that moment later, to the byte, whatever was
killed meanwhile; and every event of a job is told with who caused it. SPUR_PAST_MOMENTS says how many moments."""
import base64
import json
import os
import random
import re
import threading
import time
import unittest

from ha_cluster import NAMES, HaCluster
from spur_cluster import SpurCluster, wait_until

MOMENTS = int(os.environ.get("SPUR_PAST_MOMENTS", "30"))
ALL = "%i|%P|%j|%u|%U|%a|%t|%T|%M|%L|%l|%D|%C|%m|%R|%r|%N|%Q|%p|%V|%k|%v|%q|%K|%F|%A"


def submit(cluster, *args, **kw):
    return str(cluster.sbatch(*args, **kw))


class Load:
    """Users at work, in threads of their own, until stop()."""

    def __init__(self, cluster, seed):
        self.c, self.random, self.ended = cluster, random.Random(seed), threading.Event()
        self.jobs = []
        self.threads = [threading.Thread(target=self._run, args=(self.random.random(),)) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def _run(self, seed):
        dice = random.Random(seed)
        while not self.ended.is_set():
            try:
                self._act(dice)
            except Exception:  # the controller is away at times
                pass
            self.ended.wait(dice.uniform(0.0, 0.25))

    def _act(self, dice):
        job = dice.choice(self.jobs) if self.jobs else "1"
        run = lambda *args: self.c.run(*args, check=False, timeout=20)
        kind = dice.randrange(12)
        if kind < 5:
            args = dice.choice([[], ["--array=0-3"], ["-n2"], ["--hold"], ["-J", f"j{dice.randrange(99)}"], ["-t", "5"]])
            self.jobs.append(submit(self.c, *args, "--wrap", f"sleep {dice.choice([0, 0.3, 1, 3])}"))
        elif kind == 5:
            run("scancel", job)
        elif kind == 6:
            run("scontrol", "hold", job)
        elif kind == 7:
            run("scontrol", "release", job)
        elif kind == 8:
            run("scontrol", "update", f"JobId={job}", f"TimeLimit={dice.randrange(1, 50)}", f"Comment=c{dice.randrange(9)}")
        elif kind == 9:
            run("scontrol", "requeue", job)
        elif kind == 10:
            run("scontrol", "update", f"NodeName={dice.choice(self.c.names)}", "State=DRAIN", f"Reason=r{dice.randrange(9)}")
        else:
            run("scontrol", "update", f"NodeName={','.join(self.c.names)}", "State=RESUME")

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


class Moments:
    """What was printed, and when. A moment counts if the same was printed just before and just after it."""

    def __init__(self, cluster, seed):
        self.c, self.dice, self.seen, self.tried = cluster, random.Random(seed), [], 0

    def question(self):
        kind = self.dice.randrange(10)
        if kind < 4:
            return ["squeue"]
        if kind < 9:
            return [["squeue", "-l"], ["squeue", "-a", "-t", "all", "-r", "-o", ALL], ["sinfo", "-N", "-l"], ["sinfo"],
                    ["scontrol", "show", "node"]][kind - 4]
        # Of jobs that wait, when they may start was a guess that nobody wrote down.
        running = self.c.run("squeue", "-h", "-t", "R,CG", "-o", "%A", check=False).stdout.split()
        return ["scontrol", "show", "job", self.dice.choice(running)] if running else ["squeue"]

    def take(self):
        command = self.question()
        ask = lambda: self.c.run(*command, check=False, timeout=20)
        self.tried += 1
        before, at, after = ask(), time.time_ns() // 1000, ask()
        if before.returncode == 0 and after.returncode == 0 and before.stdout == after.stdout and before.stdout:
            # What nodes report is as it is, not as it was.
            self.seen.append((command, at, re.sub(r"(CPULoad|FreeMem)=\S+", r"\1=N/A", before.stdout)))

    def check(self, test, which=None):
        for command, at, printed in which or self.seen:
            then = self.c.run(*command, f"--at=uts{at // 1000000}.{at % 1000000:06}", check=False)
            test.assertEqual((then.returncode, then.stderr), (0, ""), command)
            test.assertEqual(then.stdout, printed, f"{command} at {at}")


class ControllerAlone(SpurCluster):
    """Jobs that are held need no nodes."""

    def start(self):
        self.start_controller()
        return self


class History(unittest.TestCase):
    def test_every_moment_comes_back(self):
        seed = random.randrange(1 << 30)
        print(f"seed {seed}")
        dice = random.Random(seed)
        # A small snapshot size: moments lie behind several images, and the journal is cut meanwhile.
        with SpurCluster(nodes=3, cpus=2, controller="snapshot_mb = 1") as c:
            load, moments = Load(c, seed), Moments(c, seed + 1)
            try:
                kills = sorted(dice.sample(range(3, MOMENTS - 2), 3))
                end = time.monotonic() + 60 + 5 * MOMENTS
                while len(moments.seen) < MOMENTS and time.monotonic() < end:
                    if kills and len(moments.seen) >= kills[0]:
                        kills.pop(0)
                        time.sleep(0.5)  # when the last entry was shown, only its successor tells
                        c.kill("spurctld")
                        c.start_controller()
                    if dice.random() < 0.03:
                        name = dice.choice(c.names)
                        c.kill(f"spurd-{name}")
                        c.start_agent(name)
                    # Large jobs now and then, so that the journal grows.
                    if dice.random() < 0.1:
                        noise = base64.b64encode(dice.randbytes(200_000)).decode()
                        c.run("sbatch", "--hold", "-J", "large", input=f"#!/bin/sh\n# {noise}\n", check=False)
                    time.sleep(dice.uniform(0, 0.2))
                    moments.take()
            finally:
                load.stop()
            self.assertEqual(len(moments.seen), MOMENTS, f"of {moments.tried} tried")
            self.assertFalse(kills)
            dice.shuffle(moments.seen)
            moments.check(self)
            texts = len({printed for _, _, printed in moments.seen})
            print(f"{MOMENTS} of {moments.tried} moments counted, {texts} different texts; all are the same to the byte")
            self.assertGreater(texts, MOMENTS // 3)
            # Another life of the controller knows them as well.
            c.kill("spurctld")
            c.start_controller()
            moments.check(self, moments.seen[:10])

    def test_all_controllers_know_the_same_past(self):
        """What users of the leader saw, the others know to the byte, also after it is gone and when it is back."""
        with HaCluster(nodes=2, cpus=2) as c:
            here = lambda name: {"SPUR_CONTROLLER_ADDR": f"{c.address(name)}:{c.port}"}
            leader, seen = c.leader(), []
            load = Load(c, 7)
            try:
                end = time.monotonic() + 60
                while len(seen) < 15 and time.monotonic() < end:
                    ask = lambda: c.run("squeue", "-r", env=here(leader), check=False).stdout
                    before, at, after = ask(), time.time_ns() // 1000, ask()
                    if before == after and before:
                        seen.append((at, before))
                    time.sleep(0.2)
            finally:
                load.stop()
            c.sbatch("--hold", "--wrap", "true")
            self.assertEqual(len(seen), 15)
            time.sleep(1)

            def check(names):
                for name in names:
                    for at, printed in seen:
                        then = c.run("squeue", "-r", f"--at=uts{at // 1000000}.{at % 1000000:06}", env=here(name), check=False)
                        self.assertEqual((then.stdout, then.stderr), (printed, ""), f"{name} at {at}")

            check(NAMES)
            c.kill(leader)
            wait_until(c.leader, 30, "another leads")
            c.sbatch("--hold", "--wrap", "true")
            check([name for name in NAMES if name != leader])
            c.start_one(leader)
            wait_until(lambda: c.role(leader), 60, "it is back")
            check([leader])

    def test_two_faced_questions(self):
        with ControllerAlone() as c:
            job = submit(c, "--hold", "--wrap", "true")
            wait_until(lambda: c.out("squeue", "-h"), 10)
            early = c.run("squeue", "--at", "2001-02-03", check=False)
            self.assertEqual(early.returncode, 1)
            self.assertIn("there is no history before 20", early.stderr)
            for args, words in [(["--at", "sometime"], "Invalid time specification"), (["--at", "now+1hour"], "still to come"),
                                (["--at", "now", "-s"], "not supported yet"), (["--at", "now", "-i", "5"], "not supported yet")]:
                answer = c.run("squeue", *args, check=False)
                self.assertEqual(answer.returncode, 1, args)
                self.assertIn(words, answer.stderr, args)
            self.assertIn("not supported yet", c.run("scontrol", "show", "config", "--at", "now", check=False).stderr)
            self.assertEqual(c.run("scontrol", "hold", job, "--at", "now", check=False).returncode, 1)
            time.sleep(1.1)
            then = time.time()
            c.run("scancel", job)
            time.sleep(1.1)
            self.assertEqual(c.out("squeue", "-h"), "")
            self.assertIn(job, c.out("squeue", "-h", "--at", f"uts{then:.3f}"))
            self.assertIn(f"JobId={job} ", c.out("scontrol", "show", "job", job, "--at", f"uts{then:.3f}"))
            self.assertIn("PENDING", c.out("spur", "queue", "--at", f"uts{then:.3f}"))
            self.assertEqual(c.run("scontrol", "show", "job", job, "--at", f"uts{then - 30:.3f}", check=False).returncode, 1)

    def test_none_is_kept(self):
        with ControllerAlone(controller="history_days = 0") as c:
            answer = c.run("squeue", "--at", "now", check=False)
            self.assertEqual(answer.returncode, 1)
            self.assertIn("keeps no history", answer.stderr)
            self.assertFalse((c.dir / "state/history.sqlite").exists())
            self.assertEqual(c.run("spur", "history", "--events", "1", check=False).returncode, 1)

    def test_the_oldest_goes_first(self):
        with ControllerAlone(controller="snapshot_mb = 1\nhistory_max_mb = 4") as c:
            first = time.time()
            for i in range(60):
                noise = base64.b64encode(random.randbytes(200_000)).decode()
                job = submit(c, "--hold", "-J", f"j{i}", input=f"#!/bin/sh\n# {noise}\n")
                c.run("scancel", job)
            time.sleep(2)
            for _ in range(2):
                job = submit(c, "--hold", "--wrap", "true")
                c.run("scancel", job)
            gone = lambda: c.run("squeue", "--at", f"uts{first:.3f}", check=False)
            wait_until(lambda: gone().returncode == 1, 20, "the beginning is forgotten")
            self.assertIn("no history before", gone().stderr)
            self.assertIn(job, c.out("squeue", "-h", "-t", "all", "--at", "now"))
            self.assertIn("cancelled", c.out("spur", "history", "--events", job))

    def test_who_did_what(self):
        with SpurCluster(nodes=2) as c:
            me = c.out("id", "-un").strip()
            job = submit(c, "-J", "story", "-t", "10", "--hold", "--wrap", "sleep 60")
            c.run("scontrol", "update", f"JobId={job}", "TimeLimit=20", "Comment=longer")
            c.run("scontrol", "release", job)
            wait_until(lambda: c.out("squeue", "-h", "-t", "R", "-j", job), 20)
            c.run("scancel", job)
            wait_until(lambda: "ended on a node" in c.out("spur", "history", "--events", job), 20, "the end is told")
            told = c.out("spur", "history", "--events", job)
            lines = [line.split(None, 2) for line in told.splitlines()]
            self.assertEqual(lines[0][:2], ["TIME", "JOBID"])
            self.assertEqual({line[1] for line in lines[1:]}, {job})
            rest = [line[2] for line in lines[1:]]
            place = -1
            for words in [(me, "submitted", "name story"), (me, "updated", "TimeLimit 10 -> 20", "Comment (none) -> longer"),
                          (me, "released"), ("scheduler", "started", "on n"), (me, "cancelled"), ("node n", "ended on a node")]:
                found = [i for i, line in enumerate(rest) if i > place and all(word in line for word in words)]
                self.assertTrue(found, f"{words} in {told}")
                place = found[0]
            document = json.loads(c.out("spur", "history", "--events", job, "--json"))
            self.assertEqual(len(document["events"]), len(rest))
            self.assertEqual(document["events"][0]["event"], "submitted")
            self.assertEqual(document["events"][0]["uid"], os.getuid())
            # Arrays and heterogeneous jobs, by what they are called.
            array = submit(c, "--array=1-3", "--wrap", "true")
            both = c.out("sbatch", "--parsable", "-n1", ":", "-n1", input="#!/bin/sh\ntrue\n").strip()
            wait_until(lambda: not c.out("squeue", "-h"), 30)
            self.assertIn(f"{array}_2 ", c.out("spur", "history", "--events", f"{array}_2"))
            self.assertNotIn(f"{array}_1 ", c.out("spur", "history", "--events", f"{array}_2"))
            for task in (1, 2, 3):
                self.assertIn(f"{array}_{task} ", c.out("spur", "history", "--events", array))
            self.assertIn(f"{both}+1 ", c.out("spur", "history", "--events", f"{both}+1"))
            self.assertNotIn(f"{both}+0 ", c.out("spur", "history", "--events", f"{both}+1"))
            for bad in ("99999", "x"):
                self.assertEqual(c.run("spur", "history", "--events", bad, check=False).returncode, 1)
            if os.getuid() != 0:
                self.skipTest("other users need root")
            other = c.run("spur", "history", "--events", job, check=False, user="daemon")
            self.assertEqual(other.returncode, 1)
            self.assertIn("denied", other.stderr)
            # A node that goes takes its jobs along, and that is told too.
            lost = submit(c, "-w", "n2", "--no-requeue", "--wrap", "sleep 100")
            wait_until(lambda: c.out("squeue", "-h", "-t", "R", "-j", lost), 20)
            c.run("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=gone")
            wait_until(lambda: "NODE_FAIL" in c.out("spur", "history", "--events", lost), 30, "the end is told")


if __name__ == "__main__":
    unittest.main()
