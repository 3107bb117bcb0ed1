// SPDX-License-Identifier: Apache-2.0
// What the nodes have and what is free of it, as rows of integers: one row per node, one column per kind of thing
// that can run out separately (node_layout.h). Built in O(nodes) once; after that only nodes that changed are worked
// out anew.
//
// A column counts; it does not say which CPU. That is enough to plan by, because things in one column are
// interchangeable; grants.h picks the numbers when a job starts. Devices differ, so each has its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/view.h"
#include "sched/fragmentation.h"
#include "sched/node_layout.h"

namespace spur::sched {

using NodeNumber = std::uint32_t;  // NodeIndex::value

class Capacity {
 public:
  explicit Capacity(const model::View& view);

  // Works out all about one node anew: its record, or a job on it, is not what it was. `view` has the columns and
  // partitions that this was built with.
  void refresh(const model::View& view, NodeNumber n);

  const Columns& columns() const { return columns_; }
  std::size_t width() const { return columns_.width(); }
  NodeNumber size() const { return static_cast<NodeNumber>(nodes_.size()); }
  const model::Node& node(NodeNumber n) const { return *nodes_[n]; }
  bool usable(NodeNumber n) const { return usable_[n]; }
  // Nodes of one kind have the same hardware and features: what one of them can do empty, the others can.
  std::uint32_t kind(NodeNumber n) const { return kind_[n]; }
  std::uint32_t kinds() const { return static_cast<std::uint32_t>(kinds_.size()); }
  std::uint32_t weight(NodeNumber n) const { return weight_[n]; }
  // The meaning of a node's columns; one for all nodes of a kind.
  const NodeLayout& layout(NodeNumber n) const { return kinds_[kind_[n]].layout; }
  // CPUs that go together: threads per core where cores go whole, else 1.
  Amount unit(NodeNumber n) const { return layout(n).unit; }
  const Amount* total(NodeNumber n) const { return kinds_[kind_[n]].total.data(); }
  const Amount* free(NodeNumber n) const { return &free_[n * width()]; }
  void take(NodeNumber n, const Amount* amounts);

  // What GPU jobs usually ask for, the most popular first (popular_gpus.h). Whoever sees the jobs sets it.
  const std::vector<GpuShape>& popular() const { return popular_; }
  void set_popular(std::vector<GpuShape> popular) { popular_ = std::move(popular); }

  bool memory_is_consumable() const { return memory_is_consumable_; }
  bool one_weight() const { return nodes_by_weight_.size() <= 1; }

  // What an active job holds by one of its grants, as a row. A suspended job holds no CPUs.
  void row_of(const model::Job& job, const model::NodeGrant& grant, std::span<Amount> row) const;
  // The same with these of its CPUs, but for what its partition may have of the node.
  void row_of(const model::Job& job, const model::NodeGrant& grant, std::span<const model::CpuNumber> cpus,
              std::span<Amount> row) const;
  enum class Part : std::uint8_t { All, Cpus, AllButCpus };
  void row_of(std::string_view partition, const model::NodeGrant& grant, Part part, std::span<Amount> row) const;
  // Calls f(job, grant) for each active job that holds something of the node.
  template <class F>
  void for_each_job_on(const model::View& view, NodeNumber n, F&& f) const {
    for (const JobId id : node(n).jobs) {
      const auto* job = view.active.find(id.value);
      if (!job || !(*job)->allocation) continue;
      if (const auto* grant = grant_on(**job, n)) f(**job, *grant);
    }
  }

 private:
  struct Kind {
    model::NodeHardware hardware;
    std::vector<std::string> features;
    NodeLayout layout;
    std::vector<Amount> total;
    bool is_of(const model::Node& node) const {
      return hardware == node.hardware && features == node.active_features;
    }
  };
  static const model::NodeGrant* grant_on(const model::Job& job, NodeNumber n);
  void fill(const model::View& view, NodeNumber n);
  std::uint32_t kind_of(const model::View& view, const model::Node& node);

  Columns columns_;
  std::vector<const model::Node*> nodes_;
  std::vector<std::uint8_t> usable_;
  std::vector<std::uint32_t> weight_, kind_;
  std::vector<Kind> kinds_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> kind_by_hash_;  // look-up only
  std::uint32_t last_kind_ = 0;
  std::vector<Amount> free_;
  std::map<std::uint32_t, std::uint32_t> nodes_by_weight_;
  std::vector<std::pair<std::string, std::size_t>> limited_partitions_;  // name, column
  std::vector<GpuShape> popular_;
  bool memory_is_consumable_ = false;
};

}  // namespace spur::sched
