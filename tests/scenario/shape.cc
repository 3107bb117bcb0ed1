// SPDX-License-Identifier: Apache-2.0
// Directives about nodes, partitions and the configuration.
#include <fmt/format.h>

#include "model/dynamic_nodes.h"
#include "options.h"
#include "scenario.h"
#include "text/hostlist.h"

namespace spur::scenario {
namespace {

Result<std::string> only_word(const Line& line) {
  if (line.words.empty()) return fail(ErrorCode::InvalidArgument, line.directive + " NAME");
  return line.words[0];
}

// The agent finds what is declared.
state::RegisterNode registration(const model::NodeConfig& node) {
  state::RegisterNode command;
  command.name = command.hostname = node.name;
  command.address = node.name + ":6818";
  command.found.cpus = node.cpus.value_or(1);
  command.found.sockets = node.sockets.value_or(1);
  command.found.cores_per_socket = node.cores_per_socket.value_or(1);
  command.found.threads_per_core = node.threads_per_core.value_or(1);
  command.found.memory_mib = node.memory_mib.value_or(1);
  command.found.tmp_disk_mib = node.tmp_disk_mib.value_or(0);
  command.found.gres = node.gres;
  return command;
}

}  // namespace

Status Scenario::nodes(const Line& line) {
  if (is_set_up_) return fail(ErrorCode::InvalidArgument, "nodes come first");
  SPUR_ASSIGN(const std::string list, only_word(line));
  SPUR_ASSIGN(const auto names, text::expand_hostlist(list));
  for (const auto& name : names) {
    model::NodeConfig node;
    node.name = name;
    node.memory_mib = 1000;
    SPUR_TRY(apply_node_options(line, node));
    // Declared by CPUs alone, each is a core of its own; with threads, they are spread over cores.
    const std::uint32_t cpus = node.cpus.value_or(1), threads = node.threads_per_core.value_or(1);
    if (!node.sockets) node.sockets = 1;
    if (!node.cores_per_socket) node.cores_per_socket = std::max(1u, cpus / threads / *node.sockets);
    node.threads_per_core = threads;
    config_.nodes.push_back(std::move(node));
  }
  return {};
}

Status Scenario::partition(const Line& line) {
  if (is_set_up_) return fail(ErrorCode::InvalidArgument, "partitions come first");
  SPUR_ASSIGN(const std::string name, only_word(line));
  model::PartitionConfig partition;
  partition.name = name;
  partition.nodes = "ALL";
  partition.is_default = config_.partitions.empty();
  SPUR_TRY(apply_partition_options(line, partition));
  config_.partitions.push_back(std::move(partition));
  return {};
}

Status Scenario::add_switch(const Line& line) {
  if (is_set_up_) return fail(ErrorCode::InvalidArgument, "switches come first");
  SPUR_ASSIGN(const std::string name, only_word(line));
  const auto list = [&](const char* key) { return line.option(key) ? *line.option(key) : std::string(); };
  model::TopologyConfig& topology = topology_of(line);
  topology.kind = model::TopologyKind::Tree;
  topology.switches.push_back({name, list("nodes"), list("switches"), 0});
  return {};
}

Status Scenario::add_block(const Line& line) {
  SPUR_TRY(add_switch(line));
  model::TopologyConfig& topology = topology_of(line);
  topology.kind = model::TopologyKind::Block;
  topology.blocks.push_back(std::move(topology.switches.back()));
  topology.switches.pop_back();
  return {};
}

// of=NAME: another one than the cluster's.
model::TopologyConfig& Scenario::topology_of(const Line& line) {
  const std::string* name = line.option("of");
  if (!name) return config_.topology;
  for (auto& other : config_.other_topologies)
    if (other.name == *name) return other;
  config_.other_topologies.emplace_back().name = *name;
  return config_.other_topologies.back();
}

// Before the cluster is there; reservations=N is the scheduler's.
Status Scenario::config(const Line& line) {
  if (is_set_up_) return fail(ErrorCode::InvalidArgument, "use reconfigure");
  Line rest = line;
  std::erase_if(rest.options,
                [](const auto& option) { return option.first == "promises" || option.first == "max_starts"; });
  for (const auto& [key, value] : line.options) {
    if (key != "promises" && key != "max_starts") continue;
    SPUR_ASSIGN(const std::uint64_t n, parse_number(value));
    (key == "promises" ? params_.promises : params_.max_starts) = static_cast<std::uint32_t>(n);
  }
  return apply_config_options(rest, config_);
}

// "reconfigure partition NAME options", "reconfigure without NODE", or "reconfigure" with configuration options.
Status Scenario::reconfigure(const Line& line) {
  model::ClusterConfig changed = config_;
  if (line.words.size() >= 2 && line.words[0] == "partition") {
    Line rest = line;
    rest.words.erase(rest.words.begin());
    bool found = false;
    for (auto& partition : changed.partitions) {
      if (partition.name != rest.words[0]) continue;
      SPUR_TRY(apply_partition_options(rest, partition));
      found = true;
    }
    if (!found) return fail(ErrorCode::InvalidArgument, "no partition " + rest.words[0]);
  } else if (line.words.size() == 2 && line.words[0] == "without") {
    std::erase_if(changed.nodes, [&](const auto& node) { return node.name == line.words[1]; });
  } else {
    SPUR_TRY(apply_config_options(line, changed));
  }
  if (apply(state::SetConfig{changed}).status) config_ = std::move(changed);
  return {};
}

Status Scenario::set_up() {
  if (is_set_up_) return {};
  is_set_up_ = true;
  if (config_.partitions.empty()) {
    model::PartitionConfig partition;
    partition.name = "batch";
    partition.nodes = "ALL";
    partition.is_default = true;
    config_.partitions.push_back(std::move(partition));
  }
  SPUR_TRY(try_apply(state::SetConfig{config_}).status);
  for (const auto& node : config_.nodes)
    if (!model::is_future(node)) SPUR_TRY(try_apply(registration(node)).status);
  return {};
}

Status Scenario::register_node(const Line& line) {
  SPUR_ASSIGN(const std::string name, only_word(line));
  for (const auto& node : cluster_.view().config->nodes) {
    if (node.name != name) continue;
    auto command = registration(node);
    if (const std::string* cpus = line.option("cpus")) {
      SPUR_ASSIGN(const std::uint64_t n, parse_number(*cpus));
      command.found.cpus = static_cast<std::uint32_t>(n);
    }
    apply(std::move(command));
    return {};
  }
  return fail(ErrorCode::InvalidArgument, "no node " + name);
}

Status Scenario::lost(const Line& line) {
  SPUR_ASSIGN(const std::string name, only_word(line));
  apply(state::NodeLost{name});
  return {};
}
Status Scenario::silent(const Line& line) {
  SPUR_ASSIGN(const std::string name, only_word(line));
  apply(state::NodeResponding{name, false});
  return {};
}
Status Scenario::responding(const Line& line) {
  SPUR_ASSIGN(const std::string name, only_word(line));
  apply(state::NodeResponding{name, true});
  return {};
}

Status Scenario::update_nodes(const Line& line, state::UpdateNode::Action action) {
  SPUR_ASSIGN(const std::string list, only_word(line));
  state::UpdateNode command;
  SPUR_ASSIGN(command.nodes, text::expand_hostlist(list));
  command.action = action;
  using Action = state::UpdateNode::Action;
  if (action == Action::Down || action == Action::Drain) command.reason = "scenario";
  apply(std::move(command));
  return {};
}
Status Scenario::drain(const Line& line) {
  return update_nodes(line, state::UpdateNode::Action::Drain);
}
Status Scenario::down(const Line& line) {
  return update_nodes(line, state::UpdateNode::Action::Down);
}
Status Scenario::undrain(const Line& line) {
  return update_nodes(line, state::UpdateNode::Action::Undrain);
}
Status Scenario::resume_node(const Line& line) {
  return update_nodes(line, state::UpdateNode::Action::Resume);
}

Status Scenario::put_off(const Line& line) {
  return update_nodes(line, state::UpdateNode::Action::Future);
}

// ---- nodes that come and go

// Options as those of `nodes`; `agent`: an agent makes itself.
Status Scenario::create_nodes(const Line& line) {
  SPUR_ASSIGN(const std::string list, only_word(line));
  SPUR_ASSIGN(const auto names, text::expand_hostlist(list));
  Line rest = line;
  state::CreateNodes command;
  command.by_agent = std::erase(rest.words, "agent") > 0;
  for (const std::string& name : names) {
    model::NodeConfig node;
    node.name = name;
    SPUR_TRY(apply_node_options(rest, node));
    command.nodes.push_back(std::move(node));
  }
  apply(std::move(command));
  return {};
}

Status Scenario::delete_nodes(const Line& line) {
  SPUR_ASSIGN(const std::string list, only_word(line));
  SPUR_ASSIGN(auto names, text::expand_hostlist(list));
  apply(state::DeleteNodes{std::move(names)});
  return {};
}

// A host asks for a FUTURE node.
Status Scenario::claim(const Line& line) {
  SPUR_ASSIGN(const std::string host, only_word(line));
  state::ClaimFutureNode command{.hostname = host, .feature = {}, .found = {}};
  if (const std::string* feature = line.option("feature")) command.feature = *feature;
  if (const std::string* cpus = line.option("cpus")) {
    SPUR_ASSIGN(const std::uint64_t n, parse_number(*cpus));
    command.found.cpus = command.found.cores_per_socket = static_cast<std::uint32_t>(n);
  }
  command.found.memory_mib = 1000;
  const auto outcome = apply(std::move(command));
  if (outcome.status) say(fmt::format("{} is {}", host, outcome.name));
  return {};
}

}  // namespace spur::scenario
