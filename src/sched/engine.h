// SPDX-License-Identifier: Apache-2.0
// The scheduler with a memory: shown one view after the other it takes in what differs, and a call costs what
// changed, not what there is. It answers as one that sees the last view for the first time would (plan), or as one
// would that was told the holds in force (respond).
//
//   see(view)      at every event, or before a call
//   respond(now)   the quick answer: what can start now without disturbing a hold; holds stay as they are
//   plan(now)      the full cycle: all holds are made anew
//
// Pure and deterministic. Not for two threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/view.h"
#include "sched/plan.h"
#include "sched/profile.h"

namespace spur::sched {

// A hold and whose it is.
struct PlannedStart {
  JobId job;
  std::shared_ptr<const model::JobSpec> spec;  // as it was then: with another wish, the hold is void
  TimeLimit limit;
  std::size_t partition = 0;  // position in View::partitions
  Hold hold;
  std::shared_ptr<const model::Allocation> claim = {};  // the job's, if the hold is made of it
  // The engine's own notes: where in the profile's log of gains the job, without its hold, found no room in a
  // partition.
  std::vector<std::pair<std::size_t, std::uint64_t>> no_room = {};
  bool follows = false;  // a component behind the first: all of a heterogeneous job is one promise
};

struct EngineState;

class Engine {
 public:
  explicit Engine(Params params = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  void see(const model::View& view);
  // Before that: jobs that are not in the views that it sees, and yet count for what GPU jobs usually ask for. Who
  // leaves out jobs that nothing else depends on gets the same plans then.
  void count_beside(std::vector<model::JobPtr> jobs) { beside_ = std::move(jobs); }

  // `now` is mostly not before that of the last call; if it is, everything is looked at anew.
  Plan plan(Time now);
  // The same as plan() if there was none since the configuration changed, or if a job for which others had to go
  // calls for it.
  Plan respond(Time now);

  // After plan(): when and where a further job, behind all others, would start.
  Result<Forecast> forecast(const model::JobSpec& spec);
  // The same for a heterogeneous job: nodes and CPUs of all components, the partition of the first.
  Result<Forecast> forecast(const std::vector<const model::JobSpec*>& components);
  // The same at any time, by the holds in force: nothing is planned anew.
  Result<Forecast> forecast(const model::JobSpec& spec, Time now);
  Result<Forecast> forecast(const std::vector<const model::JobSpec*>& components, Time now);

  // The holds in force, by job; and a way to give them to another engine that has seen the same view.
  std::vector<PlannedStart> planned() const;
  void adopt(std::vector<PlannedStart> planned);

  // The watchdog. Each full cycle looks afresh at one of the lanes that are known to be full; where it finds room,
  // the engine has lost track, says so here and starts anew from the view.
  std::uint64_t lost_track() const { return lost_track_; }
  // How often everything was built from scratch.
  std::uint64_t rebuilds() const { return rebuilds_; }

 private:
  void rebuild(const model::View& view);
  bool take_in(const model::View& view);
  void take_in_nodes(const model::View& view, std::vector<std::uint32_t>& dirty, bool& columns_changed);
  bool count_jobs(const model::View& view);
  void take_in_active(const model::View& view, std::vector<std::uint32_t>& dirty);
  void take_in_pending(const model::View& view);
  void prepare(Time now);
  bool claims_call() const;
  void make_lanes();
  void close_reserved();
  void drop_holds(bool all);
  bool is_lost();

  Params params_;
  std::vector<model::JobPtr> beside_;
  std::unique_ptr<EngineState> state_;
  Time last_now_, last_full_;
  bool full_cycle_done_ = false;
  std::size_t watched_ = 0;
  std::uint64_t lost_track_ = 0, rebuilds_ = 0;
};

}  // namespace spur::sched
