// SPDX-License-Identifier: Apache-2.0
#include "state/node_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "model/dynamic_nodes.h"
#include "model/gres_in_force.h"
#include "model/topology.h"
#include "state/apply.h"
#include "state/node_books.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::state {
namespace {

std::uint32_t product(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint64_t ab = std::uint64_t{a} * b;
  const std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(ab > max ? max : std::min(ab * c, max));
}

// Slurm reads CPUs=64 alone as 64 sockets of one core; as the agent knows better, its topology counts if it fits.
void set_processors(model::NodeHardware& hardware, const model::NodeConfig& declared, bool found) {
  const bool shape = declared.sockets || declared.cores_per_socket || declared.threads_per_core;
  if (!declared.cpus && !shape && !declared.boards) return;
  if (!shape && found && (!declared.cpus || *declared.cpus == hardware.cpus)) return;
  hardware.boards = declared.boards.value_or(1);
  hardware.sockets = declared.sockets.value_or(shape ? 1 : declared.cpus.value_or(1));
  hardware.cores_per_socket = declared.cores_per_socket.value_or(1);
  hardware.threads_per_core = declared.threads_per_core.value_or(1);
  hardware.cpus =
      declared.cpus.value_or(product(hardware.sockets, hardware.cores_per_socket, hardware.threads_per_core));
}

std::uint64_t gres_count(const std::vector<model::NodeGres>& list, const std::string& name) {
  std::uint64_t sum = 0;
  for (const model::NodeGres& row : list)
    if (row.name == name) sum += row.count;
  return sum;
}

bool has_any(const std::vector<std::string>& features, const std::vector<std::string>& wanted) {
  return std::ranges::any_of(wanted, [&](const std::string& feature) {
    return std::ranges::find(features, feature) != features.end();
  });
}

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::ConfigInvalid, std::move(message));
}

Status check_node(const model::NodeConfig& node) {
  if (node.name.empty()) return invalid("a node has no name");
  model::NodeHardware hardware;
  set_processors(hardware, node, false);
  if (hardware.cpus == 0 || hardware.cpus > kMaxCpus)
    return invalid(fmt::format("node {}: {} CPUs, must be 1 to {}", node.name, hardware.cpus, kMaxCpus));
  SPUR_TRY(declared_state(node));
  return {};
}

}  // namespace

void set_hardware(model::Node& node, const model::NodeConfig* declared) {
  model::NodeHardware hardware = node.registered ? node.found : model::NodeHardware{};
  if (declared) {
    set_processors(hardware, *declared, node.registered);
    hardware.memory_mib = declared->memory_mib.value_or(hardware.memory_mib);
    hardware.tmp_disk_mib = declared->tmp_disk_mib.value_or(hardware.tmp_disk_mib);
    hardware.gres = model::gres_in_force(declared->gres, hardware.gres);
    hardware.spec_cores = declared->spec_cores.value_or(hardware.spec_cores);
    if (!declared->spec_cpus.empty()) hardware.spec_cpus = declared->spec_cpus;
    hardware.spec_memory_mib = declared->spec_memory_mib.value_or(hardware.spec_memory_mib);
  }
  node.hardware = std::move(hardware);
  fit_books(node);
}

std::string shortage(const model::Node& node) {
  std::string out;
  const auto add = [&out](std::string text) { out += (out.empty() ? "" : ", ") + text; };
  if (node.found.cpus < node.hardware.cpus) add("Low socket*core*thread count, Low CPUs");
  if (node.found.memory_mib < node.hardware.memory_mib)
    add(fmt::format("Low RealMemory (reported:{} < 100.00% of configured:{})", node.found.memory_mib,
                    node.hardware.memory_mib));
  if (node.found.tmp_disk_mib < node.hardware.tmp_disk_mib) add("Low TmpDisk");
  std::set<std::string> seen;
  for (const model::NodeGres& row : node.hardware.gres) {
    if (!seen.insert(row.name).second) continue;
    // An agent that reports nothing of a kind cannot count it (a gres without devices); one that does, if only that
    // there is none, must find enough.
    const bool counted =
        std::ranges::any_of(node.found.gres, [&](const model::NodeGres& g) { return g.name == row.name; });
    const std::uint64_t found = gres_count(node.found.gres, row.name),
                        wanted = gres_count(node.hardware.gres, row.name);
    if (counted && found < wanted)
      add(fmt::format("gres/{} count reported lower than configured ({} < {})", row.name, found, wanted));
  }
  return out;
}

Result<DeclaredState> declared_state(const model::NodeConfig& declared) {
  const std::string word = text::upper(declared.state);
  if (word.empty() || word == "UNKNOWN" || word == "IDLE") return DeclaredState::Unknown;
  if (word == "DOWN") return DeclaredState::Down;
  if (word == "DRAIN" || word == "DRAINED") return DeclaredState::Drain;
  if (word == "FAIL" || word == "FAILING") return DeclaredState::Fail;
  if (word == "FUTURE") return DeclaredState::Future;
  if (word == "CLOUD") return DeclaredState::Cloud;
  return invalid(fmt::format("node {}: State={} is not supported", declared.name, declared.state));
}

model::Node fresh_node(const model::NodeConfig& declared, Time now) {
  model::Node node;
  node.name = declared.name;
  node.flags = model::kNodeNoResponse;
  node.reason = declared.reason;
  if (!node.reason.empty()) node.reason_at = now;
  const DeclaredState state = declared_state(declared).value_or(DeclaredState::Unknown);
  node.down = state == DeclaredState::Down;
  if (state == DeclaredState::Cloud) node.flags = model::kNodeCloud | model::kNodePoweredDown;
  if (state == DeclaredState::Drain) node.flags |= model::kNodeDrain;
  if (state == DeclaredState::Fail) node.flags |= model::kNodeFail;
  configure(node, declared);
  return node;
}

void configure(model::Node& node, const model::NodeConfig& declared) {
  // A host that took the place of a FUTURE node keeps its own name.
  if (!(node.flags & model::kNodeDynamicFuture))
    node.hostname = declared.hostname.empty() ? declared.name : declared.hostname;
  node.flags = declared.created ? node.flags | model::kNodeDynamicNorm : node.flags & ~model::kNodeDynamicNorm;
  node.features = node.active_features = declared.features;
  node.weight = declared.weight;
  if (!declared.comment.empty()) node.comment = declared.comment;
  set_hardware(node, &declared);
}

Result<std::vector<model::Partition>> resolve_partitions(const model::ClusterConfig& config, const NodeNames& names,
                                                         const std::vector<NodeIndex>& all, bool tolerant) {
  std::set<std::string> later;
  for (const model::NodeConfig& node : config.nodes)
    if (model::is_future(node)) later.insert(node.name);
  std::vector<model::Partition> out;
  for (const model::PartitionConfig& row : config.partitions) {
    if (!model::find_topology(config, row.topology))
      return invalid(fmt::format("partition {} names an unknown topology: {}", row.name, row.topology));
    // Slurm: the last one that says so is the default.
    if (row.is_default)
      for (model::Partition& earlier : out) earlier.config.is_default = false;
    model::Partition& partition = out.emplace_back(model::Partition{row, {}});
    if (text::equal_ignoring_case(row.nodes, "ALL")) {
      partition.nodes = all;
      continue;
    }
    auto hosts = text::expand_hostlist(row.nodes);
    if (!hosts) return invalid(fmt::format("partition {}: {}", row.name, hosts.error().message));
    for (const std::string& host : *hosts) {
      const auto at = names.find(host);
      if (at != names.end()) {
        partition.nodes.push_back(at->second);
      } else if (!tolerant && !later.contains(host)) {
        return invalid(fmt::format("partition {}: there is no node {}", row.name, host));
      }
    }
    for (const model::NodeConfig& node : config.nodes)
      if (const auto at = names.find(node.name); at != names.end() && has_any(node.features, row.node_features))
        partition.nodes.push_back(at->second);
    std::sort(partition.nodes.begin(), partition.nodes.end());
    partition.nodes.erase(std::unique(partition.nodes.begin(), partition.nodes.end()), partition.nodes.end());
  }
  return out;
}

Status check_config(const model::ClusterConfig& config) {
  if (config.first_job_id == 0 || config.first_job_id > config.max_job_id)
    return invalid(
        fmt::format("FirstJobId={} and MaxJobId={} leave no job ids", config.first_job_id, config.max_job_id));
  std::set<std::string> nodes, partitions;
  for (const model::NodeConfig& node : config.nodes) {
    SPUR_TRY(check_node(node));
    if (!nodes.insert(node.name).second) return invalid(fmt::format("node {} is configured twice", node.name));
  }
  for (const model::PartitionConfig& partition : config.partitions) {
    if (partition.name.empty()) return invalid("a partition has no name");
    if (!partitions.insert(partition.name).second)
      return invalid(fmt::format("partition {} is configured twice", partition.name));
  }
  return {};
}

const model::NodeConfig* Applier::configured(const std::string& name) const {
  const auto at = cluster.configured_.find(name);
  return at == cluster.configured_.end() ? nullptr : &config().nodes[at->second];
}

void Cluster::index_configured_nodes() {
  configured_.clear();
  const auto& nodes = view_.config->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!model::is_future(nodes[i])) configured_.emplace(nodes[i].name, i);
}

}  // namespace spur::state
