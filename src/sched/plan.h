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
};
struct Wait {
  JobId job;
  model::Reason reason = model::Reason::None;
  Time expected_start;  // not set: not planned
};

struct Plan {
  std::vector<Start> starts;  // in the order they were decided
  std::vector<Wait> waits;    // by job; where the reason differs from what the record says, and all that are planned
  Time wake_at;               // something becomes eligible then, without any event (begin times); not set: nothing
  bool more = false;          // the limit below was reached with work left: call again with the next view. No waits
  bool full = false;          // all holds were made anew
};

struct Params {
  std::uint32_t max_starts = 1000;
  std::uint32_t reservations = 100;  // jobs at the front that get a planned start which backfill must not delay
  bool as_configured = false;        // as many as the cluster's configuration says (planned_jobs)
};

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
