// SPDX-License-Identifier: Apache-2.0
// cli_sinfo_data: a row of sinfo --json, that is, nodes of one partition that are in one state.
#include <algorithm>

#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/scontrol_records.h"
#include "cli/users.h"
#include "text/decimal.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;
using model::Node;

const Node* first(const SinfoRow& of) {
  return of.group->nodes.empty() ? nullptr : of.group->nodes.front();
}

template <class F>
std::uint64_t least(const SinfoRow& of, F value) {
  std::uint64_t out = 0;
  for (const Node* node : of.group->nodes)
    out = node == first(of) ? value(*node) : std::min<std::uint64_t>(out, value(*node));
  return out;
}
template <class F>
std::uint64_t most(const SinfoRow& of, F value) {
  std::uint64_t out = 0;
  for (const Node* node : of.group->nodes) out = std::max<std::uint64_t>(out, value(*node));
  return out;
}
template <class F>
std::uint64_t sum(const SinfoRow& of, F value) {
  std::uint64_t out = 0;
  for (const Node* node : of.group->nodes) out += value(*node);
  return out;
}
template <class F>
std::string text_of(const SinfoRow& of, F value) {
  if (!first(of)) return {};
  std::string out = value(*first(of));
  return out == "(null)" ? std::string() : out;
}

// The least and the most of those that are known.
using MaybeNumber = std::optional<std::uint64_t>;
template <class T>
std::pair<MaybeNumber, MaybeNumber> known_loads(const SinfoRow& of, T wire::NodeLoad::* value) {
  std::pair<MaybeNumber, MaybeNumber> out;
  for (const Node* node : of.group->nodes) {
    const wire::NodeLoad* load = of.table->load_of(*node);
    if (!load) continue;
    const std::uint64_t number = load->*value;
    out = {std::min(out.first.value_or(number), number), std::max(out.second.value_or(number), number)};
  }
  return out;
}

bool is_up(const Node& node) {
  return node.usable();
}
bool is_busy(const Node& node) {
  return is_up(node) && node.cpus_allocated > 0;
}

std::uint64_t cpus(const Node& node) {
  return node.hardware.cpus;
}
std::uint64_t cpus_used(const Node& node) {
  return std::min<std::uint64_t>(node.cpus_allocated, node.hardware.cpus);
}
std::uint64_t cpus_idle(const Node& node) {
  return is_up(node) ? cpus(node) - cpus_used(node) : 0;
}
std::uint64_t cpus_other(const Node& node) {
  return is_up(node) ? 0 : cpus(node) - cpus_used(node);
}
std::uint64_t sockets(const Node& node) {
  return node.hardware.sockets;
}
std::uint64_t cores(const Node& node) {
  return node.hardware.cores_per_socket;
}
std::uint64_t threads(const Node& node) {
  return node.hardware.threads_per_core;
}
std::uint64_t disk(const Node& node) {
  return node.hardware.tmp_disk_mib;
}
std::uint64_t memory(const Node& node) {
  return node.hardware.memory_mib;
}
std::uint64_t memory_used(const Node& node) {
  return node.memory_allocated_mib;
}
std::uint64_t weight(const Node& node) {
  return node.weight;
}
std::uint64_t busy(const Node& node) {
  return is_busy(node) ? 1 : 0;
}
std::uint64_t idle(const Node& node) {
  return is_up(node) && !is_busy(node) ? 1 : 0;
}
std::uint64_t neither(const Node& node) {
  return is_up(node) ? 0 : 1;
}

Words names(const SinfoRow& of) {
  Words out;
  for (const Node* node : of.group->nodes) out.push_back(node->name);
  return out;
}

std::uint32_t port(const SinfoRow& of) {
  return first(of) ? text::parse_decimal32(host_and_port(first(of)->address).second).value_or(0) : 0;
}

std::string reason_user(const Node& node) {
  return node.reason.empty() ? std::string() : user_name(node.reason_by);
}
std::int64_t reason_time(const SinfoRow& of) {
  return first(of) && is_set(first(of)->reason_at) ? to_unix_seconds(first(of)->reason_at) : 0;
}

void add_cpus_bound(Document& to, std::string_view key, const SinfoRow& of) {
  const auto* partition = of.group->partition;
  const bool bounded = partition && partition->config.max_cpus_per_node;
  to.number(key, bounded ? std::optional<std::uint64_t>(*partition->config.max_cpus_per_node) : std::nullopt,
            !bounded);
}

// clang-format off
constexpr ApiField<SinfoRow> kFields[] = {
    {"port", API_VALUE(port(of))},
    {"node.state", API_VALUE(first(of) ? node_state_words(*first(of)) : Words{})},
    {"nodes.allocated", API_VALUE(sum(of, busy))},
    {"nodes.idle", API_VALUE(sum(of, idle))},
    {"nodes.other", API_VALUE(sum(of, neither))},
    {"nodes.total", API_VALUE(of.group->nodes.size())},
    {"nodes.hostnames", API_NO_LIST},
    {"nodes.addresses", API_NO_LIST},
    {"nodes.nodes", API_VALUE(names(of))},
    {"cpus.allocated", API_VALUE(sum(of, cpus_used))},
    {"cpus.idle", API_VALUE(sum(of, cpus_idle))},
    {"cpus.other", API_VALUE(sum(of, cpus_other))},
    {"cpus.total", API_VALUE(sum(of, cpus))},
    {"cpus.minimum", API_VALUE(least(of, cpus))},
    {"cpus.maximum", API_VALUE(most(of, cpus))},
    {"cpus.load.minimum", API_VALUE(known_loads(of, &wire::NodeLoad::hundredths).first.value_or(0))},
    {"cpus.load.maximum", API_VALUE(known_loads(of, &wire::NodeLoad::hundredths).second.value_or(0))},
    {"cpus.per_node.max", SPUR_API_ADD(add_cpus_bound(to, key, of))},
    {"sockets.minimum", API_VALUE(least(of, sockets))},
    {"sockets.maximum", API_VALUE(most(of, sockets))},
    {"cores.minimum", API_VALUE(least(of, cores))},
    {"cores.maximum", API_VALUE(most(of, cores))},
    {"threads.minimum", API_VALUE(least(of, threads))},
    {"threads.maximum", API_VALUE(most(of, threads))},
    {"disk.minimum", API_VALUE(least(of, disk))},
    {"disk.maximum", API_VALUE(most(of, disk))},
    {"memory.minimum", API_VALUE(least(of, memory))},
    {"memory.maximum", API_VALUE(most(of, memory))},
    {"memory.free.minimum", API_NUMBER(known_loads(of, &wire::NodeLoad::free_memory_mib).first)},
    {"memory.free.maximum", API_NUMBER(known_loads(of, &wire::NodeLoad::free_memory_mib).second)},
    {"memory.allocated", API_VALUE(sum(of, memory_used))},
    {"weight.minimum", API_VALUE(least(of, weight))},
    {"weight.maximum", API_VALUE(most(of, weight))},
    {"features.total", API_VALUE(text_of(of, [](const Node& n) { return join(n.features, ","); }))},
    {"features.active", API_VALUE(text_of(of, [](const Node& n) { return join(n.active_features, ","); }))},
    {"gres.total", API_VALUE(text_of(of, [](const Node& n) { return node_gres(n.hardware); }))},
    {"gres.used", API_VALUE(text_of(of, [](const Node& n) { return node_gres_used(n); }))},
    {"cluster", API_NONE},
    {"comment", API_VALUE(text_of(of, [](const Node& n) { return n.comment; }))},
    {"extra", API_VALUE(text_of(of, [](const Node& n) { return n.extra; }))},
    {"reason.description", API_VALUE(text_of(of, [](const Node& n) { return n.reason; }))},
    {"reason.time", API_VALUE(reason_time(of))},
    {"reason.user", API_VALUE(text_of(of, reason_user))},
    {"reservation", API_NONE},
    {"resource_spec.cpus", API_VALUE(text_of(of, [](const Node& n) { return n.hardware.spec_cpus; }))},
    {"resource_spec.memory", API_VALUE(most(of, [](const Node& n) { return n.hardware.spec_memory_mib; }))},
    {"partition", SPUR_API_ADD(add_object(to, key, partition_fields(), PartitionOf{of.group->partition, of.table}))},
};
// clang-format on

}  // namespace

std::span<const ApiField<SinfoRow>> sinfo_fields() {
  return kFields;
}

}  // namespace spur::cli
