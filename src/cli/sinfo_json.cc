// SPDX-License-Identifier: Apache-2.0
#include "cli/sinfo_json.h"

#include <algorithm>

#include "cli/display.h"
#include "cli/json.h"
#include "cli/users.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// "MIXED+DRAIN" as a list.
std::vector<std::string> state_words(const model::Node& node) {
  std::vector<std::string> words;
  const std::string full = model::state_text_full(node);
  for (const std::string_view word : text::split(full, '+')) words.emplace_back(word);
  return words;
}

std::vector<std::string> partitions_of(const model::Node& node, const wire::ClusterTable& table) {
  std::vector<std::string> names;
  for (const model::Partition& partition : table.partitions)
    if (std::ranges::binary_search(partition.nodes, node.index)) names.push_back(partition.config.name);
  return names;
}

void add_node(Json& json, const model::Node& node, const wire::ClusterTable& table) {
  const model::NodeHardware& hardware = node.hardware;
  const std::uint32_t idle = hardware.cpus - std::min(node.cpus_allocated, hardware.cpus);
  json.open_object();
  json.field("name", node.name)
      .field("hostname", node.hostname)
      .field("address", node.address.substr(0, node.address.rfind(':')));
  json.field("state", state_words(node)).field("partitions", partitions_of(node, table));
  json.field("architecture", node.arch).field("operating_system", node.os).field("version", node.version);
  json.field("boards", hardware.boards)
      .field("sockets", hardware.sockets)
      .field("cores", hardware.cores_per_socket)
      .field("threads", hardware.threads_per_core);
  json.field("cpus", hardware.cpus)
      .field("effective_cpus", hardware.cpus)
      .field("alloc_cpus", node.cpus_allocated)
      .field("alloc_idle_cpus", idle);
  json.field("real_memory", hardware.memory_mib)
      .field("alloc_memory", node.memory_allocated_mib)
      .number("free_mem", std::nullopt);
  json.field("temporary_disk", hardware.tmp_disk_mib).field("weight", node.weight);
  json.field("gres", node_gres(hardware.gres) == "(null)" ? "" : node_gres(hardware.gres));
  json.field("gres_used", node_gres_used(node) == "(null)" ? "" : node_gres_used(node));
  json.field("features", node.features).field("active_features", node.active_features);
  json.field("reason", node.reason).moment("reason_changed_at", node.reason_at);
  json.field("reason_set_by_user", node.reason.empty() ? std::string() : user_name(node.reason_by));
  json.moment("boot_time", node.boot_time)
      .moment("slurmd_start_time", node.agent_started)
      .moment("last_busy", node.last_busy);
  json.field("comment", node.comment).field("extra", node.extra);
  json.close_object();
}

}  // namespace

std::string nodes_json(const wire::ClusterTable& table, const std::vector<bool>& wanted, std::string_view program) {
  Json json;
  json.open_object();
  json.open_array("nodes");
  for (std::size_t i = 0; i < table.nodes.size(); ++i)
    if (wanted[i]) add_node(json, *table.nodes[i], table);
  json.close_array();
  json.moment("last_update", table.as_of);
  add_meta(json, table.cluster_name, program);
  add_no_errors(json);
  json.close_object();
  return std::move(json).finish();
}

}  // namespace spur::cli
