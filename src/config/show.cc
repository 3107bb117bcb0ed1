// SPDX-License-Identifier: Apache-2.0
// One row per line of the output. A row's value is the one given in the file where no field of the model holds it,
// else the field's, else the text that Slurm prints for "not set".
#include "config/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "config/select_words.h"
#include "config/value.h"
#include "model/preemption.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::config {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Source {
  const model::ClusterConfig& cluster;
  const DaemonConfig& daemon;
  std::string_view path;
};

std::string overrun_text(const Source& s) {
  const auto whole = std::chrono::floor<minutes>(s.cluster.reservation_overrun).count();
  return whole > 0xffff ? std::string("UNLIMITED") : fmt::format("{} min", whole);
}

struct Row {
  std::string_view name;
  std::string_view otherwise;  // shown where the file says nothing
  std::string_view unit = {};  // put behind a value from the file
  std::string (*value)(const Source&) = nullptr;
};

// Slurm does not show it, or not any more: a line only where the file says something.
constexpr std::string_view kIfGiven = "if given";

std::string secs(seconds value) {
  return fmt::format("{} sec", value.count());
}
std::string null_if_empty(const std::string& text) {
  return text.empty() ? "(null)" : text;
}
std::string yes_no(bool flag) {
  return flag ? "1" : "0";
}

std::string user(const std::string& configured) {
  const passwd* entry = configured.empty() ? ::getpwuid(::geteuid()) : ::getpwnam(configured.c_str());
  if (!entry && !configured.empty()) return configured;
  if (!entry) return fmt::format("{0}({0})", ::geteuid());
  return fmt::format("{}({})", entry->pw_name, entry->pw_uid);
}

std::string licenses(const Source& s) {
  std::string out;
  for (const model::LicenseConfig& license : s.cluster.licenses)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", license.name, license.count);
  return null_if_empty(out);
}

std::string enforce(const Source& s) {
  switch (s.cluster.enforce_partition_limits) {
    case model::EnforcePartitionLimits::No:
      return "NO";
    case model::EnforcePartitionLimits::Any:
      return "ANY";
    case model::EnforcePartitionLimits::All:
      return "ALL";
  }
  return "NO";
}

std::string select_parameters(const Source& s) {
  const bool memory = s.cluster.memory_as == model::MemoryAs::Consumable;
  if (const std::string* type = s.daemon.find_kept("SelectType");
      type && text::equal_ignoring_case(*type, "select/linear"))
    return (memory ? "CR_MEMORY" : "NONE") + select_words(s.cluster);
  return fmt::format("{}{}{}", s.cluster.cores_whole ? "CR_CORE" : "CR_CPU", memory ? "_MEMORY" : "",
                     select_words(s.cluster));
}

std::string scheduler_parameters(const Source& s) {
  if (const std::string* given = s.daemon.find_kept("SchedulerParameters")) return *given;
  std::string out;
  if (s.cluster.kill_invalid_dependency) out = "kill_invalid_depend";
  if (s.cluster.max_script_bytes != model::ClusterConfig().max_script_bytes)
    out += fmt::format("{}max_script_size={}", out.empty() ? "" : ",", s.cluster.max_script_bytes);
  return null_if_empty(out);
}

// Slurm's order of words, whatever the file's; words that are not in `order` come last. `order` empty: by the alphabet.
std::string ordered(std::vector<std::string> words, std::string_view order) {
  const auto known = text::split(order, ',');
  std::ranges::stable_sort(words, {}, [&](const std::string& word) {
    const auto at = std::ranges::find_if(known, [&](auto k) { return text::equal_ignoring_case(k, word); });
    return std::pair(order.empty() ? 0 : at - known.begin(), order.empty() ? text::lower(word) : std::string());
  });
  return fmt::format("{}", fmt::join(words, ","));
}

std::string priority_flags(const Source& s) {
  std::vector<std::string> flags = s.cluster.priority.flags;
  static constexpr std::string_view kNormal[] = {"NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES"};
  const auto has = [&](std::string_view flag) { return std::ranges::find(flags, flag) != flags.end(); };
  if (std::ranges::all_of(kNormal, has) || has("NO_NORMAL_ALL")) {
    std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("NO_NORMAL"); });
    flags.emplace_back("NO_NORMAL_ALL");
  }
  return ordered(flags,
                 "ACCRUE_ALWAYS,SMALL_RELATIVE_TO_TIME,CALCULATE_RUNNING,DEPTH_OBLIVIOUS,FAIR_TREE,NO_FAIR_TREE,INCR_ONLY,"
                 "MAX_TRES,NO_NORMAL_ALL,NO_NORMAL_ASSOC,NO_NORMAL_PART,NO_NORMAL_QOS,NO_NORMAL_TRES");
}

// A list that the file has, in Slurm's order.
template <const char* const& Key, const char* const& Otherwise, const char* const& Order>
std::string given_list(const Source& s) {
  const std::string* given = s.daemon.find_kept(Key);
  return given ? ordered(split_list(*given), Order) : Otherwise;
}
constexpr const char *kNull = "(null)", *kNone = "none", *kAny = "ANY", *kByAlphabet = "";
constexpr const char *kDebugFlags = "DebugFlags", *kPrivateData = "PrivateData", *kHealthStates = "HealthCheckNodeState",
                     *kHealthOrder = "CYCLE,IDLE,ALLOC,MIXED", *kGovernors = "CpuFreqGovernors",
                     *kUsualGovernors = "OnDemand,Performance,UserSpace";

// Contain is Alloc as well.
std::string prolog_flags(const Source& s) {
  const std::string* given = s.daemon.find_kept("PrologFlags");
  if (!given) return "(null)";
  auto words = split_list(*given);
  const auto has = [&](std::string_view flag) {
    return std::ranges::any_of(words, [&](const auto& word) { return text::equal_ignoring_case(word, flag); });
  };
  if ((has("Contain") || has("X11")) && !has("Alloc")) words.emplace_back("Alloc");
  if (has("X11") && !has("Contain")) words.emplace_back("Contain");
  return ordered(words, "");
}

// In small letters; what concerns the agent is not part of it.
std::string task_parameters(const Source& s) {
  const std::string* given = s.daemon.find_kept("TaskPluginParam");
  if (!given) return "(null type)";
  auto words = split_list(text::lower(*given));
  std::erase_if(words, [](const std::string& word) { return word.starts_with("slurmd"); });
  return words.empty() ? "(null type)" : ordered(words, "verbose,none,sockets,cores,threads");
}

template <const char* const& Key>
std::string given_flag(const Source& s) {
  const std::string* given = s.daemon.find_kept(Key);
  const auto value = given ? check_text({.type = Type::Flag}, Key, *given) : Result<Value>(Value{});
  return value && value->flag ? "yes" : "no";
}
constexpr const char* kUsePam = "UsePAM";

std::string suspend_time(const Source& s) {
  const std::string* given = s.daemon.find_kept("SuspendTime");
  const bool number = given && !given->empty() && given->find_first_not_of("0123456789") == std::string::npos;
  return number ? *given + " sec" : "INFINITE";
}

// What is taken along of a shell's limits: all, if nothing is said of any.
std::string propagated(const Source& s) {
  if (const std::string* given = s.daemon.find_kept("PropagateResourceLimits")) return *given;
  return s.daemon.find_kept("PropagateResourceLimitsExcept") ? "(null)" : "ALL";
}

std::string over_time_limit(const Source& s) {
  const auto whole = s.cluster.over_time_limit.count() / 60;
  return whole > 0xffff ? std::string("UNLIMITED") : fmt::format("{} min", whole);
}

std::string storage_port(const Source& s) {
  const bool said = s.cluster.is_accounted || s.daemon.accounting_port != kAccountingPort;
  return std::to_string(said ? s.daemon.accounting_port : 0);
}

std::string preempt_type(const Source& s) {
  switch (s.cluster.preempt.by) {
    case model::PreemptBy::Nothing:
      return "(null)";
    case model::PreemptBy::PartitionTier:
      return "preempt/partition_prio";
    case model::PreemptBy::Qos:
      return "preempt/qos";
  }
  return "(null)";
}

std::string agent_parameters(const Source& s) {
  if (const std::string* given = s.daemon.find_kept("SlurmdParameters")) return *given;
  return s.cluster.config_overrides ? "config_overrides" : "(null)";
}

std::string storage_type(const Source& s) {
  if (const std::string* given = s.daemon.find_kept("AccountingStorageType")) return *given;
  return s.cluster.is_accounted ? "accounting_storage/slurmdbd" : "(null)";
}

std::string store_flags(const Source& s) {
  std::string out;
  if (s.cluster.keep_environments) out += "job_env";
  if (s.cluster.keep_scripts) out += out.empty() ? "job_script" : ",job_script";
  return out.empty() ? "(null)" : out;
}

std::string topology_plugin(const Source& s) {
  switch (s.cluster.topology.kind) {
    case model::TopologyKind::Flat:
      return "topology/flat";
    case model::TopologyKind::Tree:
      return "topology/tree";
    case model::TopologyKind::Block:
      return "topology/block";
  }
  return "topology/flat";
}

std::string job_defaults(const Source& s) {
  std::string out;
  if (s.cluster.default_cpus_per_gpu) out = fmt::format("DefCpuPerGPU={}", *s.cluster.default_cpus_per_gpu);
  if (s.cluster.default_memory_per_gpu_mib)
    out += fmt::format("{}DefMemPerGPU={}", out.empty() ? "" : ",", *s.cluster.default_memory_per_gpu_mib);
  return null_if_empty(out);
}

// Those that always count, and what the site adds.
std::string counted_tres(const Source& s) {
  std::string out = "cpu,mem,energy,node,billing,fs/disk,vmem,pages";
  for (const std::string& tres : s.cluster.accounting.tres)
    if (("," + out + ",").find("," + tres + ",") == std::string::npos) out += "," + tres;
  return out;
}

// clang-format off
constexpr Row kRows[] = {
    {"AccountingStorageBackupHost", "(null)"},
    {"AccountingStorageEnforce", "none"},
    {"AccountingStorageHost", "", "", [](const Source& s) { return s.daemon.accounting_host.empty() ? "localhost" : s.daemon.accounting_host; }},
    {"AccountingStorageExternalHost", "(null)"},
    {"AccountingStorageParameters", "(null)"},
    {"AccountingStoragePort", "", "", storage_port},
    {"AccountingStorageTRES", "", "", counted_tres},
    {"AccountingStorageType", "", "", storage_type},
    {"AccountingStoreFlags", "", "", store_flags},
    {"AcctGatherEnergyType", "(null)"},
    {"AcctGatherFilesystemType", "(null)"},
    {"AcctGatherInterconnectType", "(null)"},
    {"AcctGatherNodeFreq", "0 sec", " sec"},
    {"AcctGatherProfileType", "(null)"},
    {"AllowSpecResourcesUsage", "", "", [](const Source& s) { return std::string(s.cluster.jobs_use_spec_cores ? "yes" : "no"); }},
    {"AuthAltTypes", "(null)"},
    {"AuthAltParameters", "(null)"},
    {"AuthInfo", "(null)"},
    {"AuthType", "auth/spur"},
    {"BatchStartTimeout", "10 sec", " sec"},
    {"BcastExclude", "/lib,/usr/lib,/lib64,/usr/lib64"},
    {"BcastParameters", "(null)"},
    {"BOOT_TIME", ""},                   // the controller fills it in
    {"BurstBufferType", "(null)"},
    {"CertgenParameters", "(null)"},
    {"CertgenType", "(null)"},
    {"CertmgrParameters", "(null)"},
    {"CertmgrType", "(null)"},
    {"CliFilterPlugins", "(null)"},
    {"ClusterName", "", "", [](const Source& s) { return s.cluster.cluster_name; }},
    {"CommunicationParameters", "(null)"},
    {"CompleteWait", "", "", [](const Source& s) { return secs(s.cluster.complete_wait); }},
    {"CpuFreqDef", "Unknown"},
    {"CpuFreqGovernors", "", "", given_list<kGovernors, kUsualGovernors, kByAlphabet>},
    {"CredType", "cred/spur"},
    {"DataParserParameters", "(null)"},
    {"DebugFlags", "", "", given_list<kDebugFlags, kNull, kByAlphabet>},
    {"DefMemPerNode", "UNLIMITED"},      // or DefMemPerCPU, see memory_row()
    {"DependencyParameters", "(null)"},
    {"DisableRootJobs", "", "", [](const Source& s) -> std::string { return s.cluster.no_root_jobs ? "yes" : "no"; }},
    {"EioTimeout", "60"},
    {"EnforcePartLimits", "", "", enforce},
    {"Epilog", ""},
    {"EpilogMsgTime", "2000 usec", " usec"},
    {"EpilogSlurmctld", ""},
    {"EpilogTimeout", kIfGiven, " sec"},
    {"FairShareDampeningFactor", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.priority.dampening); }},
    {"FederationParameters", "(null)"},
    {"FirstJobId", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.first_job_id); }},
    {"GetEnvTimeout", kIfGiven, " sec"},
    {"GresTypes", "", "", [](const Source& s) { return null_if_empty(fmt::format("{}", fmt::join(s.cluster.gres_types, ","))); }},
    {"GpuFreqDef", "(null)"},
    {"GroupUpdateForce", "1"},
    {"GroupUpdateTime", "600 sec", " sec"},
    {"HASH_VAL", "Match"},               // one file is read, once
    {"HashPlugin", "hash/k12"},
    {"HealthCheckInterval", "0 sec", " sec"},
    {"HealthCheckNodeState", "", "", given_list<kHealthStates, kAny, kHealthOrder>},
    {"HealthCheckProgram", "(null)"},
    {"InactiveLimit", "0 sec", " sec"},
    {"InteractiveStepOptions", "--interactive --preserve-env --pty $SHELL"},
    {"JobAcctGatherFrequency", "30"},
    {"JobAcctGatherType", "(null)"},
    {"JobAcctGatherParams", "(null)"},
    {"JobCompHost", "localhost"},
    {"JobCompLoc", "(null)"},
    {"JobCompParams", "(null)"},
    {"JobCompPort", "0"},
    {"JobCompType", "(null)"},
    {"JobCompUser", "root"},
    {"JobContainerType", "(null)"},
    {"JobDefaults", "", "", job_defaults},
    {"JobFileAppend", "", "", [](const Source& s) { return yes_no(s.cluster.append_output); }},
    {"JobRequeue", "", "", [](const Source& s) { return yes_no(s.cluster.requeue_default); }},
    {"JobSubmitPlugins", "(null)"},
    {"KillOnBadExit", "", "", [](const Source& s) { return yes_no(s.daemon.commands.kill_on_bad_exit); }},
    {"KillWait", "", "", [](const Source& s) { return secs(s.cluster.kill_wait); }},
    {"LaunchParameters", "(null)"},
    {"Licenses", "", "", licenses},
    {"LogTimeFormat", "iso8601_ms"},
    {"MailDomain", "(null)"},
    {"MailProg", "/bin/mail"},
    {"MaxArraySize", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.max_array_size); }},
    {"MaxBatchRequeue", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.max_batch_requeue); }},
    {"MaxDBDMsgs", "", "", [](const Source& s) { return fmt::format("{}", s.daemon.accounting_max_backlog); }},
    {"MaxJobCount", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.max_job_count); }},
    {"MaxJobId", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.max_job_id); }},
    {"MaxMemPerNode", "UNLIMITED"},      // or MaxMemPerCPU
    {"MaxNodeCount", "", "",
     [](const Source& s) { return fmt::format("{}", s.cluster.max_node_count ? s.cluster.max_node_count : s.cluster.nodes.size()); }},
    {"MaxStepCount", "", "", [](const Source& s) { return fmt::format("{}", s.daemon.steps.max_count.value_or(0)); }},
    {"MaxTasksPerNode", "", "", [](const Source& s) { return fmt::format("{}", s.daemon.steps.max_tasks_per_node.value_or(0)); }},
    {"MCSPlugin", "(null)"},
    {"MCSParameters", "(null)"},
    {"MessageTimeout", "", "", [](const Source& s) { return secs(s.daemon.message_timeout); }},
    {"MinJobAge", "", "", [](const Source& s) { return secs(s.cluster.min_job_age); }},
    {"MpiDefault", "", "", [](const Source& s) { return s.daemon.commands.mpi.empty() ? "none" : s.daemon.commands.mpi; }},
    {"MpiParams", "(null)"},
    {"MULTIPLE_SLURMD", "Yes"},
    {"NEXT_JOB_ID", ""},                 // the controller fills it in
    {"NodeFeaturesPlugins", "(null)"},
    {"OverTimeLimit", "", "", over_time_limit},
    {"PluginDir", "(null)"},
    {"PlugStackConfig", "(null)"},
    {"PreemptMode", "", "", [](const Source& s) { return model::preempt_mode_text(s.cluster.preempt); }},
    {"PreemptParameters", "(null)"},
    {"PreemptType", "", "", preempt_type},
    {"PreemptExemptTime", "", "", [](const Source& s) -> std::string { return text::format_clock(s.cluster.preempt.exempt); }},
    {"PrEpParameters", "(null)"},
    {"PrEpPlugins", "prep/script"},
    {"PriorityParameters", "(null)"},
    {"PrioritySiteFactorParameters", "(null)"},
    {"PrioritySiteFactorPlugin", "(null)"},
    {"PriorityDecayHalfLife", "", "", [](const Source& s) -> std::string { return text::format_clock(s.cluster.priority.half_life); }},
    {"PriorityCalcPeriod", "", "", [](const Source& s) -> std::string { return text::format_clock(s.cluster.priority.calc_period); }},
    {"PriorityFavorSmall", "", "", [](const Source& s) -> std::string { return s.cluster.priority.favor_small ? "yes" : "no"; }},
    {"PriorityFlags", "", "", priority_flags},
    {"PriorityMaxAge", "", "", [](const Source& s) { return text::format_clock(s.cluster.age_full); }},
    {"PriorityUsageResetPeriod", "", "", [](const Source& s) { return s.cluster.priority.usage_reset; }},
    {"PriorityType", "", "", [](const Source& s) -> std::string { return s.cluster.priority.multifactor ? "priority/multifactor" : "priority/basic"; }},
    {"PriorityWeightAge", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.age_weight); }},
    {"PriorityWeightAssoc", "", "", [](const Source& s) -> std::string { return fmt::format("{}", s.cluster.priority.assoc_weight); }},
    {"PriorityWeightFairShare", "", "", [](const Source& s) -> std::string { return fmt::format("{}", s.cluster.priority.fairshare_weight); }},
    {"PriorityWeightJobSize", "", "", [](const Source& s) -> std::string { return fmt::format("{}", s.cluster.priority.job_size_weight); }},
    {"PriorityWeightPartition", "", "", [](const Source& s) -> std::string { return fmt::format("{}", s.cluster.priority.partition_weight); }},
    {"PriorityWeightQOS", "", "", [](const Source& s) -> std::string { return fmt::format("{}", s.cluster.priority.qos_weight); }},
    {"PriorityWeightTRES", "(null)"},
    {"PrivateData", "", "", given_list<kPrivateData, kNone, kByAlphabet>},
    {"ProctrackType", "proctrack/cgroup"},
    {"Prolog", ""},
    {"PrologEpilogTimeout", "65534"},
    {"PrologSlurmctld", ""},
    {"PrologTimeout", kIfGiven, " sec"},
    {"PrologFlags", "", "", prolog_flags},
    {"PropagatePrioProcess", "0"},
    {"PropagateResourceLimits", "", "", propagated},
    {"PropagateResourceLimitsExcept", "(null)"},
    {"RebootProgram", "(null)"},
    {"ReconfigFlags", "(null)"},
    {"RequeueExit", "(null)"},
    {"RequeueExitHold", "(null)"},
    {"ResumeFailProgram", "(null)"},
    {"ResumeProgram", "(null)"},
    {"ResumeRate", "300 nodes/min", " nodes/min"},
    {"ResumeTimeout", "60 sec", " sec"},
    {"ResvEpilog", "(null)"},
    {"ResvOverRun", "", "", overrun_text},
    {"ResvProlog", "(null)"},
    {"ReturnToService", "", "", [](const Source& s) { return fmt::format("{}", s.cluster.return_to_service); }},
    {"SallocDefaultCommand", kIfGiven},
    {"SchedulerParameters", "", "", scheduler_parameters},
    {"SchedulerTimeSlice", "30 sec", " sec"},
    {"SchedulerType", "sched/backfill"},
    {"ScronParameters", "(null)"},
    {"SelectType", "select/cons_tres"},
    {"SelectTypeParameters", "", "", select_parameters},
    {"SlurmUser", "", "", [](const Source& s) { return user(s.daemon.slurm_user); }},
    {"SlurmctldAddr", "(null)"},
    {"SlurmctldDebug", "", "", [](const Source& s) { return std::string(name_of(s.daemon.controller_log.level)); }},
    {"SlurmctldHost", ""},               // SlurmctldHost[n], see controller_rows()
    {"SlurmctldLogFile", "", "", [](const Source& s) { return null_if_empty(s.daemon.controller_log.file); }},
    {"SlurmctldPort", "", "", [](const Source& s) { return fmt::format("{}", s.daemon.controller_port); }},
    {"SlurmctldSyslogDebug", "(null)"},
    {"SlurmctldPrimaryOffProg", "(null)"},
    {"SlurmctldPrimaryOnProg", "(null)"},
    {"SlurmctldTimeout", "120 sec", " sec"},
    {"SlurmctldParameters", "(null)"},
    {"SlurmdDebug", "", "", [](const Source& s) { return std::string(name_of(s.daemon.agent_log.level)); }},
    {"SlurmdLogFile", "", "", [](const Source& s) { return null_if_empty(s.daemon.agent_log.file); }},
    {"SlurmdParameters", "", "", agent_parameters},
    {"SlurmdPidFile", "", "", [](const Source& s) { return agent_pid_file(s.daemon, "%n", "%h"); }},
    {"SlurmdPort", "", "", [](const Source& s) { return fmt::format("{}", s.daemon.agent_port); }},
    {"SlurmdSpoolDir", "", "", [](const Source& s) { return agent_spool_dir(s.daemon, "%n", "%h"); }},
    {"SlurmdSyslogDebug", "(null)"},
    {"SlurmdTimeout", "", "", [](const Source& s) { return secs(s.cluster.node_timeout); }},
    {"SlurmdUser", "", "", [](const Source& s) { return user(s.daemon.slurmd_user); }},
    {"SlurmSchedLogFile", "(null)"},
    {"SlurmSchedLogLevel", "0"},
    {"SlurmctldPidFile", "", "", [](const Source& s) { return controller_pid_file(s.daemon); }},
    {"SLURM_CONF", "", "", [](const Source& s) { return null_if_empty(std::string(s.path)); }},
    {"SLURM_VERSION", "", "", [](const Source&) { return std::string(kSlurmVersion); }},
    {"SrunEpilog", "", "", [](const Source& s) { return null_if_empty(s.daemon.commands.srun_epilog); }},
    {"SrunPortRange", "0-0"},
    {"SrunProlog", "", "", [](const Source& s) { return null_if_empty(s.daemon.commands.srun_prolog); }},
    {"StateSaveLocation", "", "", [](const Source& s) { return s.daemon.state_dir; }},
    {"SuspendExcNodes", "(null)"},
    {"SuspendExcParts", "(null)"},
    {"SuspendExcStates", "(null)"},
    {"SuspendProgram", "(null)"},
    {"SuspendRate", "60 nodes/min", " nodes/min"},
    {"SuspendTime", "", "", suspend_time},
    {"SuspendTimeout", "30 sec", " sec"},
    {"SwitchParameters", "(null)"},
    {"SwitchType", "(null)"},
    {"TaskEpilog", "(null)"},
    {"TaskPlugin", "(null)"},
    {"TaskPluginParam", "", "", task_parameters},
    {"TaskProlog", "(null)"},
    {"TCPTimeout", "2 sec", " sec"},
    {"TLSParameters", "(null)"},
    {"TLSType", "tls/none"},
    {"TmpFS", "/tmp"},
    {"TopologyParam", "(null)"},
    {"TopologyPlugin", "", "", topology_plugin},
    {"TrackWCKey", "", "", [](const Source& s) { return std::string(s.cluster.accounting.track_wckeys ? "yes" : "no"); }},
    {"TreeWidth", "16"},
    {"UsePam", "", "", given_flag<kUsePam>},
    {"UnkillableStepProgram", "(null)"},
    {"UnkillableStepTimeout", "60 sec", " sec"},
    {"VSizeFactor", "0 percent", " percent"},
    {"WaitTime", "0 sec", " sec"},
    {"X11Parameters", "(null)"},
};
// clang-format on

// Slurm shows the limit per node, or per CPU where that one is set.
void memory_row(std::string_view prefix, const std::optional<std::uint64_t>& per_node,
                const std::optional<std::uint64_t>& per_cpu, Pairs& out) {
  const auto amount = [](const auto& limit) {  // none is no limit
    return limit.value_or(0) > 0 ? fmt::format("{}", *limit) : std::string("UNLIMITED");
  };
  if (per_cpu)
    out.emplace_back(fmt::format("{}PerCPU", prefix), amount(per_cpu));
  else
    out.emplace_back(fmt::format("{}PerNode", prefix), amount(per_node));
}

void controller_rows(const DaemonConfig& daemon, Pairs& out) {
  for (std::size_t i = 0; i < daemon.controllers.size(); ++i) {
    const ControllerHost& controller = daemon.controllers[i];
    out.emplace_back(fmt::format("SlurmctldHost[{}]", i),
                     controller.host == controller.address
                         ? controller.host
                         : fmt::format("{}({})", controller.host, controller.address));
  }
}

// Programs of which several may be given: one numbered row each, none if there is none.
void program_rows(std::string_view name, const DaemonConfig& daemon, Pairs& out) {
  std::size_t i = 0;
  for (const auto& [key, value] : daemon.kept)
    if (key == name) out.emplace_back(fmt::format("{}[{}]", name, i++), value);
}

std::string percent(std::uint64_t thousandths) {
  return fmt::format("{}.{}%", thousandths / 1000, thousandths % 1000 / 100);
}

bool uses_cgroups(const DaemonConfig& daemon) {
  if (daemon.cgroup.disabled) return false;
  for (const char* key : {"TaskPlugin", "ProctrackType"})
    if (const std::string* plugins = daemon.find_kept(key); plugins && plugins->find("/cgroup") != std::string::npos)
      return true;
  return daemon.cgroup.cores.value_or(false) || daemon.cgroup.ram.value_or(false);
}

// A heading is a row without a name.
void cgroup_rows(const DaemonConfig& daemon, Pairs& out) {
  const CgroupConfig& cgroup = daemon.cgroup;
  const auto yes = [](const std::optional<bool>& flag) { return flag.value_or(false) ? "yes" : "no"; };
  out.emplace_back("", "Cgroup Support Configuration:");
  out.emplace_back("AllowedRAMSpace", percent(cgroup.allowed_ram));
  out.emplace_back("AllowedSwapSpace", percent(cgroup.allowed_swap));
  out.emplace_back("CgroupMountpoint", "/sys/fs/cgroup");
  out.emplace_back("CgroupPlugin", "cgroup/v2");
  out.emplace_back("ConstrainCores", yes(cgroup.cores));
  out.emplace_back("ConstrainDevices", yes(cgroup.devices));
  out.emplace_back("ConstrainRAMSpace", yes(cgroup.ram));
  out.emplace_back("ConstrainSwapSpace", yes(cgroup.swap));
  out.emplace_back("EnableControllers", "yes");
  out.emplace_back("IgnoreSystemd", "yes");
  out.emplace_back("IgnoreSystemdOnFailure", "yes");
  out.emplace_back("MaxRAMPercent", percent(cgroup.max_ram));
  out.emplace_back("MaxSwapPercent", percent(cgroup.max_swap));
  out.emplace_back("MinRAMSpace", fmt::format("{}MB", cgroup.min_ram_mib));
  out.emplace_back("SignalChildrenProcesses", "yes");
}

// mpi.conf, which has no meaning here: what Slurm does without one.
void mpi_rows(Pairs& out) {
  static constexpr std::pair<const char*, const char*> kMpi[] = {{"", "MPI Plugins Configuration:"},
                                                                 {"PMIxCliTmpDirBase", "(null)"},
                                                                 {"PMIxCollFence", "(null)"},
                                                                 {"PMIxDebug", "0"},
                                                                 {"PMIxDirectConn", "yes"},
                                                                 {"PMIxDirectConnEarly", "no"},
                                                                 {"PMIxDirectConnUCX", "no"},
                                                                 {"PMIxDirectSameArch", "no"},
                                                                 {"PMIxEnv", "(null)"},
                                                                 {"PMIxFenceBarrier", "no"},
                                                                 {"PMIxNetDevicesUCX", "(null)"},
                                                                 {"PMIxTimeout", "300"},
                                                                 {"PMIxTlsUCX", "(null)"}};
  for (const auto& [name, value] : kMpi) out.emplace_back(name, value);
}

std::string with_unit(const std::string& value, std::string_view unit) {
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? value + std::string(unit) : value;
}

}  // namespace

Pairs shown_config(const model::ClusterConfig& cluster, const DaemonConfig& daemon, std::string_view path) {
  const Source source{cluster, daemon, path};
  Pairs out;
  out.reserve(std::size(kRows));
  for (const Row& row : kRows) {
    if (row.name == "DefMemPerNode")
      memory_row("DefMem", cluster.default_memory_per_node_mib, cluster.default_memory_per_cpu_mib, out);
    else if (row.name == "MaxMemPerNode")
      memory_row("MaxMem", cluster.max_memory_per_node_mib, cluster.max_memory_per_cpu_mib, out);
    else if (row.name == "SlurmctldHost")
      controller_rows(daemon, out);
    else if (row.name == "Epilog" || row.name == "EpilogSlurmctld" || row.name == "Prolog" ||
             row.name == "PrologSlurmctld")
      program_rows(row.name, daemon, out);
    else if (row.name == "SelectTypeParameters" && select_parameters(source) == "NONE")
      continue;  // as Slurm
    else if (row.value)
      out.emplace_back(row.name, row.value(source));
    else if (const std::string* given = daemon.find_kept(row.name))
      out.emplace_back(row.name, with_unit(*given, row.unit));
    else if (row.otherwise != kIfGiven)
      out.emplace_back(row.name, row.otherwise);
  }
  if (uses_cgroups(daemon)) cgroup_rows(daemon, out);
  mpi_rows(out);
  return out;
}

}  // namespace spur::config
