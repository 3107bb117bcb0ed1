// SPDX-License-Identifier: Apache-2.0
// A cluster in virtual time: a View that jobs enter, start in and leave, by what the planner says. state::Cluster
// does this for real, with all the ways a job can go wrong; here every job runs and ends, and each change costs what
// it touches. forward.h plays a cluster forward with it, replay/ whole workloads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/view.h"
#include "sched/plan.h"

namespace spur::sched {

// The books of one node: the job comes with what it is granted there, or goes. A suspended one has lent out its CPUs; of
// cores that it shares others in the view keep theirs.
void take(const model::View& view, model::Node& node, const model::Job& job, const model::NodeGrant& grant);
void give_back(const model::View& view, model::Node& node, const model::Job& job, const model::NodeGrant& grant);

class World {
 public:
  explicit World(model::View view) : view_(std::move(view)) {}

  const model::View& view() const { return view_; }

  // A pending job, eligible from `when` on. `id` must be new.
  void submit(JobId id, const std::shared_ptr<const model::JobSpec>& spec, Time when);

  // The id of the record that runs: another one than start.job where an array's task splits off.
  JobId start(const Start& start, Time now);
  // Gives back what it has and forgets it.
  void finish(JobId id);
  // The same, pending or not, but its record stays, for those who wait for it.
  void complete(JobId id, model::JobState end, model::Reason reason, Time now);
  // A pending job that nobody waits for any more.
  void withdraw(JobId id);
  // So that a next plan only speaks of what changed.
  void note(const std::vector<Wait>& waits);

  // A record as it is elsewhere: pending, or with nodes, which it takes. Others are left out. Fails where it has what
  // another one has.
  Status adopt(const model::JobPtr& job);
  void replace_pending(model::JobPtr job);

  void set_reservations(std::vector<model::Reservation> list);

 private:
  void move(const model::Job& job, const model::NodeGrant& grant, bool back);
  void list_task(const model::Job& job);
  model::JobPtr leave_nodes(JobId id);
  std::shared_ptr<model::Node> copy_of(const model::NodePtr& node);

  model::View view_;
  // By node: the record before the present one. Where nobody has it any more it is written over: copying a large node
  // into one of its size takes no memory anew.
  std::vector<std::shared_ptr<model::Node>> before_, present_;
};

}  // namespace spur::sched
