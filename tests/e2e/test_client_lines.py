# SPDX-License-Identifier: Apache-2.0
"""The command lines of programs that drive Slurm, a row each: the program, its line as it sends it, and how it reads the answer.
Lines with a dialogue of their own are in test_clients.py. LINES is the table; what stands in braces is filled in by `setUpClass`.

Not here: what is asked of the REST daemon, of libslurm and of cgroups; `sacctmgr ping`, `scontrol notify` and `token` (test_verbs.py), and
`scontrol reboot` (docs/compatibility.md).

A row holds if the line ends with status 0 (or as its row says), says nothing on standard error (many take any text there for a failure),
and its answer is read as the program would read it."""
import dataclasses
import json
import re
import time
import unittest
from collections.abc import Callable

from spur_cluster import wait_until
from test_accounting import AccountingCluster

STEP = r"\d+(?:_\d+)?(?:\.(?:batch|extern|\d+))?"


@dataclasses.dataclass
class Line:
    client: str
    line: str  # for sh; with {words}
    reads: Callable  # (text, words): true if the program can read it; or asserts
    status: int = 0
    stderr: str = ""  # a pattern for all of it
    before: str = ""  # run first, its answer is {it}


# ---- how answers are read

def rows_of(text):
    return text.rstrip("\n").split("\n") if text else []  # splitlines() would cut at other bytes, too


def lines(count=None, least=1):
    return lambda text, _: len(rows_of(text)) == count if count is not None else len(rows_of(text)) >= least


def cells(separator, count, least=1):
    """Every line has so many cells; None: blanks between them."""
    def read(text, _):
        rows = [line.split(separator) for line in rows_of(text)]
        return len(rows) >= least and all(len(row) == count for row in rows)
    return read


def every(pattern):
    def read(text, words):
        return bool(text) and all(re.fullmatch(pattern.format(**words), line) for line in rows_of(text))
    return read


def finds(*patterns):
    """Each is somewhere in the text."""
    return lambda text, words: all(re.search(pattern.format(**words), text, re.M) for pattern in patterns)


def is_text(wanted):
    return lambda text, words: text.strip() == wanted.format(**words)


def is_json(*paths):
    """Every path leads somewhere: "jobs.0.job_id"."""
    def read(text, _):
        for path in paths:
            at = json.loads(text)
            for key in path.split("."):
                at = at[int(key) if key.isdigit() else key]
        return True
    return read


def header(first, separator="|"):
    """A header line with these names, then rows with as many cells."""
    def read(text, _):
        head, *rows = [line.split(separator) for line in rows_of(text)]
        return head[:len(first)] == first and rows and all(len(row) == len(head) for row in rows)
    return read


def nothing(text, _):
    return text == ""


def anything(text, _):
    return True


def submitted(text, words):
    words["self"].after.append(re.search(r"\d+", text)[0])
    return re.fullmatch(r"(Submitted batch job )?\d+\n", text)


# One row a line, however long: they are to be compared with the programs' sources.
LINES = [
    # launchers of AI jobs
    Line("submitit", "sacct -o JobID,State,NodeList --parsable2 -j {done} -j {array}", header(["JobID", "State", "NodeList"])),
    Line("submitit", "scontrol requeue {array}_0", nothing,
         before="scontrol release {array}_0; for i in $(seq 300); do squeue -h -t R -o %i -j {array}_0 | grep -q . && break; sleep 0.1; done"),
    Line("submitit", "sbatch --wrap=\"srun --unbuffered --output %j_%t_log.out --error %j_%t_log.err true\"", submitted),
    Line("torchx", "sacct --parsable2 -j {done}", header(["JobID", "JobName", "Partition", "Account", "AllocCPUS", "State", "ExitCode"])),
    Line("torchx", "sacct --json -S1970-01-01-00:00:01", is_json("jobs.0.job_id", "jobs.0.state.current.0")),
    Line("torchx", "squeue --json", is_json("jobs.0.job_id", "jobs.0.het_job_id.set", "jobs.0.job_state.0", "jobs.0.name", "jobs.0.command",
                                            "jobs.0.current_working_directory", "jobs.0.nodes", "jobs.0.scheduled_nodes")),
    Line("torchx", "squeue --json -j {running}", is_json("jobs.0.job_resources.nodes.allocation.0.name", "jobs.0.job_resources.nodes.allocation.0.cpus.used",
                                                         "jobs.0.job_resources.nodes.allocation.0.memory.allocated")),
    Line("nemo-run", "sbatch --requeue --parsable --dependency=afterok:{done}:{failed} -H --wrap true", submitted),
    Line("nemo-run", "srun --nodes=1 --ntasks=1 -w n2 hostname --ip-address", every(r"[0-9a-f.: ]+")),
    Line("nemo-run", "scontrol show hostnames n[1-2]", is_text("n1\nn2")),
    Line("torchrun", "srun --overlap --wait=60 --kill-on-bad-exit=1 --jobid {running} bash -c 'echo $SLURM_PROCID $SLURM_NNODES'", is_text("0 1")),
    Line("torchrun", "printf '#!/bin/sh\\n#SBATCH --partition=debug  # adjust this\\n#SBATCH --err=%%x-%%j.err\\n#SBATCH -o %%x_%%j_%%n.out -H\\ntrue\\n' | sbatch",
         submitted),
    Line("nanotron", "sbatch --ntasks-per-node=1 --wait-all-nodes=1 -H --wrap true", submitted),
    Line("datatrove", "sbatch --export=ALL,RUN_OFFSET=1 -H --array=0-3%2 --mail-type=NONE --signal=SIGUSR1@60 --wrap 'srun -l -n 1 true'", submitted),
    Line("deepspeed", "srun -n 1 --include x true", nothing, status=255, stderr=r"srun: unrecognized option '--include'\n.*\n"),
    Line("deepspeed", "srun -n 1 --comment C --exclude n1 --nodes 1 --export=ALL,K=V sh -c 'echo $K $SLURMD_NODENAME'", is_text("V n2")),
    Line("skypilot", "squeue -h -p debug --states=pending -o \"%i\"", every(r"\d+(_\S+)?")),
    Line("skypilot", "srun --immediate=10 --time=00:00:30 hostname", lines(1)),
    Line("skypilot", "scontrol show node=n1", finds("NodeName=n1 ")),
    Line("skypilot", "srun --help 2>&1 | grep -q '\\[pyxis\\]'", nothing),
    Line("skypilot", "sinfo", finds(r"^PARTITION +AVAIL +TIMELIMIT +NODES +STATE NODELIST$")),
    Line("skypilot", "squeue -h --nodelist n1 -o \"%b\"", every("N/A")),
    Line("skypilot", "sbatch --partition=debug << EOF\n#!/bin/sh\n#SBATCH --wait-all-nodes=1 --no-requeue --cpus-per-task=1 --mem=10M --output=%j.out --error %j.err -H\nEOF", submitted),
    Line("torchx", "printf '#!/bin/sh\\n#SBATCH --job-name=role-0 --requeue --ntasks-per-node=1 --cpus-per-task=1 --mem=10 -H\\n#SBATCH hetjob\\n#SBATCH --job-name=role-1"
         " --requeue --ntasks-per-node=1 --cpus-per-task=1 --mem=10 -H\\ntrue\\n' > het.sh && sbatch --parsable --comment=c --mail-user=x@example.org --mail-type=NONE"
         " --chdir=$PWD het.sh", submitted),
    Line("torchx", "srun --output=slurm-\"$SLURM_JOB_ID\"-role-0.out --error=role-0.err --wait=60 --kill-on-bad-exit=1 --export=ALL,K=V true", nothing),
    Line("nemo-run", "scontrol show hostnames=n[1-2]", is_text("n1\nn2")),
    Line("nemo-run", "srun --output log_%j_${{SLURM_RESTART_COUNT:-0}}.out --wait=60 --kill-on-bad-exit=1 true", nothing),
    Line("skypilot", "scontrol show config | grep -i ^ProctrackType", every(r"ProctrackType\s*=\s*proctrack/(\w+)")),
    Line("areal", "sacct -j {done} --format=State -X -n", is_text("COMPLETED")),
    Line("areal", "srun --unbuffered --mpi=pmi2 -K --chdir $PWD true", nothing),
    Line("areal", "srun --immediate=5 --nodes=1 --ntasks=1 -n1 -c1 --mem=10M --nodelist=n2 hostname --ip-address", lines(1)),
    Line("cloudai", "sacct -j {done} --format=State --noheader", every(r" *COMPLETED *")),
    Line("cloudai", "sacct -j {done} --format=JobID,JobName,State,ExitCode,Start,End,ElapsedRAW,SubmitLine --delimiter='|' -p --noheader", cells("|", 9)),
    Line("cloudai", "sacct -j {done} -p --noheader -X --format=NodeList", every(r"n\d\|")),
    Line("cloudai", "srun --export=ALL --mpi=none -N2 --output=node-%N.toml true", nothing),
    Line("nvrx", "squeue -o \"%i|%j|%u|%P|%T\" --noheader -p debug -t RUNNING,PENDING -u {user}", cells("|", 5)),
    Line("nvrx", "scontrol show job {running},{held}", finds(r"\bJobId={running} ", r"\bJobId={held} ", r"StdOut=\S+", r"StdErr=\S+", r"Requeue=1")),
    Line("nvrx", "sacct -j {done} --noheader --parsable2 --format=JobID,StdOut,StdErr", cells("|", 3)),
    Line("gcm", "sdiag --all --json", is_json(*(f"statistics.{key}" for key in ("server_thread_count", "agent_queue_size", "agent_count", "agent_thread_count",
                                                                            "dbd_agent_queue_size")))),
    Line("gcm", "sinfo --all -N -o \"%all\"", lines(least=3)),
    Line("gcm", "sacctmgr show qos -P", header(["Name", "Priority"])),
    Line("gcm", "sacctmgr show user format=User -nP", every(r"\w+")),
    Line("gcm", "sacctmgr show user {user} withassoc format=User,DefaultAccount,Account,DefaultQOS,QOS -P", header(["User", "Def Acct", "Account", "Def QOS", "QOS"])),
    Line("gcm", "sacct -P -s running,r --delimiter @ -a -o all --duplicates --noconvert", header(["Account"], "@")),
    Line("gcm", "sacct -a -D -X -P --noconvert \"-S {today}\" \"-E now\" --format=jobid,user,alloccpus,alloctres,reqnodes,reqtres,submit,start,end,state,allocnodes,"
         "elapsed,suspended,account", header(["JobID", "User", "AllocCPUS", "AllocTRES", "ReqNodes", "ReqTRES"])),
    Line("gcm", "scontrol show node | awk /State=/", lines(2)),
    Line("gcm", "sinfo -V", every(r"slurm \d+\.\d+\.\d+")),
    Line("gcm", "sacctmgr show runaway", finds("No runaway jobs")),
    Line("gcm", "scontrol show partition -a -o", every(r"PartitionName=debug .*")),
    Line("milatools", "sbatch --parsable -H --wrap 'srun sleep 7d'", submitted),
    Line("milatools", "srun --overlap --jobid {running} echo here", is_text("here")),
    # workflow managers
    Line("snakemake", "sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime {today}T00:00 --endtime now --name done",
         every(r"{done}\|COMPLETED")),
    Line("snakemake", "scontrol show partition -M test", finds("PartitionName=debug", "TRES=")),
    Line("snakemake", "sacctmgr -n -s list user \"{user}\" format=account%256", finds(r"^ *science *$")),
    Line("snakemake", "sshare -U --format Account%256 --noheader", every(r" *(root|science) *")),
    Line("snakemake", "sacct -nu {user} -o Account%256 '|' tail -1", anything, status=1, stderr=r"(?s).+"),
    Line("snakemake", "sacct -j {done} -n -X -o nodelist%-256", every(r"n\d *")),
    Line("snakemake", "sacct -j {done}.0 --format=Reason --noheader", lines(1)),
    Line("snakemake", "sacct --name=done --parsable2 --noheader --format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem",
         every(STEP + r"\|\w*\|(why)?\|[0-9:-]+\|[0-9:.-]+\|\d+\|\d+\|(\d+K|0)?\|(\d+[MG])?")),
    Line("snakemake", "scancel {gone} --clusters=all", anything, before="sbatch --parsable -H --wrap true"),
    Line("snakemake", "srun -n1 --cpu-bind=q --cpus-per-task=1 echo done", is_text("done")),
    Line("snakemake", "echo 'echo here' | srun -n1 --cpu-bind=q sh -s", is_text("here")),
    Line("nextflow", "squeue --noheader -o \"%i %t\" -t all -p debug -u {user} 2>&1", cells(None, 2)),
    Line("parsl", "sacct -X", lines(least=3)),
    Line("parsl", "sacct -X --noheader --format=jobid,state%20 --job '{done},{failed}'", cells(None, 2, 2)),
    Line("parsl", "srun --ntasks 2 -l bash -c 'echo $SLURM_CPUS_ON_NODE $SLURM_JOB_NUM_NODES $SLURM_JOB_NAME'", every(r"[01]: \d+ [12] bash")),
    Line("dask-jobqueue", "sbatch -J d -e name-%J.err -o name-%J.out -p debug -n 1 -N 1 --cpus-per-task=1 --mem=1G -t 00:30:00 -H --wrap true", submitted),
    Line("toil", "sacct -n -j {done},{failed} --format JobIDRaw,State,ExitCode -P -S {today}T00:00:00 -E {today}T23:59:59", every(STEP + r"\|\w+\|\d+:\d+")),
    Line("psij", "printf '#!/bin/sh\\n#SBATCH --mem=1000K\\n#SBATCH --partition=\"debug\"\\n#SBATCH --hold\\n' | sbatch", submitted),
    Line("airflow", "echo '#!/bin/sh' | bash -l -c 'PATH={path} sbatch --parsable -H'", submitted),
    Line("airflow", "scontrol --oneliner show job {array}", every(r"JobId=\d+ .*JobState=\w+ .*")),
    Line("airflow", "sacct --noheader -j {done}", every(STEP + r" .* COMPLETED +0:0 *")),
    Line("dagster", "sbatch -D / -H --wrap true", submitted),
    Line("dagster", "sacct -j {done} -n -P --format=JobID,State%20,ExitCode", finds(r"^{done}\|COMPLETED\|0:0$", r"^{done}\.batch\|COMPLETED\|0:0$")),
    Line("fireworks", "squeue '-o \"%u\"' -u {user} -h -p debug", every(r' "{user}"')),
    Line("fireworks", "sbatch --license=none:0 --time-min=1 -H --wrap true", anything, status=1, stderr=r"(?s)sbatch: error: .+"),
    Line("galaxy", "sacct -n -o state%-32 -j {done}", every(r"COMPLETED {{23}}( )?")),
    Line("galaxy", "scontrol -o show job", every(r"JobId=.*")),
    Line("aiida", "sacct --format=$(sacct --helpformat | tr -s '\\n ' ',' | sed 's/,$//') --parsable --jobs={done}", header(["Account"])),
    Line("aiida", "sbatch --no-requeue --mail-type=NONE --mail-type=END --nice=5 --mem=100 --time=0-00:10:00 -H --wrap true", submitted),
    Line("aiida", "sbatch -A nosuch -H --wrap true", anything, status=1, stderr=r"(?s).*Invalid account.*"),
    Line("reframe", "SLURM_TIME_FORMAT='%s' sacct -S {today} -P -j {done},{failed} -o jobid,state,exitcode,end,nodelist",
         finds(r"^{done}\|(?P<state>\S+)([^\|]*)\|(\d+)\:(\d+)\|(?P<end>\d+)\|(.*)")),
    Line("reframe", "scontrol -a show -o reservations maint", finds(r"Nodes=n2 ", r"Flags=\S+"), before="scontrol create reservation "
         "reservationname=maint starttime=now+1day duration=60 user={user} nodes=n2"),
    Line("reframe", "sbatch --hint=nomultithread --ntasks-per-socket=1 --constraint='(fast)&(fast)' --time=1:0:0 -o rfm_%a -H --wrap true", submitted),
    Line("reframe", "sbatch --hint=multithread -H --wrap true", submitted),
    Line("reframe", "sbatch --ntasks-per-core=1 -H --wrap true", submitted),
    Line("future.batchtools", "sacct --user={user} --noheader --parsable2 --allocations --format=State --jobs={done} --starttime={today}", is_text("COMPLETED")),
    Line("future.batchtools", "sstat --format=JobID,MaxRSS,AveCPU --allsteps --jobs={running}", lines(least=2)),
    Line("clustermq", "scancel --name nobody_has_this", nothing),
    # portals and monitoring
    Line("ood_core", "sinfo -ho \"$(printf '\\036%%c\\037%%n\\037%%f')\"", every("\x1e\\d+\x1f\\S+\x1ffast")),
    Line("ood_core", "echo '#!/bin/sh' | sbatch -H --no-requeue -D / --mail-user x@example.org --mail-type NONE -J n -o /dev/null -e /dev/null -p debug --begin now+1hour "
         "-A science -t 10 --qos normal -n 1 -d afterok:{done},after:{failed} --export NONE --parsable", submitted),
    Line("ood_core", "sacctmgr -nP show users withassoc format=account,qos where user={user} cluster=test", every(r"(root|science)\|normal")),
    Line("ood_core", "sacct -P --delimiter \"$(printf '\\037')\" -n --units G --allocations -o User,Group,JobId,JobName,Elapsed,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,"
         "TotalCPU,MaxRSS,Partition,Submit,Start,End,ReqTRES -j {done}", cells("\x1f", 17)),
    Line("ood_core", "squeue --all --states=all --noconvert -O \"Account:|,JobID:|,State:|,\" -u {user} -M test", finds(r"^CLUSTER: test$", r"\|{running}\|RUNNING\|$")),
    Line("vpenso", "sinfo -h \"-o \\\"%n %G\\\"\"", every(r' "\S+ \S+"')),
    Line("vpenso", "sdiag", finds(*(rf"^\s*{label}:\s+\S+" for label in (
        "Server thread count", "Agent queue size", "DBD Agent queue size", r"Last cycle", r"Mean cycle", r"Depth Mean",
        r"Total backfilled jobs \(since last slurm start\)", r"Total backfilled jobs \(since last stats cycle start\)",
        r"Total backfilled heterogeneous job components")))),
    Line("vpenso", "sshare -n -P -o account,fairshare", cells("|", 2)),
    Line("vpenso", "squeue -a -r -h \"-o %A|%u|%T|%C\"", every(r" \d+\|\w+\|[A-Z]+\|\d+")),
    Line("vpenso", "sacct -a -X --format=Allocgres --state=RUNNING --noheader --parsable2", anything, status=1, stderr=r"(?s).*AllocGRES.*AllocTRES.*"),
    Line("rivosinc", "sinfo --json", is_json("sinfo.0.partition.name", "sinfo.0.nodes.total")),
    Line("rivosinc", "scontrol show lic --json", is_json("licenses")),
    Line("rivosinc", "sdiag --json", is_json("statistics.jobs_submitted")),
    Line("rivosinc", "sacctmgr show assoc format=User,Account,GrpCPU,GrpMem,GrpJobs,GrpSubmit --noheader --parsable2", cells("|", 6)),
    Line("rivosinc", "squeue --states=all -h -r -o '{{\"a\": \"%a\", \"id\": %A, \"end_time\": \"%e\", \"u\": \"%u\", \"state\": \"%T\", \"p\": \"%P\", \"cpu\": %C, "
         "\"mem\": \"%m\", \"array_id\": \"%K\", \"r\": \"%R\"}}'", lambda text, _: all(isinstance(json.loads(line)["id"], int) for line in rows_of(text))),
    Line("rivosinc", "sinfo -h -o '{{\"s\": \"%T\", \"mem\": %m, \"n\": \"%n\", \"l\": \"%O\", \"p\": \"%R\", \"fmem\": \"%e\", \"cstate\": \"%C\", \"w\": %w}}'",
         lambda text, _: all(isinstance(json.loads(line)["mem"], int) for line in rows_of(text))),
    Line("slinky", "scontrol ping", finds(r"UP")),
    Line("slinky", "sinfo -N -n n1 --Format=StateLong -h", every(r"(idle|mixed|allocated) *")),
    Line("slinky", "sacctmgr show cluster format=cluster%30 -n", every(r" {{26}}test *")),
    Line("slinky", "sacctmgr add account name=test -i", finds("Adding Account")),
    Line("slinky", "sacctmgr add user account=test name=games -i", finds("Adding User")),
    Line("slinky", "sacctmgr delete user games -i && sacctmgr delete account test -i", finds("Deleting account")),
    Line("slinky", "scontrol update nodename=n2 state=down reason='for a while' && scontrol update nodename=n2 state=resume", nothing),
    Line("slinky", "scontrol reconfigure", nothing),
    # for people
    Line("turm", "squeue --all --me --array --noheader --Format \"" + ",".join(f"{name}:###turm###" for name in (
        "jobid", "name", "state", "username", "timeused", "tres-alloc", "partition", "nodelist", "stdout", "stderr", "command", "statecompact", "reason",
        "ArrayJobID", "ArrayTaskID", "NodeList", "WorkDir")) + "\"", cells("###turm###", 18)),
    Line("turm", "scontrol update JobId={held} TimeLimit=30", nothing),
    Line("turm", "squeue --account=science --all --federation --job={running} --local --clusters=test --me --name=running --noconvert --partition=debug --qos=normal --sibling"
         " --sort=i --states=running --user={user} --nodelist=n1 --array --noheader --Format jobid:###turm###", finds(r"^{running}###turm###$")),
    Line("stui", "sinfo '--format=\"%R\"' --noheader --all", every(r'"\w+"')),
    Line("stui", "squeue --noheader --all '--format=\"%A|%i|%F|%K|%C|%j|%P|%r|%u|%y|%T|%M|%b|%N\"'", cells("|", 14)),
    Line("stui", "squeue -u {user} --sort=-V -h --format=\"%A\"", every(r"\d+")),
    Line("slurmcommander", "squeue -a --json", is_json("jobs.0.job_id")),
    Line("slurmcommander", "sinfo -a --json", is_json("sinfo.0.node.state.0")),
    Line("slurmcommander", "sacct -n --json -A science -S now-7days", is_json("jobs.0.job_id")),
    Line("slurmcommander", "sacctmgr -P list assoc user={user}", header(["Cluster", "Account", "User"])),
    Line("slurmcommander", "scontrol hold {held}", nothing),
    Line("reportseff", "sacct --helpformat", finds(r"JobIDRaw", r"AdminComment", r"TRESUsageOutAve")),
    Line("reportseff", "sacct --parsable -n --delimiter='^|^' --format=JobIDRaw,JobID,State,AllocCPUS,TotalCPU,Elapsed,Timelimit,ReqMem,MaxRSS,NNodes,NTasks,"
         "AdminComment,TRESUsageOutAve --jobs={done}", cells("^|^", 14)),
    Line("reportseff", "sacct --parsable -n --delimiter='^|^' --format=JobIDRaw,State --user={user} --starttime={mmddyy} --partition=debug --cluster=test", cells("^|^", 3)),
    Line("reportseff", "sacct --parsable -n --format=JobIDRaw --allusers --starttime={mmddyy}", every(STEP + r"\|")),
    Line("jobstats", "sacct -V", every(r"slurm \d+\.\d+\.\d+")),
    Line("jobstats", "SLURM_TIME_FORMAT=%s sacct -P -X -o jobidraw,start,end,cluster,alloctres,admincomment,user,account,state,nnodes,ncpus,reqmem,qos,partition,"
         "timelimitraw,jobname -j {done} -M test", header(["JobIDRaw", "Start", "End", "Cluster", "AllocTRES", "AdminComment", "User", "Account", "State", "NNodes",
                                                           "NCPUS", "ReqMem", "QOS", "Partition", "TimelimitRaw", "JobName"])),
    Line("jobstats", "sacct -j {done} -B", finds("srun true")),
    Line("jobstats", "sacctmgr -i update job where jobid={done} set AdminComment=JS1:x", finds(r"Modified")),
    Line("xdmod", "sacct --allusers --parsable2 --noheader --allocations --duplicates --clusters test --format jobid,jobidraw,cluster,partition,qos,account,group,gid,user,"
         "uid,submit,eligible,start,end,elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname --starttime {today}T00:00:00 "
         "--endtime {today}T23:59:59", cells("|", 26)),
    Line("simple_slurm", "squeue --me -o '\"%i\",\"%j\",\"%t\",\"%M\",\"%L\",\"%D\",\"%C\",\"%m\",\"%b\",\"%R\"'", header(['"JOBID"', '"NAME"', '"ST"'], ",")),
    Line("simple_slurm", "SQUEUE_FORMAT='%i;%T' squeue -h", every(r"\d+([_+]\S+)?;[A-Z]+")),
    Line("simple_slurm", "sbatch << EOF\n#!/bin/sh\n#SBATCH -H\nEOF", submitted),
    Line("ole-tools", "sinfo -h -N -O NodeList:30,Partition:30,CPUsState:30,CPUsLoad:30,Memory:30,FreeMem:30,StateCompact:30,Threads:30,Gres:30,GresUsed:30",
         lambda text, _: all(len(line) == 300 for line in rows_of(text))),
    Line("ole-tools", "scontrol show hostlistsorted n2,n1,n10", is_text("n[1-2,10]")),
    Line("ole-tools", "scontrol -o show assoc_mgr users={user} flags=assoc", finds(r"Account=science UserName={user}\(\d+\)", r"GrpTRESMins=\S+")),
    # test suites of a site: whether accounting is up, and what became of a job
    Line("suite", "sacctmgr show cluster", finds(r"^ *test ")),
    Line("suite", "sacct --json -X", is_json("jobs.0.job_id", "jobs.0.state.current.0")),
    Line("suite", "sacct -XPnj {done} -o State", is_text("COMPLETED")),
    Line("suite", "sacctmgr --json show qos", is_json("qos.0.name", "qos.0.id")),
    Line("suite", "sacctmgr -n -P list user {user} format=admin", every(r"None|Administrator")),
    Line("suite", "scontrol show nodes --json -F", is_json("nodes.0.name", "nodes.0.state.0")),
    # clouds
    Line("parallelcluster", "scontrol show partitions", finds("PartitionName=debug")),
    Line("parallelcluster", "scontrol create reservation reservationname=pc starttime=now+2days duration=1:00:00 user={user} nodes=n1", every(r"Reservation created: pc")),
    Line("parallelcluster", "scontrol update reservationname=pc duration=2:00:00", finds("Reservation updated")),
    Line("parallelcluster", "scontrol show reservation pc", finds("ReservationName=pc ")),
    Line("parallelcluster", "scontrol delete reservation pc", nothing),
    Line("slurm-gcp", "printf 'n1\\nn2\\n' > hosts; scontrol show hostlist $PWD/hosts", is_text("n[1-2]")),
    Line("slurm-gcp", "scontrol --yaml show node n1", finds(r'^"nodes":', r'"name": "n1"')),
    Line("slurm-gcp", "scontrol show jobs --json", is_json("jobs.0.job_id")),
    Line("slurm-gcp", "scontrol show topo n1", nothing, stderr=r"scontrol: error: No topology information available\n"),
    Line("slurm-gcp", "scontrol update jobid={held} admincomment='a word'", nothing),
    Line("slurm-gcp", "scontrol hold jobid={held}", nothing),
    Line("slurm-gcp", "squeue -h -o %f -j {held}", is_text("(null)")),
    Line("soperator", "scontrol ping --json", is_json("pings.0.hostname", "pings.0.responding")),
    Line("soperator", "sinfo -N --partition debug --responding --json", is_json("sinfo.0.nodes.nodes.0")),
    Line("soperator", "scontrol show nodes --json", is_json("nodes.0.instance_id", "nodes.1.name")),
    # MPI
    Line("prrte", "srun --version", every(r"slurm \d+\.\d+\.\d+")),
    Line("prrte", "srun --ntasks-per-node=1 --kill-on-bad-exit --mpi=none --cpu-bind=none --nodes=2 --nodelist=n1,n2 --ntasks=2 sh -c 'echo $SLURM_NODEID $SLURMD_NODENAME' | sort",
         is_text("0 n1\n1 n2")),
    Line("mpich", "srun --nodelist n1,n2 -N 2 -n 2 --input none sh -c 'echo $SLURM_NODEID' | sort", is_text("0\n1")),
]


class ClientLines(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.c = AccountingCluster(nodes=2, cpus=4, memory_mb=4000, node='features = ["fast"]', partition='default_time = "1:00:00"')
        cls.c.write_conf(cls.c.conf.read_text().replace("[accounting]\n", '[accounting]\nenforce = ["associations"]\n')
                         .replace('"job_env"]', '"job_env", "job_comment"]'))
        cls.c.__enter__()
        cls.addClassCleanup(cls.c.__exit__, None, None, None)
        user = cls.c.out("id", "-un").strip()
        cls.c.run("sacctmgr", "-i", "add", "account", "science")
        cls.c.run("sacctmgr", "-i", "add", "user", user, "account=science")
        sbatch = lambda *options: cls.c.sbatch("-A", "science", "-o", "/dev/null", *options)  # noqa: E731
        wait_until(lambda: cls.c.run("sbatch", "--test-only", "--wrap", "true", check=False).returncode == 0, 30, "the account is known")
        cls.words = {"user": user, "today": cls.c.out("date", "+%Y-%m-%d").strip(), "mmddyy": cls.c.out("date", "+%m%d%y").strip(), "path": cls.c.env["PATH"],
                     "done": sbatch("-J", "done", "--comment=why", "--mem=100M", "--wrap", "srun true"),
                     "failed": sbatch("-J", "failed", "--wrap", "exit 3"),
                     "running": sbatch("-J", "running", "-w", "n1", "--wrap", "srun sleep 600"),
                     "held": sbatch("-H", "-J", "held", "--wrap", "sleep 600"),
                     "array": sbatch("-H", "-J", "array", "-a", "0-3%2", "--wrap", "sleep 600")}
        wait_until(lambda: cls.c.sacct("-j", cls.words["done"], "-o", "state") == ["COMPLETED"] * 3, 60, "a job has ended")
        wait_until(lambda: cls.c.sacct("-X", "-j", cls.words["failed"], "-o", "state") == ["FAILED"], 60, "another has failed")
        cls.c.wait_state(cls.words["running"], "RUNNING")
        wait_until(lambda: f"{cls.words['running']}.0" in cls.c.out("squeue", "-h", "-s", "-o", "%i"), 30, "its step runs")
        cls.after = []  # jobs that rows left behind
        time.sleep(1.1)  # `-E now` asks for what was before this second

    def one(self, row):
        words = {**self.words, "self": self}
        if row.before:
            words["it"] = words["gone"] = self.c.run("sh", "-c", row.before.format(**words)).stdout.strip()
        line = row.line.format(**words)
        r = self.c.run("sh", "-c", line, check=False)
        said = f"{line}\nstatus {r.returncode}\n{r.stdout}{r.stderr}"
        self.assertEqual(r.returncode, row.status, said)
        self.assertTrue(re.fullmatch(row.stderr.format(**words) if row.stderr else "", r.stderr), said)
        self.assertTrue(row.reads(r.stdout, words), said)

    def test_lines(self):
        for row in LINES:
            with self.subTest(client=row.client, line=row.line):
                self.one(row)
        if self.after:
            self.c.run("scancel", *self.after)

    def test_every_client_is_there(self):
        """Guards the table against losing rows."""
        self.assertGreaterEqual(len(LINES), 130)
        self.assertGreaterEqual(len({row.client for row in LINES}), 40)
        self.assertEqual(len({(row.client, row.line) for row in LINES}), len(LINES))


if __name__ == "__main__":
    unittest.main()
