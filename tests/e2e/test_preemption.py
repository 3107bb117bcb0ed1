# SPDX-License-Identifier: Apache-2.0
"""Jobs of a partition of higher tier push out those of a lower one: cancelled, requeued and suspended."""
import unittest

from spur_cluster import SpurCluster, wait_until


def cluster(mode, grace=0, low=""):
    return SpurCluster(nodes=1, cpus=2, controller="kill_wait_secs = 2", partition=f"grace_time_secs = {grace}\n{low}",
                       extra=f"""[[partitions]]
name = "urgent"
nodes = "ALL"
priority_tier = 10
[scheduler]
preempt_type = "partition_prio"
preempt_mode = ["{mode}"]
""")


def said(c, name, text):
    path = c.dir / "out" / name
    wait_until(lambda: path.exists() and text in path.read_text(), 20, f"{name} says {text}")


class Preemption(unittest.TestCase):
    def low(self, c, *args):
        job = c.sbatch("-n2", "-t", "10", "-o", "low-%j", *args, "--wrap", "sleep 100")
        c.wait_state(job, "RUNNING")
        return job

    def urgent(self, c, *args):
        return c.sbatch("-p", "urgent", "-n2", "-t", "5", "-o", "/dev/null", *args, "--wrap", "sleep 3")

    def test_cancel(self):
        with cluster("CANCEL") as c:
            low = self.low(c)
            self.assertEqual(c.job(low)["PreemptTime"], "None")
            high = self.urgent(c)
            c.wait_state(low, "PREEMPTED")
            self.assertEqual(c.job(low)["Reason"], "Preempted")
            said(c, f"low-{low}", "DUE TO PREEMPTION")
            c.wait_state(high, "COMPLETED")
            self.assertIn("PreemptType             = preempt/partition_prio", c.out("scontrol", "show", "config"))

    def test_grace_time(self):
        with cluster("CANCEL", grace=600) as c:
            low = c.sbatch("-n2", "-t", "100", "-o", "grace", "--wrap",
                           "trap 'echo told; sleep 1; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
            c.wait_state(low, "RUNNING")
            said(c, "grace", "ready")
            high = self.urgent(c)
            said(c, "grace", "told")  # at once
            # It ends by itself in its grace time: completed, and the other one starts long before that is over.
            c.wait_state(high, "COMPLETED")
            self.assertEqual(c.state(low), "COMPLETED")

    def test_requeue(self):
        with cluster("REQUEUE") as c:
            low = self.low(c)
            high = self.urgent(c)
            c.wait_state(high, "RUNNING")
            self.assertEqual(c.state(low), "PENDING")
            self.assertEqual(c.job(low)["Restarts"], "1")
            c.wait_state(high, "COMPLETED")
            c.wait_state(low, "RUNNING")  # again
            # One that may not be requeued is cancelled.
            c.run("scancel", low)
            once = self.low(c, "--no-requeue")
            self.urgent(c)
            c.wait_state(once, "PREEMPTED")

    def test_suspend(self):
        with cluster("SUSPEND") as c:
            low = self.low(c)
            high = self.urgent(c)
            c.wait_state(high, "RUNNING")
            self.assertEqual(c.state(low), "SUSPENDED")
            waiting = c.sbatch("-n1", "-t", "1", "-o", "/dev/null", "--wrap", "true")
            c.wait_state(high, "COMPLETED")
            c.wait_state(low, "RUNNING")  # before the other one of its partition
            self.assertEqual(c.state(waiting), "PENDING")
            self.assertEqual(c.job(low)["PreemptTime"], "None")

    def test_off_and_restart(self):
        with cluster("CANCEL", grace=3) as c:
            low = c.sbatch("-n2", "-t", "10", "-o", "/dev/null", "--wrap", "trap '' TERM; sleep 100; sleep 100")
            c.wait_state(low, "RUNNING")
            high = self.urgent(c)
            wait_until(lambda: c.job(low).get("PreemptTime", "None") != "None", 20, "it has to go")
            c.kill("spurctld")
            c.start_controller()
            c.wait_state(low, "PREEMPTED")  # the grace time is kept across the restart
            c.wait_state(high, "COMPLETED")
        with cluster("CANCEL", low='preempt_mode = ["OFF"]') as c:
            low = self.low(c)
            high = self.urgent(c)
            wait_until(lambda: c.job(high)["StartTime"] != "Unknown", 20, "it is planned for later")
            c.sbatch("-p", "urgent", "-n1", "-o", "/dev/null", "--wrap", "true")  # one more cycle
            wait_until(lambda: c.job(high)["Reason"] == "Resources", 20, "it waits")
            self.assertEqual((c.state(low), c.state(high)), ("RUNNING", "PENDING"))

    def test_contradictions_are_refused(self):
        c = cluster("CANCEL")
        c.write_conf(c.conf.read_text().replace('preempt_type = "partition_prio"', 'preempt_type = "none"'))
        c.start_controller(wait=False)
        p = c.processes.pop("spurctld")
        self.assertNotEqual(p.wait(20), 0)
        self.assertIn("PreemptType and PreemptMode values incompatible", c.log("spurctld"))
        c.stop()


if __name__ == "__main__":
    unittest.main()
