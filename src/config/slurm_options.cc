// SPDX-License-Identifier: Apache-2.0
// The words of keys that take several, and what becomes of each: of Slurm 22.05 to 25.05.
#include <fmt/format.h>

#include <algorithm>

#include "config/slurm_keys.h"
#include "config/value.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

using enum Fate;

constexpr std::string_view kEvents = "scheduling follows events and looks at every job",
                           kLook = "nodes are looked at every second",
                           kLogs = "nothing is logged of it by itself", kLeast = "who is preempted is chosen by the least work lost",
                           kCray = "no Cray network", kCheap = "calls are cheap";

// clang-format off
constexpr SlurmOption kOptions[] = {
    {"SchedulerParameters", "allow_zero_lic", Later, "a license with none left keeps jobs waiting"},
    {"SchedulerParameters", "assoc_limit_stop", Later, "jobs behind one that waits for a limit may start"},
    {"SchedulerParameters", "batch_sched_delay", InForce, ""},
    {"SchedulerParameters", "bb_array_stage_cnt", Later, "no burst buffers"},
    {"SchedulerParameters", "bf_allow_magnetic_slot", Needless, "promises do not move off reservations"},
    {"SchedulerParameters", "bf_busy_nodes", Later, "nodes are chosen by Weight and fit"},
    {"SchedulerParameters", "bf_continue", Needless, kEvents},
    {"SchedulerParameters", "bf_hetjob_immediate", Needless, "components of a job always start at one moment"},
    {"SchedulerParameters", "bf_hetjob_prio", Later, "a heterogeneous job has the place of its first component"},
    {"SchedulerParameters", "bf_interval", Needless, kEvents},
    {"SchedulerParameters", "bf_job_part_count_reserve", Needless, kEvents},
    {"SchedulerParameters", "bf_licenses", Needless, "licenses are always planned"},
    {"SchedulerParameters", "bf_max_job_array_resv", Later, "promises are given by job"},
    {"SchedulerParameters", "bf_max_job_assoc", Later, "any number of a user's jobs may be planned"},
    {"SchedulerParameters", "bf_max_job_part", Later, "scheduler.promised_jobs of spur.conf is the bound"},
    {"SchedulerParameters", "bf_max_job_start", Needless, kEvents},
    {"SchedulerParameters", "bf_max_job_test", InForce, ""},
    {"SchedulerParameters", "bf_max_job_user", Later, "any number of a user's jobs may be planned"},
    {"SchedulerParameters", "bf_max_job_user_part", Later, "any number of a user's jobs may be planned"},
    {"SchedulerParameters", "bf_max_time", Needless, kEvents},
    {"SchedulerParameters", "bf_min_age_reserve", Needless, kEvents},
    {"SchedulerParameters", "bf_min_prio_reserve", Later, "jobs of any priority are promised a start"},
    {"SchedulerParameters", "bf_node_space_size", Needless, kEvents},
    {"SchedulerParameters", "bf_one_resv_per_job", Needless, "a job has one promise"},
    {"SchedulerParameters", "bf_resolution", Needless, kEvents},
    {"SchedulerParameters", "bf_running_job_reserve", Needless, "every running job is in the plan"},
    {"SchedulerParameters", "bf_topopt_enable", Needless, kEvents},
    {"SchedulerParameters", "bf_topopt_iterations", Needless, kEvents},
    {"SchedulerParameters", "bf_window", Needless, kEvents},
    {"SchedulerParameters", "bf_window_linear", Needless, kEvents},
    {"SchedulerParameters", "bf_yield_interval", Needless, kEvents},
    {"SchedulerParameters", "bf_yield_rpc_cnt", Needless, kEvents},
    {"SchedulerParameters", "bf_yield_sleep", Needless, kEvents},
    {"SchedulerParameters", "build_queue_timeout", Needless, kEvents},
    {"SchedulerParameters", "correspond_after_task_cnt", Needless, "arrays that depend task by task cost nothing until they are ready"},
    {"SchedulerParameters", "default_gbytes", Later, "--mem without a unit is in MB"},
    {"SchedulerParameters", "default_queue_depth", Needless, kEvents},
    {"SchedulerParameters", "defer", Needless, kEvents},
    {"SchedulerParameters", "defer_batch", Needless, kEvents},
    {"SchedulerParameters", "delay_boot", Later, "nodes are not rebooted for jobs"},
    {"SchedulerParameters", "disable_hetjob_steps", Later, "steps may span components"},
    {"SchedulerParameters", "disable_job_shrink", Needless, "running jobs do not shrink"},
    {"SchedulerParameters", "enable_hetjob_steps", Needless, "steps may span components"},
    {"SchedulerParameters", "enable_job_state_cache", Needless, "queries never wait for the scheduler"},
    {"SchedulerParameters", "enable_user_top", InForce, ""},
    {"SchedulerParameters", "extra_constraints", Later, "no --extra"},
    {"SchedulerParameters", "Ignore_NUMA", Later, "sockets are as declared or found"},
    {"SchedulerParameters", "ignore_constraint_validation", Later, "features that no node has are refused"},
    {"SchedulerParameters", "ignore_prefer_validation", Later, "--prefer is checked like -C"},
    {"SchedulerParameters", "inventory_interval", Needless, kEvents},
    {"SchedulerParameters", "job_submit_cnt", Needless, kCheap},
    {"SchedulerParameters", "kill_invalid_depend", InForce, ""},
    {"SchedulerParameters", "max_array_tasks", Later, "MaxArraySize bounds the tasks of an array"},
    {"SchedulerParameters", "max_depend_depth", Needless, "circles of dependencies are found at any depth"},
    {"SchedulerParameters", "max_rpc_cnt", Needless, kEvents},
    {"SchedulerParameters", "max_sched_time", Needless, kEvents},
    {"SchedulerParameters", "max_script_size", InForce, ""},
    {"SchedulerParameters", "max_submit_line_size", Needless, "command lines are kept whole"},
    {"SchedulerParameters", "max_switch_wait", InForce, ""},
    {"SchedulerParameters", "no_backup_scheduling", Needless, "the controller that leads schedules"},
    {"SchedulerParameters", "no_env_cache", Later, "no cache of login environments"},
    {"SchedulerParameters", "nohold_on_prolog_fail", InForce, ""},
    {"SchedulerParameters", "pack_serial_at_end", Later, "nodes are chosen by Weight and fit"},
    {"SchedulerParameters", "partition_job_depth", Needless, kEvents},
    {"SchedulerParameters", "preempt_reorder_count", Needless, kLeast},
    {"SchedulerParameters", "preempt_strict_order", Later, kLeast},
    {"SchedulerParameters", "preempt_youngest_first", InForce, ""},
    {"SchedulerParameters", "reduce_completing_frag", Later, "nodes that are being cleaned up are passed over"},
    {"SchedulerParameters", "requeue_delay", Later, "a requeued job may start at once"},
    {"SchedulerParameters", "requeue_setup_env_fail", Later, "a job whose login environment fails ends"},
    {"SchedulerParameters", "salloc_wait_nodes", Later, "salloc does not wait for nodes to boot"},
    {"SchedulerParameters", "sbatch_wait_nodes", Needless, "a batch job begins when all its nodes are ready"},
    {"SchedulerParameters", "sched_interval", Needless, kEvents},
    {"SchedulerParameters", "sched_max_job_start", Needless, kEvents},
    {"SchedulerParameters", "sched_min_interval", Needless, kEvents},
    {"SchedulerParameters", "spec_cores_first", Later, "cores for the system are the last ones"},
    {"SchedulerParameters", "step_retry_count", Needless, "steps wait at the job's own step manager"},
    {"SchedulerParameters", "step_retry_time", Needless, "steps wait at the job's own step manager"},
    {"SchedulerParameters", "time_min_as_soft_limit", Later, "--time-min is a minimum only"},
    {"SchedulerParameters", "whole_hetjob", Later, "commands act on the component that is named"},

    {"SlurmctldParameters", "allow_user_triggers", InForce, ""},
    {"SlurmctldParameters", "cloud_dns", Needless, "nodes are reached at the address that they tell"},
    {"SlurmctldParameters", "cloud_reg_addrs", Needless, "nodes are reached at the address that they tell"},
    {"SlurmctldParameters", "conmgr_connect_timeout", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_max_connections", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_quiesce_timeout", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_read_timeout", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_threads", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_use_poll", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_wait_write_delay", Needless, kCheap},
    {"SlurmctldParameters", "conmgr_write_timeout", Needless, kCheap},
    {"SlurmctldParameters", "disable_triggers", Needless, "no triggers"},
    {"SlurmctldParameters", "enable_configless", InForce, ""},
    {"SlurmctldParameters", "enable_job_state_cache", Needless, "queries never wait for the scheduler"},
    {"SlurmctldParameters", "enable_rpc_queue", Needless, kCheap},
    {"SlurmctldParameters", "enable_stepmgr", Needless, "steps are always managed on the job's nodes"},
    {"SlurmctldParameters", "idle_on_node_suspend", Later, "a node that is DOWN stays so when it is switched off"},
    {"SlurmctldParameters", "ignore_step_resources", Needless, "steps are always managed on the job's nodes"},
    {"SlurmctldParameters", "max_dbd_msg_action", Needless, "records for accounting wait on disk"},
    {"SlurmctldParameters", "max_powered_nodes", Later, "any number of nodes may be switched on"},
    {"SlurmctldParameters", "no_quick_restart", Needless, "a restart keeps everything"},
    {"SlurmctldParameters", "node_reg_mem_percent", Later, "a node with less memory than declared is drained"},
    {"SlurmctldParameters", "power_save_interval", Needless, kLook},
    {"SlurmctldParameters", "power_save_min_interval", Needless, kLook},
    {"SlurmctldParameters", "preempt_send_user_signal", InForce, ""},
    {"SlurmctldParameters", "reboot_from_controller", Later, "agents run RebootProgram"},
    {"SlurmctldParameters", "requeue_on_resume_failure", Later, "a job whose node does not come is requeued as it says itself"},
    {"SlurmctldParameters", "rl_bucket_size", Later, "calls are not limited by user"},
    {"SlurmctldParameters", "rl_enable", Later, "calls are not limited by user"},
    {"SlurmctldParameters", "rl_log_freq", Later, "calls are not limited by user"},
    {"SlurmctldParameters", "rl_refill_period", Later, "calls are not limited by user"},
    {"SlurmctldParameters", "rl_refill_rate", Later, "calls are not limited by user"},
    {"SlurmctldParameters", "rl_table_size", Later, "calls are not limited by user"},
    {"SlurmctldParameters", "node_clear_on_unknown_resv", Later, "a reservation without its nodes stays"},
    {"SlurmctldParameters", "user_resv_delete", Later, "users delete no reservations but those that say so"},
    {"SlurmctldParameters", "validate_nodeaddr_threads", Needless, "names of nodes are not looked up at the start"},

    {"SlurmdParameters", "allow_ecores", Later, "all cores count alike"},
    {"SlurmdParameters", "config_overrides", InForce, ""},
    {"SlurmdParameters", "conmgr_threads", Needless, kCheap},
    {"SlurmdParameters", "contain_spank", Later, "no SPANK plugins"},
    {"SlurmdParameters", "l3cache_as_socket", Later, "sockets are as declared or found"},
    {"SlurmdParameters", "no_power_saving", Needless, "agents switch nothing off"},
    {"SlurmdParameters", "numa_node_as_socket", Later, "sockets are as declared or found"},
    {"SlurmdParameters", "shutdown_on_reboot", Later, "an agent goes down with its node"},

    {"LaunchParameters", "batch_step_set_cpu_freq", Later, "CPU frequencies are not set"},
    {"LaunchParameters", "cray_net_exclusive", Needless, kCray},
    {"LaunchParameters", "disable_send_gids", Later, "groups are those that the controller knows"},
    {"LaunchParameters", "enable_nss_slurm", Later, "jobs ask the node's own name service"},
    {"LaunchParameters", "enable_stepmgr", Needless, "steps are always managed on the job's nodes"},
    {"LaunchParameters", "lustre_no_flush", Needless, "caches are not flushed"},
    {"LaunchParameters", "mem_sort", Later, "memory is not sorted before a step"},
    {"LaunchParameters", "mpir_use_nodeaddr", Later, "debuggers are told names of hosts"},
    {"LaunchParameters", "send_gids", Needless, "groups are always sent"},
    {"LaunchParameters", "slurmstepd_memlock", Needless, "step daemons are small"},
    {"LaunchParameters", "slurmstepd_memlock_all", Needless, "step daemons are small"},
    {"LaunchParameters", "test_exec", Later, "srun does not look for the program before it starts the step"},
    {"LaunchParameters", "ulimit_pam_adopt", Later, "no PAM module"},
    {"LaunchParameters", "use_interactive_step", InForce, ""},

    {"BcastParameters", "Compression", InForce, ""},
    {"BcastParameters", "DestDir", InForce, ""},
    {"BcastParameters", "send_libs", InForce, ""},

    {"PreemptParameters", "min_exempt_priority", InForce, ""},
    {"PreemptParameters", "reclaim_licenses", Later, "nobody is preempted for licenses"},
    {"PreemptParameters", "reorder_count", Needless, "the set of jobs that has to go is searched for, not reordered"},
    {"PreemptParameters", "send_user_signal", InForce, ""},
    {"PreemptParameters", "strict_order", Later, "the priority of who has to go does not count"},
    {"PreemptParameters", "suspend_grace_time", Later, "a job is suspended at once, without SIGTSTP before"},
    {"PreemptParameters", "youngest_first", InForce, ""},

    {"TaskPluginParam", "Autobind", Later, "tasks that cannot be bound by themselves are not bound"},
    {"TaskPluginParam", "Cores", InForce, ""},
    {"TaskPluginParam", "None", InForce, ""},
    {"TaskPluginParam", "OOMKillStep", Later, "memory that runs out ends the task that asked for it"},
    {"TaskPluginParam", "SlurmdOffSpec", Later, "agents run on any core"},
    {"TaskPluginParam", "SlurmdSpecOverride", Later, "agents run on any core"},
    {"TaskPluginParam", "Sockets", InForce, ""},
    {"TaskPluginParam", "Threads", InForce, ""},
    {"TaskPluginParam", "Verbose", InForce, ""},

    {"PrologFlags", "Alloc", InForce, ""},
    {"PrologFlags", "Contain", InForce, ""},
    {"PrologFlags", "DeferBatch", Needless, "a batch job begins when all its nodes are ready"},
    {"PrologFlags", "ForceRequeueOnFail", Later, "a job whose prolog failed is requeued as it says itself"},
    {"PrologFlags", "NONE", InForce, ""},
    {"PrologFlags", "NoHold", InForce, ""},
    {"PrologFlags", "RunInJob", Later, "prologs run as the agent's children"},
    {"PrologFlags", "Serial", InForce, ""},
    {"PrologFlags", "X11", Later, "no X11 forwarding"},

    {"SelectTypeParameters", "CR_CPU", InForce, ""},
    {"SelectTypeParameters", "CR_CPU_Memory", InForce, ""},
    {"SelectTypeParameters", "CR_Core", InForce, ""},
    {"SelectTypeParameters", "CR_Core_Memory", InForce, ""},
    {"SelectTypeParameters", "CR_Memory", InForce, ""},
    {"SelectTypeParameters", "CR_CORE_DEFAULT_DIST_BLOCK", InForce, ""},
    {"SelectTypeParameters", "NONE", InForce, ""},
    {"SelectTypeParameters", "CR_Socket", Later, "cores are handed out, not whole sockets"},
    {"SelectTypeParameters", "CR_Socket_Memory", Later, "cores are handed out, not whole sockets"},
    {"SelectTypeParameters", "CR_Board", Later, "cores are handed out, not whole boards"},
    {"SelectTypeParameters", "CR_Board_Memory", Later, "cores are handed out, not whole boards"},
    {"SelectTypeParameters", "CR_ONE_TASK_PER_CORE", InForce, ""},
    {"SelectTypeParameters", "CR_LLN", InForce, ""},
    {"SelectTypeParameters", "CR_PACK_NODES", InForce, ""},
    {"SelectTypeParameters", "ENFORCE_BINDING_GRES", InForce, ""},
    {"SelectTypeParameters", "LL_SHARED_GRES", InForce, ""},
    {"SelectTypeParameters", "MULTIPLE_SHARING_GRES_PJ", InForce, ""},
    {"SelectTypeParameters", "ONE_TASK_PER_SHARING_GRES", InForce, ""},

    {"CommunicationParameters", "block_null_hash", Needless, "every message is signed"},
    {"CommunicationParameters", "CheckGhalQuiesce", Needless, kCray},
    {"CommunicationParameters", "DisableIPv4", Later, "both families are always on"},
    {"CommunicationParameters", "EnableIPv6", InForce, ""},
    {"CommunicationParameters", "host_unreach_retry_count", Needless, "agents dial again by themselves"},
    {"CommunicationParameters", "keepaliveinterval", Needless, "connections are checked by themselves"},
    {"CommunicationParameters", "keepaliveprobes", Needless, "connections are checked by themselves"},
    {"CommunicationParameters", "keepalivetime", Needless, "connections are checked by themselves"},
    {"CommunicationParameters", "NoAddrCache", Needless, "addresses are not cached"},
    {"CommunicationParameters", "NoCtldInAddrAny", InForce, ""},
    {"CommunicationParameters", "NoInAddrAny", InForce, ""},

    {"TopologyParam", "BlockAsNodeRank", Later, "ranks go by the names of nodes"},
    {"TopologyParam", "Dragonfly", Later, "no dragonfly networks"},
    {"TopologyParam", "RouteTree", Needless, "nodes are reached directly"},
    {"TopologyParam", "RoutePart", Needless, "nodes are reached directly"},
    {"TopologyParam", "SwitchAsNodeRank", Later, "ranks go by the names of nodes"},
    {"TopologyParam", "TopoMaxSizeUnroll", Later, "jobs of a block are not unrolled"},
    {"TopologyParam", "TopoOptional", InForce, ""},
    {"TopologyParam", "NoCtldInAddrAny", Later, "it belongs to CommunicationParameters now"},
    {"TopologyParam", "NoInAddrAny", Later, "it belongs to CommunicationParameters now"},

    {"TaskPlugin", "affinity", Needless, "srun's options bind tasks without a plugin"},
    {"TaskPlugin", "cgroup", InForce, ""},
    {"TaskPlugin", "none", InForce, ""},

    {"PrivateData", "accounts", InForce, ""},
    {"PrivateData", "cloud", Needless, "nodes of a cloud are always shown"},
    {"PrivateData", "events", InForce, ""},
    {"PrivateData", "jobs", InForce, ""},
    {"PrivateData", "nodes", InForce, ""},
    {"PrivateData", "none", InForce, ""},
    {"PrivateData", "partitions", InForce, ""},
    {"PrivateData", "reservations", InForce, ""},
    {"PrivateData", "usage", InForce, ""},
    {"PrivateData", "users", InForce, ""},
    {"PrivateData", "all", InForce, ""},

    {"ReconfigFlags", "KeepPartInfo", InForce, ""},
    {"ReconfigFlags", "KeepPartState", InForce, ""},
    {"ReconfigFlags", "KeepPowerSaveSettings", Later, "power saving is as the file says"},

    {"JobAcctGatherParams", "DisableGPUAcct", Later, "the use of GPUs is sampled where it can be"},
    {"JobAcctGatherParams", "NoShared", Later, "usage is taken from cgroups, or from the process tree"},
    {"JobAcctGatherParams", "OverMemoryKill", Later, "memory is limited by cgroups"},
    {"JobAcctGatherParams", "UsePss", Later, "usage is taken from cgroups, or from the process tree"},
    {"JobAcctGatherParams", "UseRss", Needless, "usage is taken from cgroups, or from the process tree"},

    {"DependencyParameters", "disable_remote_singleton", Needless, "no federations"},
    {"DependencyParameters", "kill_invalid_depend", Later, "it belongs to SchedulerParameters"},
    {"DependencyParameters", "max_depend_depth", Needless, "circles of dependencies are found at any depth"},

    {"HealthCheckNodeState", "ALLOC", InForce, ""},
    {"HealthCheckNodeState", "ANY", InForce, ""},
    {"HealthCheckNodeState", "CYCLE", InForce, ""},
    {"HealthCheckNodeState", "IDLE", InForce, ""},
    {"HealthCheckNodeState", "MIXED", InForce, ""},
    {"HealthCheckNodeState", "NONDRAINED_IDLE", Later, "nodes in any state are looked at"},
    {"HealthCheckNodeState", "START_ONLY", Later, "agents look from time to time"},

    {"AuthAltTypes", "auth/jwt", InForce, ""},
    {"AuthAltTypes", "auth/slurm", Needless, "callers are known by credentials that each host's daemon signs"},
    {"AuthAltParameters", "disable_token_creation", InForce, ""},
    {"AuthAltParameters", "jwks", Later, "no tokens of others are taken"},
    {"AuthAltParameters", "jwt_key", InForce, ""},
    {"AuthAltParameters", "max_token_lifespan", InForce, ""},
    {"AuthAltParameters", "userclaimfield", Later, "the user is in the claim \"sun\""},

    {"FederationParameters", "fed_display", Later, "no federations"},
    {"X11Parameters", "home_xauthority", Later, "no X11 forwarding"},
    {"ScronParameters", "enable", InForce, ""},
    {"ScronParameters", "explicit_scancel", InForce, ""},
    {"MCSParameters", "ondemand", Later, "jobs carry no security labels"},
    {"MCSParameters", "enforced", Later, "jobs carry no security labels"},
    {"MCSParameters", "noselect", Later, "jobs carry no security labels"},
    {"MCSParameters", "select", Later, "jobs carry no security labels"},
    {"MCSParameters", "ondemandselect", Later, "jobs carry no security labels"},
    {"MCSParameters", "privatedata", Later, "jobs carry no security labels"},

    {"DebugFlags", "Accrue", Later, kLogs}, {"DebugFlags", "Agent", InForce, ""}, {"DebugFlags", "AuditRPCs", InForce, ""},
    {"DebugFlags", "AuditTLS", Later, kLogs}, {"DebugFlags", "Backfill", InForce, ""}, {"DebugFlags", "BackfillMap", Later, kLogs},
    {"DebugFlags", "BurstBuffer", Later, kLogs}, {"DebugFlags", "Cgroup", Later, kLogs}, {"DebugFlags", "ConMgr", Later, kLogs},
    {"DebugFlags", "CPU_Bind", Later, kLogs}, {"DebugFlags", "CpuFrequency", Later, kLogs}, {"DebugFlags", "Data", Later, kLogs},
    {"DebugFlags", "DBD_Agent", Later, kLogs}, {"DebugFlags", "Dependency", Later, kLogs}, {"DebugFlags", "Elasticsearch", Later, kLogs},
    {"DebugFlags", "Energy", Later, kLogs}, {"DebugFlags", "ExtSensors", Later, kLogs}, {"DebugFlags", "Federation", Later, kLogs},
    {"DebugFlags", "FrontEnd", Later, kLogs}, {"DebugFlags", "Gang", Later, kLogs}, {"DebugFlags", "GLOB_SILENCE", Later, kLogs},
    {"DebugFlags", "Gres", Later, kLogs}, {"DebugFlags", "Hetjob", Later, kLogs}, {"DebugFlags", "Interconnect", Later, kLogs},
    {"DebugFlags", "JobAccountGather", Later, kLogs}, {"DebugFlags", "JobComp", Later, kLogs}, {"DebugFlags", "JobContainer", Later, kLogs},
    {"DebugFlags", "License", Later, kLogs}, {"DebugFlags", "Mpi", Later, kLogs}, {"DebugFlags", "Network", Later, kLogs},
    {"DebugFlags", "NetworkRaw", Later, kLogs}, {"DebugFlags", "NO_CONF_HASH", Needless, "one file is read, by the controller"},
    {"DebugFlags", "NodeFeatures", Later, kLogs}, {"DebugFlags", "NO_REALTIME", Later, kLogs}, {"DebugFlags", "Power", InForce, ""},
    {"DebugFlags", "PowerSave", Later, kLogs}, {"DebugFlags", "Priority", InForce, ""}, {"DebugFlags", "Profile", Later, kLogs},
    {"DebugFlags", "Protocol", Later, kLogs}, {"DebugFlags", "Reservation", InForce, ""}, {"DebugFlags", "Route", Later, kLogs},
    {"DebugFlags", "Sackd", Later, kLogs}, {"DebugFlags", "Script", Later, kLogs}, {"DebugFlags", "SelectType", Later, kLogs},
    {"DebugFlags", "Steps", InForce, ""}, {"DebugFlags", "Switch", Later, kLogs}, {"DebugFlags", "TimeCray", Later, kLogs},
    {"DebugFlags", "TLS", Later, kLogs}, {"DebugFlags", "TraceJobs", InForce, ""}, {"DebugFlags", "Triggers", InForce, ""},
    {"DebugFlags", "WorkQueue", Later, kLogs},
};
// clang-format on

}  // namespace

std::span<const SlurmOption> slurm_options() {
  return kOptions;
}

const SlurmOption* find_slurm_option(std::string_view key, std::string_view word) {
  for (const SlurmOption& option : kOptions)
    if (text::equal_ignoring_case(option.key, key) && text::equal_ignoring_case(option.word, word)) return &option;
  return nullptr;
}

bool has_slurm_options(std::string_view key) {
  return std::ranges::any_of(kOptions, [&](const auto& option) { return text::equal_ignoring_case(option.key, key); });
}

std::vector<std::string> remarks_on_options(std::string_view key, std::string_view list) {
  constexpr std::size_t kLongest = 1000;  // of a line
  std::vector<std::string> out;
  for (const std::string& item : split_list(list)) {
    // "task/affinity" is "affinity"; "bf_interval=60" is "bf_interval".
    std::string_view word = std::string_view(item).substr(0, item.find_first_of("=:"));
    if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos) word.remove_prefix(slash + 1);
    const SlurmOption* option = find_slurm_option(key, word);
    if (option && option->fate == InForce) continue;
    std::string said = text::shown(item, 60);
    said += option ? fmt::format(" ({}: {})", option->fate == Later ? "not in force yet" : "no effect", option->reason)
                   : std::string(" (unknown)");
    if (out.empty() || out.back().size() + said.size() > kLongest)
      out.push_back(std::move(said));
    else
      out.back() += "; " + said;
  }
  return out;
}

}  // namespace spur::config
