// SPDX-License-Identifier: Apache-2.0
// What the nodes have and what is free of it, as rows of integers: one row per node, one column per kind of thing
// that can run out separately (node_layout.h). Built once per planning call in O(nodes); everything after reads and
// writes plain arrays.
//
// A column counts; it does not say which CPU. That is enough to plan by, because things in one column are
// interchangeable; grants.h picks the numbers when a job starts. Devices differ, so each has its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/view.h"
#include "sched/node_layout.h"

namespace spur::sched {

using NodeNumber = std::uint32_t;  // NodeIndex::value

class Capacity {
 public:
  explicit Capacity(const model::View& view);

  const Columns& columns() const { return columns_; }
  std::size_t width() const { return columns_.width(); }
  NodeNumber size() const { return static_cast<NodeNumber>(nodes_.size()); }
  const model::Node& node(NodeNumber n) const { return *nodes_[n]; }
  bool usable(NodeNumber n) const { return usable_[n]; }
  // Nodes of one kind have the same hardware and features: what one of them can do empty, the others can.
  std::uint32_t kind(NodeNumber n) const { return kind_[n]; }
  std::uint32_t kinds() const { return static_cast<std::uint32_t>(kind_example_.size()); }
  std::uint32_t weight(NodeNumber n) const { return weight_[n]; }
  // The meaning of a node's columns; one for all nodes of a kind.
  const NodeLayout& layout(NodeNumber n) const { return layouts_[kind_[n]]; }
  // CPUs that go together: threads per core where cores go whole, else 1.
  Amount unit(NodeNumber n) const { return layout(n).unit; }
  const Amount* total(NodeNumber n) const { return &total_[n * width()]; }
  const Amount* free(NodeNumber n) const { return &free_[n * width()]; }
  void take(NodeNumber n, const Amount* amounts);

  bool memory_is_consumable() const { return memory_is_consumable_; }
  bool one_weight() const { return one_weight_; }

  // What an active job holds by one of its grants, as a row. A suspended job holds no CPUs.
  void row_of(const model::Job& job, const model::NodeGrant& grant, std::span<Amount> row) const;

 private:
  void add_node(const model::View& view, const model::Node& node);
  std::uint32_t find_kind(NodeNumber n) const;
  void take_partition_cpus(const model::View& view);

  Columns columns_;
  std::vector<const model::Node*> nodes_;
  std::vector<std::uint8_t> usable_;
  std::vector<std::uint32_t> weight_, kind_;
  std::vector<NodeNumber> kind_example_;  // by kind
  std::vector<NodeLayout> layouts_;       // by kind
  std::vector<Amount> total_, free_;
  std::vector<std::pair<std::string, std::size_t>> limited_partitions_;  // name, column
  bool memory_is_consumable_ = false, one_weight_ = true;
};

}  // namespace spur::sched
