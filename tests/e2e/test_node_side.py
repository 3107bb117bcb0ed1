# SPDX-License-Identifier: Apache-2.0
"""What agents do besides running jobs: prolog and epilog, health checks, devices that are found, usage. What needs
cgroup controllers is in tests/vm."""
import json
import os
import pathlib
import subprocess
import shutil
import tempfile
import unittest

from spur_cluster import BIN, SpurCluster, wait_until


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def node(cluster, name="n1"):
    text = cluster.out("scontrol", "-o", "show", "node", name)
    fields = dict(f.split("=", 1) for f in text.split() if "=" in f)
    fields["Reason"] = text.split("Reason=", 1)[1].split(" [")[0] if "Reason=" in text else ""
    return fields


class Hooks(unittest.TestCase):
    def setUp(self):
        self.c = SpurCluster(nodes=1, cpus=4, controller="kill_wait_secs = 2")
        d = self.c.dir
        for name in ("prolog", "epilog", "ctld_prolog", "ctld_epilog"):
            script(d / name, f"[ -e {d}/{name}.fails ] && exit 1\n[ -e {d}/{name}.hangs ] && sleep 1000\n"
                             f"env | sort > {d}/{name}.env.$SLURM_JOB_ID\necho {name} >> {d}/order\nexit 0\n")
        script(d / "health", f"echo $SLURMD_NODENAME >> {d}/health.log\n")
        self.c.write_conf(self.c.conf.read_text() + f"""
[hooks]
prolog = "{d}/prolog"
epilog = "{d}/epilog"
prolog_slurmctld = "{d}/ctld_prolog"
epilog_slurmctld = "{d}/ctld_epilog"
timeout_secs = 2
health_check = "{d}/health"
health_check_interval_secs = 1
health_check_states = ["IDLE"]
""")
        self.c.__enter__()

    def tearDown(self):
        self.c.__exit__(None, None, None)

    def environment(self, name, job):
        path = self.c.dir / f"{name}.env.{job}"
        wait_until(lambda: path.exists() and "SLURM_JOB_UID" in path.read_text(), 30, str(path))
        return dict(line.split("=", 1) for line in path.read_text().splitlines())

    def test_all_kinds_run_in_order_with_what_slurm_tells_them(self):
        job = self.c.sbatch("-J", "hooked", "-o", "/dev/null", "--wrap", f"echo job >> {self.c.dir}/order; exit 3")
        self.c.wait_state(job, "FAILED")
        last = self.environment("ctld_epilog", job)
        self.assertEqual(last["SLURM_JOB_EXIT_CODE2"], "3:0")
        self.assertEqual(last["SLURM_SCRIPT_CONTEXT"], "epilog_slurmctld")
        self.assertEqual((self.c.dir / "order").read_text().split(), ["ctld_prolog", "prolog", "job", "epilog", "ctld_epilog"])
        prolog = self.environment("prolog", job)
        self.assertEqual(prolog["SLURM_SCRIPT_CONTEXT"], "prolog_slurmd")
        self.assertEqual(prolog["SLURMD_NODENAME"], "n1")
        self.assertEqual(prolog["SLURM_JOB_PARTITION"], "debug")
        self.assertIn("SLURM_JOB_USER", prolog)
        self.assertNotIn("HOME", prolog)  # nothing of the daemon's own
        self.assertEqual(self.environment("epilog", job)["SLURM_JOB_EXIT_CODE"], "768")
        self.assertEqual(self.environment("ctld_prolog", job)["SLURM_JOB_NODELIST"], "n1")
        self.assertEqual(self.environment("ctld_prolog", job)["SLURM_JOB_NAME"], "hooked")

    def test_a_prolog_that_fails_drains_the_node_and_holds_the_job(self):
        (self.c.dir / "prolog.fails").touch()
        job = self.c.sbatch("-o", "/dev/null", "--wrap", f"touch {self.c.dir}/ran")
        wait_until(lambda: node(self.c)["Reason"] == "Prolog error", 30, "the node is drained")
        wait_until(lambda: self.c.job(job)["Reason"] == "launch_failed_requeued_held", 30, "the job is held")
        self.assertIn("DRAIN", node(self.c)["State"])
        self.assertFalse((self.c.dir / "ran").exists())
        (self.c.dir / "prolog.fails").unlink()
        self.c.run("scontrol", "update", "nodename=n1", "state=resume")
        self.c.run("scontrol", "release", job)
        self.c.wait_state(job, "COMPLETED")

    def test_an_epilog_that_takes_too_long_drains_the_node(self):
        (self.c.dir / "epilog.hangs").touch()
        job = self.c.sbatch("-o", "/dev/null", "--wrap", "true")
        self.c.wait_state(job, "COMPLETED")
        wait_until(lambda: node(self.c)["Reason"] == "Epilog error", 30, "the node is drained")
        self.assertEqual(self.c.job(job)["ExitCode"], "0:0")

    def test_a_controllers_prolog_that_fails_sends_the_job_back(self):
        (self.c.dir / "ctld_prolog.fails").touch()
        job = self.c.sbatch("-o", "/dev/null", "--wrap", "true")
        wait_until(lambda: int(self.c.job(job).get("Restarts", "0")) >= 1, 30, "it is back in the queue")
        (self.c.dir / "ctld_prolog.fails").unlink()
        self.assertEqual(node(self.c)["Reason"], "")
        self.c.run("scancel", job)

    def test_a_step_waits_for_the_prolog_and_health_is_checked(self):
        out = self.c.out("srun", "-n1", "sh", "-c", f"cat {self.c.dir}/order")
        self.assertIn("prolog", out.split())
        wait_until(lambda: (self.c.dir / "health.log").exists(), 30, "the health check")
        self.assertEqual(set((self.c.dir / "health.log").read_text().split()), {"n1"})


class TaskHooks(unittest.TestCase):
    """TaskProlog and TaskEpilog of the site. What is said is what Slurm 22.05 says."""

    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=1, cpus=4)
        cls.addClassCleanup(cls.c.stop)
        d = cls.c.dir
        script(d / "tprolog", f"""[ -e {d}/fails ] && exit 3
echo "print site $SLURM_SCRIPT_CONTEXT $(id -u) $SLURM_PROCID"
echo 'export SITE=a "b"'
echo unset GONE
echo noise
echo unheard >&2
[ -n "$SLURM_TASK_PID" ] && echo "export TOLD=$SLURM_TASK_PID"
""")
        script(d / "tepilog", f"echo site $SLURM_SCRIPT_CONTEXT $SLURM_PROCID $SITE >> {d}/out/epilogs\n[ -e {d}/fails ] && exit 4\nexit 0\n")
        script(d / "own_prolog", "echo print own $SITE\necho export OWN=1\n")
        script(d / "own_epilog", f"echo own >> {d}/out/epilogs\n")
        cls.c.write_conf(cls.c.conf.read_text() + f"""
[hooks]
task_prolog = "{d}/tprolog"
task_epilog = "{d}/tepilog"
""")
        cls.c.start()

    def setUp(self):
        (self.c.dir / "out/epilogs").unlink(missing_ok=True)
        (self.c.dir / "fails").unlink(missing_ok=True)

    def batch(self, text, *words, state="COMPLETED"):
        out = self.c.dir / "out" / "batch.txt"
        out.unlink(missing_ok=True)
        job = self.c.sbatch("-o", out, *words, "--wrap", text)
        self.c.wait_state(job, state)
        return out.read_text()

    def test_around_a_batch_script(self):
        text = self.batch('echo "[$SITE][$GONE]"; [ "$TOLD" = $$ ] && echo the same', "--export=ALL,GONE=1")
        self.assertEqual(text, f'site prolog_task {os.geteuid()} 0\n[a "b"][]\nthe same\n')
        self.assertEqual((self.c.dir / "out/epilogs").read_text(), "site epilog_task 0\n")

    def test_around_tasks_and_before_their_own(self):
        r = self.c.run("srun", "-n2", "-l", f"--task-prolog={self.c.dir}/own_prolog", f"--task-epilog={self.c.dir}/own_epilog",
                       "sh", "-c", "echo $OWN $SITE", check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        for rank in (0, 1):
            mine = [line for line in r.stdout.splitlines() if line.startswith(f"{rank}: ")]
            self.assertEqual(mine, [f"{rank}: site prolog_task {os.geteuid()} {rank}", f'{rank}: own a "b"', f'{rank}: 1 a "b"'])
        lines = (self.c.dir / "out/epilogs").read_text().splitlines()
        self.assertEqual(sorted(lines), ["own", "own", "site epilog_task 0", "site epilog_task 1"])
        self.assertEqual(lines[0], "own")  # the user's before the site's

    def test_one_that_fails(self):
        (self.c.dir / "fails").touch()
        r = self.c.run("srun", "-n1", "echo", "ran", check=False)
        self.assertEqual((r.returncode, r.stdout), (3, ""), r.stderr)
        self.assertIn("slurmstepd-n1: error: TaskProlog failed status=3\n", r.stderr)
        self.assertIn("slurmstepd-n1: error: --task-epilog failed status=1024\n", r.stderr)
        self.assertIn("srun: error: n1: task 0: Exited with exit code 3\n", r.stderr)
        text = self.batch("echo ran", state="FAILED")
        self.assertEqual(text, "slurmstepd: error: TaskProlog failed status=3\nslurmstepd: error: --task-epilog failed status=1024\n")

    def test_a_users_epilog_has_five_seconds(self):
        slow = script(self.c.dir / "slow_epilog", "sleep 1000\n")
        r = self.c.run("srun", "-n1", f"--task-epilog={slow}", "true", check=False)
        self.assertEqual(r.returncode, 0)
        self.assertIn("slurmstepd-n1: error: TaskEpilog failed status=9\n", r.stderr)
        r = self.c.run("srun", "-n1", "--task-epilog=/nonexistent", "true", check=False)
        self.assertIn("slurmstepd-n1: error: Could not run user task_epilog [/nonexistent]: access denied\n"
                      "slurmstepd-n1: error: TaskEpilog failed status=-1\n", r.stderr)


def plain_cores():
    """Whether the first two CPUs are two cores, as the test below has it."""
    siblings = [pathlib.Path(f"/sys/devices/system/cpu/cpu{i}/topology/thread_siblings_list") for i in (0, 1)]
    return os.sched_getaffinity(0) >= {0, 1} and all(p.exists() and p.read_text().strip() == str(i) for i, p in enumerate(siblings))


@unittest.skipUnless(plain_cores(), "needs two cores of one thread")
class GpusNearTasks(unittest.TestCase):
    def test_gpu_bind(self):
        gpus = "".join(f'[[devices.gres]]\nname = "gpu"\ncount = 1\ncores = "{core}"\n' for core in (0, 1))
        with SpurCluster(nodes=1, cpus=2, node='sockets = 1\ncores_per_socket = 2\nthreads_per_core = 1\ngres = ["gpu:2"]', extra=gpus) as c:
            def seen(bind, cpus="0,1"):
                out = c.out("srun", "-n2", "--gpus=2", f"--cpu-bind=map_cpu:{cpus}", f"--gpu-bind={bind}",
                            "sh", "-c", "echo $SLURM_PROCID $GPU_DEVICE_ORDINAL")
                return sorted(out.splitlines())
            self.assertEqual(seen("closest"), ["0 0", "1 1"])
            self.assertEqual(seen("closest", "1,0"), ["0 1", "1 0"])
            self.assertEqual(seen("single:1", "1,0"), ["0 1", "1 0"])
            self.assertEqual(seen("none"), ["0 0,1", "1 0,1"])
            self.assertEqual(seen("map_gpu:1,0"), ["0 1", "1 0"])
            self.assertEqual(seen("mask_gpu:0x3,0x2"), ["0 0,1", "1 1"])
            self.assertEqual(seen("per_task:1"), ["0 0", "1 1"])


class Usage(unittest.TestCase):
    def test_sstat_tells_what_running_steps_use(self):
        with SpurCluster(nodes=2, cpus=2, extra="[usage]\nsample_secs = 1\n") as c:
            hog = "import time; x = bytearray(80 << 20); open('up' + __import__('os').environ.get('SLURM_PROCID', 'b'), 'w'); time.sleep(1000)"
            job = c.sbatch("-N2", "-n2", "-o", "/dev/null", "--wrap", f"srun -n2 python3 -c \"{hog}\"")
            for rank in (0, 1):
                wait_until(lambda: (c.dir / "out" / f"up{rank}").exists(), 30, "the step runs")
            line = c.out("sstat", "-nPa", "-j", job, "-o", "JobID,NTasks,MaxRSS,MaxRSSNode,AveRSS,Pids,Nodelist").splitlines()
            steps = {row.split("|")[0]: row.split("|") for row in line}
            self.assertEqual(set(steps), {f"{job}.0", f"{job}.batch"})
            self.assertEqual(steps[f"{job}.0"][1], "2")
            self.assertEqual(steps[f"{job}.0"][6], "n[1-2]")
            self.assertGreater(float(steps[f"{job}.0"][2].rstrip("M")), 80)
            self.assertEqual(len(steps[f"{job}.0"][5].split(",")), 2)
            c.run("scancel", job)
            bad = c.run("sstat", "-j", "999", check=False)
            self.assertEqual((bad.returncode, bad.stderr), (0, "sstat: error: couldn't get steps for job 999\n"))  # as Slurm


class Devices(unittest.TestCase):
    """GPUs of machines that are not there: another machine's sys/, and a library in NVML's place."""

    def machine(self, gpus):
        root = pathlib.Path(self.c.dir) / "machine"
        for i in range(gpus):
            kfd = root / f"sys/class/kfd/kfd/topology/nodes/{i}"
            kfd.mkdir(parents=True)
            (kfd / "gpu_id").write_text(f"{i + 1}\n")
            (kfd / "properties").write_text(f"simd_count 10\ndevice_id 29857\nlocation_id {(0x41 + i) << 8}\ndrm_render_minor {128 + i}\nunique_id {i + 7}\n")
            for peer in range(gpus):
                if peer != i:
                    link = kfd / f"io_links/{peer}"
                    link.mkdir(parents=True)
                    (link / "properties").write_text(f"type 11\nnode_to {peer}\nmax_bandwidth 50000\n")
        return root

    def cluster(self, declared, extra="", overrides=False):
        self.c = SpurCluster(nodes=1, cpus=4, node=f'gres = ["{declared}"]' if declared else "", extra=extra)
        if not overrides:
            self.c.write_conf(self.c.conf.read_text().replace("declared_hardware_wins = true", "").replace("memory_mb = 4000", "memory_mb = 100").replace("cpus = 4", "cpus = 1"))
        return self.c

    def test_found_gpus_fill_what_is_declared(self):
        c = self.cluster("gpu:mi300x:2")
        c.env["SPUR_SYSFS_ROOT"] = str(self.machine(2))
        with c:
            self.assertEqual(node(c)["Gres"], "gpu:mi300x:2")
            job = c.sbatch("--gres=gpu:mi300x:1", "-o", "g.out", "--wrap", "echo $SLURM_JOB_GPUS")
            c.wait_state(job, "COMPLETED")
            self.assertEqual((c.dir / "out/g.out").read_text(), "0\n")

    def test_fewer_than_declared_is_invalid(self):
        c = self.cluster("gpu:mi300x:4")
        c.env["SPUR_SYSFS_ROOT"] = str(self.machine(2))
        try:
            c.start_controller()
            c.start_agent("n1")
            wait_until(lambda: node(c)["Reason"] == "gres/gpu count reported lower than configured (2 < 4)", 30, "it is refused")
            self.assertIn("INVALID_REG", node(c)["State"])
        finally:
            c.__exit__(None, None, None)

    def test_undeclared_gpus_of_nvidia_and_one_that_breaks(self):
        c = self.cluster("", extra="")
        c.write_conf(c.conf.read_text().replace("[controller]", "[controller]\nheartbeat_timeout_secs = 4"))
        c.env["LD_LIBRARY_PATH"] = str(BIN.parent / "fake_nvml")
        c.env["SPUR_SYSFS_ROOT"] = str(self.machine(0))
        c.env["FAKE_NVML_XID"] = "79"
        try:
            c.start_controller()
            c.start_agent("n1")
            wait_until(lambda: "nvidia_a100" in node(c).get("Gres", ""), 30, "GPUs are found")
            wait_until(lambda: node(c)["Reason"] == "gres/gpu /dev/nvidia1: XID 79", 30, "the broken one is noticed")
            self.assertIn("DRAIN", node(c)["State"])
        finally:
            c.__exit__(None, None, None)


class Cdi(unittest.TestCase):
    def test_specifications_of_what_is_here(self):
        env = {**os.environ, "LD_LIBRARY_PATH": str(BIN.parent / "fake_nvml"), "SPUR_SYSFS_ROOT": "/nonexistent"}
        env.pop("SPUR_CONF", None)
        text = subprocess.run([BIN / "spurd", "--print-cdi"], env=env, check=True, text=True, capture_output=True).stdout
        spec = json.loads(text)
        self.assertEqual(spec["kind"], "nvidia.com/gpu")
        self.assertEqual([d["name"] for d in spec["devices"]], ["0", "1", "2", "3"])
        self.assertEqual(spec["devices"][0]["containerEdits"]["deviceNodes"], [{"path": "/dev/nvidia0"}])


class SrunDefaults(unittest.TestCase):
    """What a site chooses for srun: MpiDefault, SrunProlog, SrunEpilog."""

    def test_the_site_chooses_unless_srun_is_told(self):
        base = pathlib.Path(tempfile.mkdtemp(prefix="spur-hooks-"))
        self.addCleanup(shutil.rmtree, base)
        for name in ("prolog", "epilog"):
            (base / name).write_text(f"#!/bin/sh\necho {name} >> {base}/seen\n")
            (base / name).chmod(0o755)
        with SpurCluster(controller='mpi_default = "pmi2"', extra=f"""[hooks]
srun_prolog = "{base}/prolog"
srun_epilog = "{base}/epilog"
""") as c:
            self.assertIn("PMI_RANK=0", c.out("srun", "-n1", "env").splitlines())
            self.assertEqual((base / "seen").read_text(), "prolog\nepilog\n")
            told = c.out("srun", "-n1", "--mpi=none", "--prolog=none", "env")
            self.assertNotIn("PMI_RANK", told)
            self.assertEqual((base / "seen").read_text(), "prolog\nepilog\nepilog\n")
            self.assertRegex(c.out("scontrol", "show", "config"), r"MpiDefault\s+= pmi2")


if __name__ == "__main__":
    unittest.main()
