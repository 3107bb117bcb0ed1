// SPDX-License-Identifier: Apache-2.0
// scontrol write config [FILE]: the configuration in force, with nodes and partitions as they are, as a slurm.conf
// beside the one it came from (FILE or its name, with the time behind it). The file is written here, not by the
// controller. Layout and order are Slurm's.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cli/display.h"
#include "cli/output.h"
#include "cli/scontrol.h"
#include "text/date.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

struct Section {
  std::string_view title;
  std::vector<std::string_view> keys;  // none: all that are in no other section
};

const std::array kSections = {
    Section{"CONTROL",
            {"ClusterName", "SlurmUser", "SlurmctldHost", "SlurmctldPort", "SlurmdPort", "SlurmdUser"}},
    Section{"LOGGING & OTHER PATHS",
            {"SlurmctldLogFile", "SlurmdLogFile", "SlurmdPidFile", "SlurmdSpoolDir", "SlurmSchedLogFile",
             "SlurmctldPidFile", "StateSaveLocation"}},
    Section{"ACCOUNTING",
            {"AccountingStorageBackupHost", "AccountingStorageEnforce", "AccountingStorageHost",
             "AccountingStoragePort", "AccountingStorageType", "AccountingStorageUser", "AccountingStoreFlags",
             "AcctGatherEnergyType", "AcctGatherFilesystemType", "AcctGatherInterconnectType", "AcctGatherNodeFreq",
             "AcctGatherProfileType", "JobAcctGatherFrequency", "JobAcctGatherType"}},
    Section{"SCHEDULING & ALLOCATION",
            {"PreemptMode", "PreemptType", "PreemptExemptTime", "PriorityType", "SchedulerParameters",
             "SchedulerTimeSlice", "SchedulerType", "SelectType", "SelectTypeParameters", "SlurmSchedLogLevel"}},
    Section{"TOPOLOGY", {"TopologyPlugin"}},
    Section{"TIMERS",
            {"BatchStartTimeout", "CompleteWait", "EpilogMsgTime", "GetEnvTimeout", "InactiveLimit", "KillWait",
             "MinJobAge", "SlurmctldTimeout", "SlurmdTimeout", "WaitTime"}},
    Section{"POWER",
            {"ResumeProgram", "ResumeRate", "ResumeTimeout", "SuspendExcNodes", "SuspendExcParts", "SuspendProgram",
             "SuspendRate", "SuspendTime", "SuspendTimeout"}},
    Section{"DEBUG", {"DebugFlags", "SlurmctldDebug", "SlurmdDebug"}},
    Section{"EPILOG & PROLOG",
            {"Epilog", "Prolog", "SrunEpilog", "SrunProlog", "TaskEpilog", "TaskProlog"}},
    Section{"PROCESS TRACKING", {"ProctrackType"}},
    Section{"RESOURCE CONFINEMENT", {"TaskPlugin", "TaskPluginParam"}},
    Section{"OTHER", {}},
};

// What tells of the cluster, not what it is told.
constexpr std::string_view kNoSettings[] = {"BOOT_TIME",   "HASH_VAL",   "MULTIPLE_SLURMD",
                                            "NEXT_JOB_ID", "SLURM_CONF", "SLURM_VERSION"};

// Centred between the bars.
std::string heading(std::string_view title) {
  const std::string bar(48, '#');
  return fmt::format("#\n{}\n#{:^46}#\n{}\n", bar, title, bar);
}

std::string_view base_key(std::string_view key) {
  return key.substr(0, key.find('['));  // SlurmctldHost[0]
}

bool is_in_section(std::string_view key) {
  return std::ranges::any_of(kSections, [&](const Section& section) {
    return std::ranges::find(section.keys, base_key(key)) != section.keys.end();
  });
}

// As a file says it: without units, and users without their number.
std::string setting(std::string_view key, std::string_view value) {
  if (value.starts_with("(null") || (key == "CpuFreqDef" && value == "Unknown") ||
      (key == "DefMemPerNode" && value == "UNLIMITED"))
    value = {};
  for (const std::string_view unit : {" sec", " usec", " min", " nodes/min", " percent"})
    if (value.ends_with(unit)) value.remove_suffix(unit.size());
  if (key == "SlurmUser" || key == "SlurmdUser") value = value.substr(0, value.find('('));
  if (value.empty()) return fmt::format("#{}=\n", base_key(key));
  return fmt::format("{}={}\n", base_key(key), text::printable(std::string(value)));
}

using Shown = decltype(model::ClusterConfig::shown);

std::string settings(const Section& section, const Shown& all) {
  std::string text;
  if (section.keys.empty()) {
    for (const auto& [key, value] : all) {
      if (key.empty()) break;  // what follows is of other files
      if (is_in_section(key) || std::ranges::find(kNoSettings, key) != std::end(kNoSettings)) continue;
      text += setting(key, value);
    }
    return text;
  }
  for (const std::string_view wanted : section.keys)
    for (const auto& [key, value] : all) {
      if (key.empty()) break;
      if (base_key(key) == wanted) text += setting(key, value);
    }
  return text;
}

std::string node_text(const model::Node& node, std::string_view usual_port) {
  const model::NodeHardware& hardware = node.hardware;
  const auto [host, port] = host_and_port(node.address);
  std::string text;
  const auto add = [&](std::string_view key, const auto& value) { text += fmt::format(" {}={}", key, value); };
  if (!node.hostname.empty() && node.hostname != node.name) add("NodeHostName", node.hostname);
  if (!host.empty() && host != node.name) add("NodeAddr", host);
  if (hardware.sockets > 0) add("Sockets", hardware.sockets);
  if (hardware.cores_per_socket > 0) add("CoresPerSocket", hardware.cores_per_socket);
  if (hardware.threads_per_core > 0) add("ThreadsPerCore", hardware.threads_per_core);
  if (!hardware.gres.empty()) add("Gres", node_gres(hardware, false));
  if (hardware.memory_mib > 1) add("RealMemory", hardware.memory_mib);
  if (hardware.tmp_disk_mib > 0) add("TmpDisk", hardware.tmp_disk_mib);
  if (node.weight != 1) add("Weight", node.weight);
  if (!node.features.empty()) add("Feature", join(node.features, ","));
  if (!port.empty() && port != usual_port) add("Port", port);
  return text::printable(text);
}

// Nodes that are alike are one line; the last comes first, as in Slurm.
std::string nodes_text(const wire::ClusterTable& table, std::string_view usual_port) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const model::NodePtr& node : table.nodes) {
    std::string like = node_text(*node, usual_port);
    const auto known = std::ranges::find_if(groups, [&](const auto& group) { return group.first == like; });
    if (known != groups.end())
      known->second.push_back(node->name);
    else
      groups.emplace_back(std::move(like), std::vector{node->name});
  }
  std::string text;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group)
    text += fmt::format("NodeName={}{}\n", text::compress_hostlist(group->second), group->first);
  return text;
}

// "cpu=1.0,mem=0.25G".
std::string weights_text(const std::vector<model::TresWeight>& weights) {
  std::string text;
  for (const model::TresWeight& weight : weights) {
    std::string_view unit;
    for (const auto& [per, letter] : {std::pair{1u << 10, "G"}, std::pair{1u << 20, "T"}, std::pair{1u << 30, "P"}})
      if (weight.per == per) unit = letter;
    text += fmt::format("{}{}={}{}", text.empty() ? "" : ",", weight.tres,
                        static_cast<double>(weight.thousandths) / 1000, unit);
  }
  return text;
}

std::string partition_text(const model::Partition& partition, const wire::ClusterTable& table) {
  const model::PartitionConfig& config = partition.config;
  std::string text = "PartitionName=" + config.name;
  const auto add = [&](bool wanted, std::string_view key, const auto& value) {
    if (wanted) text += fmt::format(" {}={}", key, value);
  };
  const auto list = [&](std::string_view key, const std::vector<std::string>& words) {
    add(!words.empty(), key, join(words, ","));
  };
  const auto number = [&](std::string_view key, const auto& value) {
    if (value) add(true, key, *value);
  };
  const auto limit = [](const TimeLimit& time) { return text::format_time_limit(time, text::LimitStyle::Scontrol); };
  list("AllocNodes", config.alloc_nodes);
  list("AllowAccounts", config.allow_accounts);
  list("AllowGroups", config.allow_groups);
  list("AllowQos", config.allow_qos);
  add(!config.alternate.empty(), "Alternate", config.alternate);
  add(config.is_default, "Default", "YES");
  number("DefMemPerCPU", config.default_memory_per_cpu_mib);
  number("DefMemPerNode", config.default_memory_per_node_mib);
  list("DenyAccounts", config.deny_accounts);
  list("DenyQos", config.deny_qos);
  add(config.default_time.is_set(), "DefaultTime", limit(config.default_time));
  add(config.no_root_jobs, "DisableRootJobs", "YES");
  add(config.exclusive_user, "ExclusiveUser", "YES");
  add(config.grace_time_seconds > 0, "GraceTime", config.grace_time_seconds);
  add(config.hidden, "Hidden", "YES");
  add(config.lln, "LLN", "YES");
  number("MaxCPUsPerNode", config.max_cpus_per_node);
  number("MaxCPUsPerSocket", config.max_cpus_per_socket);
  number("MaxMemPerCPU", config.max_memory_per_cpu_mib);
  number("MaxMemPerNode", config.max_memory_per_node_mib);
  number("MaxNodes", config.max_nodes);
  add(!config.max_time.is_unlimited(), "MaxTime", limit(config.max_time));
  add(config.min_nodes != 1, "MinNodes", config.min_nodes);
  add(true, "Nodes", partition_nodes(partition, table));
  add(config.over_time_limit_minutes.has_value(), "OverTimeLimit", over_time_limit(config));
  add(!config.preempt_mode.empty(), "PreemptMode", config.preempt_mode);
  add(config.priority_job_factor != 1, "PriorityJobFactor", config.priority_job_factor);
  add(config.priority_tier != 1, "PriorityTier", config.priority_tier);
  add(!config.qos.empty(), "QOS", config.qos);
  add(config.requires_reservation, "ReqResv", "YES");
  add(!config.topology.empty(), "Topology", config.topology);
  add(config.root_only, "RootOnly", "YES");
  add(config.oversubscribe == model::OverSubscribe::Exclusive, "OverSubscribe", "EXCLUSIVE");
  add(config.oversubscribe == model::OverSubscribe::Force, "OverSubscribe",
      fmt::format("FORCE:{}", config.oversubscribe_count));
  add(config.oversubscribe == model::OverSubscribe::Yes, "OverSubscribe",
      fmt::format("YES:{}", config.oversubscribe_count));
  add(true, "State", partition_state(config.state));
  add(!config.billing_weights.empty(), "TRESBillingWeights", weights_text(config.billing_weights));
  return text::printable(text) + "\n";
}

std::string_view shown_value(const model::ClusterConfig& config, std::string_view key) {
  for (const auto& [name, value] : config.shown)
    if (name == key) return value;
  return {};
}

}  // namespace

std::string config_file_text(const model::ClusterConfig& config, const wire::ClusterTable& table,
                             std::string_view date) {
  const std::string bar(56, '#');
  std::string text = fmt::format("{}\n#  Configuration file for Slurm - {}  #\n{}\n#\n#\n", bar, date, bar);
  for (const Section& section : kSections) text += heading(section.title) + settings(section, config.shown);
  text += heading("NODES") + nodes_text(table, shown_value(config, "SlurmdPort"));
  text += heading("PARTITIONS");
  for (const model::Partition& partition : table.partitions) text += partition_text(partition, table);
  return text;
}

void scontrol_write_config(Scontrol& run, const Words& given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_load_ctl_conf error: {}", words(config.error()));
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_load_node error: {}", words(table.error()));
  const std::string date = text::format_date(run.context.now());
  std::string path;
  if (!given.empty()) {
    path = given[0];
  } else {
    path = run.context.env("SLURM_CONF").value_or(shown_value(*config, "SLURM_CONF"));
    // What is written is a slurm.conf, whatever it was made from.
    if (path.ends_with("/spur.conf")) path.replace(path.size() - 9, 9, "slurm.conf");
  }
  path += "." + date;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {  // not a failure of the command in Slurm
    run.context.plain("Could not create file {}: {}", path, std::strerror(errno));
    return;
  }
  {
    Output file(descriptor);
    file.write(config_file_text(*config, *table, date));
  }
  if (::close(descriptor) != 0) return run.fail("Could not write file {}: {}", path, std::strerror(errno));
  run.context.out.print("Slurm config saved to {}\n", path);
}

}  // namespace spur::cli
