// SPDX-License-Identifier: Apache-2.0
// For tests of sched/: a View made by hand, with just enough bookkeeping to carry out a plan. Every start is checked
// against what is free, so a plan that gives something out twice fails the test that asked for it. (state::Cluster is
// the real thing; the scenarios under tests/ use that.)
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/view.h"
#include "sched/plan.h"

namespace spur::sched {

inline Time at_minute(std::int64_t m) {
  return from_unix_seconds(1'000'000) + minutes(m);
}

class TestCluster {
 public:
  // Out of line, all of them: a test that only uses a cluster compiles in half the time.
  TestCluster();
  TestCluster(const TestCluster&);
  TestCluster& operator=(const TestCluster&);
  ~TestCluster();

  std::shared_ptr<model::ClusterConfig> config = std::make_shared<model::ClusterConfig>();
  // Replaced whole, never edited: views share it.
  std::shared_ptr<const std::vector<model::Reservation>> reservations =
      std::make_shared<std::vector<model::Reservation>>();

  // ---- building
  model::Node& add_node(const std::string& name, std::uint32_t cpus, std::uint64_t memory_mib = 1000);
  void add_nodes(std::uint32_t count, std::uint32_t cpus, std::uint64_t memory_mib = 1000);
  model::Node& node(std::uint32_t n) { return *nodes_[n]; }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_.size()); }

  // All nodes if `nodes` is empty. The first partition is the default one.
  model::PartitionConfig& add_partition(const std::string& name, std::vector<std::uint32_t> nodes = {});

  // A pending job that asks for `spec`; eligible at once.
  model::Job& submit(model::JobSpec spec, Time when = at_minute(0));

  // A heterogeneous job; the first component.
  model::Job& submit_het(const std::vector<model::JobSpec>& specs, Time when = at_minute(0));

  void cancel(JobId id) { jobs_.at(id)->state = model::JobState::Cancelled; }
  model::Job& job(std::uint32_t id) { return *jobs_.at(JobId(id)); }
  model::PartitionConfig& partition(std::size_t p) { return (*partitions_)[p].config; }
  std::size_t partition_count() const { return partitions_->size(); }
  const std::map<JobId, std::shared_ptr<model::Job>>& jobs() const { return jobs_; }

  // ---- looking. A view stays as it is; like those of the real state, it shares with the one before what did not
  // change.
  model::View view() const;

  // A cluster that lives on by itself.
  TestCluster clone() const;

  // ---- living
  void start(const Start& start, Time now);
  void carry_out(const Plan& plan, Time now);
  void begin_completing(JobId id);
  void finish(JobId id);
  void suspend(JobId id, Time now);
  std::size_t shared_cpus = 0;  // so often a CPU was given to a job although others had it

 private:
  model::Job& split(model::Job& rest, std::uint32_t task);

  static void flip(std::vector<std::uint64_t>& bits, std::size_t i, bool to);
  std::uint32_t others_on(const model::Job& job, NodeIndex at, model::CpuNumber cpu) const;
  void mark_cpus(const model::Job& job, const model::NodeGrant& grant, bool in_use);
  void mark_devices(const model::NodeGrant& grant, bool in_use);
  // No device is given out whole and in shares, nor more shares than there are.
  static void check_shares(const model::Node& node);
  void take(const model::Job& job, const model::NodeGrant& grant);
  void give_back(const model::Job& job, const model::NodeGrant& grant);

  std::vector<std::shared_ptr<model::Node>> nodes_;
  std::shared_ptr<std::vector<model::Partition>> partitions_ = std::make_shared<std::vector<model::Partition>>();
  std::map<JobId, std::shared_ptr<model::Job>> jobs_;
  std::uint32_t next_id_ = 1;
  mutable model::View view_;
};

// Short ways to say what a job asks for.
model::JobSpec wants_nodes(std::uint32_t nodes, std::uint32_t limit_minutes);
model::JobSpec wants_tasks(std::uint32_t tasks, std::uint32_t limit_minutes);

}  // namespace spur::sched
