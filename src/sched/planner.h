// SPDX-License-Identifier: Apache-2.0
// One planning call: gathers the pending jobs, sorts them, and walks the queue once. Each job starts, or is planned
// for later (the first Params::reservations of them), or is passed over; whichever, it leaves with a reason.
//
// Jobs with equal wishes share a lane (a class of jobs in one partition). What is free only shrinks during the walk,
// so once a job of a lane did not fit, the jobs of that lane behind it cost nothing more. The one exception is a hold
// that is taken back because its job starts in another partition: `generation_` then makes all lanes look again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/capacity.h"
#include "sched/grants.h"
#include "sched/lane.h"
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
  struct JobClass {
    const model::JobSpec* spec = nullptr;
    TimeLimit limit;
    std::vector<std::uint32_t> lanes;  // in the order of the job's partitions
  };
  // A pending job during the call.
  struct Slot {
    const model::Job* job = nullptr;
    std::uint32_t entries_left = 0;  // in the queue
    model::Reason reason = model::Reason::None;
    bool started = false;               // wholly
    std::optional<std::uint32_t> task;  // next one of an array's rest
    std::int32_t hold = -1;             // position in holds_
  };

  void gather();
  std::uint32_t class_of(const model::Job& job);
  std::uint32_t make_class(const model::JobSpec& spec, TimeLimit limit);

  bool visit(const QueueEntry& entry);  // false: enough starts, stop
  void wait(Slot& slot, Lane& lane);
  void plan_later(Slot& slot, Lane& lane);
  bool array_is_at_limit(const model::Job& job);
  void start(Slot& slot, const Request& request, const std::vector<Share>& shares);
  Hold& hold_of(const Slot& slot) { return holds_[static_cast<std::size_t>(slot.hold)]; }
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
  std::deque<Lane> lanes_;   // they must not move
  std::vector<Slot> slots_;  // in order of job ids
  std::vector<QueueEntry> queue_;
  std::vector<Hold> holds_;
  std::vector<std::int64_t> first_waiting_;  // by partition: the slot that waits for resources there, or -1
  std::optional<std::unordered_map<JobId, std::uint32_t>> array_running_;
  std::uint32_t holds_made_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<Amount> rows_;  // scratch
  Plan plan_;
};

}  // namespace spur::sched
