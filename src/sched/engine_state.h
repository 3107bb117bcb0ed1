// SPDX-License-Identifier: Apache-2.0
// What the engine keeps between calls. engine.cc brings it up to date with a newer view; walk.cc decides on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "model/view.h"
#include "sched/backlog.h"
#include "sched/engine.h"
#include "sched/lane.h"
#include "sched/popular_gpus.h"
#include "sched/profile.h"
#include "sched/reservations.h"

namespace spur::sched {

struct LaneRecord {
  LaneRecord(const model::View& view, const Capacity& capacity, const Backlog::JobClass& job_class,
             std::uint32_t class_number, std::size_t partition_number, std::uint32_t which)
      : lane(view, capacity, *job_class.spec, partition_number, job_class.limit, job_class.relaxed),
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

// A lane's place in the queue: the next job of each priority group.
struct LaneCursor {
  std::vector<Turns::const_iterator> at;
  std::uint32_t group = 0;  // the one whose turn it is
  bool in_walk = false;
  bool cut = false;          // some jobs of it were put off
  std::uint32_t joined = 0;  // how often
  // Keeps its memory.
  void forget() {
    at.clear();
    group = joined = 0;
    in_walk = cut = false;
  }
};

// What comes next in a walk: of a lane, or one job by itself.
struct QueueItem {
  Position position;
  std::uint32_t lane = 0, slot = 0;
  std::uint32_t joined = 0;  // its lane then had joined so often
  bool alone = false;
  friend bool operator<(const QueueItem& a, const QueueItem& b) {
    return b.position < a.position;
  }  // a heap's top is first
};

// Whether jobs may be kept from starting by what accounts and QOS allow.
bool limits_matter(const model::View& view);
// Whether some QOS has a say in how its jobs are planned, or in what of the partition's limits holds for them.
bool qos_matters(const model::View& view);

struct EngineState {
  EngineState(const model::View& seen, Params with)
      : view(seen),
        params(settled(with, *view.config)),
        scale(view),
        profile(view),
        alone_jobs(count_alone_jobs(view)),
        popular(view, profile.capacity().columns()),
        backlog(view, scale, any_magnetic(view) || users_matter() || limits_matter(view) || qos_matters(view)) {
    profile.set_users_matter(users_matter());
  }
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  // Whether some jobs keep those of other users off their nodes.
  bool users_matter() const {
    return alone_jobs > 0 || std::ranges::any_of(*view.partitions, [](const model::Partition& partition) {
             return partition.config.exclusive_user;
           });
  }
  static bool is_alone_job(const model::Job& job) { return job.spec->exclusive == model::Exclusive::User; }
  static std::size_t count_alone_jobs(const model::View& view) {
    std::size_t count = 0;
    for (const auto* jobs : {&view.pending, &view.active})
      jobs->for_each([&](std::uint32_t, const model::JobPtr& job) { count += is_alone_job(*job); });
    return count;
  }

  model::View view;
  Params params;
  PriorityScale scale;
  Profile profile;
  std::size_t alone_jobs;  // pending and active ones that ask for nodes without other users
  PopularGpus popular;
  Backlog backlog;
  bool backlog_filled = false;                     // before the first call there is none
  std::vector<std::unique_ptr<LaneRecord>> lanes;  // by lane; null: free
  std::vector<std::uint32_t> free_lanes;
  // Of one walk; kept for their memory, which is dear to get again and again.
  std::vector<LaneCursor> cursors;  // by lane
  std::vector<QueueItem> queue;
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

// Holds of heterogeneous jobs of which some component has lost its own (het_walk.cc).
void drop_broken_groups(EngineState& state);

}  // namespace spur::sched
