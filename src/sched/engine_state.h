// SPDX-License-Identifier: Apache-2.0
// What the engine keeps between calls. engine.cc brings it up to date with a newer view; walk.cc decides on it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "model/view.h"
#include "sched/backlog.h"
#include "sched/engine.h"
#include "sched/lane.h"
#include "sched/profile.h"

namespace spur::sched {

struct LaneRecord {
  LaneRecord(const model::View& view, const Capacity& capacity, const Backlog::JobClass& job_class,
             std::uint32_t class_number, std::size_t partition_number, std::uint32_t which)
      : lane(view, capacity, *job_class.spec, partition_number, job_class.limit),
        of_class(class_number),
        partition(partition_number),
        tier((*view.partitions)[partition_number].config.priority_tier),
        nth(which),
        size(size_in(view, (*view.partitions)[partition_number], lane.request())) {}
  Lane lane;
  std::uint32_t of_class;
  std::size_t partition;
  std::uint32_t tier, nth;
  std::int64_t size;
};

struct EngineState {
  EngineState(const model::View& seen, Params with)
      : view(seen), params(settled(with, *view.config)), scale(view), profile(view), backlog(view, scale) {}
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  model::View view;
  Params params;
  PriorityScale scale;
  Profile profile;
  Backlog backlog;
  bool backlog_filled = false;                     // before the first call there is none
  std::vector<std::unique_ptr<LaneRecord>> lanes;  // by lane; null: free
  std::vector<std::uint32_t> free_lanes;
  std::vector<std::vector<std::uint32_t>> lanes_of_class;  // by class: its lanes in the order of the walk
  std::map<JobId, PlannedStart> planned;
  std::deque<Hold> foretold;  // of the last full cycle: for whoever asks what comes after it
  // Jobs that were suspended to make room, and what is kept of their CPUs until all of them are free again.
  struct Aside {
    Hold hold;  // those that others have now
    struct Part {
      model::NodeGrant cpus;  // nothing else of it
      std::vector<Amount> row;
    };
    std::vector<Part> kept;  // by node: those that are free
  };
  std::map<JobId, model::JobPtr> aside;
  std::map<JobId, Aside> aside_holds;
  std::map<JobId, std::uint32_t> leaving;  // by beneficiary: jobs that have to go for it and are still there
  // What reservations keep from everybody, held like planned starts; and the list that they were made from.
  std::deque<Hold> closed;
  std::shared_ptr<const std::vector<model::Reservation>> closed_for;
  Time closed_until;
};

}  // namespace spur::sched
