// SPDX-License-Identifier: Apache-2.0
#include "sched/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/topology.h"
#include "text/hostlist.h"

namespace spur::sched {

class TopologyMaker {
 public:
  TopologyMaker(const model::TopologyConfig& config, std::uint32_t nodes, const Topology::FindNode& find_node,
                bool skip_unknown)
      : config_(config), find_node_(find_node), skip_unknown_(skip_unknown) {
    made_.leaf_.assign(nodes, Topology::kNoNode);
  }

  Result<Topology> make() {
    if (config_.kind == model::TopologyKind::Tree) SPUR_TRY(make_tree());
    if (config_.kind == model::TopologyKind::Block) SPUR_TRY(make_blocks());
    for (auto& leaf : made_.leaf_) {
      if (leaf != Topology::kNoNode) continue;
      leaf = made_.leaves_++;
      made_.leaf_names_.emplace_back();
    }
    std::ranges::stable_sort(made_.switches_, {}, &Topology::Switch::level);
    return std::move(made_);
  }

 private:
  static std::unexpected<Error> bad(const model::SwitchConfig& row, const char* what, std::string message) {
    return fail(ErrorCode::InvalidArgument, fmt::format("line {}: {} {}: {}", row.line, what, row.name, message));
  }

  Status add_leaf(const model::SwitchConfig& row, const char* what) {
    const std::uint32_t leaf = made_.leaves_++;
    made_.leaf_names_.push_back(row.name);
    const auto names = text::expand_hostlist(row.nodes);
    if (!names) return bad(row, what, names.error().message);
    for (const auto& name : *names) {
      const std::uint32_t node = find_node_(name);
      if (node == Topology::kNoNode) {
        if (skip_unknown_) continue;
        return bad(row, what, fmt::format("there is no node {}", name));
      }
      if (made_.leaf_[node] != Topology::kNoNode && made_.leaf_[node] != leaf)
        return bad(row, what, fmt::format("node {} is in {} already", name, made_.leaf_names_[made_.leaf_[node]]));
      made_.leaf_[node] = leaf;
    }
    return {};
  }

  // ---- trees
  Status make_tree() {
    std::map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < config_.switches.size(); ++i) {
      const auto& row = config_.switches[i];
      if (!by_name.emplace(row.name, i).second) return bad(row, "switch", "is declared twice");
      if (row.nodes.empty() == row.switches.empty()) return bad(row, "switch", "must have either nodes or switches");
    }
    children_.resize(config_.switches.size());
    state_.assign(config_.switches.size(), State::New);
    std::vector<bool> has_parent(config_.switches.size());
    for (std::size_t i = 0; i < config_.switches.size(); ++i) {
      const auto& row = config_.switches[i];
      if (row.switches.empty()) continue;
      const auto names = text::expand_hostlist(row.switches);
      if (!names) return bad(row, "switch", names.error().message);
      for (const auto& name : *names) {
        const auto at = by_name.find(name);
        if (at == by_name.end()) return bad(row, "switch", fmt::format("there is no switch {}", name));
        if (has_parent[at->second])
          return bad(row, "switch", fmt::format("{} is below another switch already", name));
        has_parent[at->second] = true;
        children_[i].push_back(at->second);
      }
    }
    for (std::size_t i = 0; i < config_.switches.size(); ++i)
      if (!has_parent[i]) SPUR_TRY(visit(i));
    // What nobody reached from above hangs on a ring.
    for (std::size_t i = 0; i < config_.switches.size(); ++i)
      if (state_[i] == State::New) return bad(config_.switches[i], "switch", "is part of a loop");
    return {};
  }

  // Leaves are numbered as they are met, so those below a switch follow each other. Returns the level.
  Result<std::uint32_t> visit(std::size_t i) {
    const auto& row = config_.switches[i];
    state_[i] = State::Done;
    if (!row.nodes.empty()) {
      SPUR_TRY(add_leaf(row, "switch"));
      return 0u;
    }
    Topology::Switch made{row.name, 0, made_.leaves_, 0};
    for (const std::size_t child : children_[i]) {
      SPUR_ASSIGN(const std::uint32_t level, visit(child));
      made.level = std::max(made.level, level + 1);
    }
    made.last_leaf = made_.leaves_;
    const std::uint32_t level = made.level;
    made_.switches_.push_back(std::move(made));
    return level;
  }

  // ---- blocks: rows of them, and groups of neighbours in the sizes that the site names
  Status make_blocks() {
    std::map<std::string, std::size_t> by_name;
    for (const auto& row : config_.blocks) {
      if (!by_name.emplace(row.name, 0).second) return bad(row, "block", "is declared twice");
      if (row.nodes.empty()) return bad(row, "block", "must have nodes");
      SPUR_TRY(add_leaf(row, "block"));
    }
    const auto& sizes = config_.block_sizes;
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      if (sizes[0] == 0 || sizes[i] % sizes[0] != 0)
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("BlockSizes: {} is no multiple of {}", sizes[i], sizes[0]));
      const std::uint32_t blocks = sizes[i] / sizes[0];
      for (std::uint32_t first = 0; first < made_.leaves_ && blocks > 1; first += blocks)
        made_.switches_.push_back(
            {"", static_cast<std::uint32_t>(i), first, std::min(first + blocks, made_.leaves_)});
    }
    return {};
  }

  enum class State : std::uint8_t { New, Done };
  const model::TopologyConfig& config_;
  const Topology::FindNode& find_node_;
  bool skip_unknown_;
  Topology made_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<State> state_;
};

Result<Topology> Topology::make(const model::TopologyConfig& config, std::uint32_t nodes, const FindNode& find_node,
                                bool skip_unknown) {
  return TopologyMaker(config, nodes, find_node, skip_unknown).make();
}

Status check_topology(const model::ClusterConfig& config) {
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  for (const auto& node : config.nodes) numbers.emplace(node.name, static_cast<std::uint32_t>(numbers.size()));
  const auto find = [&](std::string_view name) {
    const auto at = numbers.find(name);
    return at == numbers.end() ? Topology::kNoNode : at->second;
  };
  const auto check = [&](const model::TopologyConfig& topology) -> Status {
    if (topology.kind == model::TopologyKind::Flat) return {};
    const auto made =
        Topology::make(topology, static_cast<std::uint32_t>(numbers.size()), find, config.accept_unknown_nodes);
    return made ? Status() : std::unexpected(made.error());
  };
  SPUR_TRY(check(config.topology));
  for (const auto& topology : config.other_topologies) SPUR_TRY(check(topology));
  return {};
}

std::vector<std::shared_ptr<const Topology>> topologies_of(const model::View& view) {
  const auto find = [&](std::string_view name) {
    const auto at = view.node_by_name->find(name);
    return at == view.node_by_name->end() ? Topology::kNoNode : at->second.value;
  };
  std::map<std::string, std::shared_ptr<const Topology>> made;  // by name
  std::vector<std::shared_ptr<const Topology>> out;
  for (const auto& partition : *view.partitions) {
    const model::TopologyConfig& config = model::topology_of(*view.config, partition.config);
    const auto [at, fresh] = made.try_emplace(config.name);
    if (fresh && config.kind != model::TopologyKind::Flat)
      if (auto topology = Topology::make(config, static_cast<std::uint32_t>(view.nodes.size()), find, true))
        at->second = std::make_shared<const Topology>(*std::move(topology));
    out.push_back(at->second);
  }
  return out;
}

}  // namespace spur::sched
