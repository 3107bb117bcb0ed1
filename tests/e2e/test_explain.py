# SPDX-License-Identifier: Apache-2.0
"""spur explain through real daemons: what it says is what happens."""
import json
import unittest

from spur_cluster import SpurCluster


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SpurCluster(nodes=2, cpus=4)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def explain(self, job, *options, **keywords):
        return self.cluster.run("spur", "explain", *options, str(job), **keywords)

    def test_a_job_behind_a_wide_one(self):
        def run(*words):
            return self.cluster.run("sbatch", "--parsable", *words, "--wrap=sleep 600").stdout.strip()

        runs = run("-N1", "--exclusive", "-t60", "-w", "n1")
        self.cluster.wait_state(runs, "RUNNING")
        wide = run("-N2", "--exclusive", "-t30")
        small = run("-N1", "--exclusive", "-t4:00:00")
        told = json.loads(self.explain(small, "--json").stdout)
        self.assertFalse(told["starts_now"])
        self.assertEqual([b["kind"] for b in told["blockers"]], ["queue"])
        self.assertEqual(told["blockers"][0]["jobs"], [int(wide)])
        shorter = next(c for c in told["changes"] if c["option"] == "-t")
        self.assertIn(f"running job {runs}", self.explain(wide).stdout)
        # Nothing is uncertain here: the wide one has a promise, and the small one follows it.
        self.assertEqual(told["certainty"], "limits")
        self.assertEqual(json.loads(self.explain(wide, "--json").stdout)["certainty"], "promised")
        # Do as it says.
        done = self.cluster.run("scontrol", "update", f"JobId={small}", f"TimeLimit={shorter['instead']}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.cluster.wait_state(small, "RUNNING")
        answer = self.explain(small, check=False)
        self.assertEqual(answer.returncode, 1)
        self.assertEqual(answer.stderr, f"spur explain: error: {small}: Job is no longer pending execution\n")


if __name__ == "__main__":
    unittest.main()
