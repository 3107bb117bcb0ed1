// SPDX-License-Identifier: Apache-2.0
// The life of a job, as Slurm names it: one base state and flags beside it.
//
//             submit                 start                      last node done
//      (none) ------> PENDING -----------------> RUNNING ------------------------> COMPLETED | FAILED | TIMEOUT |
//                      |  ^   \  start, nodes     |  ^ \  batch ended or kill       CANCELLED | NODE_FAIL |
//                      |  |    \ not ready yet    |  |  \ began: final state         PREEMPTED | OUT_OF_MEMORY |
//               cancel |  |     v                 |  |   \ + COMPLETING ------------> DEADLINE | BOOT_FAIL
//                      |  |   RUNNING+CONFIGURING-+  |                                (flag COMPLETING gone)
//                      |  |     (nodes ready) ----^  | resume
//                      |  |                  suspend v
//                      |  |                     SUSPENDED  (may be cancelled, time out, be requeued like RUNNING)
//                      |  |
//                      |  +--- requeue: RUNNING|SUSPENDED|final -> PENDING+COMPLETING+REQUEUED -> PENDING when the
//                      |       last node is done (+REQUEUE_HOLD: held, +SPECIAL_EXIT: held and marked)
//                      +-----> CANCELLED | DEADLINE                       (never started)
//
// Final states are final: only a requeue leaves one, and that raises the epoch. job_state.cc holds the same drawing as
// a table (`may_follow`), every apply_* goes through it, and job_state_test.cc checks the table against this drawing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spur::model {

enum class JobState : std::uint8_t {
  Pending, Running, Suspended, Completed, Cancelled, Failed, Timeout, NodeFail, Preempted, BootFail, Deadline,
  OutOfMemory,
};

// Beside the base state; a bit set.
enum JobFlag : std::uint32_t {
  kCompleting = 1u << 0,     // CG: nodes are still cleaning up
  kConfiguring = 1u << 1,    // CF: waiting for nodes to be ready
  kRequeued = 1u << 2,       // RQ: goes back to PENDING when COMPLETING ends
  kRequeueHold = 1u << 3,    // RH
  kSpecialExit = 1u << 4,    // SE
  kStopped = 1u << 5,        // ST: SIGSTOPped, keeps its CPUs
  kSignaling = 1u << 6,      // SI
  kStageOut = 1u << 7,       // SO
  kResizing = 1u << 8,       // RS
  kResvDelHold = 1u << 9,    // RD
  kRevoked = 1u << 10,       // RV
  kRequeueFed = 1u << 11,    // RF
  kNotAging = 1u << 16,      // as many of its account or QOS gain priority by age as may (MaxJobsAccrue)
  kSharesCores = 1u << 19,   // of this run: others of its partition may have its cores, too (core_sharing.h)
};

constexpr bool is_final(JobState s) { return s >= JobState::Completed; }
constexpr bool is_active(JobState s) { return s == JobState::Running || s == JobState::Suspended; }

// Whether a job in `from` may move to `to` (the drawing above; same state is not a move).
bool may_follow(JobState from, JobState to);

// The name that is shown: flags win over the base state where Slurm does so ("COMPLETING", "CONFIGURING").
std::string_view long_name(JobState state, std::uint32_t flags);   // "RUNNING"
std::string_view short_name(JobState state, std::uint32_t flags);  // "R"
std::string_view base_name(JobState state);

// What `-t`/`--states` accepts: long or short, any case. A filter matches a base state or one flag.
struct StateFilter {
  std::optional<JobState> state;
  std::uint32_t flag = 0;
  bool matches(JobState s, std::uint32_t flags) const;
};
std::optional<StateFilter> parse_state(std::string_view word);
// All long names joined by commas, in the order of Slurm's own error message.
std::string valid_state_names();

}  // namespace spur::model
