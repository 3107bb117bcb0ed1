// SPDX-License-Identifier: Apache-2.0
// One planning call: gathers the pending jobs, sorts them, and walks the queue once. Each job starts, or is planned for
// later (the first Params::reservations of them), or is passed over; whichever, it leaves with a reason.
//
// Jobs with equal wishes share a lane (a class of jobs in one partition). What is free only shrinks during the walk, so once
// a job of a lane did not fit, the jobs of that lane behind it cost nothing more. The one exception is a hold that is taken
// back because its job starts in another partition: `generation_` then makes all lanes look again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/capacity.h"
#include "sched/grants.h"
#include "sched/plan.h"
#include "sched/priority.h"
#include "sched/profile.h"
#include "sched/request.h"

namespace spur::sched {

class Planner {
 public:
  Planner(const model::View& view, const Params& params, Time now);

  Plan run();
  // After run(): when and where a further job, behind all others, would start.
  Result<Forecast> forecast(const model::JobSpec& spec);

 private:
  struct Lane {
    Request request;
    bool known = false;                                 // the next two are set
    model::Reason reason = model::Reason::None;         // why its jobs cannot run whatever is free
    std::vector<NodeNumber> nodes;                      // candidates
    std::uint64_t full_since = kNotFull;                // generation in which a job of it did not fit
    std::uint64_t planned_in = kNotFull;                // generation in which `not_before` was found
    Time not_before;                                    // its next hold cannot begin sooner
    NodeNumber last_node = 0;                           // of the last start that needed one node
    std::uint64_t last_change = kNotFull;               // which change of the profile that was
  };
  struct JobClass {
    const model::JobSpec* spec = nullptr;
    TimeLimit limit;
    std::vector<std::uint32_t> lanes;                   // in the order of the job's partitions
  };
  // A pending job during the call.
  struct Slot {
    const model::Job* job = nullptr;
    std::uint32_t entries_left = 0;                     // in the queue
    model::Reason reason = model::Reason::None;
    bool started = false;                               // wholly
    std::optional<std::uint32_t> task;                  // next one of an array's rest
    std::int32_t hold = -1;                             // position in holds_
  };
  static constexpr std::uint64_t kNotFull = ~std::uint64_t{0};

  void gather();
  std::uint32_t class_of(const model::Job& job);
  std::uint32_t make_class(const model::JobSpec& spec, TimeLimit limit);
  std::uint32_t make_lane(const model::JobSpec& spec, std::size_t partition, TimeLimit limit);
  void look_up_candidates(Lane& lane);

  bool visit(const QueueEntry& entry);  // false: enough starts, stop
  void wait(Slot& slot, Lane& lane);
  void plan_later(Slot& slot, Lane& lane);
  bool array_is_at_limit(const model::Job& job);
  std::vector<Share> fit_now(Lane& lane);
  std::optional<Share> fit_on_one_node(Lane& lane, Time end);
  void start(Slot& slot, Lane& lane, std::vector<Share> shares);
  void drop_hold(Slot& slot);
  void write_waits();

  const model::View& view_;
  const Params& params_;
  Time now_;
  Capacity capacity_;
  Profile profile_;
  Grants grants_;

  std::vector<JobClass> classes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> class_by_hash_;  // look-up only
  std::uint32_t last_class_ = 0;
  std::vector<Lane> lanes_;
  std::vector<Slot> slots_;        // in order of job ids
  std::vector<QueueEntry> queue_;
  std::vector<Hold> holds_;
  std::vector<std::uint8_t> partition_waits_;  // by partition: somebody waits for resources there
  std::optional<std::unordered_map<JobId, std::uint32_t>> array_running_;
  std::uint32_t holds_made_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t changes_ = 0;      // of the profile: starts, holds made or taken back
  std::vector<Amount> rows_;       // scratch
  Plan plan_;
};

}  // namespace spur::sched
