// SPDX-License-Identifier: Apache-2.0
// Which nodes are close to each other: leaf switches (or blocks) and what connects them, resolved once from the
// configuration. Leaves are numbered so that every switch has a range of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/view.h"

namespace spur::sched {

class Topology {
 public:
  static constexpr std::uint32_t kNoNode = 0xffffffffu;
  // The number of a node, or kNoNode.
  using FindNode = std::function<std::uint32_t(std::string_view)>;

  struct Switch {
    std::string name;
    std::uint32_t level = 0;                      // leaves are 0
    std::uint32_t first_leaf = 0, last_leaf = 0;  // [first, last)
  };

  // InvalidArgument names the line: a loop, an unknown switch or node, a node or switch in two places, a tree of
  // blocks. With `skip_unknown` nodes that do not exist (any more) are left out. Nodes that the configuration does
  // not place are a leaf each.
  static Result<Topology> make(const model::TopologyConfig& config, std::uint32_t nodes, const FindNode& find_node,
                               bool skip_unknown);

  std::uint32_t leaf(std::uint32_t node) const { return leaf_[node]; }
  std::uint32_t leaves() const { return leaves_; }
  // Those above the leaves, lower levels first.
  const std::vector<Switch>& switches() const { return switches_; }
  const std::string& leaf_name(std::uint32_t leaf) const { return leaf_names_[leaf]; }

 private:
  friend class TopologyMaker;
  std::vector<std::uint32_t> leaf_;  // by node
  std::uint32_t leaves_ = 0;
  std::vector<Switch> switches_;
  std::vector<std::string> leaf_names_;  // empty for a node on its own
};

// For a configuration that is being read: whether its topology makes sense for the nodes it declares.
Status check_topology(const model::ClusterConfig& config);

// By partition: null where near and far are the same. Partitions with the same topology share one.
std::vector<std::shared_ptr<const Topology>> topologies_of(const model::View& view);

}  // namespace spur::sched
