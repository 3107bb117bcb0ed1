// SPDX-License-Identifier: Apache-2.0
// partition_info: scontrol show partition --json, and inside sinfo's rows.
#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/scontrol_records.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;

const model::PartitionConfig& config(const PartitionOf& of) {
  static const model::PartitionConfig kNone;
  return of.partition ? of.partition->config : kNone;
}

std::string nodes(const PartitionOf& of) {
  return of.partition ? partition_nodes(*of.partition, *of.table) : std::string();
}
std::string tres(const PartitionOf& of) {
  return of.partition ? partition_tres(*of.partition, *of.table) : std::string();
}

void add_time(Document& to, std::string_view key, const TimeLimit& limit) {
  to.number(key, limit.is_finite() ? std::optional<std::uint64_t>(limit.minutes_value()) : std::nullopt,
            limit.is_unlimited());
}

// Without a bound where there is none.
template <class T>
void add_bound(Document& to, std::string_view key, const std::optional<T>& bound) {
  to.number(key, bound ? std::optional<std::uint64_t>(*bound) : std::nullopt, !bound);
}

void add_suspend_time(Document& to, std::string_view key, const std::optional<std::uint32_t>& given) {
  const bool never = given == model::kNeverSuspend;
  to.number(key, given && !never ? std::optional<std::uint64_t>(*given) : std::nullopt, never);
}

// Slurm keeps both limits in one number: one is set, the other is not.
void add_per_node(Document& to, std::string_view key, const std::optional<std::uint64_t>& per_node,
                  const std::optional<std::uint64_t>& per_cpu) {
  to.number(key, per_cpu ? std::nullopt : std::optional<std::uint64_t>(per_node.value_or(0)));
}

// The topmost bit tells that a number is per CPU.
std::int64_t in_one(const std::optional<std::uint64_t>& per_node, const std::optional<std::uint64_t>& per_cpu) {
  if (per_cpu) return static_cast<std::int64_t>(*per_cpu | (std::uint64_t{1} << 63));
  return static_cast<std::int64_t>(per_node.value_or(0));
}

std::uint32_t shares(const PartitionOf& of) {
  switch (config(of).oversubscribe) {
    case model::OverSubscribe::Exclusive:
      return 0;
    case model::OverSubscribe::No:
      return 1;
    case model::OverSubscribe::Yes:
    case model::OverSubscribe::Force:
      break;
  }
  return config(of).oversubscribe_count;
}

std::string defaults(const PartitionOf& of) {
  std::string out;
  if (config(of).default_cpus_per_gpu) out = fmt::format("DefCpuPerGPU={}", *config(of).default_cpus_per_gpu);
  if (config(of).default_memory_per_gpu_mib)
    out += fmt::format("{}DefMemPerGPU={}", out.empty() ? "" : ",", *config(of).default_memory_per_gpu_mib);
  return out;
}

// clang-format off
constexpr ApiField<PartitionOf> kFields[] = {
    {"nodes.allowed_allocation", API_VALUE(join(config(of).alloc_nodes, ","))},
    {"nodes.configured", API_VALUE(nodes(of))},
    {"nodes.total", API_VALUE(of.partition ? of.partition->nodes.size() : 0)},
    {"accounts.allowed", API_VALUE(join(config(of).allow_accounts, ","))},
    {"accounts.deny", API_VALUE(join(config(of).deny_accounts, ","))},
    {"groups.allowed", API_VALUE(join(config(of).allow_groups, ","))},
    {"qos.allowed", API_VALUE(join(config(of).allow_qos, ","))},
    {"qos.deny", API_VALUE(join(config(of).deny_qos, ","))},
    {"qos.assigned", API_VALUE(config(of).qos)},
    {"alternate", API_VALUE(config(of).alternate)},
    {"tres.billing_weights", API_NONE},
    {"tres.configured", API_VALUE(tres(of))},
    {"cluster", API_NONE},
    {"select_type", API_NO_LIST},
    {"cpus.task_binding", API_VALUE(0)},
    {"cpus.total", API_VALUE(of.partition ? partition_cpus(*of.partition, *of.table) : 0)},
    {"defaults.memory_per_cpu", API_VALUE(in_one(config(of).default_memory_per_node_mib, config(of).default_memory_per_cpu_mib))},
    {"defaults.partition_memory_per_cpu", API_NUMBER(config(of).default_memory_per_cpu_mib)},
    {"defaults.partition_memory_per_node", SPUR_API_ADD(add_per_node(to, key, config(of).default_memory_per_node_mib, config(of).default_memory_per_cpu_mib))},
    {"defaults.time", SPUR_API_ADD(add_time(to, key, config(of).default_time))},
    {"defaults.job", API_VALUE(defaults(of))},
    {"grace_time", API_VALUE(config(of).grace_time_seconds)},
    {"maximums.cpus_per_node", SPUR_API_ADD(add_bound(to, key, config(of).max_cpus_per_node))},
    {"maximums.cpus_per_socket", SPUR_API_ADD(add_bound(to, key, config(of).max_cpus_per_socket))},
    {"maximums.memory_per_cpu", API_VALUE(in_one(config(of).max_memory_per_node_mib, config(of).max_memory_per_cpu_mib))},
    {"maximums.partition_memory_per_cpu", API_NUMBER(config(of).max_memory_per_cpu_mib)},
    {"maximums.partition_memory_per_node", SPUR_API_ADD(add_per_node(to, key, config(of).max_memory_per_node_mib, config(of).max_memory_per_cpu_mib))},
    {"maximums.nodes", SPUR_API_ADD(add_bound(to, key, config(of).max_nodes))},
    {"maximums.shares", API_VALUE(shares(of))},
    {"maximums.oversubscribe.jobs", API_VALUE(shares(of))},
    {"maximums.oversubscribe.flags", API_VALUE(config(of).oversubscribe == model::OverSubscribe::Force ? Words{"force"} : Words{})},
    {"maximums.time", SPUR_API_ADD(add_time(to, key, config(of).max_time))},
    {"maximums.over_time_limit", API_NUMBER(config(of).over_time_limit_minutes)},
    {"minimums.nodes", API_VALUE(config(of).min_nodes)},
    {"name", API_VALUE(config(of).name)},
    {"node_sets", API_VALUE(config(of).nodes)},
    {"priority.job_factor", API_VALUE(config(of).priority_job_factor)},
    {"priority.tier", API_VALUE(config(of).priority_tier)},
    {"timeouts.resume", API_NUMBER(config(of).resume_timeout_seconds)},
    {"timeouts.suspend", API_NUMBER(config(of).suspend_timeout_seconds)},
    {"topology", API_NONE, 43},
    {"partition.state", API_VALUE(Words{std::string(partition_state(config(of).state))})},
    {"suspend_time", SPUR_API_ADD(add_suspend_time(to, key, config(of).suspend_time_seconds))},
};
// clang-format on

}  // namespace

std::span<const ApiField<PartitionOf>> partition_fields() {
  return kFields;
}

}  // namespace spur::cli
