// SPDX-License-Identifier: Apache-2.0
// The scheduler as a pure function of a View and a time. It proposes; state::apply disposes. Whoever asks again and
// again keeps an Engine (engine.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/view.h"

namespace spur::sched {

struct Start {
  JobId job;
  std::optional<std::uint32_t> array_task;
  std::shared_ptr<const model::Allocation> allocation;
  TimeLimit limit{};  // of this run, where the job leaves it open (--time-min); not set: the job's
  JobId group{};      // of a component: the heterogeneous job, all of which starts at once, in a row and in order
};
struct Wait {
  JobId job;
  model::Reason reason = model::Reason::None;
  Time expected_start;             // not set: not planned
  bool promised = false;           // nobody may delay it
  std::vector<NodeIndex> nodes{};  // where it is planned to start, ascending
};

// Running jobs that have to go so that a waiting one starts: with them gone, the allocation is there.
struct Preemption {
  struct Victim {
    JobId job;
    Epoch epoch;
    model::PreemptHow how = model::PreemptHow::Cancel;
    seconds grace{0};
  };
  JobId beneficiary;
  std::shared_ptr<const model::Allocation> allocation;
  std::vector<Victim> victims;  // by job
};

struct Plan {
  std::vector<Start> starts;            // in the order they were decided
  std::vector<JobId> given_up;          // have a claim that cannot be honoured; before all else
  std::vector<JobId> resumes;           // suspended to make room, and their CPUs are free again; before the starts
  std::vector<Preemption> preemptions;  // of full cycles; to be carried out after the starts
  std::vector<Wait> waits;    // by job; where the reason differs from what the record says, and all that are planned
  Time wake_at;               // something becomes eligible then, without any event (begin times); not set: nothing
  bool more = false;          // the limit below was reached with work left: call again with the next view. No waits
  bool full = false;          // all holds were made anew
  std::size_t looked_at = 0;  // queued records that this call decided about, by themselves or with their class
  std::size_t tested = 0;     // ... one by one: against the nodes, or for a hold
};

struct Params {
  std::uint32_t max_starts = 1000;
  // Jobs of a partition that get a planned start which others must not delay: the first that waits; the others only
  // if they have waited for longer than `patience`.
  std::uint32_t promises = 4;
  Duration patience = hours(48);
  model::BackfillOrder backfill = model::BackfillOrder::Smallest;
  // Jobs at the front of the queue that are told when they will start, promised or not. Full cycles only.
  std::uint32_t forecasts = 0;
  bool as_configured = false;  // all of this as the cluster's configuration says
};

// With what the configuration says, if that is asked for.
Params settled(Params params, const model::ClusterConfig& config);

// Pure and deterministic. Builds everything anew: O(pending + nodes).
Plan plan(const model::View& view, const Params& params, Time now);

// For --test-only and submit-time checks: when and where would this specification start, or why never. `spec` need
// not be in the view.
struct Forecast {
  Time start;
  std::vector<NodeIndex> nodes;
  std::uint32_t cpus = 0;
  std::string partition;
};
Result<Forecast> will_run(const model::View& view, const model::JobSpec& spec, Time now);

// Slurm's checks at submit (partition, limits, node configuration); an error refuses the job.
Status check_submit(const model::View& view, const model::JobSpec& spec);

}  // namespace spur::sched
