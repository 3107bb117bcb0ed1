// SPDX-License-Identifier: Apache-2.0
// A job record: the request and all that has happened to it. A value; the replicated state keeps it in a persistent
// map and replaces it whole. state/apply_*.cc are the only writers.
//
// Arrays: the record under the array's own id stands for all tasks that have not started (`array_pending`). A task
// that starts, ends or is edited alone gets a record and an id of its own (`array_task` set); the last pending task
// takes over the array's record itself, so the array's id never dangles.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/job_spec.h"
#include "model/job_state.h"
#include "model/pending_reason.h"
#include "model/preempt.h"
#include "model/usage.h"

namespace spur::model {

struct JobRun {  // one run of one job
  JobId job;
  Epoch epoch;
  friend auto operator<=>(const JobRun&, const JobRun&) = default;
};

// wait(2) split up: Slurm shows "code:signal".
struct ExitStatus {
  std::uint16_t code = 0;
  std::uint16_t signal = 0;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

enum class Hold : std::uint8_t { None, User, Admin };

// What happens once the nodes are clean (flag kCompleting).
enum class AfterCompleting : std::uint8_t { Stay, Requeue, RequeueHold, SpecialExit };

struct Job {
  JobId id;
  std::shared_ptr<const JobSpec> spec;

  // array membership
  JobId array_job;                                // none: not an array
  std::optional<std::uint32_t> array_task;        // unset on the record of the pending rest
  std::shared_ptr<const IndexSet> array_pending;  // only on that record; null otherwise
  std::uint32_t array_max_running = 0;

  // heterogeneous jobs: the first component's id, and which component this is
  JobId het_job;  // none: not part of one
  std::uint32_t het_offset = 0;
  std::uint32_t het_size = 0;  // components in all; their ids follow each other

  JobState state = JobState::Pending;
  std::uint32_t flags = 0;  // JobFlag bits
  Reason reason = Reason::None;
  std::string reason_detail;  // free text beside the reason, mostly empty
  Hold hold = Hold::None;
  AfterCompleting after_completing = AfterCompleting::Stay;
  Epoch epoch{1};  // of the current or next run
  std::uint32_t restarts = 0;
  std::uint32_t priority = 1;  // 0 exactly while held; else set by hand or by submit order (see sched/priority.h)
  bool priority_by_hand = false;
  std::int32_t site_factor = 0;  // set by the site, added to the priority
  // Dependencies that are not met yet (subset of spec->dependencies), shrinking as jobs end.
  std::vector<Dependency> dependencies_left;
  bool dependency_never = false;  // one of them can never be met

  // eligible: from this moment on the job may start (its begin time, or when the last obstacle went); not set while
  // held or waiting for a job, except as a lower bound (after:JOB+MINUTES). A pending job may start when it is not
  // held, has no dependencies_left, is not dependency_never, and eligible <= now. accrue: since when it ages; set
  // with eligible.
  Time submitted, eligible, accrue, started, ended, last_eval;
  Time suspended_at;            // set while SUSPENDED: its CPUs are free for others then
  Duration suspended_total{0};  // earlier suspensions of this run
  TimeLimit time_limit;         // in force (spec's, or the partition's default)
  Time kill_began;              // TERM was sent; KILL follows after KillWait

  // Told to make room for `preempted_for`: it goes at `preempt_at` (after its grace time), in the way of
  // `preempt_how`. A suspended job with preempt_how Suspend runs on when its CPUs are free again.
  Time preempt_at;  // not set: not being preempted
  PreemptHow preempt_how = PreemptHow::Unset;
  JobId preempted_for;
  // A pending job for which others had to go: what it may count on, and from when at the latest they have to be gone.
  // Which CPUs of a socket it gets is settled when it starts. Gone with the start, and when the job may not start.
  std::shared_ptr<const Allocation> claim;
  Time claimed_from;

  std::shared_ptr<const Allocation> allocation;  // while active or completing; kept after the end for display
  std::vector<NodeIndex> nodes_left;             // allocated nodes that have not reported the end
  std::string last_nodes;                        // hostlist, kept after the end
  std::vector<std::string> lost_nodes;           // of this run: that failed, and that it went on without
  std::string batch_host;
  std::uint32_t cpus_allocated = 0;
  ExitStatus exit, derived_exit;
  std::shared_ptr<const Usage> usage;  // of this run on the nodes that are through with it; null: nothing measured
  Uid ended_by;                        // who cancelled, with `cancelled`
  bool cancelled = false;
  std::string submit_token;
  std::uint32_t association = 0;  // id of the one that it counts for; 0: none
  Time counted_from;              // of this run: usage before is in the association's; moves on when it is resumed

  bool is_array_rest() const { return array_pending != nullptr; }
  // A component that is not the first: it holds its allocation for the script of the first.
  bool is_het_follower() const { return het_job && het_offset > 0; }
  friend bool operator==(const Job&, const Job&) = default;
};

using JobPtr = std::shared_ptr<const Job>;

// "8_[1-5%2]", "8_3", "8+1" or "8".
std::string display_id(const Job& job);
// "8-10": the ids of all components; empty for a job that has none.
std::string het_id_set(const Job& job);
// Run time so far (or in all), without suspensions.
Duration run_time(const Job& job, Time now);
// When the time limit ends the job; not set when unlimited or not running.
Time limit_end(const Job& job);

}  // namespace spur::model
