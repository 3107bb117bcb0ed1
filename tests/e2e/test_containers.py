# SPDX-License-Identifier: Apache-2.0
"""Containers: images of every kind, mounts, names, batch scripts, devices, MPI; as root's agent for ordinary users, as an
ordinary user's own agent, and with copies instead of overlays. What is wrong is said, fails the step or job, and is not
held against the node."""
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import unittest

import test_image
from spur_cluster import BIN, SpurCluster, wait_until

USER = "games"  # a user that every Debian has
ROOT = os.geteuid() == 0
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


class Images:
    """One of each kind, readable for all."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory) / "img"
        self.dir.mkdir()
        self.layout = test_image.oci_layout(self.dir / "layout")
        self.archive = test_image.docker_archive(self.dir / "saved.tar")
        self.oci_archive = test_image.oci_archive(self.dir / "oci.tar", self.layout)
        self.root = test_image.root_directory(self.dir / "root")
        self.squashfs = test_image.squashfs(self.dir / "tiny.sqsh", self.root)
        subprocess.run(["chmod", "-R", "a+rX", str(self.dir)], check=True)


class UserCluster(SpurCluster):
    """Daemons of an ordinary user, who can run only his own jobs."""

    def __init__(self, **kw):
        super().__init__(**kw)
        uid = pwd.getpwnam(USER)
        subprocess.run(["chown", "-R", f"{uid.pw_uid}:{uid.pw_gid}", str(self.dir)], check=True)

    def _spawn(self, key, *args):
        gid = pwd.getpwnam(USER).pw_gid
        super()._spawn(key, "setpriv", f"--reuid={USER}", f"--regid={gid}", "--init-groups", *args)

    def run(self, *args, user=None, **kw):
        return super().run(*args, user=user or USER, **kw)


class Common:
    """What must work whoever runs the agent. `user` is whose jobs."""
    user = None
    overlay = True

    @classmethod
    def setUpClass(cls):
        cls.c = cls.make_cluster().__enter__()
        cls.images = Images(cls.c.dir)
        cls.home = cls.c.dir / "home"
        cls.home.mkdir()
        (cls.home / "mine").write_text("at home\n")
        if cls.user:
            shutil.chown(cls.home, cls.user)

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def tearDown(self):
        self.c.wait_empty()
        # The node is not to blame for any of it, and has nothing left of it.
        self.assertEqual(set(self.c.out("sinfo", "-h", "-N", "-o", "%t").split()), {"idle"})
        run = self.c.dir / "state/images/run"
        wait_until(lambda: not run.exists() or not os.listdir(run), 20, "no container is left")
        mounts = pathlib.Path("/proc/self/mounts").read_text()
        self.assertNotIn(str(self.c.dir / "state/images"), mounts)

    def srun(self, *args, env=None, **kw):
        return self.c.run("srun", *args, user=self.user, timeout=120, env={"HOME": str(self.home), **(env or {})}, **kw)

    def inside(self, script, *options, image=None, **kw):
        return self.srun(f"--container-image={image or self.images.layout}", *options, "sh", "-c", script, **kw).stdout

    def refused(self, text, *options, **kw):
        r = self.srun(*options, "true", check=False, **kw)
        self.assertIn(text, r.stderr)
        self.assertEqual(r.returncode, 1, r.stderr)

    def test_every_kind_of_image(self):
        for image in (self.images.layout, f"oci:{self.images.layout}:v1", self.images.archive,
                      f"docker-archive:{self.images.archive}:tiny:1", self.images.oci_archive, self.images.root,
                      self.images.squashfs):
            with self.subTest(image=image):
                self.assertEqual(self.srun(f"--container-image={image}", "cat", "/etc/marker").stdout, "from the image\n")

    def test_layers_hide_each_other(self):
        out = self.inside("ls /etc/gone /opt/old 2>&1; cat /usr/lib/behind-a-link")
        self.assertIn("/etc/gone: No such file", out)
        self.assertTrue(out.endswith("new\nx\n"), out)
        self.assertNotIn("file", out.split("/opt/old:")[1])

    def test_environment_and_directory(self):
        env = {"BOTH": "job", "MINE": "1"}
        out = self.inside("pwd; echo $FROM_IMAGE $BOTH $MINE; [ $SLURM_JOB_ID != evil ] && echo $SLURM_PROCID", env=env)
        self.assertEqual(out, "/work\nyes image 1\n0\n")
        self.assertEqual(self.inside("echo $BOTH $NEW", "--container-env=BOTH,NEW=x", env=env), "job x\n")
        self.assertEqual(self.inside("pwd", "--container-workdir=/opt"), "/opt\n")
        self.assertEqual(self.inside("true", "--container-entrypoint"), "entered\n")
        self.assertEqual(self.inside("true"), "")

    def test_who_one_is(self):
        uid = pwd.getpwnam(self.user).pw_uid if self.user else os.geteuid()
        self.assertEqual(self.inside("id -u; id -un"), f"{uid}\n{self.user or pwd.getpwuid(uid).pw_name}\n")
        self.assertEqual(self.inside("id -u; echo $HOME", "--container-remap-root"), "0\n/root\n")

    def test_own_root(self):
        out = self.inside("touch /new && ls /new; ls /; rm /etc/marker; ls /etc/marker 2>&1; echo x > /tmp/y; cat /tmp/y")
        self.assertTrue(out.startswith("/new\n"), out)
        self.assertIn("No such file", out)
        self.assertTrue(out.endswith("x\n"), out)
        self.assertEqual(self.inside("ls /new 2>/dev/null; cat /etc/marker"), "from the image\n")
        out = self.inside("touch /new 2>&1; touch /tmp/x && echo fine", "--container-readonly")
        self.assertIn("Read-only file system", out)
        self.assertTrue(out.endswith("fine\n"), out)

    def test_kind_of_root(self):
        lines = [line.split() for line in self.inside("cat /proc/self/mountinfo").splitlines()]
        roots = [line[line.index("-") + 1] == "overlay" for line in lines if line[4] == "/"]
        self.assertEqual(roots, [self.overlay])

    def test_system_files(self):
        out = self.inside("echo x > /dev/null && head -c 4 /dev/zero | wc -c; cat /proc/self/comm; ls -d /sys/class; ls /dev")
        self.assertTrue(out.startswith("4\ncat\n/sys/class\n"), out)
        self.assertNotIn("vda", out.split())
        self.assertNotIn("fuse", out.split())

    def test_mounts(self):
        data = self.c.dir / "out" / f"data-{type(self).__name__}"
        data.mkdir(mode=0o777)
        data.chmod(0o777)
        (data / "file").write_text("outside\n")
        out = self.inside("cat /d/file; echo in > /d/new; cat /deep/er/file; touch /deep/er/x 2>&1; touch /t/x && echo t",
                          f"--container-mounts={data}:/d,{data}:/deep/er:ro,tmpfs:/t")
        self.assertTrue(out.startswith("outside\noutside\n"), out)
        self.assertIn("Read-only", out)
        self.assertTrue(out.endswith("t\n"), out)
        self.assertEqual((data / "new").read_text(), "in\n")
        self.assertEqual(self.inside("cat /etc/marker", f"--container-mounts={data}/file:/etc/marker"), "outside\n")
        self.assertEqual(self.inside("cat $HOME/mine", "--container-mount-home"), "at home\n")
        self.assertEqual(self.inside("ls $HOME 2>/dev/null; true"), "")

    def test_bad_mounts(self):
        image = f"--container-image={self.images.layout}"
        r = self.srun(image, "--container-mounts=/a:b", "true", check=False)
        self.assertIn('invalid container mount "/a:b": the target must be an absolute path', r.stderr)
        self.refused("cannot mount /nonexistent: No such file or directory", image, "--container-mounts=/nonexistent:/x")

    def test_bad_images(self):
        text = self.c.dir / "out" / "text"
        text.write_text("no image\n")
        broken = self.c.dir / "out" / "broken.tar"
        broken.write_bytes(pathlib.Path(self.images.archive).read_bytes()[:200000])
        for image, why in (("docker://ubuntu", "pulling images is not supported yet"),
                           ("ubuntu:22.04", "there is no image ubuntu:22.04 on this node"),
                           ("/nonexistent", "cannot open the image /nonexistent: No such file or directory"),
                           (text, "the archive is damaged"), (broken, "the archive is damaged"),
                           ("/dev/null", "is no image"), (f"oci:{self.images.layout}:v9", "it has no image v9")):
            with self.subTest(image=image):
                self.refused(why, f"--container-image={image}")
        self.refused("the --container options need", "--container-workdir=/x")
        layout = self.c.dir / "out" / f"bad-{type(self).__name__}"
        test_image.oci_layout(layout, label="one that no cache has")
        largest = max((layout / "blobs/sha256").iterdir(), key=lambda p: p.stat().st_size)
        data = bytearray(largest.read_bytes())
        data[len(data) // 2] ^= 1
        largest.write_bytes(data)
        r = self.srun(f"--container-image={layout}", "true", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, "is not what its digest says|damaged")

    def test_missing_program(self):
        r = self.srun(f"--container-image={self.images.layout}", "nothing", check=False)
        self.assertIn("nothing", r.stderr)
        self.assertEqual(r.returncode, 2, r.stderr)

    def test_names_keep_files_between_steps(self):
        image = self.images.layout
        script = f"""srun --container-image={image} --container-name=box sh -c 'echo kept > /kept; rm /etc/marker'
srun --container-name=box sh -c 'cat /kept; ls /etc/marker 2>&1'
srun --container-image={image} cat /etc/marker
srun --container-name=other true || echo "no other: $?"
srun --container-image=/elsewhere --container-name=box true || echo "not from there: $?"
"""
        job = self.c.sbatch("-o", "named.out", "--wrap", script, user=self.user)
        self.c.wait_empty()
        out = (self.c.dir / "out/named.out").read_text()
        self.assertTrue(out.startswith("kept\n"), out)
        for text in ("/etc/marker: No such file", "from the image", "no other: 1", "not from there: 1",
                     "the job has no container other on this node"):
            self.assertIn(text, out)
        self.assertEqual(self.c.state(job), "COMPLETED")

    def test_batch_script_in_a_container(self):
        script = self.c.dir / "out/inner.sh"
        script.write_text("#!/bin/sh\n#SBATCH -o batch.out\ncat /etc/marker\npwd\necho \"$1\" $SLURM_JOB_NAME\n")
        job = self.c.sbatch(f"--container-image={self.images.archive}", script, "word", user=self.user)
        self.c.wait_empty()
        self.assertEqual((self.c.dir / "out/batch.out").read_text(), "from the image\n/work\nword inner.sh\n")
        self.assertEqual(self.c.state(job), "COMPLETED")
        job = self.c.sbatch("--container-image=/nonexistent", "-o", "refused.out", script, user=self.user)
        self.c.wait_empty()
        self.assertEqual((self.c.state(job), self.c.job(job)["ExitCode"]), ("FAILED", "1:0"))
        self.assertIn("container: cannot open the image /nonexistent", (self.c.dir / "out/refused.out").read_text())

    def test_bundle(self):
        bundle = test_image.bundle(self.c.dir / "out" / f"bundle-{type(self).__name__}", self.images.root)
        out = self.srun(f"--container={bundle}", "sh", "-c",
                        "pwd; echo $FROM_BUNDLE; hostname; touch /x 2>&1; touch /scratch/x && cat /etc/marker | wc -c").stdout
        self.assertEqual(out, "/work\nyes\nboxed\ntouch: /x: Read-only file system\n0\n")
        self.assertEqual(self.srun("hostname", env={"SLURM_CONTAINER": str(bundle)}).stdout, "boxed\n")
        hooked = test_image.bundle(self.c.dir / "out" / f"hooked-{type(self).__name__}", self.images.root,
                                   hooks={"prestart": [{"path": "/bin/true"}]})
        self.refused("config.json: the hook prestart is not supported", f"--container={hooked}")
        self.refused("is no OCI bundle", "--container=/nonexistent")

    def test_ends(self):
        r = self.srun(f"--container-image={self.images.layout}", "sh", "-c", "exit 7", check=False)
        self.assertEqual(r.returncode, 7)
        job = self.c.sbatch(f"--container-image={self.images.layout}", "--wrap", "sleep 1000", user=self.user)
        self.c.wait_state(job, "RUNNING")
        self.c.run("scancel", job, user=self.user)
        self.c.wait_state(job, "CANCELLED")

    def test_salloc_passes_it_on(self):
        out = self.c.out("salloc", "-Q", f"--container-image={self.images.layout}", "--container-workdir=/opt", "srun", "sh",
                         "-c", "cat /etc/marker; pwd", user=self.user, env={"HOME": str(self.home)})
        self.assertEqual(out, "from the image\n/opt\n")

    def test_image_command(self):
        env = {"HOME": str(self.home)}
        run = lambda *a, **kw: self.c.run("spur", "image", *a, user=self.user, env={**env, "SPUR_IMAGE_DIR": str(self.home / "i")}, **kw)
        out = run("import", self.images.archive).stdout
        self.assertRegex(out, r"^tiny:1 sha256:[0-9a-f]{64}\n$")
        run("import", self.images.layout, "--name=other/layout:2")
        images = json.loads(run("list", "--json").stdout)["images"]
        self.assertEqual(sorted(n for i in images if i["store"] == str(self.home / "i") for n in i["names"]), ["other/layout:2", "tiny:1"])
        self.assertIn("tiny:1", run("list").stdout)
        use = {"SPUR_IMAGE_DIR": str(self.home / "i")}
        self.assertEqual(self.srun("--container-image=tiny:1", "cat", "/etc/marker", env=use).stdout, "from the image\n")
        run("remove", "tiny:1")
        r = run("remove", "tiny:1", check=False)
        self.assertEqual((r.returncode, r.stderr), (1, f"spur image: error: no image tiny:1 in {self.home}/i\n"))
        r = run("import", "docker://ubuntu", check=False)
        self.assertEqual(r.returncode, 1)
        self.assertIn("not supported yet", r.stderr)
        r = run("import", "/dev/null", check=False)
        self.assertIn("is no image", r.stderr)
        self.assertIn("Usage: spur image import", run("--help").stdout)
        self.assertEqual(run("frobnicate", check=False).returncode, 1)


@unittest.skipUnless(ROOT, "needs root")
class RootAgent(Common, unittest.TestCase):
    """root's agents, two of them, and jobs of an ordinary user."""
    user = USER

    @classmethod
    def make_cluster(cls):
        cdi = pathlib.Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
        cls.addClassCleanup(shutil.rmtree, cdi)
        cdi.chmod(0o755)
        (cdi / "lib").mkdir()
        (cdi / "lib/libfake.so").write_text("library\n")
        spec = {"cdiVersion": "0.5.0", "kind": "fake.com/gpu", "devices": [
            {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/full"}], "env": ["FAKE_GPU=0"]}},
            {"name": "1", "containerEdits": {"deviceNodes": [{"path": "/dev/fuse"}], "env": ["FAKE_GPU=1"],
                                             "hooks": [{"hookName": "createContainer", "path": "/bin/hook"}]}}],
            "containerEdits": {"mounts": [{"hostPath": f"{cdi}/lib", "containerPath": "/usr/fake"}]}}
        (cdi / "fake.json").write_text(json.dumps(spec))
        extra = f"""[devices]
cdi_spec_dirs = ["{cdi}"]
[[devices.gres]]
name = "gpu"
file = "/dev/full,/dev/fuse"
"""
        return SpurCluster(nodes=2, cpus=4, node='gres = ["gpu:2"]', extra=extra)

    def test_users_cannot_mount_what_they_cannot_read(self):
        secret = self.c.dir / "out/secret"
        secret.mkdir(mode=0o700)
        (secret / "file").write_text("secret\n")
        image = f"--container-image={self.images.layout}"
        self.refused(f"cannot mount {secret}: Permission denied", image, f"--container-mounts={secret}:/x")
        self.refused(f"cannot mount {secret}/file: Permission denied", image, f"--container-mounts={secret}/file:/x")
        self.refused("Permission denied", f"--container-image={secret}")
        out = self.inside("cat /s/secret/file 2>&1; echo x > /s/secret/new; true", f"--container-mounts={secret.parent}:/s",
                          "--container-remap-root")
        self.assertIn("Permission denied", out)
        self.assertEqual(os.listdir(secret), ["file"])

    def test_root_is_root(self):
        out = self.c.out("srun", f"--container-image={self.images.root}", "sh", "-c", "id -u; cat /etc/marker")
        self.assertEqual(out, "0\nfrom the image\n")

    def test_several_nodes_and_tasks(self):
        out = self.srun("-N2", "-n4", "-l", f"--container-image={self.images.layout}", "sh", "-c",
                        "echo $SLURM_PROCID $SLURM_NODEID >> /tmp/all; cat /etc/marker").stdout
        self.assertEqual(sorted(out.splitlines()), [f"{i}: from the image" for i in range(4)])
        # Tasks of a node are in one container.
        out = self.srun("-N1", "-n3", f"--container-image={self.images.layout}", "sh", "-c",
                        "touch /tmp/$SLURM_PROCID; while [ $(ls /tmp | wc -l) -lt 3 ]; do sleep 0.1; done; echo met").stdout
        self.assertEqual(out, "met\nmet\nmet\n")

    def test_granted_devices_and_their_specification(self):
        image = f"--container-image={self.images.layout}"
        script = "ls /dev/full /dev/fuse 2>/dev/null; echo gpu=$FAKE_GPU; cat /usr/fake/libfake.so 2>/dev/null; true"
        # /dev/full is in every container; which device it is shows by the rest.
        self.assertEqual(self.srun(image, "--gres=gpu:1", "sh", "-c", script).stdout, "/dev/full\ngpu=0\nlibrary\n")
        r = self.srun(image, "--gres=gpu:2", "-N1", "sh", "-c", script)
        self.assertEqual(r.stdout, "/dev/full\n/dev/fuse\ngpu=1\nlibrary\n")
        self.assertIn('the CDI hook "createContainer /bin/hook" of fake.com/gpu=1 is not run', r.stderr)
        self.assertEqual(self.srun(image, "sh", "-c", script).stdout, "/dev/full\ngpu=\n")

    def test_images_of_the_site_are_shared(self):
        env = {"HOME": "/root"}
        out = self.c.out("spur", "image", "import", self.images.layout, "--name=site/tiny", env=env)
        self.assertIn("site/tiny", out)
        for user in (USER, "mail"):
            with self.subTest(user=user):
                self.assertEqual(self.c.out("srun", "--container-image=site/tiny", f"--container-mounts={self.images.dir}:/new/place",
                                            "sh", "-c", "cat /etc/marker; ls /new/place/saved.tar; touch /tmp/x", user=user),
                                 "from the image\n/new/place/saved.tar\n")
        self.assertIn("site/tiny", self.c.out("spur", "image", "list", user=USER, env={"HOME": str(self.home)}))
        r = self.c.run("spur", "image", "remove", "site/tiny", user=USER, env={"HOME": str(self.home)}, check=False)
        self.assertEqual(r.returncode, 1)  # not his
        sleeper = self.c.sbatch("--container-image=site/tiny", "-o", "site.out", "--wrap", "echo up; sleep 1000", user=USER)
        wait_until(lambda: (self.c.dir / "out/site.out").exists() and "up" in (self.c.dir / "out/site.out").read_text(), 30, "it runs")
        busy = lambda: "in use" in self.c.run("spur", "image", "remove", "site/tiny", env=env, check=False).stderr
        self.assertTrue(busy())
        self.c.run("scancel", sleeper)
        self.c.wait_empty()
        wait_until(lambda: not busy(), 20, "nobody uses it")
        self.assertNotIn("site/tiny", self.c.out("spur", "image", "list", env=env))

    def test_imports_at_once(self):
        own = pathlib.Path(self.c.dir) / "state/images/users" / str(pwd.getpwnam("mail").pw_uid)
        image = self.images.dir / "fresh.tar"
        test_image.docker_archive(image)
        image.chmod(0o644)
        jobs = [self.c.sbatch(f"--container-image={image}", "-n1", "-o", f"c{i}.out", "--wrap", "cat /etc/marker", user="mail")
                for i in range(6)]
        self.c.wait_empty()
        self.assertEqual([self.c.state(j) for j in jobs], ["COMPLETED"] * 6)
        self.assertEqual([(self.c.dir / f"out/c{i}.out").read_text() for i in range(6)], ["from the image\n"] * 6)
        self.assertEqual(len([n for n in os.listdir(own) if n.startswith("sha256-")]), 1)
        self.assertEqual([n for n in os.listdir(own) if n.startswith("tmp-")], [])
        self.assertEqual(own.stat().st_mode & 0o777, 0o700)

    def test_a_killed_step_daemon_leaves_nothing(self):
        out = self.c.dir / "out/killed.out"
        job = self.c.sbatch("-w", "n1", f"--container-image={self.images.layout}", "--container-name=box", "-o", out, "--wrap",
                            "echo x > /file; echo up; sleep 1000", user=USER)
        wait_until(lambda: out.exists() and "up" in out.read_text(), 30, "it runs")
        self.assertNotEqual(os.listdir(self.c.dir / "state/images/run"), [])
        table = [line.split() for line in subprocess.check_output(["ps", "-eo", "pid,ppid,comm"], text=True).splitlines()[1:]]
        children = lambda parent: [int(pid) for pid, ppid, comm, *_ in table if int(ppid) == parent and comm == "spurstepd"]
        daemons = [pid for template in children(self.c.pid("spurd-n1")) for pid in children(template)]
        self.assertNotEqual(daemons, [])
        for pid in daemons:
            os.kill(pid, signal.SIGKILL)
        self.c.wait_empty()
        self.assertNotIn(self.c.state(job), ("RUNNING", "COMPLETED"))  # and tearDown looks for what is left

    def test_mpi(self):
        host = self.c.dir / "hostlike"
        host.mkdir()
        for name in ("usr", "etc", "opt"):
            (host / name).mkdir()
        for name in ("bin", "lib", "lib64", "sbin"):
            (host / name).symlink_to(f"usr/{name}")
        mounts = f"--container-mounts=/usr:/usr:ro,/etc:/etc:ro,{self.c.dir}:/prog:ro"
        env = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}
        # MPICH would share memory between what it takes for processes of one host: they are in two containers.
        for mpi, compiler, nodes in (("pmi2", "mpicc.mpich", 1), ("pmix", "mpicc.openmpi", 2)):
            with self.subTest(mpi=mpi):
                subprocess.run([compiler, "-o", self.c.dir / f"ring-{mpi}", PROGRAMS / "ring.c"], check=True)
                (self.c.dir / f"ring-{mpi}").chmod(0o755)
                out = self.srun(f"-N{nodes}", "-n4", f"--mpi={mpi}", f"--container-image={host}", mounts, f"/prog/ring-{mpi}",
                                env=env).stdout
                self.assertEqual(len([line for line in out.splitlines() if " of 4 on " in line and "sum 10" in line]), 4, out)


@unittest.skipUnless(ROOT, "needs root")
class UserAgent(Common, unittest.TestCase):
    """An ordinary user's own agent."""
    user = USER

    @classmethod
    def make_cluster(cls):
        return UserCluster(nodes=1, cpus=4)


@unittest.skipUnless(ROOT, "needs root")
class Copies(Common, unittest.TestCase):
    """Where overlays cannot be had."""
    user = USER
    overlay = False

    @classmethod
    def make_cluster(cls):
        return SpurCluster(nodes=1, cpus=4, extra="[containers]\ncopy_images = true\n")


if __name__ == "__main__":
    unittest.main()
