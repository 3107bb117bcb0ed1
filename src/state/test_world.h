// SPDX-License-Identifier: Apache-2.0
// For tests of state/: a cluster that is driven by single commands, with time going on by itself, and specifications
// and allocations in one line.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "state/cluster.h"

namespace spur::state {

inline constexpr Time kStart = from_unix_seconds(1'000'000);

struct World {
  Cluster cluster;
  Time now = kStart;
  std::vector<Effect> effects;  // of the last command

  World();
  ~World();
  // n1..nN with `cpus` CPUs, 1000 MiB and `gpus` GPUs each, registered, one partition "main".
  explicit World(int nodes, std::uint32_t cpus = 4, std::uint32_t gpus = 0, model::ClusterConfig config = {});

  static RegisterNode registration(const std::string& name, std::uint32_t cpus, std::uint64_t memory_mib = 1000);

  Outcome run(Command command);
  Outcome must(Command command);
  // The code of the refusal, which must have changed nothing.
  ErrorCode refusal(Command command);

  const model::View& view() const { return cluster.view(); }
  const model::Job& job(std::uint32_t id) const;
  bool has(std::uint32_t id) const { return model::find_job(view(), JobId{id}) != nullptr; }
  const model::Node& node(const std::string& name) const { return *model::find_node(view(), name); }

  std::uint32_t submit(model::JobSpec spec);
  // On one node, by index from 0, with these CPUs.
  static std::shared_ptr<model::Allocation> on(std::uint32_t node, std::vector<model::CpuNumber> cpus = {0});
  static std::shared_ptr<model::Allocation> on(std::vector<std::uint32_t> nodes,
                                               std::vector<model::CpuNumber> cpus = {0});
  std::uint32_t start(std::uint32_t id, std::shared_ptr<const model::Allocation> allocation,
                      std::optional<std::uint32_t> task = {});
  NodeJobDone done_report(std::uint32_t id, const std::string& node, std::uint16_t code = 0) const;
  void done(std::uint32_t id, const std::string& node, std::uint16_t code = 0) { must(done_report(id, node, code)); }

  template <class T>
  int count() const {
    int n = 0;
    for (const Effect& effect : effects) n += std::holds_alternative<T>(effect);
    return n;
  }
};

template <class F>
model::NodeConfig node_config(F&& fill) {
  model::NodeConfig out;
  fill(out);
  return out;
}
template <class F>
model::PartitionConfig partition_config(F&& fill) {
  model::PartitionConfig out;
  fill(out);
  return out;
}

model::JobSpec spec(std::string name = "job");

model::JobSpec array_spec(std::uint32_t first, std::uint32_t last, std::uint32_t max_running = 0);

model::Qos qos(std::string name, std::uint32_t priority = 0);

JobTarget target(std::uint32_t id);
JobTarget tasks_of(std::uint32_t id, std::uint32_t first, std::uint32_t last);
CancelJob cancel(JobTarget what);

}  // namespace spur::state
