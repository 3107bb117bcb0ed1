// SPDX-License-Identifier: Apache-2.0
// The table. Rows without a setter are options of Slurm 25.05 whose feature Spur does not have yet: they are refused
// by name.
#include "cli/job_options.h"

#include <algorithm>

#include "cli/container_options.h"
#include "cli/job_option_setters.h"
#include "cli/job_option_values.h"
#include "cli/read_file.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using namespace job_setters;
using Spec = model::JobSpec;
using Container = model::ContainerRequest;
constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
constexpr auto M = Takes::Maybe;
constexpr unsigned kBoth = kSbatch | kSrun | kSalloc;  // that is, all

// clang-format off
constexpr JobOption kOptions[] = {
    {{{"accel-bind", 0, V, "g|n|v", "bind tasks to GPUs near their CPUs (g)"}, set_accel_bind}, kSrun, nullptr, "SLURM_ACCEL_BIND"},
    {{{"account", 'A', V, "name", "charge job to specified account"}, set_text<&Spec::account>}, kBoth, "SBATCH_ACCOUNT", "SLURM_ACCOUNT"},
    {{{"acctg-freq", 0, V, "<datatype>=<interval>", "accounting and profiling sampling intervals (checked;\nagents have one rate for all)"}, set_acctg_freq}, kBoth, "SBATCH_ACCTG_FREQ", "SLURM_ACCTG_FREQ"},
    {{{"array", 'a', V, "indexes", "job array index values"}, set_array}, kSbatch, "SBATCH_ARRAY_INX"},
    {{{"batch", 0, V}}, kSbatch, "SBATCH_BATCH"},
    {{{"bb", 0, V, "spec", "burst buffer specification, kept with the job"}, set_text<&Spec::burst_buffer>}, kBoth, nullptr, "SLURM_BURST_BUFFER"},
    {{{"bbf", 0, V, "file_name", "burst buffer specification file, kept with the job"}, set_burst_buffer_file}, kBoth},
    {{{"bcast", 0, M, "dest", "copy the program to the nodes (to dest) and run it\nfrom there"}, set_bcast}, kSrun, nullptr, "SLURM_BCAST"},
    {{{"bcast-exclude", 0, V, "paths", "directories whose shared objects stay with\n--send-libs, or NONE"}, set_bcast_exclude}, kSrun, nullptr, "SLURM_BCAST_EXCLUDE"},
    {{{"bell", 0, N, nullptr, "ring the terminal bell when the job is allocated"}, set_bell}, kSalloc, "SBATCH_BELL"},
    {{{"begin", 'b', V, "time", "defer job until HH:MM MM/DD/YY"}, set_begin}},
    {{{"chdir", 'D', V, "directory", "set working directory of the job"}, set_chdir}, kBoth, nullptr, "SLURM_WORKING_DIR"},
    {{{"cluster-constraint", 0, V, "list", "features of clusters of a federation (there is none)"}, set_always}},
    {{{"clusters", 'M', V, "names", "clusters to issue commands to: this one's name", "cluster"}, set_job_clusters}, kBoth, "SBATCH_CLUSTERS", "SLURM_CLUSTERS"},
    {{{"comment", 0, V, "name", "arbitrary comment"}, set_text<&Spec::comment>}},
    {{{"compress", 0, M, "lib", "compress what --bcast sends: lz4, none"}, set_compress}, kSrun, nullptr, "SLURM_COMPRESS"},
    {{{"consolidate-segments", 0, N}}},
    {{{"constraint", 'C', V, "list", "specify a list of constraints"}, set_text<&Spec::features>}, kBoth, "SBATCH_CONSTRAINT", "SLURM_CONSTRAINT"},
    {{{"container", 0, V, "path", "OCI container bundle to run in"}, set_container_bundle}, kBoth, "SBATCH_CONTAINER", "SLURM_CONTAINER"},
    {{{"container-id", 0, V}}, kBoth, "SBATCH_CONTAINER_ID", "SLURM_CONTAINER_ID"},
    {{{"container-entrypoint", 0, N, nullptr, "[pyxis] run the program through the image's entrypoint"}, set_container_flag<&Container::entrypoint, true>}, kBoth, "SBATCH_CONTAINER_ENTRYPOINT", "SLURM_CONTAINER_ENTRYPOINT"},
    {{{"container-env", 0, V, "names", "[pyxis] variables that keep their value in the container\nalthough the image sets them; NAME=VALUE sets one"}, set_container_env}, kBoth, "SBATCH_CONTAINER_ENV", "SLURM_CONTAINER_ENV"},
    {{{"container-image", 0, V, "image", "[pyxis] image to run in: a name (spur image list), or the path\nof an OCI layout, docker archive, squashfs file or\nroot directory"}, set_container_image}, kBoth, "SBATCH_CONTAINER_IMAGE", "SLURM_CONTAINER_IMAGE"},
    {{{"container-mount-home", 0, N, nullptr, "[pyxis] show the home directory in the container"}, set_container_flag<&Container::mount_home, true>}, kBoth, "SBATCH_CONTAINER_MOUNT_HOME", "SLURM_CONTAINER_MOUNT_HOME"},
    {{{"container-mounts", 0, V, "SRC:DST[:OPTS],...", "[pyxis] paths of the node to show in the container; OPTS: ro,\nrw, bind, rbind, noexec, nodev, nosuid, joined by +"}, set_container_mounts}, kBoth, "SBATCH_CONTAINER_MOUNTS", "SLURM_CONTAINER_MOUNTS"},
    {{{"container-name", 0, V, "name", "[pyxis] keep the container's files under this name for further\nsteps of the job"}, set_container_name}, kBoth, "SBATCH_CONTAINER_NAME", "SLURM_CONTAINER_NAME"},
    {{{"container-readonly", 0, N, nullptr, "[pyxis] let nothing of the image be changed"}, set_container_flag<&Container::readonly, true>}, kBoth, "SBATCH_CONTAINER_READONLY", "SLURM_CONTAINER_READONLY"},
    {{{"container-remap-root", 0, N, nullptr, "[pyxis] be root inside the container"}, set_container_flag<&Container::remap_root, true>}, kBoth, "SBATCH_CONTAINER_REMAP_ROOT", "SLURM_CONTAINER_REMAP_ROOT"},
    {{{"container-workdir", 0, V, "path", "[pyxis] working directory in the container"}, set_container_workdir}, kBoth, "SBATCH_CONTAINER_WORKDIR", "SLURM_CONTAINER_WORKDIR"},
    {{{"container-writable", 0, N, nullptr, "[pyxis] let the container's files be changed (the default)"}, set_container_flag<&Container::readonly, false>}, kBoth},
    {{{"no-container-entrypoint", 0, N, nullptr, "[pyxis] run the program itself (the default)"}, set_container_flag<&Container::entrypoint, false>}, kBoth},
    {{{"no-container-mount-home", 0, N, nullptr, "[pyxis] do not show the home directory (the default)"}, set_container_flag<&Container::mount_home, false>}, kBoth},
    {{{"no-container-remap-root", 0, N, nullptr, "[pyxis] be oneself inside the container (the default)"}, set_container_flag<&Container::remap_root, false>}, kBoth},
    {{{"contiguous", 0, N, nullptr, "demand a contiguous range of nodes"}, set_flag<&Spec::contiguous>}},
    {{{"core-spec", 'S', V, "cores", "count of cores per node kept for the system"}, set_core_spec}, kBoth, "SBATCH_CORE_SPEC", "SLURM_CORE_SPEC"},
    {{{"cores-per-socket", 0, V, "n", "number of cores per socket to allocate"}, set_cores_per_socket}},
    {{{"cpu-bind", 0, V, "type", "bind tasks to CPUs: none, rank, map_cpu:<list>,\nmask_cpu:<list>, rank_ldom, map_ldom:<list>,\nmask_ldom:<list>, sockets, cores, threads, ldoms;\nbefore it: quiet or verbose"}, set_cpu_bind}, kSrun, nullptr, "SLURM_CPU_BIND"},
    {{{"cpu-freq", 0, V, "min[-max[:gov]]", "requested cpu frequency and governor (checked; none\nis set)"}, set_cpu_freq}, kBoth, "SBATCH_CPU_FREQ_REQ", "SLURM_CPU_FREQ_REQ"},
    {{{"cpus-per-gpu", 0, V, "n", "number of CPUs required per allocated GPU"}, set_cpus_per_gpu}, kBoth, "SBATCH_CPUS_PER_GPU", "SLURM_CPUS_PER_GPU"},
    {{{"cpus-per-task", 'c', V, "ncpus", "number of cpus required per task"}, set_cpus_per_task}, kBoth, nullptr, "SRUN_CPUS_PER_TASK"},
    {{{"deadline", 0, V, "time", "remove the job if no ending possible before\nthis deadline (start > (deadline - time[-min]))"}, set_deadline}},
    {{{"delay-boot", 0, V, "mins", "how long not to boot nodes for features (checked; no\nnode is booted)"}, set_delay_boot}, kBoth, "SBATCH_DELAY_BOOT", "SLURM_DELAY_BOOT"},
    {{{"dependency", 'd', V, "type:jobid[+time]", "defer job until condition on jobid is satisfied"}, set_dependency}, kBoth, nullptr, "SLURM_DEPENDENCY"},
    {{{"disable-status", 'X', N, nullptr, "a single Ctrl-C goes to the tasks at once"}, set_request_flag<&JobRequest::disable_status>}, kSrun, nullptr, "SLURM_DISABLE_STATUS"},
    {{{"distributed", 0, N, nullptr, "tell tasks how to find each other: MASTER_ADDR,\nMASTER_PORT, WORLD_SIZE, RANK, LOCAL_RANK"}, set_request_flag<&JobRequest::distributed>}, kSrun, nullptr, "SPUR_DISTRIBUTED"},
    {{{"distribution", 'm', V, "type", "distribution of tasks to nodes and of CPUs to sockets:\nblock, cyclic, plane=size or arbitrary"}, set_distribution}, kBoth, "SBATCH_DISTRIBUTION", "SLURM_DISTRIBUTION"},
    {{{"epilog", 0, V, "program", "run \"program\" after launching job step"}, set_request_text<&JobRequest::epilog>}, kSrun, nullptr, "SLURM_EPILOG"},
    {{{"error", 'e', V, "err", "file for standard error"}, set_error}, kBoth, "SBATCH_ERROR", "SLURM_STDERRMODE"},
    {{{"exact", 0, N, nullptr, "give the step just what its tasks need, so that others\nrun beside it"}, set_exact}, kSrun, nullptr, "SLURM_EXACT"},
    {{{"exclude", 'x', V, "hosts...", "exclude a specific list of hosts"}, set_exclude}},
    {{{"exclusive", 0, M, "user", "allocate nodes in exclusive mode"}, set_exclusive}, kBoth, "SBATCH_EXCLUSIVE", "SLURM_EXCLUSIVE"},
    {{{"export", 0, V, "names", "specify environment variables to export"}, set_request_text<&JobRequest::exported>}, kBoth, "SBATCH_EXPORT", "SLURM_EXPORT_ENV"},
    {{{"export-file", 0, V, "file|fd", "specify environment variables file or file\ndescriptor to export"}, set_request_text<&JobRequest::export_file>}, kSbatch},
    {{{"external-launcher", 0, N}}, kSrun},
    {{{"extra", 0, V, "string", "arbitrary string kept with the job"}, set_text<&Spec::extra>}},
    {{{"extra-node-info", 'B', V, "S[:C[:T]]", "sockets per node, cores per socket and threads per\ncore that nodes must have"}, set_extra_node_info}},
    {{{"get-user-env", 0, M, "secs", "use the environment that the user has after logging in"}, set_get_user_env}, kSbatch, "SBATCH_GET_USER_ENV"},
    {{{"gid", 0, V, "group_id", "group ID to run job as (user root only)"}, set_gid}},
    {{{"gpu-bind", 0, V, "type", "binding of tasks to GPUs in the job's steps"}, set_gpu_bind}, kSbatch | kSalloc, "SBATCH_GPU_BIND"},
    {{{"gpu-bind", 0, V, "type", "bind tasks to GPUs: closest, none, single:<tasks>,\nper_task:<gpus>, map_gpu:<list>, mask_gpu:<list>"}, set_gpu_bind}, kSrun, nullptr, "SLURM_GPU_BIND"},
    {{{"gpu-freq", 0, V, "level", "frequency of GPUs and their memory (checked; none is\nset)"}, set_gpu_freq}, kBoth, "SBATCH_GPU_FREQ", "SLURM_GPU_FREQ"},
    {{{"gpus", 'G', V, "n", "count of GPUs required for the job"}, set_gpus}, kBoth, "SBATCH_GPUS", "SLURM_GPUS"},
    {{{"gpus-per-node", 0, V, "n", "number of GPUs required per allocated node"}, set_gpus_per_node}, kBoth, "SBATCH_GPUS_PER_NODE", "SLURM_GPUS_PER_NODE"},
    {{{"gpus-per-socket", 0, V, "n", "number of GPUs required per allocated socket"}, set_gpus_per_socket}, kBoth, "SBATCH_GPUS_PER_SOCKET", "SLURM_GPUS_PER_SOCKET"},
    {{{"gpus-per-task", 0, V, "n", "number of GPUs required per spawned task"}, set_gpus_per_task}, kBoth, "SBATCH_GPUS_PER_TASK", "SLURM_GPUS_PER_TASK"},
    {{{"gres", 0, V, "list", "required generic resources"}, set_gres}, kBoth, "SBATCH_GRES", "SLURM_GRES"},
    {{{"gres-flags", 0, V, "opts", "enforce-binding, disable-binding, allow-task-sharing,\none-task-per-sharing, multiple-tasks-per-sharing"}, set_gres_flags}, kBoth, "SBATCH_GRES_FLAGS", "SLURM_GRES_FLAGS"},
    {{{"het-group", 0, V, "value", "hetjob component offset(s) to launch application on"}, set_het_groups}, kSrun},
    {{{"hint", 0, V, "type", "compute_bound, multithread or nomultithread"}, set_hint}, kBoth, "SBATCH_HINT", "SLURM_HINT"},
    {{{"hold", 'H', N, nullptr, "submit job in held state"}, set_flag<&Spec::hold>}},
    {{{"ignore-pbs", 0, N, nullptr, "ignore #PBS and #BSUB options in the batch script"}, set_request_flag<&JobRequest::ignore_pbs>}, kSbatch, "SBATCH_IGNORE_PBS"},
    {{{"immediate", 'I', M, "secs", "exit if resources not available in \"secs\""}, set_immediate}, kSrun | kSalloc, "SBATCH_IMMEDIATE", "SLURM_IMMEDIATE"},
    {{{"input", 'i', V, "in", "file for standard input"}, set_input}, kBoth, "SBATCH_INPUT", "SLURM_STDINMODE"},
    {{{"interactive", 0, N, nullptr, "be the shell of salloc: one task on the first node,\nbeside all other steps"}, set_request_flag<&JobRequest::interactive>}, kSrun},
    {{{"job-name", 'J', V, "jobname", "name of job"}, set_job_name}, kBoth, "SBATCH_JOB_NAME", "SLURM_JOB_NAME"},
    {{{"jobid", 0, V, "id", "run under already allocated job"}, set_job_id}, kSrun, nullptr, "SLURM_JOB_ID"},
    {{{"kill-command", 'K', M, "signal", "signal to send terminating job"}, set_kill_command}, kSalloc, "SBATCH_KILL_CMD"},
    {{{"kill-on-bad-exit", 'K', M, "0|1", "kill the step if any task terminates\nwith a non-zero exit code"}, set_kill_on_bad_exit}, kSrun, nullptr, "SLURM_KILL_BAD_EXIT"},
    {{{"kill-on-invalid-dep", 0, V, "yes|no", "terminate job if its dependency can never\nbe satisfied"}, set_kill_on_invalid_dep}, kSbatch},
    {{{"label", 'l', N, nullptr, "prepend task number to lines of stdout/err"}, set_request_flag<&JobRequest::label>}, kSrun, nullptr, "SLURM_LABELIO"},
    {{{"licenses", 'L', V, "names", "required license, comma separated"}, set_licenses}},
    {{{"mail-type", 0, V, "type", "notify on state change: BEGIN, END, FAIL or ALL"}, set_mail_type}},
    {{{"mail-user", 0, V, "user", "who to send email notification for job state\nchanges"}, set_text<&Spec::mail_user>}},
    {{{"mcs-label", 0, V}}},
    {{{"mem", 0, V, "MB", "minimum amount of real memory"}, set_mem}, kBoth, "SBATCH_MEM_PER_NODE", "SLURM_MEM_PER_NODE"},
    {{{"mem-bind", 0, V, "type", "binding of memory to NUMA nodes in the job's steps"}, set_mem_bind}, kSbatch | kSalloc, "SBATCH_MEM_BIND"},
    {{{"mem-bind", 0, V, "type", "bind memory to NUMA nodes: none, rank, local,\nmap_mem:<list>, mask_mem:<list>; before it: prefer,\nquiet or verbose"}, set_mem_bind}, kSrun, nullptr, "SLURM_MEM_BIND"},
    {{{"mem-per-cpu", 0, V, "MB", "maximum amount of real memory per allocated cpu\nrequired by the job"}, set_mem_per_cpu}, kBoth, "SBATCH_MEM_PER_CPU", "SLURM_MEM_PER_CPU"},
    {{{"mem-per-gpu", 0, V, "MB", "real memory required per allocated GPU"}, set_mem_per_gpu}, kBoth, "SBATCH_MEM_PER_GPU", "SLURM_MEM_PER_GPU"},
    {{{"mincpus", 0, V, "n", "minimum number of logical processors per node"}, set_mincpus}},
    {{{"mpi", 0, V, "type", "type of MPI being used: none, pmi2, pmix; list"}, set_mpi}, kSrun, nullptr, "SLURM_MPI_TYPE"},
    {{{"msg-timeout", 0, V, "secs", "how long to wait for messages (checked; they are\nrepeated until they arrive)"}, set_msg_timeout}, kSrun},
    {{{"multi-prog", 0, N, nullptr, "if set the program name specified is the\nconfiguration specification for multiple programs"}, set_request_flag<&JobRequest::multi_prog>}, kSrun},
    {{{"network", 0, V, "type", "what to ask of the switch (there is no plugin for any)"}, set_always}, kBoth, "SBATCH_NETWORK", "SLURM_NETWORK"},
    {{{"nice", 0, M, "value", "decrease scheduling priority by value"}, set_nice}},
    {{{"no-bell", 0, N, nullptr, "do NOT ring the terminal bell"}, set_no_bell}, kSalloc, "SBATCH_NO_BELL"},
    {{{"no-shell", 0, N, nullptr, "keep the allocation without running anything in it"}, set_request_flag<&JobRequest::no_shell>}, kSalloc},
    {{{"no-allocate", 'Z', N}}, kSrun},
    {{{"no-kill", 'k', M, "off", "do not kill job on node failure"}, set_no_kill}, kBoth, "SBATCH_NO_KILL", "SLURM_NO_KILL"},
    {{{"no-requeue", 0, N, nullptr, "if set, do not permit the job to be requeued"}, set_no_requeue}, kSbatch, "SBATCH_NO_REQUEUE"},
    {{{"nodefile", 'F', V, "filename", "request a specific list of hosts"}, set_nodefile}},
    {{{"nodelist", 'w', V, "hosts...", "request a specific list of hosts"}, set_nodelist}},
    {{{"nodes", 'N', V, "N", "number of nodes on which to run (N = min[-max])"}, set_nodes}, kBoth, nullptr, "SLURM_JOB_NUM_NODES"},
    {{{"ntasks", 'n', V, "ntasks", "number of tasks to run"}, set_ntasks}, kBoth, nullptr, "SLURM_NTASKS"},
    {{{"ntasks-per-core", 0, V, "n", "number of tasks to invoke on each core", "tasks-per-core"}, set_ntasks_per_core}, kBoth, nullptr, "SLURM_NTASKS_PER_CORE"},
    {{{"ntasks-per-gpu", 0, V, "n", "number of tasks to invoke for each GPU", "tasks-per-gpu"}, set_ntasks_per_gpu}, kBoth, nullptr, "SLURM_NTASKS_PER_GPU"},
    {{{"ntasks-per-node", 0, V, "n", "number of tasks to invoke on each node", "tasks-per-node"}, set_ntasks_per_node}, kBoth, nullptr, "SLURM_NTASKS_PER_NODE"},
    {{{"ntasks-per-socket", 0, V, "n", "number of tasks to invoke on each socket", "tasks-per-socket"}, set_ntasks_per_socket}, kBoth, nullptr, "SLURM_NTASKS_PER_SOCKET"},
    {{{"oom-kill-step", 0, M}}, kBoth, "SBATCH_OOM_KILL_STEP", "SLURM_OOM_KILL_STEP"},
    {{{"open-mode", 0, V, "append|truncate", "open mode of output and error files"}, set_open_mode}, kBoth, "SBATCH_OPEN_MODE", "SLURM_OPEN_MODE"},
    {{{"output", 'o', V, "out", "file for standard output"}, set_output}, kBoth, "SBATCH_OUTPUT", "SLURM_STDOUTMODE"},
    {{{"overcommit", 'O', N, nullptr, "overcommit resources"}, set_flag<&Spec::overcommit>}, kBoth, "SBATCH_OVERCOMMIT", "SLURM_OVERCOMMIT"},
    {{{"overlap", 0, N, nullptr, "let the step share resources with other steps"}, set_request_flag<&JobRequest::overlap>}, kSrun, nullptr, "SLURM_OVERLAP"},
    {{{"oversubscribe", 's', N, nullptr, "over subscribe resources with other jobs", "share"}, set_oversubscribe}},
    {{{"parsable", 0, N, nullptr, "outputs only the jobid on successful submission"}, set_request_flag<&JobRequest::parsable>}, kSbatch},
    {{{"partition", 'p', V, "partition", "partition requested"}, set_partition}, kBoth, "SBATCH_PARTITION", "SLURM_PARTITION"},
    {{{"prefer", 0, V, "list", "features desired but not required by the job"}, set_text<&Spec::prefer>}, kBoth, "SBATCH_PREFER", "SLURM_PREFER"},
    {{{"preserve-env", 'E', N, nullptr, "keep the environment's numbers of nodes and tasks\n(SLURM_JOB_NUM_NODES, SLURM_NTASKS)"}, set_request_flag<&JobRequest::preserve_env>}, kSrun},
    {{{"priority", 0, V, "value", "set the priority of the job to value"}, set_priority}},
    {{{"profile", 0, V, "value", "profiles to write (checked; none are written)"}, set_profile}, kBoth, "SBATCH_PROFILE", "SLURM_PROFILE"},
    {{{"prolog", 0, V, "program", "run \"program\" before launching job step"}, set_request_text<&JobRequest::prolog>}, kSrun, nullptr, "SLURM_PROLOG"},
    {{{"propagate", 0, M, "rlimits", "propagate all [or specific list of] rlimits"}, set_propagate}},
    {{{"pty", 0, N, nullptr, "run task zero in pseudo terminal"}, set_request_flag<&JobRequest::pty>}, kSrun},
    {{{"qos", 'q', V, "qos", "quality of service"}, set_text<&Spec::qos>}, kBoth, "SBATCH_QOS", "SLURM_QOS"},
    {{{"quiet", 'Q', N, nullptr, "quiet mode (suppress informational messages)"}, set_request_flag<&JobRequest::quiet>}},
    {{{"quit-on-interrupt", 0, N, nullptr, "quit on single Ctrl-C"}, set_request_flag<&JobRequest::quit_on_interrupt>}, kSrun},
    {{{"reboot", 0, N}}, kBoth},
    {{{"relative", 'r', V, "n", "run job step relative to node n of allocation"}, set_relative}, kSrun},
    {{{"requeue", 0, N, nullptr, "if set, permit the job to be requeued"}, set_requeue}, kSbatch, "SBATCH_REQUEUE"},
    {{{"reservation", 0, V, "name", "allocate resources from named reservation"}, set_text<&Spec::reservation>}, kBoth, "SBATCH_RESERVATION", "SLURM_RESERVATION"},
    {{{"resv-ports", 0, M, "n", "reserve communication ports (there are none)"}, set_resv_ports}, kBoth, nullptr, "SLURM_RESV_PORTS"},
    {{{"segment", 0, V, "n", "nodes of each part of the job that must be in one\nblock"}, set_segment}, kBoth, "SBATCH_SEGMENT_SIZE", "SLURM_SEGMENT_SIZE"},
    {{{"send-libs", 0, M, "yes|no", "with --bcast: send the shared objects along"}, set_send_libs}, kSrun, nullptr, "SLURM_SEND_LIBS"},
    {{{"signal", 0, V, "[B:]num[@time]", "send signal when time limit within time seconds"}, set_signal}, kBoth, "SBATCH_SIGNAL", "SLURM_SIGNAL"},
    {{{"slurmd-debug", 0, V}}, kSrun, nullptr, "SLURMD_DEBUG"},
    {{{"sockets-per-node", 0, V, "n", "number of sockets per node to allocate"}, set_sockets_per_node}},
    {{{"spread-job", 0, N, nullptr, "spread job across as many nodes as possible"}, set_flag<&Spec::spread_nodes>}, kBoth, "SBATCH_SPREAD_JOB", "SLURM_SPREAD_JOB"},
    {{{"spread-segments", 0, N}}, kBoth},
    {{{"stepmgr", 0, N, nullptr, "steps are managed on the job's own nodes (always done)"}, set_always}, kBoth},
    {{{"switches", 0, V, "max-switches{@max-time-to-wait}", "optimum switches and max time to wait for optimum"}, set_switches}, kBoth, "SBATCH_REQ_SWITCH", "SLURM_REQ_SWITCH"},
    {{{"task-epilog", 0, V, "program", "run \"program\" after each task"}, set_request_text<&JobRequest::task_epilog>}, kSrun, nullptr, "SLURM_TASK_EPILOG"},
    {{{"task-prolog", 0, V, "program", "run \"program\" before each task"}, set_request_text<&JobRequest::task_prolog>}, kSrun, nullptr, "SLURM_TASK_PROLOG"},
    {{{"test-only", 0, N, nullptr, "validate the request and say when it would start"}, set_request_flag<&JobRequest::test_only>}, kSbatch | kSrun},
    {{{"thread-spec", 0, V, "threads", "count of threads per node kept for the system"}, set_thread_spec}, kBoth, "SBATCH_THREAD_SPEC", "SLURM_THREAD_SPEC"},
    {{{"threads", 'T', V, "threads", "threads of srun itself (it needs one)"}, set_threads}, kSrun, nullptr, "SLURM_THREADS"},
    {{{"threads-per-core", 0, V, "n", "number of threads per core to allocate"}, set_threads_per_core}, kBoth, "SBATCH_THREADS_PER_CORE", "SLURM_THREADS_PER_CORE"},
    {{{"time", 't', V, "minutes", "time limit"}, set_time}, kBoth, "SBATCH_TIMELIMIT", "SLURM_TIMELIMIT"},
    {{{"time-min", 0, V, "minutes", "minimum time limit (if distinct)"}, set_time_min}},
    {{{"tmp", 0, V, "MB", "minimum amount of temporary disk"}, set_tmp}},
    {{{"treewidth", 0, V, "n", "width of the fan-out (checked; agents are called by\nthe first one)"}, set_tree_width}, kSrun},
    {{{"tres-bind", 0, V, "...", "task to tres binding options: gres/gpu:<--gpu-bind>"}, set_tres_bind}, kBoth, "SBATCH_TRES_BIND", "SLURM_TRES_BIND"},
    {{{"tres-per-task", 0, V, "list", "CPUs and devices of each task: cpu:2,gres/gpu:1"}, set_tres_per_task}, kBoth, "SBATCH_TRES_PER_TASK", "SLURM_TRES_PER_TASK"},
    {{{"uid", 0, V, "user_id", "user ID to run job as (user root only)"}, set_uid}, kSbatch | kSalloc},
    {{{"unbuffered", 'u', N, nullptr, "do not line-buffer stdout/err"}, set_request_flag<&JobRequest::unbuffered>}, kSrun, nullptr, "SLURM_UNBUFFEREDIO"},
    {{{"use-min-nodes", 0, N, nullptr, "if a range of node counts is given, prefer the\nsmaller count"}, set_flag<&Spec::fewest_nodes>}, kBoth, "SBATCH_USE_MIN_NODES", "SLURM_USE_MIN_NODES"},
    {{{"verbose", 'v', N, nullptr, "verbose mode (multiple -v's increase verbosity)"}, set_verbose}, kBoth, "SBATCH_DEBUG", "SLURM_DEBUG"},
    {{{"wait", 'W', N, nullptr, "wait for completion of submitted job"}, set_request_flag<&JobRequest::wait>}, kSbatch, "SBATCH_WAIT"},
    {{{"wait", 'W', V, "sec", "seconds to wait after first task exits\nbefore killing the step"}, set_wait_seconds}, kSrun, nullptr, "SLURM_WAIT"},
    {{{"wait-all-nodes", 0, V, "0|1", "begin when all nodes are ready (always done)"}, set_wait_all_nodes}, kSbatch | kSalloc, "SBATCH_WAIT_ALL_NODES"},
    {{{"wckey", 0, V, "wckey", "wckey to run job under"}, set_text<&Spec::wckey>}, kBoth, "SBATCH_WCKEY", "SLURM_WCKEY"},
    {{{"whole", 0, N, nullptr, "give the step all that the job has on its nodes"}, set_whole}, kSrun, nullptr, "SLURM_WHOLE"},
    {{{"wrap", 0, V, "command string", "wrap command string in a sh script and submit"}, set_request_text<&JobRequest::wrap>}, kSbatch},
    {{{"x11", 0, M, "all|first|last", "forward X11 (there is none: an error)"}, set_x11}, kSrun | kSalloc},
    {{{"help", 'h', N, nullptr, "show this help message"}, set_request_flag<&JobRequest::help>}},
    {{{"usage", 0, N, nullptr, "display brief usage message"}, set_request_flag<&JobRequest::usage>}},
    {{{"version", 'V', N, nullptr, "output version information and exit"}, set_request_flag<&JobRequest::version>}},
};
// clang-format on

}  // namespace

std::span<const JobOption> all_job_options() {
  return kOptions;
}

std::vector<Option<JobRequest>> job_options_of(JobCommand command) {
  std::vector<Option<JobRequest>> rows;
  rows.reserve(std::size(kOptions));
  for (const JobOption& row : kOptions)
    if ((row.commands & command) != 0) rows.push_back(row.option);
  return rows;
}

int apply_job_environment(Context& context, JobCommand command, JobRequest& request) {
  request.begin_source();
  request.plane_size = text::parse_decimal32(context.env("SLURM_DIST_PLANESIZE").value_or(""));
  for (const JobOption& row : kOptions) {
    const char* name = command == kSrun ? row.srun_env : row.sbatch_env;
    if (name == nullptr || (row.commands & command) == 0) continue;
    const std::string of_salloc = command == kSalloc ? "SALLOC_" + std::string(name).substr(7) : std::string();
    if (command == kSalloc) name = of_salloc.c_str();
    const auto value = context.env(name);
    if (!value) continue;
    if (row.option.set == nullptr) return report_unsupported(context, name);
    if (auto done = row.option.set(request, *value); !done) return report(context, done.error());
  }
  return 0;
}

namespace {

// One name or several per line; as many as there are tasks if that is known.
OptionValue<std::string> listed_hosts(const std::string& path, std::optional<std::uint32_t> tasks) {
  constexpr std::string_view kFailed = "Failure getting NodeNames from hostfile";
  auto content = read_file(path);
  if (!content)
    return bad_option(
        fmt::format("slurm_allocate_resources error opening file {}, {}\n{}", path, content.error().message, kFailed),
        1);
  std::ranges::replace_if(*content, [](char c) { return text::is_blank(c); }, ',');
  auto hosts = text::expand_hostlist(*content);
  if (!hosts) return bad_option(std::string(kFailed), 1);
  if (hosts->empty() || (tasks && hosts->size() < *tasks))
    return bad_option(fmt::format("Too few NodeNames in Slurm Hostfile\n{}", kFailed), 1);
  return text::compress_hostlist(*hosts);
}

std::uint32_t count_different(const std::string& hostlist) {
  auto names = text::expand_hostlist(hostlist).value_or(std::vector<std::string>{});
  std::ranges::sort(names);
  const auto [first, last] = std::ranges::unique(names);
  return static_cast<std::uint32_t>(first - names.begin());
}

}  // namespace

int print_gres_help(Context& context) {
  const auto controller = context.controller();
  const auto config =
      controller ? (*controller)->config() : Result<model::ClusterConfig>(std::unexpected(controller.error()));
  if (!config) {
    context.error("{}", words(config.error()));
    return 1;
  }
  context.out.write("Valid gres options are:\n");
  for (const auto& [key, value] : config->shown)
    if (key == "GresTypes" && value != "(null)")
      for (const std::string_view name : text::split(value, ',')) context.out.print("{}[[:type]:count]\n", name);
  return 0;
}

OptionStatus settle_distribution(const Context& context, JobRequest& request) {
  using Nodes = model::Distribution::Nodes;
  model::JobSpec& spec = request.spec;
  if (const auto file = context.env("SLURM_HOSTFILE"); file && spec.required_nodes.empty()) {
    auto hosts = listed_hosts(std::string(*file), spec.tasks);
    if (!hosts) return std::unexpected(std::move(hosts).error());
    spec.required_nodes = *std::move(hosts);
    spec.distribution = {};
    spec.distribution.nodes = Nodes::Arbitrary;
  }
  if (spec.distribution.nodes != Nodes::Arbitrary) return {};
  if (spec.required_nodes.empty())
    return bad_option("With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option", 1);
  auto names = text::expand_hostlist(spec.required_nodes);
  if (names && spec.tasks && names->size() > *spec.tasks) {
    names->resize(*spec.tasks);
    spec.required_nodes = text::compress_hostlist(*names);
  }
  return {};
}

namespace {

// What numbers of GPUs need beside them, in Slurm's words.
OptionStatus check_gpus(const JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  const std::string last = fmt::format("\n{}", slurm_message(ErrorCode::InvalidGres));
  const bool sized = spec.tasks || spec.tasks_per_node > 0;
  if (!request.gpus_per_task.empty() && request.gpus.empty() && !sized)
    return bad_option("Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not "
                      "allowed." + last, 1);
  if (request.gpus.size() == 1 && request.gpus_per_task.size() == 1 && request.gpus_per_task[0].count > 0 &&
      request.gpus[0].count % request.gpus_per_task[0].count != 0)
    return bad_option("Failed to validate job spec, --gpus not multiple of --gpus-per-task" + last, 1);
  const bool gpus = !request.gpus.empty() || !request.gpus_per_node.empty() || !request.gpus_per_socket.empty() ||
                    std::ranges::find(request.gres, "gpu", &model::GresRequest::name) != request.gres.end();
  if (spec.tasks_per_gpu > 0 && !gpus && !sized && !spec.nodes_given)
    return bad_option("gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask "
                      "specification" + last, 1);
  return {};
}

}  // namespace

OptionStatus reconcile(Context& context, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  if (auto settled = settle_distribution(context, request); !settled) return settled;
  if (auto settled = settle_container(request); !settled) return settled;
  if (request.verbose > 0 && request.quiet)
    return bad_option("don't specify both --verbose (-v) and --quiet (-Q)", 1);
  if (!spec.required_nodes.empty()) {
    const std::uint32_t named = count_different(spec.required_nodes);
    if (spec.max_nodes && *spec.max_nodes < named) {
      return bad_option(fmt::format("invalid number of nodes (-N {}-{})", named, *spec.max_nodes), 1);
    }
    spec.min_nodes = std::max(spec.min_nodes, named);
  }
  if (spec.tasks && *spec.tasks < spec.min_nodes) {
    context.warning("can't run {} processes on {} nodes, setting nnodes to {}", *spec.tasks, spec.min_nodes,
                    *spec.tasks);
    if (spec.nodes_given) spec.min_nodes = *spec.tasks;
    if (spec.nodes_given) spec.max_nodes = *spec.tasks;
  }
  if (auto sound = check_gpus(request); !sound) return sound;
  if (!request.gpus_per_socket.empty() && spec.sockets_per_node == 0)
    return bad_option(
        "--gpus-per-socket option requires --sockets-per-node specification\n"
        "Invalid generic resource (gres) specification",
        1);
  if (spec.cpus_per_gpu > 0 && spec.cpus_per_task_given)
    return bad_option(fmt::format("--cpus-per-gpu is mutually exclusive with --cpus-per-task\n{}",
                                  slurm_message(ErrorCode::InvalidGres)),
                      1);
  if (spec.tasks_per_gpu > 0 && !request.gpus_per_task.empty())
    return bad_option("--ntasks-per-gpu is mutually exclusive with --gpus-per-task", 1);
  if (spec.hint != model::Hint::None && (spec.tasks_per_core > 0 || spec.threads_per_core > 0))
    return bad_option("--hint is mutually exclusive with --ntasks-per-core and --threads-per-core", 1);
  return {};
}

namespace {

// Tasks that follow from a number of GPUs; nothing if they do not.
std::optional<std::uint32_t> tasks_by_gpus(const JobRequest& request) {
  std::uint64_t gpus = 0;
  for (const auto& wish : request.gpus) gpus += wish.count;
  if (gpus == 0 && request.spec.nodes_given && request.spec.max_nodes == request.spec.min_nodes)
    for (const auto& wish : request.gpus_per_node) gpus += wish.count * request.spec.min_nodes;
  std::uint64_t tasks = gpus * request.spec.tasks_per_gpu;
  if (request.gpus_per_task.size() == 1 && request.gpus_per_task[0].count > 0 &&
      gpus % request.gpus_per_task[0].count == 0)
    tasks = gpus / request.gpus_per_task[0].count;
  if (tasks == 0 || tasks > 0x7fffffffu) return std::nullopt;
  return static_cast<std::uint32_t>(tasks);
}

}  // namespace

void settle_tasks_by_shape(JobRequest& request) {
  model::JobSpec& spec = request.spec;
  const bool one_thread = spec.hint == model::Hint::NoMultithread || spec.hint == model::Hint::ComputeBound ||
                          spec.hint == model::Hint::MemoryBound;
  const std::uint32_t threads = one_thread ? 1 : spec.threads_per_core;
  const bool shaped = spec.sockets_per_node > 0 || spec.cores_per_socket > 0 || threads > 0;
  const bool fixed_nodes = !spec.max_nodes || *spec.max_nodes == spec.min_nodes;
  if (!shaped || !fixed_nodes) return;
  if (!spec.nodes_given && !request.shape_given && spec.required_nodes.empty()) return;
  if (spec.tasks || spec.tasks_per_node > 0 || spec.tasks_per_gpu > 0 || !request.gpus_per_task.empty()) return;
  const auto at_least_one = [](std::uint32_t n) { return std::uint64_t{std::max(1u, n)}; };
  constexpr std::uint64_t kMost = 0x7fffffff;
  std::uint64_t tasks = 1;
  for (const std::uint32_t factor : {spec.min_nodes, spec.sockets_per_node, spec.cores_per_socket, threads})
    tasks = std::min(kMost, tasks * at_least_one(factor));
  spec.tasks = static_cast<std::uint32_t>(tasks);
}

void JobRequest::finish() {
  spec.gres.clear();
  for (const auto* part : {&gres, &gpus, &gpus_per_node, &gpus_per_task, &gpus_per_socket})
    for (const model::GresRequest& request : *part)
      if (request.count > 0) spec.gres.push_back(request);
  if (!spec.tasks) spec.tasks = tasks_by_gpus(*this);
}

}  // namespace spur::cli
