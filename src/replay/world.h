// SPDX-License-Identifier: Apache-2.0
// A cluster in virtual time: a View that jobs enter, start in and leave, by what the planner says. state::Cluster
// does this for real, with all the ways a job can go wrong; here every job runs and ends, so records that nobody
// needs any more are dropped at once and each change costs what it touches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/view.h"
#include "sched/plan.h"

namespace spur::replay {

class World {
 public:
  explicit World(model::View view) : view_(std::move(view)) {}

  const model::View& view() const { return view_; }

  // A pending job, eligible from `when` on. `id` must be new.
  void submit(JobId id, const std::shared_ptr<const model::JobSpec>& spec, Time when);

  // The id of the record that runs: another one than start.job where an array's task splits off.
  JobId start(const sched::Start& start, Time now);
  // Gives back what it has and forgets it.
  void finish(JobId id);
  // A pending job that nobody waits for any more.
  void withdraw(JobId id);
  // So that a next plan only speaks of what changed.
  void note(const std::vector<sched::Wait>& waits);

  // A record as it is elsewhere: pending, or with nodes, which it takes. Others are left out. Fails where it has what
  // another one has.
  Status adopt(const model::JobPtr& job);
  void replace_pending(model::JobPtr job);

  // New ids for array tasks come from here on.
  void set_next_id(std::uint32_t id) { next_id_ = id; }

 private:
  void take(const model::Job& job, const model::NodeGrant& grant, bool give_back);
  std::shared_ptr<model::Node> copy_of(const model::NodePtr& node);

  model::View view_;
  // By node: the record before the present one. Where nobody has it any more it is written over: copying a large node
  // into one of its size takes no memory anew.
  std::vector<std::shared_ptr<model::Node>> before_, present_;
  std::uint32_t next_id_ = 1;
};

// A cluster of equal nodes n1..nN in one partition; `last_cpus`: of the last node, where it has fewer than the
// others.
struct UniformNodes {
  std::uint32_t nodes = 1, cpus = 1, last_cpus = 1;
};
model::View make_view(const UniformNodes& nodes);

}  // namespace spur::replay
