// SPDX-License-Identifier: Apache-2.0
// The table itself. Order: as docs/configuration.md shows it. A new key is one row here and nothing else, unless it
// means more than one field (then a setter in setters.cc).
#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/setters.h"
#include "text/edit_distance.h"
#include "text/words.h"

namespace spur::config {

namespace {

using model::ClusterConfig;
using model::NodeConfig;
using model::PartitionConfig;
using model::PriorityConfig;
using enum Scope;
using enum Force;

constexpr std::uint64_t k16 = 0xfffd, k32 = 0xfffffff0;  // Slurm keeps the topmost values for itself
constexpr std::uint64_t kYearSeconds = 366ull * 86400;
constexpr Kind kText{Type::Text}, kPath{Type::Path}, kFlag{Type::Flag}, kTime{Type::Time}, kSpan{Type::Span, 0, k32},
    kList{Type::List}, kAddress{Type::Address}, kPorts{Type::Ports, 1, 65535}, kCounts{Type::Counts, 0, k32},
    kLabels{Type::Counts, 0, k32, false, "labels"};
// SuspendTime; Slurm's file may say -1 for never.
constexpr Kind kIdle{Type::Number, 0, k32, true, "-1"};
constexpr Kind number(std::uint64_t min, std::uint64_t max, std::uint64_t slurm_min = 0) {
  return {Type::Number, min, max, false, {}, slurm_min};
}
constexpr Kind limit(std::uint64_t min, std::uint64_t max) {
  return {Type::Number, min, max, true};
}
constexpr Kind word(std::string_view words) {
  return {Type::Word, 0, 0, false, words};
}

// For what says how something is done that is done another way here, or not needed.
Status no_effect(Target&, const Value&) {
  return {};
}

// For what is looked up, when it matters, in what `scontrol show config` says (model/shown_config.h).
Status looked_up(Target&, const Value&) {
  return {};
}

// spur.conf has one file for what Slurm has in two.
bool at_top(Scope scope) {
  return scope == Top || scope == Cgroup;
}

// clang-format off
constexpr Key kKeys[] = {
    // ---- top
    {Top, "defaults", "", word("spur|slurm"), set_defaults, Now, "Whose defaults and rules count where nothing is said; spur import writes slurm."},
    {Top, "cluster_name", "ClusterName", kText, into<&ClusterConfig::cluster_name>, Now, "Name of the cluster."},
    {Top, "licenses", "Licenses", kCounts, set_licenses, Now, "How many of each license jobs may hold at once."},

    // ---- [controller]
    {Top, "controller.hosts", "", kList, set_controller_hosts, Now, "Hosts of the controllers, the primary first; \"name\" or \"name(address)\"."},
    {Top, "", "SlurmctldHost", kText, add_controller_host, Now, "A host of a controller; several lines, the primary first.", {}, true},
    {Top, "", "ControlMachine", kText, into<&Draft::control_machine>, Now, "Older form of SlurmctldHost."},
    {Top, "", "ControlAddr", kText, into<&Draft::control_address>, Now, "Address of ControlMachine."},
    {Top, "", "BackupController", kList, into<&Draft::backup_controllers>, Now, "Older form of the further SlurmctldHost lines."},
    {Top, "", "BackupAddr", kList, into<&Draft::backup_addresses>, Now, "Addresses of BackupController."},
    {Top, "controller.listen_addr", "", kAddress, set_listen_address, Now, "Where the controller listens; its port is also the one that others dial."},
    {Top, "", "SlurmctldPort", kText, set_controller_ports, Now, "The controller's port, or a range of ports."},
    {Top, "controller.state_dir", "StateSaveLocation", kPath, into<&DaemonConfig::state_dir>, Now, "Directory of the journal, the controller's socket and other state."},
    {Top, "controller.snapshot_mb", "", number(1, 4096), into<&DaemonConfig::snapshot_mib>, Now, "Size of the journal after which the whole state is written and the journal cut, at most; earlier where the state is small (64)."},
    {Top, "controller.history_days", "", number(0, 3650), into<&DaemonConfig::history_days>, Now, "How many days back `--at` and `spur history --events` can look (7); 0: no history is kept."},
    {Top, "controller.history_max_mb", "", number(0, 10'000'000), into<&DaemonConfig::history_max_mib>, Now, "Disk that the history may use; the oldest of it goes first (2048). 0: no history is kept."},
    {Top, "controller.etcd", "", kList, into<&EtcdConfig::endpoints>, Now, "Addresses of an etcd for several controllers, \"https://host:port\"; without it they run their own."},
    {Top, "controller.etcd_ca_file", "", kPath, into<&EtcdConfig::ca_file>, Now, "Certificates of the authority that etcd's own is checked with."},
    {Top, "controller.etcd_cert_file", "", kPath, into<&EtcdConfig::certificate_file>, Now, "The certificate that etcd is shown."},
    {Top, "controller.etcd_key_file", "", kPath, into<&EtcdConfig::key_file>, Now, "The key of that certificate."},
    {Top, "controller.etcd_peer_port", "", number(1, 65535), into<&EtcdConfig::peer_port>, Now, "Port on which the controllers' own etcd members talk to each other (2380)."},
    {Top, "controller.secret_file", "", kPath, into<&EtcdConfig::secret_file>, Now, "What the controllers' own etcd members trust each other by; the same file on all their hosts."},
    {Top, "controller.failover_ms", "", number(100, 60'000), into<&EtcdConfig::failover_ms>, Now, "Silence of the leading controller after which another takes over (300)."},
    {Top, "controller.user", "SlurmUser", kText, into<&DaemonConfig::slurm_user>, Now, "Whom a controller (and spurdbd) that root starts becomes; an administrator of the cluster. Not given: it runs as who starts it."},
    {Top, "controller.pid_file", "SlurmctldPidFile", kPath, into<&DaemonConfig::controller_pid_file>, Now, "The controller's pid file."},
    {Top, "controller.first_job_id", "FirstJobId", number(1, 0x03ff0000), into<&ClusterConfig::first_job_id>, Now, "The first job id to hand out."},
    {Top, "controller.max_job_id", "MaxJobId", number(1, 0x3fffffff), into<&ClusterConfig::max_job_id>, Now, "The last job id before ids start again at the first."},
    {Top, "controller.max_job_count", "MaxJobCount", number(1, k32), into<&ClusterConfig::max_job_count>, Now, "How many jobs the controller holds at most."},
    {Top, "controller.max_array_size", "MaxArraySize", number(0, 4'000'001), into<&ClusterConfig::max_array_size>, Now, "Highest index of a job array plus one; 0 forbids arrays."},
    {Top, "controller.max_script_kb", "", number(1, 512 * 1024), set_max_script, Now, "Largest batch script."},
    {Top, "controller.max_batch_requeue", "MaxBatchRequeue", number(1, k32), into<&ClusterConfig::max_batch_requeue>, Now, "Failed launches after which a batch job is held."},
    {Top, "controller.terminal_job_retention_secs", "MinJobAge", number(0, kYearSeconds), into<&ClusterConfig::min_job_age>, Now, "How long a finished job stays visible."},
    {Top, "controller.heartbeat_timeout_secs", "SlurmdTimeout", number(0, k16), into<&ClusterConfig::node_timeout>, Now, "Silence after which a node is set DOWN; 0: never."},
    {Top, "controller.max_node_count", "MaxNodeCount", number(0, 1'000'000), into<&ClusterConfig::max_node_count>, Now, "How many nodes there may be, with those that are made at run time (slurmd -Z, scontrol create); without it none are."},
    {Top, "controller.kill_wait_secs", "KillWait", number(0, k16), into<&ClusterConfig::kill_wait>, Now, "Time between SIGTERM and SIGKILL."},
    {Top, "controller.requeue_by_default", "JobRequeue", kFlag, into<&ClusterConfig::requeue_default>, Now, "Whether a batch job may be requeued unless it says otherwise."},
    {Top, "controller.return_to_service", "ReturnToService", number(0, 2), into<&ClusterConfig::return_to_service>, Now, "When a DOWN node is used again: 0 by hand, 1 if it was silent, 2 whenever it registers."},
    {Top, "controller.declared_hardware_wins", "", kFlag, into<&ClusterConfig::config_overrides>, Now, "Whether declared CPUs, memory and GRES count even where the node has less."},
    {Top, "", "SlurmdParameters", kList, set_agent_parameters, Now, "config_overrides: declared hardware counts even where the node has less."},
    {Top, "controller.mpi_default", "MpiDefault", word("none|pmi2|pmix|pmix_v4"), into<&CommandDefaults::mpi>, Now, "What srun serves MPI programs with, unless --mpi says otherwise."},
    {Top, "controller.message_timeout_secs", "MessageTimeout", number(1, k16), into<&DaemonConfig::message_timeout>, Now, "How long a command waits for an answer."},
    {Top, "", "SlurmctldParameters", kList, set_controller_parameters, Now, "enable_configless: agents may get their configuration from the controller (spurd --conf-server)."},
    {Top, "controller.reconfig", "ReconfigFlags", kList, set_reconfig_flags, Now, "KeepPartInfo: what scontrol changed of partitions outlives scontrol reconfigure; KeepPartState: their states do.", {}, false, true},
    {Top, "controller.private_data", "PrivateData", kList, set_private_data, Now, "What the controller keeps from users who are no operators: jobs, nodes, partitions, reservations, usage."},
    {Top, "controller.scron", "ScronParameters", kList, set_scron_parameters, Now, "enable: users may have jobs that come back at set times (scrontab). explicit_scancel: who cancels one has to say --cron."},
    {Top, "controller.tokens", "AuthAltTypes", kList, set_auth_alt_types, Now, "auth/jwt: the controller hands out tokens (scontrol token). Nothing of Spur takes them in place of a credential."},
    {Top, "controller.token_parameters", "AuthAltParameters", kList, set_auth_alt_parameters, Now, "jwt_key=PATH: the key that tokens are signed with (without it, jwt_hs256.key in the state directory). disable_token_creation: only administrators get one. max_token_lifespan=SECONDS."},
    {Top, "", "CommunicationParameters", kList, set_communication, Now, "NoCtldInAddrAny and NoInAddrAny: listen on the configured addresses only."},
    {Top, "controller.rest_addr", "", kAddress, nullptr, Later, "Where the REST API listens."},
    {Top, "controller.peers", "", kList, nullptr, Later, "The other controllers of a replicated group."},
    {Top, "controller.node_id", "", number(0, k32), nullptr, Later, "This controller's number in a replicated group."},
    {Top, "controller.raft_listen_addr", "", kAddress, nullptr, Later, "Where controllers of a replicated group talk to each other."},
    {Top, "controller.max_launch_backoff_secs", "", number(1, 86400), nullptr, Later, "Longest pause between attempts to launch a job."},
    {Top, "controller.hold_on_prolog_fail", "", kFlag, into<&ClusterConfig::hold_on_prolog_fail>, Now, "Whether a job whose prolog failed waits to be released; the node is drained either way."},
    {Top, "controller.max_launch_failures", "", number(0, k32), into<&ClusterConfig::max_launch_failures>, Now, "Jobs in a row that a node could not start, after which it is drained; 0: never."},
    {Top, "controller.dispatch_reject_cooldown_secs", "", number(0, k32), nullptr, Later, "Pause before a node that refused a job is tried again."},
    {Top, "controller.job_info_visibility", "", word("redacted|owner_only|full"), nullptr, Later, "What users see of other users' jobs."},

    // ---- [agent]
    {Top, "agent.listen_addr", "", kAddress, set_agent_listen, Now, "Where agents listen; a node's own port goes first."},
    {Top, "network.agent_port", "SlurmdPort", number(1, 65535), into<&DaemonConfig::agent_port>, Now, "The agents' port; a node's own port goes first."},
    {Top, "agent.spool_dir", "SlurmdSpoolDir", kPath, into<&DaemonConfig::spool_dir>, Now, "Directory of an agent; %n is the node, %h the host."},
    {Top, "agent.tmp_dir", "TmpFS", kPath, into<&DaemonConfig::tmp_dir>, Now, "Directory whose size is a node's temporary disk space; %n is the node, %h the host.", {}, false, true},
    {Top, "agent.user", "SlurmdUser", kText, into<&DaemonConfig::slurmd_user>, Now, "User who is to run the agents; started by somebody else they end. Not given: anybody."},
    {Top, "agent.pid_file", "SlurmdPidFile", kPath, into<&DaemonConfig::agent_pid_file>, Now, "The agent's pid file; %n is the node, %h the host."},

    // ---- [scheduler]
    {Top, "scheduler.plugin", "", word("backfill"), [](Target&, const Value&) -> Status { return {}; }, Now, "The scheduler; there is one."},
    {Top, "scheduler.interval_secs", "", number(1, 3600), into<&ClusterConfig::scheduler_tick>, Now, "How often priorities age; scheduling itself follows events."},
    {Top, "scheduler.default_time_limit_minutes", "", number(0, 35'791'394), set_default_time_limit, Now, "Time limit of jobs that give none, in partitions that have no default_time; 0: none."},
    {Top, "scheduler.enforce_part_limits", "EnforcePartLimits", word("NO|ANY|ALL|YES"), set_enforce_limits, Now, "Whether a job beyond a partition's limits is refused: never, if no partition takes it, or if any does not."},
    {Top, "scheduler.complete_wait_secs", "CompleteWait", number(0, k16), into<&ClusterConfig::complete_wait>, Later, "How long others wait for jobs that are being cleaned up.", "0"},
    {Top, "scheduler.over_time_limit_minutes", "OverTimeLimit", limit(0, k16), set_over_time_limit, Now, "How far a job may overrun its time limit."},
    {Top, "scheduler.kill_invalid_dependency", "", kFlag, into<&ClusterConfig::kill_invalid_dependency>, Now, "Whether a job whose dependency can never be met is cancelled."},
    {Top, "", "SchedulerParameters", kList, set_scheduler_parameters, Now, "kill_invalid_depend, max_script_size=BYTES, bf_max_job_test=JOBS (planned_jobs), batch_sched_delay=SECONDS and max_switch_wait=SECONDS."},
    {Top, "scheduler.planned_jobs", "", number(1, k32), into<&ClusterConfig::planned_jobs>, Now, "Jobs at the front of the queue that are told when they are expected to start."},
    {Top, "scheduler.promised_jobs", "", number(0, k32), into<&ClusterConfig::promised_jobs>, Now, "Jobs of a partition that get a promised start which nobody may delay: the first that has to wait, and those who have waited for promise_after."},
    {Top, "scheduler.promise_after", "", kSpan, into<&ClusterConfig::promise_after>, Now, "How long a job waits before it is promised its start, if it is not the first; 0: not at all."},
    {Top, "scheduler.backfill_order", "", word("smallest|priority"), set_backfill_order, Now, "Who goes first among jobs that delay no promised one and have equal points apart from age: the smallest product of CPUs and time limit, or the one that comes first in the queue."},
    {Top, "scheduler.batch_sched_delay_secs", "", number(0, k32), into<&DaemonConfig::batch_sched_delay>, Now, "How long starts may wait while many batch jobs are submitted in a row, where a node is on the controller's own host; 0: never."},
    {Top, "scheduler.max_switch_wait_secs", "", number(0, k32), into<&ClusterConfig::max_switch_wait>, Now, "How long a job may wait for few switches at most."},
    {Top, "scheduler.age_weight", "PriorityWeightAge", number(0, k32), set_age_weight, Now, "Priority that a job gains by waiting."},
    {Top, "scheduler.max_age", "PriorityMaxAge", kSpan, into<&ClusterConfig::age_full>, Now, "Waiting time at which age_weight is reached."},
    {Top, "priority.type", "PriorityType", kText, set_priority_type, Now, "multifactor or basic (the order of arrival); slurm.conf: priority/multifactor, priority/basic."},
    {Top, "priority.base", "", number(0, 2'000'000'000), into<&PriorityConfig::base>, Now, "Points that every job has, so that --nice has something to take from; 0 with PriorityType of slurm.conf."},
    {Top, "priority.fairshare_weight", "PriorityWeightFairshare", number(0, k32), into<&PriorityConfig::fairshare_weight>, Now, "Weight of the user's fair share."},
    {Top, "priority.job_size_weight", "PriorityWeightJobSize", number(0, k32), into<&PriorityConfig::job_size_weight>, Now, "Weight of the size of the job."},
    {Top, "priority.partition_weight", "PriorityWeightPartition", number(0, k32), into<&PriorityConfig::partition_weight>, Now, "Weight of the partition's PriorityJobFactor."},
    {Top, "priority.qos_weight", "PriorityWeightQOS", number(0, k32), into<&PriorityConfig::qos_weight>, Now, "Weight of the QOS's priority."},
    {Top, "priority.assoc_weight", "PriorityWeightAssoc", number(0, k32), into<&PriorityConfig::assoc_weight>, Now, "Weight of the association's priority."},
    {Top, "priority.tres_weights", "PriorityWeightTRES", kList, set_tres_weights, Now, "Weights of what a job asks for, as a share of its partition: cpu=1000,mem=2000,gres/gpu=3000."},
    {Top, "priority.favor_small", "PriorityFavorSmall", kFlag, into<&PriorityConfig::favor_small>, Now, "Whether small jobs get the points of job_size_weight."},
    {Top, "priority.flags", "PriorityFlags", kList, set_priority_flags, Now, "FAIR_TREE, NO_FAIR_TREE, DEPTH_OBLIVIOUS, MAX_TRES, MAX_TRES_GRES, CALCULATE_RUNNING, ACCRUE_ALWAYS, SMALL_RELATIVE_TO_TIME, NO_NORMAL_ALL, NO_NORMAL_ASSOC, NO_NORMAL_PART, NO_NORMAL_QOS, NO_NORMAL_TRES."},
    {Top, "priority.dampening_factor", "FairShareDampeningFactor", number(1, k16), into<&PriorityConfig::dampening>, Now, "How much usage beyond the share is forgiven, with NO_FAIR_TREE."},
    {Top, "priority.half_life", "PriorityDecayHalfLife", kSpan, into<&PriorityConfig::half_life>, Now, "Half-life of past usage in fair share.", "7-0"},
    {Top, "priority.calc_period", "PriorityCalcPeriod", kSpan, into<&PriorityConfig::calc_period>, Now, "How often past usage is computed anew."},
    {Top, "priority.usage_reset", "PriorityUsageResetPeriod", word("NONE|NOW|DAILY|WEEKLY|MONTHLY|QUARTERLY|YEARLY"), set_usage_reset, Now, "When past usage is forgotten (NOW: once, when a controller starts).", "NONE"},
    {Top, "scheduler.fairshare_halflife_days", "", number(1, 3650), [](Target& t, const Value& v) -> Status { t.draft.cluster.priority.half_life = seconds(static_cast<std::int64_t>(v.number) * 86400); return {}; }, Now, "Half-life of past usage in fair share."},
    {Top, "scheduler.preempt_type", "PreemptType", kText, set_preempt_type, Now, "What lets one job push out another: none, partition_prio or qos; slurm.conf: preempt/..."},
    {Top, "scheduler.preempt_mode", "PreemptMode", kList, set_preempt_mode, Now, "How: OFF, CANCEL, REQUEUE or SUSPEND, with GANG and WITHIN."},
    {Top, "scheduler.preempt_parameters", "PreemptParameters", kList, set_preempt_parameters, Now, "youngest_first, min_exempt_priority=NUMBER, send_user_signal.", {}, false, true},
    {Top, "scheduler.preempt_exempt_time", "", number(0, k32), [](Target& t, const Value& v) -> Status { t.draft.cluster.preempt.exempt = seconds(static_cast<std::int64_t>(v.number)); return {}; }, Now, "Run time, in seconds, before a job may be pushed out."},
    {Top, "", "PreemptExemptTime", kText, set_preempt_exempt, Now, "Run time before a job may be pushed out."},
    {Top, "scheduler.job_defaults", "JobDefaults", kList, set_job_defaults, Now, "DefCpuPerGPU=COUNT and DefMemPerGPU=MB for jobs with GPUs that ask for neither."},
    {Top, "scheduler.default_cpus_per_gpu", "DefCpuPerGPU", number(1, k32), set_cpus_per_gpu, Now, "CPUs for each GPU of jobs that ask for none."},
    {Top, "scheduler.default_memory_per_gpu_mb", "DefMemPerGPU", number(0, k32), set_memory_per_gpu, Now, "Memory for each GPU of jobs that ask for none."},
    {Top, "scheduler.memory_consumable", "", kFlag, set_memory_consumable, Now, "Whether memory is handed out like CPUs."},
    {Top, "scheduler.whole_cores", "", kFlag, into<&ClusterConfig::cores_whole>, Now, "Whether the threads of a core go to one job."},
    {Top, "scheduler.block_sockets", "", kFlag, into<&ClusterConfig::block_sockets>, Now, "Whether a job's CPUs come from as few sockets of a node as possible, not from each in turn (-m decides for a job)."},
    {Top, "scheduler.least_loaded_nodes", "", kFlag, into<&ClusterConfig::least_loaded_nodes>, Now, "Whether the least loaded nodes are used first, in all partitions."},
    {Top, "scheduler.one_task_per_core", "", kFlag, into<&ClusterConfig::one_task_per_core>, Now, "Whether every task has a core of its own, where --ntasks-per-core does not say."},
    {Top, "scheduler.pack_tasks", "", kFlag, into<&ClusterConfig::pack_tasks>, Now, "Whether tasks fill one node after the other, where -m does not say."},
    {Top, "scheduler.bind_to_gres", "", kFlag, into<&ClusterConfig::bind_to_gres>, Now, "Whether jobs get only CPUs near their GPUs, where --gres-flags does not say."},
    {Top, "scheduler.one_task_per_shared_gres", "", kFlag, into<&ClusterConfig::one_task_per_shared_gres>, Now, "Whether no two tasks of a job have shares of one GPU, where --gres-flags does not say."},
    {Top, "scheduler.spread_shares", "", kFlag, into<&ClusterConfig::spread_shares>, Now, "Whether shares come from the GPU that has most left; else from one that is begun."},
    {Top, "scheduler.shares_of_several", "", kFlag, into<&ClusterConfig::shares_of_several>, Now, "Whether the shares that a job has on a node may come from several GPUs."},
    {Top, "scheduler.jobs_use_spec_cores", "AllowSpecResourcesUsage", kFlag, into<&ClusterConfig::jobs_use_spec_cores>, Now, "Whether jobs may decide with -S how many cores of a node are kept for the system.", "no"},
    {Top, "", "SelectType", kText, set_select_type, Now, "select/cons_tres; select/linear makes every partition exclusive."},
    {Top, "", "SelectTypeParameters", kList, set_select_parameters, Now, "CR_CPU, CR_Core and either with _Memory; which other words are in force is told below."},
    {Top, "scheduler.default_memory_per_node_mb", "DefMemPerNode", limit(0, k32), into<&ClusterConfig::default_memory_per_node_mib>, Now, "Memory per node of jobs that ask for none."},
    {Top, "scheduler.default_memory_per_cpu_mb", "DefMemPerCPU", limit(0, k32), into<&ClusterConfig::default_memory_per_cpu_mib>, Now, "Memory per CPU of jobs that ask for none."},
    {Top, "scheduler.max_memory_per_node_mb", "MaxMemPerNode", limit(0, k32), into<&ClusterConfig::max_memory_per_node_mib>, Now, "Most memory per node that a job may ask for."},
    {Top, "scheduler.max_memory_per_cpu_mb", "MaxMemPerCPU", limit(0, k32), into<&ClusterConfig::max_memory_per_cpu_mib>, Now, "Most memory per CPU that a job may ask for."},
    {Top, "gres_types", "GresTypes", kList, into<&ClusterConfig::gres_types>, Now, "Names of GRES; spur.conf takes them from the nodes if not given."},
    {Top, "scheduler.max_jobs_per_cycle", "", number(1, k32), nullptr, Later, "How many pending jobs one planning looks at."},
    {Top, "scheduler.resv_overrun_minutes", "ResvOverRun", limit(0, k16), set_reservation_overrun, Now, "How far jobs may overrun the end of their reservation."},
    {Top, "scheduler.inactive_limit_secs", "InactiveLimit", number(0, k16), into<&ClusterConfig::inactive_limit>, Now, "How long salloc may be gone before its allocation is released; 0: for ever.", {}, false, true},
    {Top, "scheduler.max_user_priority", "", number(0, k32), nullptr, Later, "Highest priority that a user may ask for."},

    // ---- [auth]
    {Top, "auth.socket", "", kPath, into<&DaemonConfig::auth_socket_path>, Now, "Socket where commands on this host get their credential."},
    {Top, "auth.admins", "", kList, into<&Draft::admins>, Now, "Administrators besides root and the controller's user: names or uids."},
    {Top, "auth.plugin", "", word("jwt|none"), nullptr, Later, "How REST callers prove who they are."},
    {Top, "auth.mode", "", word("disabled|permissive|required"), nullptr, Later, "Whether REST callers must prove who they are."},
    {Top, "auth.jwt_key", "", kText, nullptr, Later, "File of the key that signs REST tokens."},
    {Top, "auth.allow_root_jobs", "", kFlag, set_allow_root, Now, "Whether root may run jobs; default true."},
    {Top, "", "DisableRootJobs", kFlag, into<&ClusterConfig::no_root_jobs>, Now, "The opposite: root may run no jobs."},

    // ---- [jobs], [steps], [files]
    {Top, "jobs.append_output", "JobFileAppend", kFlag, set_append_output, Now, "Whether files of output are continued, not emptied, where --open-mode does not say."},
    {Top, "jobs.requeue_exits", "RequeueExit", kText, set_requeue_exits, Now, "Exit codes after which a batch job goes back to the queue: \"1-9,18\".", {}, false, true},
    {Top, "jobs.requeue_hold_exits", "RequeueExitHold", kText, set_requeue_hold_exits, Now, "Exit codes after which it goes back and waits to be released, as SPECIAL_EXIT.", {}, false, true},
    {Top, "jobs.login_timeout_secs", "GetEnvTimeout", number(0, k16), into<&CommandDefaults::login_environment>, Now, "How long --get-user-env waits for the login where it does not say; 0: eight seconds (there is no cache of environments).", {}, false, true},
    {Top, "jobs.salloc_command", "SallocDefaultCommand", kText, into<&CommandDefaults::salloc_command>, Now, "What salloc runs, in a shell, where it is given no command; default: the user's shell.", {}, false, true},
    {Top, "steps.kill_on_bad_exit", "KillOnBadExit", kFlag, into<&CommandDefaults::kill_on_bad_exit>, Now, "Whether a step ends when one of its tasks fails, where srun -K does not say."},
    {Top, "steps.wait_secs", "WaitTime", number(0, k16), into<&CommandDefaults::wait_seconds>, Now, "How long a step may go on after its first task has ended, where srun -W does not say; 0: for ever.", {}, false, true},
    {Top, "steps.max_tasks_per_node", "MaxTasksPerNode", number(1, k16), into<&StepConfig::max_tasks_per_node>, Now, "Most tasks of a step on a node; 512 with slurm.conf."},
    {Top, "steps.max_count", "MaxStepCount", number(1, k32), into<&StepConfig::max_count>, Now, "Most steps of a job; 40000 with slurm.conf."},
    {Top, "steps.cpu_binding", "TaskPluginParam", kList, set_task_parameters, Now, "What tasks are bound to where srun does not say: none, sockets, cores or threads; verbose: and tell it.", {}, false, true},
    {Top, "steps.launch", "LaunchParameters", kList, set_launch_parameters, Now, "use_interactive_step: salloc's shell runs as a step on the first node of the job.", {}, false, true},
    {Top, "steps.interactive_options", "InteractiveStepOptions", kText, into<&CommandDefaults::interactive_options>, Now, "Options of srun for that step.", {}, false, true},
    {Top, "steps.propagate_limits", "PropagateResourceLimits", kList, set_limits, Now, "Which limits of the shell jobs and steps have, where --propagate does not say: ALL, NONE, or AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS, STACK.", {}, false, true},
    {Top, "steps.propagate_limits_except", "PropagateResourceLimitsExcept", kList, set_limits_except, Now, "All limits but these.", {}, false, true},
    {Top, "steps.propagate_nice", "PropagatePrioProcess", number(0, 2), into<&StepConfig::propagate_nice>, Now, "1: tasks have the nice value of the shell that submitted them; 2: at least one more than the agent's.", {}, false, true},
    {Top, "steps.unkillable_timeout_secs", "UnkillableStepTimeout", number(1, k16), into<&StepConfig::unkillable_after>, Now, "How long after SIGKILL processes of a job may still be there before the node is drained.", {}, false, true},
    {Top, "steps.unkillable_program", "UnkillableStepProgram", kPath, into<&StepConfig::unkillable_program>, Now, "Program that the agent runs then.", {}, false, true},
    {Top, "files.broadcast", "BcastParameters", kList, set_broadcast_options, Now, "For sbcast and srun --bcast: DestDir=DIRECTORY, Compression=lz4 or none, send_libs."},
    {Top, "", "SbcastParameters", kList, set_broadcast_options, Now, "Older form of BcastParameters."},
    {Top, "files.broadcast_exclude", "BcastExclude", kList, set_broadcast_exclude, Now, "Directories whose shared objects are on every node and not sent; none: there are none.", {}, false, true},

    // ---- [logging]
    {Top, "logging.level", "", kText, set_log_level, Now, "How much the daemons log: error, warn, info, debug, trace, or Slurm's words."},
    {Top, "logging.format", "", word("text|json"), set_log_format, Now, "Format of log lines."},
    {Top, "logging.file", "", kPath, set_log_file, Now, "Log file of the daemons; default: stderr, or the system's journal."},
    {Top, "logging.controller_level", "SlurmctldDebug", kText, set_controller_log_level, Now, "How much the controller logs."},
    {Top, "logging.agent_level", "SlurmdDebug", kText, set_agent_log_level, Now, "How much the agents log."},
    {Top, "logging.controller_syslog", "SlurmctldSyslogDebug", kText, set_controller_syslog, Now, "How much of that also goes to syslog; without it all does where there is no file and no terminal.", {}, false, true},
    {Top, "logging.agent_syslog", "SlurmdSyslogDebug", kText, set_agent_syslog, Now, "The same of agents.", {}, false, true},
    {Top, "logging.time", "LogTimeFormat", kList, set_log_time, Now, "How moments are written in log files: iso8601, iso8601_ms, rfc5424, rfc5424_ms, rfc3339, clock, short or thread_id.", {}, false, true},
    {Top, "logging.debug_flags", "DebugFlags", kList, set_debug_flags, Now, "Subjects that are logged whatever the level: Agent, AuditRPCs, Backfill, Power, Priority, Reservation, TraceJobs and Triggers by controllers, Steps by agents; all others of Slurm are accepted.", {}, false, true},
    {Top, "logging.scheduler_file", "SlurmSchedLogFile", kPath, into<&DaemonConfig::scheduler_log_file>, Now, "Log file of what the scheduler does.", {}, false, true},
    {Top, "logging.scheduler_level", "SlurmSchedLogLevel", number(0, k16), set_scheduler_log, Now, "1: it is written; 0: not.", {}, false, true},
    {Top, "logging.controller_file", "SlurmctldLogFile", kPath, set_controller_log_file, Now, "The controller's log file."},
    {Top, "logging.agent_file", "SlurmdLogFile", kPath, set_agent_log_file, Now, "The agent's log file; %n is the node, %h the host."},

    // ---- [accounting]
    {Top, "accounting.enforce", "AccountingStorageEnforce", kList, set_accounting_enforce, Now, "What is demanded of jobs: associations, limits, qos, safe, wckeys, all or none; nojobs and nosteps: what is not recorded."},
    {Top, "accounting.track_wckeys", "TrackWCKey", kFlag, set_track_wckeys, Now, "Whether jobs that name no wckey have their user's default one."},
    {Top, "accounting.tres", "AccountingStorageTRES", kList, set_accounting_tres, Now, "Resources that are counted besides cpu, mem, energy, node, billing and GPUs: gres/NAME, license/NAME."},
    {Top, "accounting.host", "", kText, set_accounting_host, Now, "Host of spurdbd; with it, jobs are accounted for."},
    {Top, "", "AccountingStorageType", word("accounting_storage/none|accounting_storage/slurmdbd"), set_accounting_type, Now, "accounting_storage/slurmdbd: jobs are accounted for, by spurdbd."},
    {Top, "", "AccountingStorageHost", kText, into<&DaemonConfig::accounting_host>, Now, "Host of spurdbd."},
    {Top, "accounting.port", "AccountingStoragePort", number(1, 65535), into<&DaemonConfig::accounting_port>, Now, "Port of spurdbd; 6819 unless given."},
    {Top, "accounting.max_backlog", "MaxDBDMsgs", number(10, k32, 10'000), into<&DaemonConfig::accounting_max_backlog>, Now, "Records that may wait for spurdbd on the controller's disk, about 1 KB each (10000000); with more, new jobs are refused until it is back. In slurm.conf at least 10000, as for Slurm."},
    {Top, "accounting.listen_addr", "", kAddress, set_accounting_listen, Now, "Where spurdbd listens, everywhere unless given; its port is also the one that others dial."},
    {Top, "accounting.database_url", "", kText, into<&DaemonConfig::accounting_url>, Now, "Database of spurdbd: sqlite:/path or postgresql://user@host/name; a SQLite file in state_dir unless given."},
    {Top, "accounting.pid_file", "", kPath, into<&DaemonConfig::accounting_pid_file_path>, Now, "The pid file of spurdbd."},
    {Top, "accounting.log_file", "", kText, set_accounting_log, Now, "The log file of spurdbd."},
    {Top, "accounting.private_data", "", kList, set_accounting_private, Now, "What spurdbd keeps from users who are no operators: jobs, usage, users, accounts, events, reservations."},
    {Top, "accounting.keep_days", "", number(0, 36500), into<&DaemonConfig::accounting_keep_days>, Now, "How long spurdbd keeps jobs that ended, with their steps; 0: for ever."},
    {Top, "accounting.keep_step_days", "", number(0, 36500), into<&DaemonConfig::accounting_keep_step_days>, Now, "How long spurdbd keeps the steps of jobs that ended; 0: as long as the jobs."},
    {Top, "accounting.keep_event_days", "", number(0, 36500), into<&DaemonConfig::accounting_keep_event_days>, Now, "How long spurdbd keeps times in which nodes were out of order; 0: for ever."},
    {Top, "accounting.keep_reservation_days", "", number(0, 36500), into<&DaemonConfig::accounting_keep_reservation_days>, Now, "How long spurdbd keeps reservations that are over; 0: for ever."},
    {Top, "accounting.keep_transaction_days", "", number(0, 36500), into<&DaemonConfig::accounting_keep_transaction_days>, Now, "How long spurdbd keeps who changed which account; 0: for ever."},
    {Top, "accounting.job_log", "JobCompType", kText, set_job_completion, Now, "jobcomp/filetxt: a line in a file for each job that has ended; jobcomp/none.", {}, false, true},
    {Top, "accounting.job_log_file", "JobCompLoc", kText, looked_up, Now, "That file; default /var/log/slurm_jobcomp.log.", {}, false, true},
    {Top, "accounting.prices", "", kList, set_accounting_prices, Now, "What an hour of a resource costs, for spur report: \"gres/gpu=2.50\", \"cpu=0.02\", \"mem=0.003\" (of a GiB)."},
    {Top, "accounting.currency", "", kText, into<&DaemonConfig::accounting_currency>, Now, "What prices are in, as it is to be shown."},
    {Top, "accounting.archive_dir", "", kPath, into<&DaemonConfig::accounting_archive_dir>, Now, "Where older jobs, steps, events, reservations and transactions are put before they are deleted; empty: nowhere."},
    {Top, "accounting.store", "AccountingStoreFlags", kList, set_accounting_store, Now, "What is kept of each job besides: job_script, job_env; job_comment and job_extra are always."},
    {Top, "accounting.fairshare_refresh_secs", "", number(10, k32), nullptr, Later, "How often fair share is computed anew."},
    {Top, "accounting.grp_wall_window_days", "", number(1, 3650), nullptr, Later, "Window of the GrpWall limit."},
    {Top, "accounting.default_qos", "", kText, nullptr, Later, "QOS of jobs that name none."},
    {Top, "accounting.require_qos", "", kFlag, nullptr, Later, "Whether a job must have a QOS."},
    {Top, "accounting.require_association", "", kFlag, nullptr, Later, "Whether a user must have an account."},
    {Top, "accounting.txn_retention_days", "", number(0, 36500), nullptr, Later, "How long the log of administrative changes is kept."},

    // ---- [update]
    {Top, "update.check_on_startup", "", kFlag, into<&UpdateConfig::check_on_startup>, Later, "Whether daemons look for a newer release when they start."},
    {Top, "update.auto_update", "", kFlag, into<&UpdateConfig::auto_update>, Later, "Whether a newer release is installed unasked."},
    {Top, "update.channel", "", word("stable|nightly"), into<&UpdateConfig::channel>, Later, "Which releases to follow."},
    {Top, "update.cache_dir", "", kPath, into<&UpdateConfig::cache_dir>, Later, "Where the answer of the last check is kept."},

    // ---- [network]
    {Top, "network.wg_enabled", "", kFlag, nullptr, Later, "Whether nodes talk over a WireGuard mesh."},
    {Top, "network.wg_interface", "", kText, nullptr, Later, "Interface of the mesh."},
    {Top, "network.wg_port", "", number(1, 65535), nullptr, Later, "UDP port of the mesh."},
    {Top, "network.wg_cidr", "", kText, nullptr, Later, "Addresses of the mesh."},
    {Top, "network.reject_loopback_comm_addr", "", kFlag, nullptr, Later, "Whether a node that registers with a loopback address is refused."},

    // ---- [admission], [metrics], [rest_api], [hooks], [notifications], [power]
    {Top, "admission.mode", "", word("open|token"), nullptr, Later, "Whether a node needs a token to register."},
    {Top, "metrics.enabled", "", kFlag, nullptr, Later, "Whether metrics are served."},
    {Top, "metrics.listen_addr", "", kAddress, nullptr, Later, "Where metrics are served."},
    {Top, "metrics.bind", "", word("loopback|all"), nullptr, Later, "Who may read metrics."},
    {Top, "metrics.high_cardinality", "", kFlag, nullptr, Later, "Whether metrics tell users and accounts apart."},
    {Top, "rest_api.enabled", "", kFlag, nullptr, Later, "Whether the controller serves the REST API itself."},
    {Top, "hooks.prolog", "Prolog", kPath, add_prolog, Now, "Program run on each node before a job.", {}, true},
    {Top, "hooks.epilog", "Epilog", kPath, add_epilog, Now, "Program run on each node after a job.", {}, true},
    {Top, "hooks.srun_prolog", "SrunProlog", kPath, into<&CommandDefaults::srun_prolog>, Now, "Program run by srun before a step, where srun runs and as its user."},
    {Top, "hooks.srun_epilog", "SrunEpilog", kPath, into<&CommandDefaults::srun_epilog>, Now, "Program run by srun after a step, where srun runs and as its user."},
    {Top, "hooks.task_prolog", "TaskProlog", kPath, set_task_prolog, Now, "Program run on the node before each task and batch script, as the user; what it writes changes the task's environment."},
    {Top, "hooks.task_epilog", "TaskEpilog", kPath, set_task_epilog, Now, "Program run on the node after each task and batch script, as the user."},
    {Top, "hooks.prolog_slurmctld", "PrologSlurmctld", kPath, add_prolog_slurmctld, Now, "Program run by the controller before a job.", {}, true},
    {Top, "hooks.epilog_slurmctld", "EpilogSlurmctld", kPath, add_epilog_slurmctld, Now, "Program run by the controller after a job.", {}, true},
    {Top, "hooks.timeout_secs", "PrologEpilogTimeout", limit(0, k16 + 1), set_hook_timeout, Now, "Longest time of a prolog or epilog, which has failed then; 0 or 65534: none."},
    {Top, "hooks.prolog_timeout_secs", "PrologTimeout", limit(0, k16 + 1), set_prolog_timeout, Now, "The same for prologs alone.", {}, false, true},
    {Top, "hooks.epilog_timeout_secs", "EpilogTimeout", limit(0, k16 + 1), set_epilog_timeout, Now, "The same for epilogs alone.", {}, false, true},
    {Top, "hooks.lead_begins", "SlurmctldPrimaryOnProg", kPath, looked_up, Now, "Program that a controller runs when it begins to lead.", {}, false, true},
    {Top, "hooks.lead_ends", "SlurmctldPrimaryOffProg", kPath, looked_up, Now, "Program that a controller runs when it leads no more.", {}, false, true},
    {Top, "hooks.reservation_begins", "ResvProlog", kPath, looked_up, Now, "Program that the leading controller runs when a reservation begins; its argument is the name.", {}, false, true},
    {Top, "hooks.reservation_ends", "ResvEpilog", kPath, looked_up, Now, "The same when it ends.", {}, false, true},
    {Top, "hooks.prolog_flags", "PrologFlags", kList, set_prolog_flags, Now, "Alloc: prologs run as soon as a node gets a job; Contain: and in its cgroup; NoHold, Serial."},
    {Top, "hooks.health_check", "HealthCheckProgram", kPath, set_health_program, Now, "Program that agents run from time to time; it has a minute."},
    {Top, "hooks.health_check_interval_secs", "HealthCheckInterval", number(0, k16), set_health_interval, Now, "How often; 0: never."},
    {Top, "hooks.health_check_states", "HealthCheckNodeState", kList, set_health_states, Now, "In which states of the node: ANY, IDLE, MIXED, ALLOC; CYCLE."},
    {Top, "hooks.reboot", "RebootProgram", kPath, set_reboot_program, Now, "Program that the agent runs to reboot its node (scontrol reboot)."},
    {Top, "hooks.reboot_timeout_secs", "ResumeTimeout", number(0, k16), set_resume_timeout, Now, "A node that is rebooted or switched on and not back by then is set DOWN."},
    {Top, "hooks.job_submit", "", kPath, nullptr, Later, "Program that checks and edits submissions."},
    {Top, "hooks.job_submit_lua", "", kPath, nullptr, Later, "Lua script that checks and edits submissions."},
    {Top, "notifications.webhook_url", "", kText, nullptr, Later, "Where job events are posted."},
    {Top, "notifications.smtp_command", "MailProg", kPath, set_mail_program, Now, "Program that the leading controller runs to send mail (--mail-type): -s SUBJECT USER; without it /bin/mail."},
    {Top, "notifications.mail_domain", "MailDomain", kText, set_mail_domain, Now, "Behind the names of users who do not say where their mail goes."},
    {Top, "notifications.from_address", "", kText, nullptr, Later, "Sender of mail."},
    {Top, "power.suspend_timeout_secs", "SuspendTime", kIdle, set_suspend_time, Now, "Idle time after which a node is switched off; without it, here or in a partition, no node is."},
    {Top, "power.suspend_command", "SuspendProgram", kPath, set_suspend_program, Now, "Program that the leading controller runs to switch nodes off; its argument is a hostlist."},
    {Top, "power.resume_command", "ResumeProgram", kPath, set_resume_program, Now, "Program that the leading controller runs to switch nodes on; SLURM_RESUME_FILE names a file that says for which jobs."},
    {Top, "power.resume_fail_command", "ResumeFailProgram", kPath, set_resume_fail_program, Now, "Program that is told of nodes that have not come within hooks.reboot_timeout_secs."},
    {Top, "power.switch_off_secs", "SuspendTimeout", number(0, k16), set_suspend_timeout, Now, "How long a node may take to be off; not before may it be switched on."},
    {Top, "power.suspend_rate", "SuspendRate", number(0, k16), set_suspend_rate, Now, "Nodes that are switched off in a minute at most; 0: any number."},
    {Top, "power.resume_rate", "ResumeRate", number(0, k16), set_resume_rate, Now, "Nodes that are switched on in a minute at most; 0: any number."},
    {Top, "power.spared_nodes", "SuspendExcNodes", kText, set_spared_nodes, Now, "Nodes that are not switched off for being idle; n[1-8]:2 keeps two usable ones of the eight."},
    {Top, "power.spared_partitions", "SuspendExcParts", kList, set_spared_partitions, Now, "Partitions whose nodes are not switched off for being idle."},
    {Top, "power.spared_states", "SuspendExcStates", kList, set_spared_states, Now, "States in which nodes are not switched off for being idle: DOWN, DRAIN, MAINTENANCE, ..."},

    // ---- [usage], [cgroup] and cgroup.conf
    {Top, "usage.sample_secs", "", number(0, k16), into<&DaemonConfig::sample_every>, Now, "How often the usage of running tasks is sampled; 0: only at the end."},
    {Top, "", "JobAcctGatherFrequency", kList, set_sample_every, Now, "The same: seconds, or task=SECONDS."},
    {Top, "", "JobAcctGatherType", kText, set_gather_type, Now, "jobacct_gather/none: no samples; linux and cgroup: both kinds."},
    {Top, "", "TaskPlugin", kList, set_task_plugin, Now, "task/cgroup: what cgroup.conf says is in force."},
    {Cgroup, "cgroup.plugin", "CgroupPlugin", kText, set_cgroup_plugin, Now, "autodetect, cgroup/v2, or disabled: jobs are followed by their process tree, without limits."},
    {Cgroup, "cgroup.constrain_cores", "ConstrainCores", kFlag, into<&CgroupConfig::cores>, Now, "Whether a job is kept on its CPUs; default true, with slurm.conf false."},
    {Cgroup, "cgroup.constrain_ram", "ConstrainRAMSpace", kFlag, into<&CgroupConfig::ram>, Now, "Whether a job is kept to its memory; default true, with slurm.conf false."},
    {Cgroup, "cgroup.constrain_swap", "ConstrainSwapSpace", kFlag, into<&CgroupConfig::swap>, Now, "Whether memory and swap of a job are limited together."},
    {Cgroup, "cgroup.constrain_devices", "ConstrainDevices", kFlag, into<&CgroupConfig::devices>, Now, "Whether only devices that a job was given can be opened; default true, with slurm.conf false."},
    {Cgroup, "cgroup.allowed_ram_percent", "AllowedRAMSpace", kText, set_allowed_ram, Now, "Limit of memory, in percent of what the job was given."},
    {Cgroup, "cgroup.allowed_swap_percent", "AllowedSwapSpace", kText, set_allowed_swap, Now, "Swap space besides, in percent of the job's memory."},
    {Cgroup, "cgroup.max_ram_percent", "MaxRAMPercent", kText, set_max_ram, Now, "Most memory of a job, in percent of the node's."},
    {Cgroup, "cgroup.max_swap_percent", "MaxSwapPercent", kText, set_max_swap, Now, "Most swap space of a job, in percent of the node's memory."},
    {Cgroup, "cgroup.min_ram_mb", "MinRAMSpace", number(0, 1u << 20), into<&CgroupConfig::min_ram_mib>, Now, "Smallest limit of memory."},
    {Cgroup, "cgroup.max_processes", "", number(0, k32), into<&CgroupConfig::max_processes>, Now, "Most processes of a job on a node; 0: no limit; default half of what the kernel can have."},
    {Cgroup, "cgroup.io_max", "", kList, into<&CgroupConfig::io_max>, Now, "Lines for io.max of each job: \"8:0 rbps=104857600\"."},
    {Cgroup, "", "CgroupMountpoint", kPath, nullptr, Later, "The hierarchy is looked up in /proc/self/mountinfo.", "/sys/fs/cgroup"},
    {Cgroup, "", "CgroupAutomount", kFlag, no_effect, Now, "Of cgroup v1: no effect."},
    {Cgroup, "", "IgnoreSystemd", kFlag, no_effect, Now, "No effect: groups are made below the agent's own."},
    {Cgroup, "", "IgnoreSystemdOnFailure", kFlag, no_effect, Now, "No effect, as above."},
    {Cgroup, "", "EnableControllers", kFlag, no_effect, Now, "No effect: controllers are always asked for."},
    {Cgroup, "", "SystemdTimeout", number(0, k32), no_effect, Now, "No effect: systemd is not asked."},
    {Cgroup, "", "AllowedKmemSpace", kText, no_effect, Now, "Of cgroup v1: no effect."},
    {Cgroup, "", "ConstrainKmemSpace", kFlag, no_effect, Now, "Of cgroup v1: no effect."},
    {Cgroup, "", "MaxKmemPercent", kText, no_effect, Now, "Of cgroup v1: no effect."},
    {Cgroup, "", "MinKmemSpace", kText, no_effect, Now, "Of cgroup v1: no effect."},
    {Cgroup, "", "MemorySwappiness", kText, no_effect, Now, "Of cgroup v1: no effect."},
    {Cgroup, "", "SignalChildrenProcesses", kFlag, no_effect, Now, "No effect: signals reach all processes."},

    // ---- [isolation], [rlimits], [mpi], [devices], [containers], [topology], [burst_buffer]
    {Top, "isolation.setuid", "", kFlag, nullptr, Later, "Whether jobs run as their user."},
    {Top, "isolation.namespaces", "", kFlag, nullptr, Later, "Whether jobs get namespaces of their own."},
    {Top, "isolation.seccomp", "", kFlag, nullptr, Later, "Whether system calls of jobs are filtered."},
    {Top, "isolation.landlock", "", kFlag, nullptr, Later, "Whether file access of jobs is restricted."},
    {Top, "rlimits.memlock", "", kText, nullptr, Later, "Locked memory of jobs: unlimited, inherit or bytes."},
    {Top, "mpi.plugin_dir", "", kPath, nullptr, Later, "Directory of MPI plugins."},
    {Top, "mpi.pmix_plugin", "", kText, nullptr, Later, "PMIx plugin."},
    {Top, "mpi.pmix_min_version", "", kText, nullptr, Later, "Oldest PMIx that is taken."},
    {Top, "mpi.pmix_tmpdir", "", kPath, nullptr, Later, "Directory of PMIx sockets."},
    {Top, "mpi.modex_connect_timeout_secs", "", number(0, k32), nullptr, Later, "Time limit of connections between PMIx servers."},
    {Top, "mpi.modex_fence_timeout_secs", "", number(0, k32), nullptr, Later, "Time limit of a PMIx fence."},
    {Top, "mpi.modex_verify_timeout_secs", "", number(0, k32), nullptr, Later, "Time limit of PMIx verification."},
    {Top, "devices.auto_detect", "", kFlag, set_detect_all, Now, "Whether agents look for GPUs themselves; default true."},
    {Top, "devices.cdi_spec_dirs", "", kList, into<&DaemonConfig::cdi_dirs>, Now, "Directories of CDI specifications; default /etc/cdi and /var/run/cdi."},
    {Top, "containers.image_dir", "", kPath, into<&DaemonConfig::image_dir_path>, Now, "Container images of the site, and what agents unpack for jobs; default state_dir/images."},
    {Top, "containers.max_image_mb", "", number(1, k32), into<&DaemonConfig::max_image_mib>, Now, "Largest image that a job may have unpacked; default 131072."},
    {Top, "containers.max_image_files", "", number(1, k32), into<&DaemonConfig::max_image_files>, Now, "Most files of such an image; default 4000000."},
    {Top, "containers.copy_images", "", kFlag, into<&DaemonConfig::copy_images>, Now, "Whether each container gets a copy of its image instead of an overlay over it; needed where the kernel lets users mount no overlay, and done then anyway."},
    {Top, "topology.plugin", "TopologyPlugin", kText, set_topology_kind, Now, "Shape of the network: none, tree or block; slurm.conf: topology/...", "topology/flat"},
    {Top, "", "TopologyParam", kList, set_topology_options, Now, "TopoOptional: only jobs that ask for switches are placed by them."},
    {Top, "topology.block_size", "", number(1, k32), set_block_size, Now, "Nodes in a block."},
    {Top, "topology.block_sizes", "", kList, set_block_sizes, Now, "The same, with larger units of blocks behind it."},
    {Top, "burst_buffer.total_gb", "", number(0, k32), nullptr, Later, "Size of the burst buffer."},

    // ---- [kubernetes], [cluster]
    {Top, "kubernetes.enabled", "", kFlag, nullptr, Later, "Whether Kubernetes nodes join the cluster."},
    {Top, "kubernetes.kubeconfig", "", kPath, nullptr, Later, "Credentials for Kubernetes."},
    {Top, "kubernetes.namespace", "", kText, nullptr, Later, "Namespace of job pods."},
    {Top, "kubernetes.node_label_selector", "", kText, nullptr, Later, "Which Kubernetes nodes join."},
    {Top, "cluster.enabled", "", kFlag, nullptr, Later, "Whether a Kubernetes cluster is managed on the nodes."},
    {Top, "cluster.distro", "", kText, nullptr, Later, "Kubernetes distribution."},
    {Top, "cluster.pod_cidr", "", kText, nullptr, Later, "Addresses of pods."},
    {Top, "cluster.service_cidr", "", kText, nullptr, Later, "Addresses of services."},
    {Top, "cluster.cni", "", word("kuberouter|calico"), nullptr, Later, "Network plugin."},
    {Top, "cluster.cni_mtu", "", number(576, 65535), nullptr, Later, "MTU of the pod network."},
    {Top, "cluster.control_plane_node", "", kText, nullptr, Later, "Node of the control plane."},
    {Top, "cluster.control_plane_replicas", "", number(1, 5), nullptr, Later, "Size of the control plane."},
    {Top, "cluster.k8s_provisioning_timeout_secs", "", number(0, k32), nullptr, Later, "Time limit of provisioning."},
    {Top, "cluster.allow_admin_kubeconfig", "", kFlag, nullptr, Later, "Whether administrators get full credentials."},
    {Top, "cluster.k0s_version", "", kText, nullptr, Later, "Version to install."},
    {Top, "cluster.k0s_binary", "", kPath, nullptr, Later, "Program to run."},
    {Top, "cluster.storage_provisioner", "", word("local-path|none"), nullptr, Later, "Storage class."},
    {Top, "cluster.local_path_dir", "", kPath, nullptr, Later, "Directory of local volumes."},

    // ---- [[partitions]]
    {Partition, "name", "PartitionName", kText, into<&PartitionConfig::name>, Now, "Name of the partition."},
    {Partition, "default", "Default", kFlag, into<&PartitionConfig::is_default>, Now, "Whether jobs that name no partition go here; at most one."},
    {Partition, "state", "State", word("UP|DOWN|DRAIN|INACTIVE"), set_partition_state, Now, "Whether jobs are taken and started."},
    {Partition, "nodes", "Nodes", kText, into<&PartitionConfig::nodes>, Now, "Hostlist of its nodes; ALL for every node."},
    {Partition, "max_time", "MaxTime", kTime, into<&PartitionConfig::max_time>, Now, "Longest time limit; Slurm's grammar or 1h30m; default UNLIMITED."},
    {Partition, "default_time", "DefaultTime", kTime, into<&PartitionConfig::default_time>, Now, "Time limit of jobs that give none; default max_time."},
    {Partition, "min_nodes", "MinNodes", number(0, k32), into<&PartitionConfig::min_nodes>, Now, "Fewest nodes of a job."},
    {Partition, "max_nodes", "MaxNodes", limit(0, k32), into<&PartitionConfig::max_nodes>, Now, "Most nodes of a job."},
    {Partition, "max_cpus_per_node", "MaxCPUsPerNode", limit(1, k32), into<&PartitionConfig::max_cpus_per_node>, Now, "Most CPUs per node that this partition's jobs may use."},
    {Partition, "priority_tier", "PriorityTier", number(0, k16), into<&PartitionConfig::priority_tier>, Now, "Jobs of a higher tier are looked at first."},
    {Partition, "priority_job_factor", "PriorityJobFactor", number(0, k16), into<&PartitionConfig::priority_job_factor>, Now, "The partition's part in a job's priority."},
    {Partition, "", "Priority", number(0, k16), set_partition_priority, Now, "PriorityTier and PriorityJobFactor at once."},
    {Partition, "hidden", "Hidden", kFlag, into<&PartitionConfig::hidden>, Now, "Whether it is shown only with --all."},
    {Partition, "root_only", "RootOnly", kFlag, into<&PartitionConfig::root_only>, Now, "Whether only root may submit."},
    {Partition, "exclusive_user", "ExclusiveUser", kFlag, into<&PartitionConfig::exclusive_user>, Now, "Whether a node serves one user at a time."},
    {Partition, "disable_root_jobs", "DisableRootJobs", kFlag, into<&PartitionConfig::no_root_jobs>, Now, "Whether root may run no jobs here."},
    {Partition, "requires_reservation", "ReqResv", kFlag, into<&PartitionConfig::requires_reservation>, Now, "Whether only jobs that name a reservation may be submitted."},
    {Partition, "over_time_limit_minutes", "OverTimeLimit", limit(0, k16), set_partition_over_time, Now, "How far jobs here may overrun their time limit; default: scheduler.over_time_limit_minutes."},
    {Partition, "lln", "LLN", kFlag, into<&PartitionConfig::lln>, Now, "Whether the least loaded nodes are used first."},
    {Partition, "oversubscribe", "OverSubscribe", kText, set_oversubscribe, Now, "Whether jobs share resources: NO, YES[:jobs], FORCE[:jobs], EXCLUSIVE."},
    {Partition, "", "Shared", kText, set_oversubscribe, Now, "Older form of OverSubscribe."},
    {Partition, "default_memory_per_node_mb", "DefMemPerNode", limit(0, k32), into<&PartitionConfig::default_memory_per_node_mib>, Now, "Memory per node of jobs that ask for none."},
    {Partition, "default_memory_per_cpu_mb", "DefMemPerCPU", limit(0, k32), into<&PartitionConfig::default_memory_per_cpu_mib>, Now, "Memory per CPU of jobs that ask for none."},
    {Partition, "max_memory_per_node_mb", "MaxMemPerNode", limit(0, k32), into<&PartitionConfig::max_memory_per_node_mib>, Now, "Most memory per node that a job may ask for."},
    {Partition, "max_memory_per_cpu_mb", "MaxMemPerCPU", limit(0, k32), into<&PartitionConfig::max_memory_per_cpu_mib>, Now, "Most memory per CPU that a job may ask for."},
    {Partition, "allow_groups", "AllowGroups", kList, set_allow_groups, Now, "Groups whose members may submit; default ALL."},
    {Partition, "allow_accounts", "AllowAccounts", kList, set_allow_accounts, Now, "Accounts that may submit; default ALL."},
    {Partition, "deny_accounts", "DenyAccounts", kList, into<&PartitionConfig::deny_accounts>, Now, "Accounts that may not submit."},
    {Partition, "allow_qos", "AllowQos", kList, set_allow_qos, Now, "QOS that may be used; default ALL."},
    {Partition, "deny_qos", "DenyQos", kList, into<&PartitionConfig::deny_qos>, Now, "QOS that may not be used."},
    {Partition, "alloc_nodes", "AllocNodes", kList, set_alloc_nodes, Now, "Hosts from which jobs may be submitted; default ALL."},
    {Partition, "alternate", "Alternate", kText, into<&PartitionConfig::alternate>, Later, "Partition to use while this one is DRAIN or INACTIVE."},
    {Partition, "qos", "QOS", kText, into<&PartitionConfig::qos>, Now, "QOS whose limits hold for the partition."},
    {Partition, "topology", "Topology", kText, into<&PartitionConfig::topology>, Now, "Name of the topology, of those in topology.yaml, that counts for its jobs; default: the cluster's."},
    {Partition, "preempt_mode", "PreemptMode", kList, set_partition_preempt_mode, Now, "How jobs here are preempted (preempt/partition_prio): OFF, CANCEL, REQUEUE or SUSPEND, with GANG; default: the cluster's."},
    {Partition, "grace_time_secs", "GraceTime", number(0, k32), into<&PartitionConfig::grace_time_seconds>, Now, "Time that a preempted job gets to end."},
    {Partition, "tres_billing_weights", "TRESBillingWeights", kList, set_billing_weights, Now, "What a job here is billed for, per resource: cpu=1.0,mem=0.25G,gres/gpu=8; default: one for a CPU."},
    {Partition, "job_defaults", "JobDefaults", kList, set_job_defaults, Now, "DefCpuPerGPU=COUNT and DefMemPerGPU=MB for jobs with GPUs that ask for neither."},
    {Partition, "default_cpus_per_gpu", "DefCpuPerGPU", number(1, k32), set_cpus_per_gpu, Now, "CPUs for each GPU of jobs that ask for none."},
    {Partition, "suspend_timeout_secs", "SuspendTime", kIdle, set_partition_suspend_time, Now, "power.suspend_timeout_secs of its nodes; UNLIMITED: never. Of several partitions the longest counts."},
    {Partition, "switch_off_secs", "SuspendTimeout", number(0, k16), into<&PartitionConfig::suspend_timeout_seconds>, Now, "power.switch_off_secs of its nodes; of several partitions the longest counts."},
    {Partition, "resume_timeout_secs", "ResumeTimeout", number(0, k16), into<&PartitionConfig::resume_timeout_seconds>, Now, "Time within which its nodes have to be there when they are switched on; of several partitions the longest counts."},
    {Partition, "power_down_on_idle", "PowerDownOnIdle", kFlag, into<&PartitionConfig::power_down_on_idle>, Now, "Whether a node is switched off as soon as a job of this partition leaves it with nothing to do."},
    {Partition, "default_memory_per_gpu_mb", "DefMemPerGPU", number(0, k32), set_memory_per_gpu, Now, "Memory for each GPU of jobs that ask for none."},
    {Partition, "max_cpus_per_socket", "MaxCPUsPerSocket", limit(1, k32), into<&PartitionConfig::max_cpus_per_socket>, Later, "Most CPUs per socket that this partition's jobs may use.", "UNLIMITED"},
    {Partition, "preempt_exempt_time", "", number(0, k32), nullptr, Later, "Run time, in seconds, before a job may be preempted."},
    {Partition, "selector", "", kLabels, nullptr, Later, "Labels of nodes that belong to the partition."},

    // ---- [[nodes]]
    {Node, "names", "NodeName", kText, into<&NodeBlock::names>, Now, "Hostlist of the nodes' names."},
    {Node, "hostname", "NodeHostname", kText, into<&NodeBlock::hostnames>, Now, "What the nodes' hosts call themselves; default the name."},
    {Node, "address", "NodeAddr", kText, into<&NodeBlock::addresses>, Now, "Where the nodes are reached; default the hostname."},
    {Node, "port", "Port", kPorts, into<&NodeBlock::ports>, Now, "Port of the nodes' agents; several as a hostlist."},
    {Node, "cpus", "CPUs", number(1, k16), into<&NodeConfig::cpus>, Now, "CPUs of each node."},
    {Node, "", "Procs", number(1, k16), into<&NodeConfig::cpus>, Now, "Older form of CPUs."},
    {Node, "boards", "Boards", number(1, k16), into<&NodeConfig::boards>, Now, "Boards of each node."},
    {Node, "sockets", "Sockets", number(1, k16), into<&NodeConfig::sockets>, Now, "Sockets of each node."},
    {Node, "sockets_per_board", "SocketsPerBoard", number(1, k16), into<&NodeBlock::sockets_per_board>, Now, "Sockets of each board."},
    {Node, "cores_per_socket", "CoresPerSocket", number(1, k16), into<&NodeConfig::cores_per_socket>, Now, "Cores of each socket."},
    {Node, "threads_per_core", "ThreadsPerCore", number(1, k16), into<&NodeConfig::threads_per_core>, Now, "Threads of each core."},
    {Node, "memory_mb", "RealMemory", number(1, 1ull << 44), into<&NodeConfig::memory_mib>, Now, "Memory of each node."},
    {Node, "tmp_disk_mb", "TmpDisk", number(0, 1ull << 44), into<&NodeConfig::tmp_disk_mib>, Now, "Temporary disk space of each node."},
    {Node, "gres", "Gres", kList, set_node_gres, Now, "Generic resources: name[:type][:count]."},
    {Node, "features", "Features", kList, into<&NodeConfig::features>, Now, "Features that jobs can ask for."},
    {Node, "", "Feature", kList, into<&NodeConfig::features>, Now, "Older form of Features."},
    {Node, "weight", "Weight", number(0, k32), into<&NodeConfig::weight>, Now, "Nodes of lower weight are used first."},
    {Node, "state", "State", word("UNKNOWN|IDLE|DOWN|DRAIN|FAIL|FAILING|FUTURE|CLOUD"), set_node_state, Now, "State in which the nodes start."},
    {Node, "reason", "Reason", kText, into<&NodeConfig::reason>, Now, "Why the nodes start in that state."},
    {Node, "comment", "", kText, into<&NodeConfig::comment>, Now, "Any remark."},
    {Node, "core_spec_count", "CoreSpecCount", number(0, k16), into<&NodeConfig::spec_cores>, Now, "Cores of each node that are kept for the system.", "0"},
    {Node, "cpu_spec_list", "CPUSpecList", kText, into<&NodeConfig::spec_cpus>, Now, "CPUs of each node that are kept for the system."},
    {Node, "mem_spec_limit_mb", "MemSpecLimit", number(0, 1ull << 44), into<&NodeConfig::spec_memory_mib>, Now, "Memory of each node that is kept for the system.", "0"},
    {Node, "selector", "", kLabels, nullptr, Later, "Labels of nodes that the block is for."},

    // ---- [[devices.gres]] and gres.conf
    {Device, "nodes", "NodeName", kText, into<&DeviceBlock::nodes>, Now, "Hostlist of the nodes that the line is for; default all."},
    {Device, "name", "Name", kText, into<&DeviceBlock::name>, Now, "Name of the GRES."},
    {Device, "type", "Type", kText, into<&DeviceBlock::type>, Now, "Type of the GRES."},
    {Device, "file", "File", kText, into<&DeviceBlock::file>, Now, "Hostlist of its device files."},
    {Device, "count", "Count", number(0, k32), into<&DeviceBlock::count>, Now, "How many there are; default the number of files."},
    {Device, "multiple_files", "MultipleFiles", kText, nullptr, Later, "Device files that make up one GRES."},
    {Device, "cores", "Cores", kText, into<&DeviceBlock::cores>, Now, "Cores next to the devices."},
    {Device, "links", "Links", kText, into<&DeviceBlock::links>, Now, "Links between the devices."},
    {Device, "flags", "Flags", kList, into<&DeviceBlock::flags>, Later, "What kind of devices these are."},
    {Device, "", "CPUs", kText, into<&DeviceBlock::cores>, Now, "Older form of Cores."},
    {Device, "auto_detect", "AutoDetect", kText, set_auto_detect, Now, "How agents look for GPUs: nvml, rsmi, oneapi or off; for the nodes of the line, or for all."},

    // ---- [[topology.switches]], [[federation.clusters]]
    {Switch, "name", "SwitchName", kText, set_switch_name, Now, "Name of the switch, or of the block with topology.plugin = \"block\"."},
    {Switch, "block", "BlockName", kText, set_block_name, Now, "Name of the block, in a file that has switches as well."},
    {Switch, "nodes", "Nodes", kText, set_switch_nodes, Now, "Hostlist of its nodes."},
    {Switch, "switches", "Switches", kText, set_switch_children, Now, "Hostlist of the switches below it."},
    {Switch, "link_speed", "LinkSpeed", kText, no_effect, Now, "No effect, as in Slurm."},
    {Switch, "", "BlockSizes", kList, set_block_sizes, Now, "topology.block_sizes, on a line by itself."},
    {Switch, "", "PlannedBlockSize", kList, set_block_sizes, Now, "Older form of BlockSizes."},

    // ---- [[node_sets]], [[down_nodes]]
    {NodeSet, "name", "NodeSet", kText, into<&NodeSetBlock::name>, Now, "Name that stands for nodes in [[partitions]]."},
    {NodeSet, "nodes", "Nodes", kText, into<&NodeSetBlock::nodes>, Now, "Hostlist of its nodes."},
    {NodeSet, "feature", "Feature", kText, into<&NodeSetBlock::feature>, Now, "Nodes with this feature belong to it."},
    {Down, "nodes", "DownNodes", kText, into<&DownNodesBlock::nodes>, Now, "Hostlist of nodes that do not start in service."},
    {Down, "state", "State", word("DOWN|DRAIN|FAIL|FAILING|UNKNOWN"), set_down_state, Now, "State in which they start."},
    {Down, "reason", "Reason", kText, into<&DownNodesBlock::reason>, Now, "Why."},

    // ---- slurmdbd.conf, read by spurdbd
    {Dbd, "", "DbdHost", kText, into<&DaemonConfig::accounting_host>, Now, "Host of spurdbd."},
    {Dbd, "", "DbdPort", number(1, 65535), set_dbd_port, Now, "Port of spurdbd."},
    {Dbd, "", "PrivateData", kList, set_accounting_private, Now, "What it keeps from users who are no operators: jobs, usage, users, accounts, events, reservations."},
    {Dbd, "", "LogFile", kText, set_accounting_log, Now, "Its log file."},
    {Dbd, "", "DebugLevel", kText, set_dbd_log_level, Now, "How much it logs."},
    {Dbd, "", "DebugLevelSyslog", kText, set_dbd_syslog_level, Now, "Syslog as well, and how much of it."},
    {Dbd, "", "LogTimeFormat", kList, set_dbd_log_time, Now, "How moments are written in its log file, as in slurm.conf."},
    {Dbd, "", "SlurmUser", kText, into<&DaemonConfig::slurm_user>, Now, "Whom spurdbd becomes if root starts it; not given: as slurm.conf has it. The file has to be that user's."},
    {Dbd, "", "PidFile", kPath, into<&DaemonConfig::accounting_pid_file_path>, Now, "Its pid file."},
    {Dbd, "", "StorageType", kText, set_storage_type, Now, "accounting_storage/pgsql or accounting_storage/sqlite; accounting_storage/mysql (Slurm's): a SQLite file instead, and a warning."},
    {Dbd, "", "StorageHost", kText, into<&StorageConfig::host>, Now, "Host of PostgreSQL."},
    {Dbd, "", "StoragePort", number(1, 65535), into<&StorageConfig::port>, Now, "Port of PostgreSQL."},
    {Dbd, "", "StorageLoc", kText, into<&StorageConfig::location>, Now, "Name of the database; of SQLite, the file, if it is an absolute path."},
    {Dbd, "", "StorageUser", kText, into<&StorageConfig::user>, Now, "Who logs in to PostgreSQL."},
    {Dbd, "", "StoragePass", kText, into<&StorageConfig::password>, Now, "With which password; the file must be for its owner alone."},
    {Dbd, "", "PurgeJobAfter", kText, set_purge_jobs, Now, "How long ended jobs are kept: a number of months, or with days, hours or months behind it."},
    {Dbd, "", "PurgeStepAfter", kText, set_purge_steps, Now, "The same for steps of ended jobs; not given: as long as the jobs."},
    {Dbd, "", "PurgeEventAfter", kText, set_purge_events, Now, "The same for times in which nodes were out of order."},
    {Dbd, "", "PurgeResvAfter", kText, set_purge_reservations, Now, "The same for reservations that are over."},
    {Dbd, "", "PurgeTXNAfter", kText, set_purge_transactions, Now, "The same for who changed which account."},
    {Dbd, "", "ArchiveDir", kPath, into<&StorageConfig::archive_dir>, Now, "Where what is purged goes, if it is to be archived; /tmp unless given."},
    {Dbd, "", "ArchiveJobs", kFlag, into<&StorageConfig::archive_jobs>, Now, "Whether purged jobs are put into ArchiveDir."},
    {Dbd, "", "ArchiveSteps", kFlag, into<&StorageConfig::archive_steps>, Now, "The same for steps."},
    {Dbd, "", "ArchiveEvents", kFlag, into<&StorageConfig::archive_events>, Now, "The same for events."},
    {Dbd, "", "ArchiveResvs", kFlag, into<&StorageConfig::archive_reservations>, Now, "The same for reservations."},
    {Dbd, "", "ArchiveTXN", kFlag, into<&StorageConfig::archive_transactions>, Now, "The same for who changed which account."},
    {Dbd, "", "TrackWCKey", kFlag, set_track_wckeys, Now, "Whether the wckeys of jobs become known to sacctmgr as jobs use them; jobs without one have \"*\"."},
    {Dbd, "", "AllowNoDefAcct", kFlag, into<&DaemonConfig::accounting_no_default>, Now, "Whether users may be without a default account; new ones get none by themselves then."},
    {Dbd, "", "DefaultQOS", kText, into<&DaemonConfig::accounting_default_qos>, Now, "The QOS of a cluster that is added without one, instead of normal."},
    {Dbd, "", "DisableCoordDBD", kFlag, into<&DaemonConfig::accounting_no_coordinators>, Now, "Whether coordinators may change no more than other users."},
    {Dbd, "", "DisableArchiveCommands", kFlag, into<&DaemonConfig::accounting_no_archives>, Now, "Whether `sacctmgr archive` is refused."},
    {Dbd, "", "MaxQueryTimeRange", kTime, set_max_query, Now, "The longest time that users who are no operators may ask about at once, as a time limit is written."},
    {Dbd, "", "Parameters", kList, set_dbd_parameters, Now, "PreserveCaseUser: names of users are kept as they are written, not in lower case."},

    {Member, "name", "", kText, nullptr, Later, "Name of another cluster."},
    {Member, "address", "", kText, nullptr, Later, "Address of another cluster's controller."},
};
// clang-format on

struct ArrayScope {
  std::string_view path;
  Scope scope;
};
constexpr ArrayScope kArrays[] = {{"partitions", Partition},
                                  {"nodes", Node},
                                  {"devices.gres", Device},
                                  {"topology.switches", Switch},
                                  {"node_sets", NodeSet},
                                  {"down_nodes", Down},
                                  {"federation.clusters", Member}};

}  // namespace

std::span<const Key> key_table() {
  return kKeys;
}

const Key* find_spur_key(Scope scope, std::string_view name) {
  if (name.empty()) return nullptr;
  for (const Key& key : kKeys)
    if ((key.scope == scope || (scope == Top && key.scope == Cgroup)) && key.spur == name) return &key;
  return nullptr;
}

const Key* find_slurm_key(Scope scope, std::string_view name) {
  if (name.empty()) return nullptr;
  for (const Key& key : kKeys)
    if (key.scope == scope && text::equal_ignoring_case(key.slurm, name)) return &key;
  return nullptr;
}

std::string_view array_of(Scope scope) {
  for (const ArrayScope& array : kArrays)
    if (array.scope == scope) return array.path;
  return {};
}

const Scope* scope_of_array(std::string_view path) {
  for (const ArrayScope& array : kArrays)
    if (array.path == path) return &array.scope;
  return nullptr;
}

bool is_section(std::string_view section) {
  const auto below = [&](std::string_view name) {
    return name.size() > section.size() && name.starts_with(section) && name[section.size()] == '.';
  };
  for (const Key& key : kKeys)
    if (at_top(key.scope) && below(key.spur)) return true;
  return std::ranges::any_of(kArrays, [&](const ArrayScope& array) { return below(array.path); });
}

std::string nearest_spur_key(Scope scope, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys)
    if ((key.scope == scope || (scope == Top && key.scope == Cgroup)) && !key.spur.empty()) names.push_back(key.spur);
  if (scope == Top)
    for (const ArrayScope& array : kArrays) names.push_back(array.path);
  const auto nearest = text::nearest_word(name.substr(0, 100), names);
  return std::string(nearest.value_or(""));
}

}  // namespace spur::config
