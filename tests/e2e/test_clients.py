# SPDX-License-Identifier: Apache-2.0
"""The command lines of programs that drive Slurm, and whether what they get is what they can parse: each test is one program,
with its own calls and its own way of reading the answer. What needs accounting (sacct, sacctmgr) is not here."""
import json
import re
import unittest

from spur_cluster import SpurCluster

SCRIPT = "#!/bin/sh\nsleep 100\n"


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, memory_mb=4000, node='features = ["fast"]').__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def tearDown(self):
        self.c.run("scancel", "--me", "-Q", check=False)
        self.c.wait_empty()

    def sh(self, line, status=0, **kw):
        """Runs a line of shell; the program must end as its client expects and say nothing on stderr."""
        r = self.c.run("sh", "-c", line, check=False, **kw)
        self.assertEqual((r.returncode, r.stderr), (status, ""), line)
        return r.stdout

    def submit(self, *options, script=SCRIPT):
        return int(self.c.run("sbatch", "--parsable", "-o", "/dev/null", *options, input=script).stdout)

    def running(self, *options):
        job = self.submit(*options)
        self.c.wait_state(job, "RUNNING")
        return job

    # ---- launchers of AI jobs

    def test_submitit(self):
        path = self.c.dir / "out" / "submitit.sh"
        path.write_text("""#!/bin/bash
# Parameters
#SBATCH --cpus-per-task=1
#SBATCH --error='/tmp/a b/%j_0_log.err'
#SBATCH --exclude=''
#SBATCH --job-name=submitit
#SBATCH --mem=1GB
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --open-mode=append
#SBATCH --output=/dev/null
#SBATCH --signal=USR2@90
#SBATCH --time=5
#SBATCH --wckey=submitit
#SBATCH --array=0-3%2
#SBATCH --hold
true
""")
        out = self.sh(f"sbatch {path}")
        job = re.search(r"job (?P<id>[0-9]+)", out).group("id")
        ids = self.sh(f"squeue -h -j {job} -o %i").split()
        self.assertRegex(ids[0], r"^(?P<main_id>\d+)_\[(?P<arrays>(\d+(-\d+)?(,)?)+)(\%\d+)?\]$")
        self.sh(f"scancel {job}_0")
        self.sh(f"scancel {job}")

    def test_submitit_signals(self):
        job = self.running()
        self.sh(f"scancel {job} --signal USR2")
        self.sh(f"scancel {job} --signal SIGTERM")

    def test_torchx(self):
        version = self.sh("sinfo --version").strip()
        self.assertTrue(version.startswith("slurm "))
        self.assertEqual([int(part) for part in version.split(" ")[1].split(".")][:2], [25, 5])
        rows = [line.split(",") for line in self.sh("sinfo --format %P,%m --noconvert").splitlines()]
        self.assertEqual(rows[0], ["PARTITION", "MEMORY"])
        self.assertEqual([(name, int(memory.strip("M+"))) for name, memory in rows[1:]], [("debug*", 4000)])
        job = self.submit("--comment=x", "-H")
        table = json.loads(self.sh(f"squeue --json -j {job}"))
        self.assertEqual([j["job_state"] for j in table["jobs"]], [["PENDING"]])
        self.assertEqual(table["jobs"][0]["job_id"], job)
        self.assertFalse(table["jobs"][0]["het_job_id"]["number"])
        self.sh(f"scancel {job}")

    def test_nemo_run(self):
        job = self.submit("--requeue", "-H")
        self.assertEqual(self.sh(f"squeue --start --noheader -j {job} -o '%i|%S|%T'").strip(), f"{job}|N/A|PENDING")
        hosts = self.sh("scontrol show hostnames=n[1-2]").split()
        self.assertEqual(hosts, ["n1", "n2"])

    def test_ray_sub(self):
        self.assertIn("(null)", self.sh('sinfo -p debug -h -o "%G"'))
        self.assertEqual(re.search(r"CPUTot=(\d+)", self.sh("scontrol show node n1 -o")).group(1), "4")

    def test_lightning(self):
        job = self.running()
        self.sh(f"scontrol requeue {job}")
        nodes = "n[1-2]"
        self.assertEqual(re.sub(r"\[(.*?)[,-].*\]", r"\1", nodes), "n1")

    def test_jax(self):
        out = self.sh("srun -N2 sh -c 'echo $SLURM_JOB_ID $SLURM_STEP_NODELIST $SLURM_NTASKS $SLURM_PROCID $SLURM_LOCALID "
                      "$SLURM_STEP_NUM_NODES'")
        for line in out.splitlines():
            job, nodes, tasks, rank, local, count = line.split()
            self.assertEqual((nodes, tasks, local, count), ("n[1-2]", "2", "0", "2"))

    def test_skypilot(self):
        job = self.running("-J", "sky", "-w", "n1")
        rows = [line.split("\\x1f") for line in
                self.sh(r'sinfo -h --Node -o "%N\x1f%t\x1f%G\x1f%c\x1f%m\x1f%P"').splitlines()]
        self.assertEqual(rows[0], ["n1", "mix", "(null)", "4", "4000", "debug*"])
        self.assertEqual(self.sh('squeue -h --states=running,completing -o "%i..%j..%u..%N..%b"').strip(),
                         f"{job}..sky..{self.me()}..n1..N/A")
        text = self.sh("scontrol show partitions -o")
        self.assertRegex(text, r"PartitionName=debug .*Default=YES")
        self.assertRegex(text, r"MaxTime=((?:\d+-)?\d{1,2}:\d{2}:\d{2}|UNLIMITED)")
        self.assertRegex(text, r"DefaultTime=((?:\d+-)?\d{1,2}:\d{2}:\d{2}|NONE)")
        self.assertEqual(self.sh('squeue --me -h -o "%i" --states running,pending --name sky').strip(), str(job))
        self.assertEqual(self.sh(f'squeue -h --only-job-state --jobs {job} -o "%T"').strip(), "RUNNING")
        self.assertEqual(self.sh('squeue -h --name sky -o "%T"').strip(), "RUNNING")
        self.assertEqual(self.sh(f'squeue -h --jobs {job} --states all -o "%r"').strip(), "None")
        self.assertEqual(self.sh(f'squeue -h --jobs {job} -o "%N"').strip(), "n1")
        self.assertEqual(self.sh('squeue -h --nodelist n1 -o "%b"').strip(), "N/A")
        config = self.sh("scontrol show config")
        self.assertRegex(config, r"(?m)^ProctrackType\s*=\s*proctrack/(\w+)")
        self.assertRegex(config, r"(?m)^SelectTypeParameters\s*=\s*(\S+)")
        node = dict(pair.split("=", 1) for pair in self.sh("scontrol show node n1 -o").split() if "=" in pair)
        for key in ("NodeName", "CPUAlloc", "CPUTot", "RealMemory", "AllocMem", "FreeMem", "CPULoad", "Gres", "NodeAddr",
                    "NodeHostName", "State"):
            self.assertIn(key, node)
        self.sh("scancel --name sky --signal TERM")
        self.sh("scancel --name sky --full")

    def test_dstack(self):
        self.sh("scontrol ping")
        self.assertEqual(self.sh("sinfo -h -o '%P'").split(), ["debug*"])
        job = self.sh("sbatch --parsable -H << 'EOF'\n#!/bin/sh\ntrue\nEOF").strip().split(";")[0]
        self.assertEqual(self.sh(f"squeue -j {job} --only-job-state -h -o '%T'").strip(), "PENDING")
        self.assertEqual(self.sh("squeue -j 999999 --only-job-state -h -o '%T'"), "")
        self.assertEqual(self.sh(f"squeue -j {job} -h -o '%P'").strip(), "debug")
        for line in self.sh("scontrol show -o node='n[1-2]'").splitlines():
            keys = {pair.split("=")[0].lower() for pair in line.split() if "=" in pair}
            self.assertLessEqual({"nodename", "nodeaddr", "nodehostname", "gres", "cputot", "realmemory", "partitions", "state"}, keys)

    def test_areal(self):
        job = self.running("-J", "areal")
        fields = "JobID,State,SubmitTime,StartTime,Name,NodeList,UserName,MaxCPUs,cpus-per-task,NumTasks,tres-alloc"
        out = self.sh(f'squeue -O "{",".join(f + ":.{-}" for f in fields.split(","))}" -tRUNNING -n areal')
        header, row = [line.split("{-}") for line in out.splitlines()]
        self.assertEqual(len(header), len(row))
        self.assertEqual(row[:2], [str(job), "RUNNING"])
        self.sh(f"scancel -s KILL {job}")

    def test_cloudai(self):
        job = self.running()
        self.assertEqual(self.sh("sinfo --noheader -o '%P|%t|%u|%N'").splitlines()[0].count("|"), 3)
        self.assertEqual(self.sh("squeue --states=running,pending --noheader -o '%P|%T|%N|%u'").strip(), f"debug|RUNNING|n1|{self.me()}")
        self.sh(f"scancel {job}")

    def test_resiliency(self):
        self.assertRegex(self.sh("squeue --version"), r"^slurm \d+\.\d+\.\d+$")
        a, b = self.submit("-H"), self.submit("-H", "-a", "1-2")
        text = self.sh(f"scontrol show job {a},{b}")
        self.assertEqual(re.findall(r"\bJobId=(\S+)", text), [str(a), str(b)])
        self.assertEqual(re.findall(r"StdOut=(\S+)", text), ["/dev/null", "/dev/null"])
        self.assertIn("Requeue=1", text)
        self.assertIn(f"ArrayJobId={b} ArrayTaskId=1-2", text)

    def test_gcm(self):
        job = self.submit("-H")
        names = ("JOBARRAYID TRES-PER-NODE MINCPUS JOBID NAME TIMELEFT USERNAME STATE PARTITION PENDINGTIME RESTARTCNT SCHEDNODES "
                 "REQUEUE FEATURE ACCRUETIME ELIGIBLETIME").split()
        row = self.sh(f'squeue --all -O "{",".join(n + ":#" for n in names)}" --noheader').splitlines()[0].split("#")
        self.assertEqual((len(row), row[0], row[7]), (len(names) + 1, str(job), "PENDING"))
        out = self.sh('sinfo --all -N -O "cpus:256|,cpusstate:256|,gres:256|,gresused:256|,nodelist:256|,statelong:256|,partitionname:256|" --noheader')
        self.assertEqual([cell.strip() for cell in out.splitlines()[0].split("|")][:2], ["4", "0/4/0/4"])
        self.assertEqual(self.sh("sinfo -n n1 -o %T -h").strip(), "idle")
        self.assertEqual(self.sh("scontrol ping | grep -c UP").strip(), "1")
        self.sh("scontrol show partition -a -o")
        self.sh('sinfo --all -N -o "%all"')

    def test_milatools(self):
        r = self.c.run("salloc", "-n1", "true")
        self.assertRegex(r.stderr, r"job allocation [0-9]+")
        job = self.running("-w", "n1")
        self.assertEqual(self.sh(f"squeue -j {job} -ho %T").strip(), "RUNNING")
        self.assertEqual(self.sh(f"squeue --jobs {job} -ho %N").strip(), "n1")
        self.assertEqual(self.sh("squeue --me --nodelist n1 -ho %A").strip(), str(job))

    # ---- workflow managers

    def test_snakemake(self):
        out = self.sh("sbatch --parsable --job-name 1b4e-28ba --output /tmp/%j.log --export=ALL --comment rule_a -A 'acct' -p debug -t 5 "
                      "--mem 100 --ntasks=1 --cpus-per-task=1 -D /tmp --hold --wrap=\"true\"")
        job = int(out.split(";")[0])
        self.assertEqual(self.sh("squeue --format='%i|%T' --states=all --noheader --name 1b4e-28ba").strip(), f"{job}|PENDING")
        config = self.sh("scontrol show config")
        self.assertRegex(config, r"MaxArraySize\s*=?\s*(\d+)")
        self.assertRegex(config, r"MinJobAge\s*=\s*\d+ sec")
        self.assertEqual(self.sh("sinfo -o %P").split(), ["PARTITION", "debug*"])
        partition = self.sh("scontrol show partition")
        for key in ("PartitionName", "MaxTime", "MaxNodes", "TotalCPUs", "TotalNodes", "DefMemPer", "TRES"):
            self.assertIn(key, partition)
        self.sh(f"scancel {job}")

    def test_nextflow(self):
        path = self.c.dir / "out" / ".command.run"
        path.write_text("#!/bin/bash\n#SBATCH -J nf-name\n#SBATCH -o /dev/null\n#SBATCH --no-requeue\n#SBATCH --signal B:USR2@30\n#SBATCH -c 1\n"
                        "#SBATCH -t 48:00:00\n#SBATCH --mem 100M\n#SBATCH --hold\ntrue\n")
        job = re.search(r"Submitted batch job (\d+)", self.sh(f"sbatch {path}")).group(1)
        for extra in ("-p debug -u " + self.me(), "--only-job-state"):
            rows = [line.split() for line in self.sh(f'squeue --noheader -o "%i %t" -t all {extra} 2>&1').splitlines()]
            self.assertIn([job, "PD"], rows)
            self.assertTrue(all(len(row) == 2 for row in rows))
        self.sh(f"scancel {job} {job}")

    def test_cromwell(self):
        out = self.sh("sbatch -J name -D /tmp -o /dev/null -e /dev/null -t 5 -p debug -n 1 --mem-per-cpu=100 --hold --wrap '/usr/bin/env bash x'")
        job = re.search(r"Submitted batch job (\d+).*", out).group(1)
        self.sh(f"squeue -j {job}")
        self.assertNotEqual(self.c.run("squeue", "-j", "999999", check=False).returncode, 0)

    def test_parsl(self):
        a, b = self.submit("-H"), self.running()
        rows = [line.split() for line in self.sh(f"squeue --noheader --format='%i %t' --job '{a},{b}'").splitlines()]
        self.assertEqual(sorted(rows), sorted([[str(a), "PD"], [str(b), "R"]]))
        self.sh(f"scancel {a} {b}")

    def test_toil(self):
        rows = [line.split() for line in self.sh('sinfo -a -o "%P %G %l %p %c %m"').splitlines()]
        self.assertTrue(all(len(row) == 6 for row in rows))
        job = self.c.sbatch("-J", "toil_job_1", "--signal=B:INT@30", "--export=ALL,K=V", "--mem=100", "--cpus-per-task=1",
                            "--time=0:90", "-o", "/dev/null", "-e", "/dev/null", "--hold", "--wrap=exec true")
        self.assertEqual(self.sh('squeue -h --format "%i %t %M"').split(), [str(job), "PD", "0:00"])
        records = self.sh("scontrol show job").strip().split("\n\n")
        mine = [r for r in records if f"JobId={job} " in r]
        fields = dict(pair.split("=", 1) for pair in mine[0].split() if "=" in pair)
        self.assertEqual((fields["JobState"], fields["ExitCode"], fields["TimeLimit"]), ("PENDING", "0:0", "00:02:00"))

    def test_psij(self):
        job = self.submit("-H", "--mem=100000K")
        rows = [line.split() for line in self.sh("squeue -O JobArrayID,StateCompact,Reason -t all --me").splitlines()[1:]]
        self.assertTrue(all(len(row) == 3 for row in rows))
        self.assertIn([str(job), "PD", "JobHeldUser"], rows)
        self.assertIn(str(job), self.sh("squeue --me -o %i -h -r -t all").split())
        self.sh(f"scancel -Q {job}")
        self.assertEqual(self.sh("SLURM_JOB_NODELIST=n[1-2] scontrol show hostnames").split(), ["n1", "n2"])

    def test_airflow_dagster_covalent(self):
        job = self.submit("-H", "-J", "flow")
        self.assertIn("JobState=PENDING", self.sh(f"scontrol --oneliner show job {job}"))
        self.assertEqual(self.sh("squeue -n flow -h -o %i").strip(), str(job))
        self.assertEqual(self.sh(f"squeue -j {job} -h -o %T").strip(), "PENDING")
        self.assertIn("PENDING", self.sh(f"scontrol show job {job}"))

    def test_fireworks(self):
        self.submit("-H")
        self.assertEqual(len(self.sh(f"squeue '-o \"%u\"' -u {self.me()} -h").splitlines()), 1)

    def test_easybuild(self):
        self.assertRegex(self.sh("sbatch --version").split()[-1], r"^\d+\.\d+\.\d+$")
        first = self.submit("-H")
        out = self.sh(f'sbatch --dependency "afterok:{first}" --kill-on-invalid-dep=yes --export "A,B" --hold --job-name "x" --nodes "1" '
                      '--ntasks "2" --output "%j.out" --time "300" --wrap "true"')
        second = re.search(r"^Submitted batch job (\d+)", out).group(1)
        self.sh(f"scontrol release {first} {second}")

    def test_galaxy(self):
        job = self.submit("-H")
        self.assertEqual([line.split() for line in self.sh(f"squeue -a -o '%A %t' -j {job}").splitlines()], [["JOBID", "ST"], [str(job), "PD"]])
        r = self.c.run("squeue", "-a", "-o", "%A %t", "-j", "999999", check=False)
        self.assertEqual(r.stderr, "slurm_load_jobs error: Invalid job id specified\n")

    def test_aiida(self):
        job = self.submit("-H", "--nice=5", "--time=0-00:05:00")
        fmt = "%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V"
        fields = self.sh(f"SLURM_TIME_FORMAT='standard' squeue --noheader -o '{fmt}' --jobs={job},{job}").strip().split("^^^")
        self.assertEqual(len(fields), 14)
        self.assertEqual(fields[:3], [str(job), "PD", "JobHeldUser"])
        self.assertEqual(self.sh(f"squeue --noheader -o '{fmt}' --jobs=999999,999999"), "")

    def test_reframe(self):
        job = self.submit("-H")
        self.assertEqual(self.sh(f'squeue -h -j {job} -o "%A|%r"').strip(), f"{job}|JobHeldUser")
        self.assertEqual(self.sh(f'squeue -h -j {job} -o "%%i|%%T|%%N|%%r"').strip(), f"{job}|PENDING||JobHeldUser")
        for line in self.sh("scontrol -a show -o nodes").splitlines():
            self.assertRegex(line, r"NodeName=(\S+) .*ActiveFeatures=(\S+).* State=(\S+).*Partitions=(\S+)")
        self.assertRegex(self.sh("scontrol -a show -o partitions"), r"PartitionName=(\S+)\s+.*Default=YES")
        r = self.c.run("srun", "--test-only", "true")
        self.assertRegex(r.stderr, r"partition (\S+)\s+")
        self.assertEqual(self.sh("scontrol show hostname n[1-2]").split(), ["n1", "n2"])

    def test_batchtools(self):
        out = self.sh("sbatch --hold --array=1-3 --wrap=true")
        job = out.split(" ")[3].strip()
        ids = self.sh(f"squeue --user={self.me()} --states=PD,CF,RF,RH,RQ,SE --noheader --format=%i -r").split()
        self.assertEqual(ids, [f"{job}_{task}" for task in (1, 2, 3)])
        self.assertEqual(self.sh(f"squeue --user={self.me()} --states=R,S,CG,RS,SI,SO,ST --noheader --format=%i -r"), "")
        out = self.sh(f"squeue --format='job_id=%i,state=%T,submitted_on=%V,time_used=%M' -j {job}")
        self.assertIn("state=PENDING", out)
        self.sh(f"scancel {job}_2")

    # ---- portals and monitoring

    def test_open_ondemand(self):
        job = self.submit("-H")
        names = ("Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature ArrayJobID GroupName GroupID "
                 "OverSubscribe Sockets JobArrayID Cores Name Threads Comment ArrayTaskID TimeLimit TimeLeft MinMemory TimeUsed ReqNodes "
                 "NodeList Command Contiguous QOS Partition PriorityLong Reason StartTime StateCompact State UserName UserID Reservation "
                 "SubmitTime WCKey Licenses ExcNodes CoreSpec Nice SchedNodes SCT WorkDir tres-alloc tres-per-node").split()
        spec = "".join(f"{name}:\x1f," for name in names)
        out = self.c.out("squeue", "--all", "--states=all", "--noconvert", "-O", spec, "-j", job)
        header, row = [line.split("\x1f") for line in out.splitlines()]
        self.assertEqual((len(header), len(row)), (len(names) + 1, len(names) + 1))
        self.assertEqual(dict(zip(names, row))["JobID"], str(job))
        self.assertRegex(self.sh("sinfo -aho %F/%C").strip(), r"^\d+/\d+/\d+/\d+/\d+/\d+/\d+/\d+$")
        self.assertEqual(len(self.sh("sinfo -ahNO nodehost:100,gres:512,gresused:512,statelong").splitlines()[0]), 100 + 512 + 512 + 20)
        for token in self.sh("scontrol show part -o").split():
            self.assertRegex(token, r"^(?P<key>\w+)=(?P<value>.+)$")
        self.sh(f"scontrol release {job}")
        self.sh(f"scontrol hold {job}", status=0)

    def test_batchspawner(self):
        job = self.running()
        self.assertRegex(self.sh(f"squeue -h -j {job} -o '%T %B'").strip(), r"^RUNNING\s+((?:[\w_-]+\.?)+)$")

    def test_exporter(self):
        job = self.submit("-H")
        self.assertEqual(self.sh('squeue -a -r -h "-o %A|%a|%T|%C"').strip().split("|"), [str(job), "(null)", "PENDING", "1"])
        self.assertEqual(self.sh('squeue -a -r -h "-o %A,%T,%r" --states=PENDING').strip().split(","), [str(job), "PENDING", "JobHeldUser"])
        self.assertEqual(self.sh("squeue -a -r -h -o%P --states=PENDING").strip(), "debug")
        self.assertRegex(self.sh('sinfo -h "-o %C"').strip(), r"^\d+/\d+/\d+/\d+$")
        self.assertRegex(self.sh('sinfo -h "-o %D,%T"').strip(), r"^2,idle$")
        self.assertRegex(self.sh("sinfo -h -o%R,%C").strip(), r"^debug,\d+/\d+/\d+/\d+$")
        for line in self.sh("sinfo -h -N -O NodeList,AllocMem,Memory,CPUsState,StateLong").splitlines():
            self.assertEqual(len(line.split()), 5)

    def test_parallelcluster(self):
        self.sh("scontrol show nodes")
        self.assertEqual(self.sh("sinfo -h -N -o %N -p debug -t idle").split(), ["n1", "n2"])
        self.sh('scontrol update nodename=n1,n2 state=down reason="x"')
        self.sh("scontrol update nodename=n1,n2 state=resume")
        self.sh("scontrol update partitionname=debug state=INACTIVE")
        self.sh("scontrol update partitionname=debug state=UP")
        self.c.wait_idle()

    def test_clustershell_cylc_canu(self):
        job = self.running("-w", "n1", "-J", "canu")
        self.assertEqual(self.sh("sinfo -h -o %N -p debug -t mix").strip(), "n1")
        self.assertEqual(self.sh("sinfo -h -N -o %T -n n1").strip(), "mixed")
        self.assertEqual(self.sh(f"squeue -h -j {job} -o %N").strip(), "n1")
        self.assertEqual(self.sh("squeue -h -w n1 -o %u").strip(), self.me())
        self.assertIn(str(job), self.sh(f"squeue -h -j {job},999999"))
        self.assertEqual(self.sh("sinfo --exact -o '%N %D %c %m'").splitlines()[0], "NODELIST NODES CPUS MEMORY")
        self.assertEqual(self.sh("squeue -h -o%F -n canu").strip(), str(job))
        self.sh('squeue -a -h -t all -o "JobId=%i TimeUsed=%M Partition=%P JobState=%T"')
        self.sh('sinfo -a -h -o "PartitionName=%P TotalCPUs=%C"')
        self.sh("scontrol show node --oneliner")

    def me(self):
        return self.c.out("id", "-un").strip()


if __name__ == "__main__":
    unittest.main()
