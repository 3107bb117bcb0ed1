// SPDX-License-Identifier: Apache-2.0
#include "config/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/topology.h"
#include "text/hostlist.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

using model::TopologyKind;
using text::equal_ignoring_case;

class TopologyCheck {
 public:
  explicit TopologyCheck(Draft& draft) : draft_(draft) {
    for (const model::NodeConfig& node : draft.cluster.nodes) nodes_.insert(node.name);
  }

  Status run(const std::vector<SwitchBlock>& rows, bool blocks) {
    for (const SwitchBlock& block : rows) {
      if (block.is_block.value_or(blocks) != blocks) continue;
      SPUR_TRY(add(block, blocks));
    }
    if (places_.empty()) return {};
    SPUR_TRY(join(blocks));
    std::size_t outside = 0;
    std::string first;
    for (const std::string& node : nodes_)
      if (!node_in_.contains(node) && ++outside == 1) first = node;
    if (outside > 0)
      draft_.warn({}, fmt::format("{} nodes are in no {} of the topology, {} for one", outside,
                                  blocks ? "block" : "switch", first));
    return {};
  }

 private:
  struct Place {
    const SwitchBlock* block;
    std::vector<std::string> below;  // names of switches
  };

  Status add(const SwitchBlock& block, bool blocks) {
    const std::string& name = block.row.name;
    if (name.empty()) return draft_.refuse(block.at, "a switch without a name");
    if (!block.row.nodes.empty() && !block.row.switches.empty())
      return draft_.refuse(
          block.at, fmt::format("switch {} has nodes and switches: it is one or the other", text::shown(name, 60)));
    if (block.row.nodes.empty() && block.row.switches.empty())
      return draft_.refuse(block.at, fmt::format("{} {} has neither nodes nor switches", blocks ? "block" : "switch",
                                                 text::shown(name, 60)));
    Place place{&block, {}};
    if (!block.row.switches.empty()) {
      auto names = text::expand_hostlist(block.row.switches);
      if (!names) return draft_.refuse(block.at, names.error().message);
      place.below = *std::move(names);
    }
    if (!places_.emplace(name, std::move(place)).second)
      return draft_.refuse(block.at, fmt::format("{} is declared twice", text::shown(name, 60)));
    return block.row.nodes.empty() ? Status{} : add_nodes(block);
  }

  Status add_nodes(const SwitchBlock& block) {
    auto names = equal_ignoring_case(block.row.nodes, "ALL")
                     ? Result<std::vector<std::string>>(std::vector<std::string>(nodes_.begin(), nodes_.end()))
                     : text::expand_hostlist(block.row.nodes);
    if (!names) return draft_.refuse(block.at, names.error().message);
    for (const std::string& name : *names) {
      if (!nodes_.contains(name) && !draft_.cluster.accept_unknown_nodes)
        return draft_.refuse(block.at, fmt::format("{} names an unknown node: {}", text::shown(block.row.name, 60),
                                                   text::shown(name, 60)));
      const auto [at, fresh] = node_in_.emplace(name, block.row.name);
      if (!fresh)
        return draft_.refuse(block.at, fmt::format("node {} is in {} and in {}", text::shown(name, 60),
                                                   text::shown(at->second, 60), text::shown(block.row.name, 60)));
    }
    return {};
  }

  // Every switch that is named exists, has one above it at most, and is not below itself.
  Status join(bool blocks) {
    std::map<std::string, std::string> above;
    for (const auto& [name, place] : places_)
      for (const std::string& below : place.below) {
        if (blocks || !places_.contains(below))
          return draft_.refuse(place.block->at, fmt::format("{} names an unknown switch: {}", text::shown(name, 60),
                                                            text::shown(below, 60)));
        if (!above.emplace(below, name).second)
          return draft_.refuse(place.block->at, fmt::format("switch {} is below {} and below {}",
                                                            text::shown(below, 60), above[below], name));
      }
    for (const auto& [name, place] : places_) {
      std::size_t steps = 0;
      for (auto at = above.find(name); at != above.end(); at = above.find(at->second))
        if (++steps > places_.size())
          return draft_.refuse(place.block->at, fmt::format("switch {} is part of a loop", text::shown(name, 60)));
    }
    return {};
  }

  Draft& draft_;
  std::set<std::string> nodes_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> node_in_;
};

}  // namespace

namespace {

// Those of topology.yaml: the cluster's is the first that says so, else the first.
Status resolve_named(Draft& draft) {
  const auto chosen = std::ranges::find_if(draft.topologies, &TopologyBlock::is_default);
  const TopologyBlock* usual = chosen == draft.topologies.end() ? &draft.topologies.front() : &*chosen;
  model::ClusterConfig& cluster = draft.cluster;
  const bool optional = cluster.topology.optional;
  for (const TopologyBlock& block : draft.topologies) {
    const bool blocks = block.kind == TopologyKind::Block;
    SPUR_TRY(TopologyCheck(draft).run(block.rows, blocks));
    model::TopologyConfig topology{.kind = block.kind,
                                   .switches = {},
                                   .blocks = {},
                                   .block_sizes = block.block_sizes,
                                   .optional = optional,
                                   .name = block.name};
    for (const SwitchBlock& row : block.rows) (blocks ? topology.blocks : topology.switches).push_back(row.row);
    if (&block == usual)
      cluster.topology = std::move(topology);
    else
      cluster.other_topologies.push_back(std::move(topology));
  }
  return {};
}

}  // namespace

Status check_partition_topologies(const Draft& draft) {
  const auto is_known = [&](const std::string& name) {
    if (name.empty() || draft.topologies.empty()) return name.empty() || name == model::topology_name({});
    return std::ranges::find(draft.topologies, name, &TopologyBlock::name) != draft.topologies.end();
  };
  for (const PartitionBlock& block : draft.partitions)
    if (const std::string& name = block.partition.topology; !is_known(name))
      return draft.refuse(block.at, fmt::format("partition {} names an unknown topology: {}",
                                                text::shown(block.partition.name, 60), text::shown(name, 60)));
  return {};
}

Status resolve_topology(Draft& draft) {
  model::TopologyConfig& topology = draft.cluster.topology;
  if (!draft.topologies.empty()) return resolve_named(draft);
  if (draft.switches.empty()) {
    if (topology.kind != TopologyKind::Flat)
      draft.warn({}, "the topology has no switches and no blocks: every node is as near as any other");
    return {};
  }
  const bool blocks = topology.kind == TopologyKind::Block;
  SPUR_TRY(TopologyCheck(draft).run(draft.switches, blocks));
  if (topology.kind == TopologyKind::Flat)
    draft.warn({}, "switches or blocks are declared, but the topology is flat: they have no effect");
  for (const SwitchBlock& block : draft.switches) {
    if (block.is_block.value_or(blocks) != blocks) continue;
    (blocks ? topology.blocks : topology.switches).push_back(block.row);
  }
  return {};
}

}  // namespace spur::config
