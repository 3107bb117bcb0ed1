# SPDX-License-Identifier: Apache-2.0
"""MPI programs of Debian's libraries, on three nodes: started by srun, and by their own mpirun inside a job."""
import pathlib
import subprocess
import unittest

from spur_cluster import SpurCluster

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
# Several nodes on one host: what is between them is the loopback device.
ENV = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_ALLOW_RUN_AS_ROOT": "1",
       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_oob_tcp_if_include": "lo"}


class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=3, cpus=2, memory_mb=4000, controller="kill_wait_secs = 2").__enter__()
        for name, compiler in (("mpich", "mpicc.mpich"), ("openmpi", "mpicc.openmpi")):
            subprocess.run([compiler, "-o", cls.c.dir / f"ring.{name}", PROGRAMS / "ring.c"], check=True)
        subprocess.run(["cc", "-o", cls.c.dir / "pmi2", PROGRAMS / "pmi2.c", "-lpmi2"], check=True)
        for name in ("ring.mpich", "ring.openmpi", "pmi2"):
            (cls.c.dir / name).chmod(0o755)

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def srun(self, *args, **kw):
        return self.c.run("srun", *args, env=ENV, timeout=120, **kw)

    def assert_ring(self, text, nodes=True):
        lines = sorted(line for line in text.splitlines() if line.startswith("rank "))
        where = [f"n{r // 2 + 1}" if nodes else "" for r in range(6)]
        expected = [f"rank {r} of 6 on {where[r]} sum 21" + (" token 15" if r == 0 else "") for r in range(6)]
        if not nodes:
            lines = [line.replace(line.split(" on ")[1].split(" ")[0] + " sum", " sum") for line in lines]
        self.assertEqual(lines, expected, text)

    def test_mpich_by_pmi2(self):
        self.assert_ring(self.srun("--mpi=pmi2", "-N3", "-n6", self.c.dir / "ring.mpich").stdout)

    def test_openmpi_by_pmix(self):
        self.assert_ring(self.srun("--mpi=pmix", "-N3", "-n6", self.c.dir / "ring.openmpi").stdout)

    def test_the_client_library_of_pmi2(self):
        out = self.srun("--mpi=pmi2", "-N3", "-n6", self.c.dir / "pmi2").stdout
        self.assertEqual(sorted(out.splitlines()), [f"rank {r} of 6 sum 55 (vector,(0,3,2))" for r in range(6)])
        out = self.srun("--mpi=pmi2", "-N3", "-n6", "-m", "cyclic", self.c.dir / "pmi2").stdout
        self.assertEqual(sorted(out.splitlines()),
                         [f"rank {r} of 6 sum 55 (vector,(0,3,1),(0,3,1))" for r in range(6)])

    def test_a_rank_that_dies_ends_the_step(self):
        for kind, program in (("pmi2", "ring.mpich"), ("pmix", "ring.openmpi")):
            with self.subTest(kind):
                r = self.srun(f"--mpi={kind}", "-N3", "-n6", self.c.dir / program, "die", "3", check=False)
                self.assertIn("task 3: Exited with exit code 7", r.stderr)
                self.assertIn(r.returncode, (7, 143))
                r = self.srun(f"--mpi={kind}", "-N3", "-n6", self.c.dir / program, "abort", "4", check=False)
                self.assertIn("task 4: Exited with exit code 7", r.stderr)
        self.c.wait_empty()

    def test_mpirun_inside_a_job(self):
        for name, command in (("openmpi", "mpirun.openmpi --map-by node:PE=1 --bind-to none"),
                              ("mpich", "mpiexec.mpich -n 6 -ppn 2")):
            with self.subTest(name):
                script = "#!/bin/bash\n" + "".join(f"export {k}={v}\n" for k, v in ENV.items())
                script += f"{command} {self.c.dir}/ring.{name}\n"
                job = self.c.sbatch("-o", "mpirun-%j", "-N3", "--ntasks-per-node=2", input=script)
                self.c.wait_state(job, "COMPLETED", "FAILED", seconds=120)
                text = (self.c.dir / "out" / f"mpirun-{job}").read_text()
                self.assertEqual(self.c.state(job), "COMPLETED", text)
                self.assertEqual(text.count(" sum 21"), 6, text)

    def test_kinds(self):
        self.assertIn("\tpmix\n", self.srun("--mpi=list").stdout)
        r = self.srun("--mpi=lam", "true", check=False)
        self.assertEqual((r.returncode, r.stderr),
                         (1, "srun: error: Invalid MPI type 'lam', --mpi=list for acceptable types\n"))
        self.assertEqual(self.srun("--mpi=none", "-n1", "sh", "-c", "echo ${PMI_FD-none}").stdout, "none\n")


if __name__ == "__main__":
    unittest.main()
