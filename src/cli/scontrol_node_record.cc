// SPDX-License-Identifier: Apache-2.0
// `scontrol show node` and `scontrol show partition`, and `show config`.
#include <algorithm>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/record.h"
#include "cli/scontrol_records.h"
#include "cli/users.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/memory_size.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

using model::Node;
using model::Partition;
using text::printable;

std::string or_all(const std::vector<std::string>& words) {
  return words.empty() ? "ALL" : join(words, ",");
}
std::string_view yes_no(bool value) {
  return value ? "YES" : "NO";
}

std::string partitions_of(const Node& node, const wire::ClusterTable& table) {
  std::vector<std::string> names;
  for (const Partition& partition : table.partitions)
    if (std::ranges::binary_search(partition.nodes, node.index)) names.push_back(partition.config.name);
  return join(names, ",");
}

std::string oversubscribe_text(const model::PartitionConfig& config) {
  switch (config.oversubscribe) {
    case model::OverSubscribe::No:
      return "NO";
    case model::OverSubscribe::Exclusive:
      return "EXCLUSIVE";
    case model::OverSubscribe::Yes:
      return fmt::format("YES:{}", config.oversubscribe_count);
    case model::OverSubscribe::Force:
      return fmt::format("FORCE:{}", config.oversubscribe_count);
  }
  return "NO";
}

std::string memory_limit(const char* what, const std::optional<std::uint64_t>& per_cpu,
                         const std::optional<std::uint64_t>& per_node) {
  if (per_cpu) return fmt::format("{}MemPerCPU={}", what, *per_cpu);
  return fmt::format("{}MemPerNode={}", what, per_node ? fmt::format("{}", *per_node) : "UNLIMITED");
}

}  // namespace

std::string over_time_limit(const model::PartitionConfig& config) {
  constexpr std::uint32_t kMost = 0xfffd;  // Slurm keeps the higher values for itself
  if (!config.over_time_limit_minutes) return "NONE";
  return *config.over_time_limit_minutes > kMost ? "UNLIMITED" : fmt::format("{}", *config.over_time_limit_minutes);
}

// "127.0.0.1:6818" in two.
std::pair<std::string, std::string> host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

std::string configured_tres(const model::NodeHardware& hardware) {
  std::string text =
      fmt::format("cpu={},mem={},billing={}", hardware.cpus, text::format_mib(hardware.memory_mib), hardware.cpus);
  for (const model::NodeGres& gres : hardware.gres) text.append(fmt::format(",gres/{}={}", gres.name, gres.count));
  return text;
}

std::string used_tres(const Node& node) {
  std::string text;
  if (node.cpus_allocated > 0) text = fmt::format("cpu={}", node.cpus_allocated);
  if (node.memory_allocated_mib > 0)
    text.append(fmt::format("{}mem={}", text.empty() ? "" : ",", text::format_mib(node.memory_allocated_mib)));
  for (const auto& devices : node.devices_in_use) {
    int used = 0;
    for (const std::uint64_t bits : devices.bits) used += __builtin_popcountll(bits);
    if (used > 0) text.append(fmt::format("{}gres/{}={}", text.empty() ? "" : ",", devices.gres, used));
  }
  return text;
}

std::string partition_tres(const Partition& partition, const wire::ClusterTable& table) {
  std::uint64_t cpus = 0, memory_mib = 0;
  std::vector<std::pair<std::string, std::uint64_t>> gres;
  for (const NodeIndex index : partition.nodes) {
    if (index.value >= table.nodes.size()) continue;
    const model::NodeHardware& hardware = table.nodes[index.value]->hardware;
    cpus += hardware.cpus;
    memory_mib += hardware.memory_mib;
    for (const model::NodeGres& entry : hardware.gres) {
      const auto found = std::ranges::find_if(gres, [&](const auto& known) { return known.first == entry.name; });
      if (found != gres.end()) {
        found->second += entry.count;
      } else {
        gres.emplace_back(entry.name, entry.count);
      }
    }
  }
  std::string text = fmt::format("cpu={},mem={},node={},billing={}", cpus, text::format_mib(memory_mib),
                                 partition.nodes.size(), cpus);
  for (const auto& [name, count] : gres) text.append(fmt::format(",gres/{}={}", name, count));
  return text;
}

std::uint64_t partition_cpus(const Partition& partition, const wire::ClusterTable& table) {
  std::uint64_t cpus = 0;
  for (const NodeIndex index : partition.nodes)
    if (index.value < table.nodes.size()) cpus += table.nodes[index.value]->hardware.cpus;
  return cpus;
}

std::string partition_nodes(const Partition& partition, const wire::ClusterTable& table) {
  std::vector<std::string> names;
  for (const NodeIndex index : partition.nodes)
    if (index.value < table.nodes.size()) names.push_back(table.nodes[index.value]->name);
  return text::compress_hostlist(names);
}

std::string_view partition_state(model::PartitionState state) {
  switch (state) {
    case model::PartitionState::Up:
      return "UP";
    case model::PartitionState::Down:
      return "DOWN";
    case model::PartitionState::Drain:
      return "DRAIN";
    case model::PartitionState::Inactive:
      return "INACTIVE";
  }
  return "UP";
}

std::string node_record(const Node& node, const wire::ClusterTable& table, RecordStyle style) {
  const model::NodeHardware& hardware = node.hardware;
  const auto [host, port] = host_and_port(node.address);
  Record record(style.one_line);
  record.line("NodeName={}", node.name);
  if (!node.arch.empty()) record.more(" Arch={}", node.arch);
  record.more(" CoresPerSocket={} ", hardware.cores_per_socket);
  const wire::NodeLoad* load = table.load_of(node);
  record.line("CPUAlloc={} CPUEfctv={} CPUTot={} CPULoad={}", node.cpus_allocated, hardware.cpus, hardware.cpus,
              load ? fmt::format("{:.2f}", load->hundredths / 100.0) : "N/A");
  record.line("AvailableFeatures={}", or_null(printable(join(node.features, ","))));
  record.line("ActiveFeatures={}", or_null(printable(join(node.active_features, ","))));
  record.line("Gres={}", node_gres(hardware));
  if (style.details) {
    record.line("GresDrain=N/A");
    record.line("GresUsed={}", node_gres_used(node));
  }
  record.line("NodeAddr={} NodeHostName={}", host.empty() ? node.name : host,
              node.hostname.empty() ? node.name : node.hostname);
  if (!port.empty()) record.more(" Port={}", port);
  if (!node.version.empty()) record.more(" Version={}", kSlurmVersion);  // what clients compare; not the agent's own
  if (!node.os.empty()) record.line("OS={} ", printable(node.os));
  record.line("RealMemory={} AllocMem={} FreeMem={} Sockets={} Boards={}", hardware.memory_mib,
              node.memory_allocated_mib, load ? fmt::format("{}", load->free_memory_mib) : "N/A", hardware.sockets,
              hardware.boards);
  record.line("State={} ThreadsPerCore={} TmpDisk={} Weight={} Owner=N/A MCS_label=N/A", model::state_text_full(node),
              hardware.threads_per_core, hardware.tmp_disk_mib, node.weight);
  if (node.after_reboot != model::AfterReboot::AsBefore)
    record.line("NextState={}", node.after_reboot == model::AfterReboot::Down ? "DOWN" : "RESUME");
  if (const std::string partitions = partitions_of(node, table); !partitions.empty())
    record.line("Partitions={} ", partitions);
  record.line("BootTime={} SlurmdStartTime={}", moment(node.boot_time, "None"), moment(node.agent_started, "None"));
  record.line("LastBusyTime={} ResumeAfterTime=None", moment(node.last_busy, "Unknown"));
  record.line("CfgTRES={}", configured_tres(hardware));
  record.line("AllocTRES={}", used_tres(node));
  record.line("CurrentWatts=0 AveWatts=0");
  if (!node.comment.empty()) record.line("Comment={}", printable(node.comment));
  if (!node.extra.empty()) record.line("Extra={}", printable(node.extra));
  if (!node.instance_id.empty() || !node.instance_type.empty())
    record.line("InstanceId={} InstanceType={}", or_null(printable(node.instance_id)),
                or_null(printable(node.instance_type)));
  if (!node.reason.empty()) {
    record.line("Reason={} [{}@{}]", printable(node.reason), user_name(node.reason_by),
                moment(node.reason_at, "Unknown"));
  }
  return std::move(record).finish();
}

std::string partition_record(const Partition& partition, const wire::ClusterTable& table, RecordStyle style) {
  const model::PartitionConfig& config = partition.config;
  Record record(style.one_line);
  record.line("PartitionName={}", config.name);
  record.line("AllowGroups={} {}={} {}={}", or_all(config.allow_groups),
              config.deny_accounts.empty() ? "AllowAccounts" : "DenyAccounts",
              config.deny_accounts.empty() ? or_all(config.allow_accounts) : join(config.deny_accounts, ","),
              config.deny_qos.empty() ? "AllowQos" : "DenyQos",
              config.deny_qos.empty() ? or_all(config.allow_qos) : join(config.deny_qos, ","));
  record.line("AllocNodes={} Default={} QoS={}", or_all(config.alloc_nodes), yes_no(config.is_default),
              config.qos.empty() ? "N/A" : config.qos);
  if (!config.alternate.empty()) record.line("Alternate={}", config.alternate);
  record.line("DefaultTime={} DisableRootJobs={} ExclusiveUser={} ExclusiveTopo=NO GraceTime={} Hidden={}",
              config.default_time.is_set() ? text::format_time_limit(config.default_time, text::LimitStyle::Scontrol)
                                           : "NONE",
              yes_no(config.no_root_jobs), yes_no(config.exclusive_user), config.grace_time_seconds, yes_no(config.hidden));
  record.line("MaxNodes={} MaxTime={} MinNodes={} LLN={} MaxCPUsPerNode={} MaxCPUsPerSocket=UNLIMITED",
              config.max_nodes ? fmt::format("{}", *config.max_nodes) : "UNLIMITED",
              text::format_time_limit(config.max_time, text::LimitStyle::Scontrol), config.min_nodes,
              yes_no(config.lln),
              config.max_cpus_per_node ? fmt::format("{}", *config.max_cpus_per_node) : "UNLIMITED");
  record.line("Nodes={}", or_null(partition_nodes(partition, table)));
  record.line("PriorityJobFactor={} PriorityTier={} RootOnly={} ReqResv={} OverSubscribe={}",
              config.priority_job_factor, config.priority_tier, yes_no(config.root_only),
              yes_no(config.requires_reservation), oversubscribe_text(config));
  record.line("OverTimeLimit={} PreemptMode={}", over_time_limit(config), config.preempt_mode.empty() ? "OFF" : config.preempt_mode);
  record.line("State={} TotalCPUs={} TotalNodes={} SelectTypeParameters=NONE", partition_state(config.state),
              partition_cpus(partition, table), partition.nodes.size());
  record.line("JobDefaults=(null)");
  record.line("{} {}", memory_limit("Def", config.default_memory_per_cpu_mib, config.default_memory_per_node_mib),
              memory_limit("Max", config.max_memory_per_cpu_mib, config.max_memory_per_node_mib));
  record.line("TRES={}", partition_tres(partition, table));
  if (!config.topology.empty()) record.line("Topology={}", config.topology);
  return std::move(record).finish();
}

std::string config_text(const model::ClusterConfig& config, Time as_of) {
  std::string text = fmt::format("Configuration data as of {}\n", moment(as_of, "Unknown"));
  for (const auto& [key, value] : config.shown) {
    if (key.empty()) {  // a heading
      text.append(fmt::format("\n{}\n", printable(value)));
      continue;
    }
    std::string shown = or_null(printable(value));
    if (key == "PriorityFlags" && value.empty()) shown.clear();
    // Whatever the file says, a moment reads as all moments do.
    if (const auto seconds_of = text::parse_decimal(value); key == "BOOT_TIME" && seconds_of)
      shown = moment(from_unix_seconds(static_cast<std::int64_t>(*seconds_of)), "Unknown");
    text.append(fmt::format("{:<23} = {}\n", key, shown));
  }
  return text;
}

}  // namespace spur::cli
