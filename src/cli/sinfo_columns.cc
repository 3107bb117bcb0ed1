// SPDX-License-Identifier: Apache-2.0
#include "cli/sinfo_columns.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/users.h"
#include "text/hostlist.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

using model::Node;
using model::Partition;
using Group = const NodeGroup&;

std::string number(std::uint64_t value) {
  return fmt::format("{}", value);
}

// ---- of the partition
const model::PartitionConfig& config(Group group) {
  return group.partition->config;
}
std::string list_or(const std::vector<std::string>& words, std::string_view all) {
  return words.empty() ? std::string(all) : join(words, ",");
}
std::string_view up_or_down(model::PartitionState state) {
  switch (state) {
    case model::PartitionState::Up:
      return "up";
    case model::PartitionState::Down:
      return "down";
    case model::PartitionState::Drain:
      return "drain";
    case model::PartitionState::Inactive:
      return "inactive";
  }
  return "n/a";
}
std::string available(Group g) {
  return std::string(up_or_down(config(g).state));
}
std::string groups(Group g) {
  return list_or(config(g).allow_groups, "all");
}
std::string alloc_nodes(Group g) {
  return list_or(config(g).alloc_nodes, "all");
}
std::string time_limit(Group g) {
  return text::format_time_limit(config(g).max_time, text::LimitStyle::Sinfo);
}
std::string default_time(Group g) {
  return text::format_time_limit(config(g).default_time, text::LimitStyle::Sinfo);
}
std::string max_cpus_per_node(Group g) {
  return config(g).max_cpus_per_node ? number(*config(g).max_cpus_per_node) : "UNLIMITED";
}
std::string partition_marked(Group g) {
  return partition_title(*g.partition);
}
std::string partition_name(Group g) {
  return config(g).name;
}
std::string priority_tier(Group g) {
  return number(config(g).priority_tier);
}
std::string priority_job_factor(Group g) {
  return number(config(g).priority_job_factor);
}
std::string preempt_mode(Group g) {
  return config(g).preempt_mode.empty() ? "OFF" : config(g).preempt_mode;
}
std::string root_only(Group g) {
  return config(g).root_only ? "yes" : "no";
}
std::string oversubscribe(Group g) {
  switch (config(g).oversubscribe) {
    case model::OverSubscribe::No:
      return "NO";
    case model::OverSubscribe::Exclusive:
      return "EXCLUSIVE";
    case model::OverSubscribe::Yes:
      return fmt::format("YES:{}", config(g).oversubscribe_count);
    case model::OverSubscribe::Force:
      return fmt::format("FORCE:{}", config(g).oversubscribe_count);
  }
  return "NO";
}
std::string job_size(Group g) {
  const std::uint32_t least = std::max(config(g).min_nodes, 1u);
  if (!config(g).max_nodes) return fmt::format("{}-infinite", least);
  return *config(g).max_nodes == least ? number(least) : fmt::format("{}-{}", least, *config(g).max_nodes);
}
std::string cluster(Group) {
  return "N/A";
}

// ---- of the node: separates nodes that differ
template <std::string (*Of)(const Partition*, const Node&)>
std::string of_first(Group g) {
  return g.nodes.empty() ? "n/a" : Of(g.partition, *g.nodes.front());
}
std::string state_compact(const Partition*, const Node& n) {
  return model::state_text(n, true);
}
std::string state_long(const Partition*, const Node& n) {
  return model::state_text(n, false);
}
std::string state_complete(const Partition*, const Node& n) {
  std::string text(model::state_text_full(n));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
  return text;
}
std::string features(const Partition*, const Node& n) {
  return or_null(join(n.features, ","));
}
std::string active_features(const Partition*, const Node& n) {
  return or_null(join(n.active_features, ","));
}
std::string gres(const Partition*, const Node& n) {
  return node_gres(n.hardware);
}
std::string gres_used(const Partition*, const Node& n) {
  return node_gres_used(n);
}
std::string reason(const Partition*, const Node& n) {
  return n.reason.empty() ? "none" : n.reason;
}
std::string reason_time(const Partition*, const Node& n) {
  return n.reason.empty() ? "Unknown" : moment(n.reason_at, "Unknown");
}
std::string reason_user(const Partition*, const Node& n) {
  return n.reason.empty() ? "Unknown" : user_name(n.reason_by);
}
std::string reason_user_long(const Partition*, const Node& n) {
  return n.reason.empty() ? "Unknown" : fmt::format("{}({})", user_name(n.reason_by), n.reason_by.value);
}
std::string version(const Partition*, const Node& n) {
  return n.version.empty() ? "N/A" : std::string(kSlurmVersion);
}
std::string comment(const Partition*, const Node& n) {
  return or_null(n.comment);
}
std::string extra(const Partition*, const Node& n) {
  return or_null(n.extra);
}
std::string host_name(const Partition*, const Node& n) {
  return n.hostname.empty() ? n.name : n.hostname;
}
std::string address(const Partition*, const Node& n) {
  return n.address.empty() ? n.name : n.address.substr(0, n.address.rfind(':'));
}
std::string port(const Partition*, const Node& n) {
  const std::size_t colon = n.address.rfind(':');
  return colon == std::string::npos ? "0" : n.address.substr(colon + 1);
}
std::string alloc_memory(const Partition*, const Node& n) {
  return number(n.memory_allocated_mib);
}

// ---- sizes: the least, with a "+" where some node has more
template <auto Size>
std::string least(Group g) {
  if (g.nodes.empty()) return "0";
  const auto [low, high] = std::ranges::minmax(g.nodes, {}, [](const Node* n) { return Size(*n); });
  return fmt::format("{}{}", Size(*low), Size(*low) == Size(*high) ? "" : "+");
}
constexpr auto kCpus = [](const Node& n) { return n.hardware.cpus; };
constexpr auto kSockets = [](const Node& n) { return n.hardware.sockets; };
constexpr auto kCores = [](const Node& n) { return n.hardware.cores_per_socket; };
constexpr auto kThreads = [](const Node& n) { return n.hardware.threads_per_core; };
constexpr auto kMemory = [](const Node& n) { return n.hardware.memory_mib; };
constexpr auto kDisk = [](const Node& n) { return n.hardware.tmp_disk_mib; };
constexpr auto kWeight = [](const Node& n) { return n.weight; };
std::string sct(Group g) {
  return fmt::format("{}:{}:{}", least<kSockets>(g), least<kCores>(g), least<kThreads>(g));
}

// ---- what agents said last: "0.05", or from the least to the most. As in Slurm what is not known is more than all: "0.05-N/A"
template <class Value, class Text>
std::string load_range(Group g, Value value, Text text) {
  const wire::NodeLoad *low = nullptr, *high = nullptr;
  bool all_known = true;
  for (const Node* node : g.nodes) {
    const wire::NodeLoad* load = g.table ? g.table->load_of(*node) : nullptr;
    all_known = all_known && load;
    if (!load) continue;
    if (!low || value(*load) < value(*low)) low = load;
    if (!high || value(*load) > value(*high)) high = load;
  }
  if (!low) return "N/A";
  if (!all_known) return text(*low) + "-N/A";
  return value(*low) == value(*high) ? text(*low) : text(*low) + "-" + text(*high);
}
std::string cpu_load(Group g) {
  return load_range(
      g, [](const wire::NodeLoad& load) { return load.hundredths; },
      [](const wire::NodeLoad& load) { return fmt::format("{:.2f}", load.hundredths / 100.0); });
}
std::string free_memory(Group g) {
  return load_range(
      g, [](const wire::NodeLoad& load) { return load.free_memory_mib; },
      [](const wire::NodeLoad& load) { return number(load.free_memory_mib); });
}

// ---- sums
enum class Use : unsigned char { Allocated, Idle, Other };
Use use_of(const Node& n) {
  const model::NodeState base = model::base_state(n);
  if (base == model::NodeState::Allocated || base == model::NodeState::Mixed || n.jobs_completing > 0)
    return Use::Allocated;
  return n.usable() ? Use::Idle : Use::Other;
}
struct Counts {
  std::uint64_t allocated = 0, idle = 0, other = 0, total = 0;
};
Counts count_nodes(Group g) {
  Counts counts;
  for (const Node* node : g.nodes) {
    const Use use = use_of(*node);
    ++(use == Use::Allocated ? counts.allocated : use == Use::Idle ? counts.idle : counts.other);
  }
  counts.total = g.nodes.size();
  return counts;
}
Counts count_cpus(Group g) {
  Counts counts;
  for (const Node* node : g.nodes) {
    const std::uint64_t free = node->hardware.cpus - std::min(node->cpus_allocated, node->hardware.cpus);
    counts.allocated += node->cpus_allocated;
    (node->usable() ? counts.idle : counts.other) += free;
    counts.total += node->hardware.cpus;
  }
  return counts;
}
std::string nodes(Group g) {
  return number(g.nodes.size());
}
std::string nodes_ai(Group g) {
  const Counts c = count_nodes(g);
  return fmt::format("{}/{}", c.allocated, c.idle);
}
std::string nodes_aiot(Group g) {
  const Counts c = count_nodes(g);
  return fmt::format("{}/{}/{}/{}", c.allocated, c.idle, c.other, c.total);
}
std::string cpus_aiot(Group g) {
  const Counts c = count_cpus(g);
  return fmt::format("{}/{}/{}/{}", c.allocated, c.idle, c.other, c.total);
}
std::string node_list(Group g) {
  std::vector<std::string> names;
  names.reserve(g.nodes.size());
  for (const Node* node : g.nodes) names.push_back(node->name);
  text::sort_hosts(names);
  return text::compress_hostlist(names);
}

constexpr auto P = Grouping::Partition;
constexpr auto N = Grouping::Node;
constexpr auto S = Grouping::Size;
constexpr auto C = Grouping::Sum;
// clang-format off
constexpr NodeColumn kSinfoColumns[] = {
    {'a', "Available", "AVAIL", P, nullptr, available},
    {'A', "NodeAI", "NODES(A/I)", C, nullptr, nodes_ai},
    {'b', "features_act", "ACTIVE_FEATURES", N, active_features, of_first<active_features>},
    {'B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", P, nullptr, max_cpus_per_node},
    {'c', "CPUs", "CPUS", S, nullptr, least<kCpus>},
    {'C', "CPUsState", "CPUS(A/I/O/T)", C, nullptr, cpus_aiot},
    {'d', "Disk", "TMP_DISK", S, nullptr, least<kDisk>},
    {'D', "Nodes", "NODES", C, nullptr, nodes},
    {'e', "FreeMem", "FREE_MEM", S, nullptr, free_memory},
    {'E', "Reason", "REASON", N, reason, of_first<reason>},
    {'f', "Features", "AVAIL_FEATURES", N, features, of_first<features>},
    {'F', "NodeAIOT", "NODES(A/I/O/T)", C, nullptr, nodes_aiot},
    {'g', "Groups", "GROUPS", P, nullptr, groups},
    {'G', "Gres", "GRES", N, gres, of_first<gres>},
    {0, "GresUsed", "GRES_USED", N, gres_used, of_first<gres_used>},
    {'h', "OverSubscribe", "OVERSUBSCRIBE", P, nullptr, oversubscribe},
    {'H', "TimeStamp", "TIMESTAMP", N, reason_time, of_first<reason_time>},
    {'I', "PriorityJobFactor", "PRIO_JOB_FACTOR", P, nullptr, priority_job_factor},
    {'l', "Time", "TIMELIMIT", P, nullptr, time_limit},
    {'L', "DefaultTime", "DEFAULTTIME", P, nullptr, default_time},
    {'m', "Memory", "MEMORY", S, nullptr, least<kMemory>},
    {'M', "PreemptMode", "PREEMPT_MODE", P, nullptr, preempt_mode},
    {'n', "NodeHost", "HOSTNAMES", N, host_name, of_first<host_name>},
    {'N', "NodeList", "NODELIST", C, nullptr, node_list},
    {'o', "NodeAddr", "NODE_ADDR", N, address, of_first<address>},
    {'O', "CPUsLoad", "CPU_LOAD", S, nullptr, cpu_load},
    {'p', "PriorityTier", "PRIO_TIER", P, nullptr, priority_tier},
    {'P', "Partition", "PARTITION", P, nullptr, partition_marked},
    {'r', "Root", "ROOT", P, nullptr, root_only},
    {'R', "PartitionName", "PARTITION", P, nullptr, partition_name},
    {'s', "Size", "JOB_SIZE", P, nullptr, job_size},
    {'S', "AllocNodes", "ALLOCNODES", P, nullptr, alloc_nodes},
    {'t', "StateCompact", "STATE", N, state_compact, of_first<state_compact>},
    {'T', "StateLong", "STATE", N, state_long, of_first<state_long>},
    {0, "StateComplete", "STATECOMPLETE", N, state_complete, of_first<state_complete>},
    {'u', "User", "USER", N, reason_user, of_first<reason_user>},
    {'U', "UserLong", "USER", N, reason_user_long, of_first<reason_user_long>},
    {'v', "Version", "VERSION", N, version, of_first<version>},
    {'V', "Cluster", "CLUSTER", P, nullptr, cluster},
    {'w', "Weight", "WEIGHT", S, nullptr, least<kWeight>},
    {'X', "Sockets", "SOCKETS", S, nullptr, least<kSockets>},
    {'Y', "Cores", "CORES", S, nullptr, least<kCores>},
    {'z', "SocketCoreThread", "S:C:T", S, nullptr, sct},
    {'Z', "Threads", "THREADS", S, nullptr, least<kThreads>},
    {0, "AllocMem", "ALLOCMEM", N, alloc_memory, of_first<alloc_memory>},
    {0, "Comment", "COMMENT", N, comment, of_first<comment>},
    {0, "Extra", "EXTRA", N, extra, of_first<extra>},
    {0, "Port", "PORT", S, nullptr, of_first<port>},
};
// clang-format on

}  // namespace

std::span<const NodeColumn> node_columns() {
  return kSinfoColumns;
}

std::string partition_title(const Partition& partition) {
  return partition.config.name + (partition.config.is_default ? "*" : "");
}

std::uint32_t state_rank(const Node& node) {
  std::uint32_t rank = 0;
  switch (model::base_state(node)) {
    case model::NodeState::Unknown:
      rank = 0;
      break;
    case model::NodeState::Down:
      rank = 1;
      break;
    case model::NodeState::Idle:
      rank = 2;
      break;
    case model::NodeState::Allocated:
      rank = 3;
      break;
    case model::NodeState::Mixed:
      rank = 5;
      break;
    case model::NodeState::Future:
      rank = 6;
      break;
  }
  if ((node.flags & model::kNodeDrain) != 0) rank |= 1u << 9;
  if (node.jobs_completing > 0) rank |= 1u << 10;
  if ((node.flags & model::kNodeNoResponse) != 0) rank |= 1u << 11;
  if ((node.flags & model::kNodeCloud) != 0) rank |= 1u << 7;
  if ((node.flags & model::kNodePoweredDown) != 0) rank |= 1u << 12;
  if ((node.flags & model::kNodeFail) != 0) rank |= 1u << 13;
  if ((node.flags & model::kNodePoweringUp) != 0) rank |= 1u << 14;
  if ((node.flags & model::kNodeMaintenance) != 0) rank |= 1u << 15;
  if ((node.flags & model::kNodeRebootRequested) != 0) rank |= 1u << 16;
  if ((node.flags & model::kNodePoweringDown) != 0) rank |= 1u << 18;
  if ((node.flags & model::kNodeRebootIssued) != 0) rank |= 1u << 20;
  if ((node.flags & model::kNodeInvalidRegistration) != 0) rank |= 1u << 22;
  if ((node.flags & model::kNodePowerDown) != 0) rank |= 1u << 23;
  if ((node.flags & model::kNodePowerUp) != 0) rank |= 1u << 24;
  return rank;
}

}  // namespace spur::cli
