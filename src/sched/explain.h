// SPDX-License-Identifier: Apache-2.0
// Why a job waits and what would help. Every statement is an answer of the planner itself to an edited copy of the
// View (what_if.h): a blocker is something whose absence, together with the others named, lets the job start now; a
// change is a wish with which the job was seen to start sooner. When it starts is seen by playing the cluster forward
// (outlook.h), as far as the budget goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sched/outlook.h"
#include "sched/plan.h"

namespace spur::sched {

// How far a start can be relied upon.
enum class Certainty : std::uint8_t {
  Expected,  // a guess: it would take too long to find out, or depends on what nobody can know
  ByLimits,  // so it will be, to the second, if nobody does anything and all jobs use their limits
  Promised,  // and no job that waits may delay it; or it is now
};

// One thing that keeps a job from starting now.
struct Blocker {
  enum class Kind : std::uint8_t {
    Hold,
    Dependency,
    BeginTime,
    PartitionState,
    PartitionLimit,
    Node,         // that cannot be used at the moment
    RunningJob,   // what it holds is needed
    Queue,        // jobs that come first; all of them at once where they are many
    Reservation,  // that keeps it off nodes or licenses, or that it waits for
  };
  Kind kind = Kind::Hold;
  std::vector<JobId> jobs;  // of Dependency, RunningJob and Queue
  NodeIndex node{};
  std::string partition;  // or reservation
  friend bool operator==(const Blocker&, const Blocker&) = default;
};

// A smaller or different wish with which the job starts sooner.
struct Change {
  std::string option, now, instead;  // "-t", "4:00:00", "3:40:00"; `instead` empty: without it
  std::shared_ptr<const model::JobSpec> spec;
  TimeLimit limit;
  Time start;
  Certainty certainty = Certainty::Expected;
};

struct Explanation {
  JobId job;
  model::Reason reason = model::Reason::None;
  Time start;  // not set: not known, or never
  Certainty certainty = Certainty::Expected;
  bool starts_now = false;        // the next planning starts it
  bool impossible = false;        // no matter what else goes away: the request itself does not fit
  std::vector<Blocker> blockers;  // taking all away starts it now, and none of them can be left out of that
  std::vector<Change> changes;    // cheapest first
};

struct ExplainLimits {
  std::uint32_t most_plans = 400;      // questions to the planner
  std::size_t single_queue_jobs = 16;  // up to so many jobs that come first are weighed one by one
  std::size_t most_changes = 5;
  OutlookLimits outlook;
};

// InvalidJobId unless the job is pending.
Result<Explanation> explain(const model::View& view, const Params& params, JobId job, Time now,
                            const ExplainLimits& limits = {});

// The same with the blockers taken away, as the tests and `spur explain --check` use it.
model::View without_blockers(const model::View& view, JobId job, const std::vector<Blocker>& blockers, Time now);

}  // namespace spur::sched
