// SPDX-License-Identifier: Apache-2.0
// A cluster played forward in virtual time, by the policy in force: what will happen if nobody does anything any
// more, no node comes or goes, and every job runs well and for as long as it may. From one moment at which something
// is due to the next: jobs end at their limits, dependencies are met, begin times and deadlines come, reservations
// begin and end; then the planner starts who can start.
//
// What it cannot know it says (foreseeable): a job that is being ended or overdue may take any time to go, a node
// that does not answer may come back, priorities may change places between two moments, nobody knows how long a
// preemption takes.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "model/view.h"
#include "sched/dependencies.h"
#include "sched/engine.h"
#include "sched/world.h"

namespace spur::sched {

struct ForwardRun {
  model::JobPtr job;  // as it runs: the task of an array by itself, with its allocation
  Time end;           // not set: never, it has no limit
};

class Forward {
 public:
  Forward(model::View view, const Params& params, Time now);

  // Everything that has nodes at the beginning.
  const std::vector<ForwardRun>& running() const { return running_; }
  const model::View& view() const { return world_.view(); }

  // The moment that is played next, at first `now` itself; not set: nothing will happen any more.
  Time next() const;
  // Plays it. Every start is told, in order; `of` is the record that it was asked of (an array's). False from it
  // stops the play there.
  using Started = std::function<bool(const ForwardRun& run, JobId of)>;
  bool play(const Started& started);

  // All that happened until here was bound to happen.
  bool foreseeable() const { return foreseeable_ && now_ < order_settled_until_; }
  // How much the planner had to do so far: about one for a job that it looked at or a start, and something for each
  // plan that grows with the cluster. A few microseconds each.
  std::uint64_t work() const { return work_; }
  std::uint32_t plans() const { return plans_; }

 private:
  enum class Due : std::uint8_t { End, Deadline, Immediate };
  using Moment = std::tuple<Time, Due, std::uint32_t>;

  void expect(const model::Job& job);
  void happen();
  void end(const model::Job& job, model::JobState how, model::Reason why);
  void review();
  void turn_reservations();
  void leave(const model::Reservation& reservation);
  bool schedule(const Started& started);
  bool begin(const Start& start, const Started& started);

  World world_;
  Engine engine_;
  Dependencies dependencies_;
  Time now_;
  bool played_ = false;
  Time last_event_;  // other than that a reservation came round again
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
  std::vector<ForwardRun> running_;
  Time wake_at_;
  bool foreseeable_ = true;
  Time order_settled_until_;
  std::uint64_t work_ = 0;
  std::uint32_t plans_ = 0;
};

}  // namespace spur::sched
