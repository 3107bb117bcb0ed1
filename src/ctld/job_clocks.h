// SPDX-License-Identifier: Apache-2.0
// The moments at which something must happen to a job without anybody asking: time limits, --signal, deadlines, --immediate, the
// end of a preempted job's grace time, and forgetting finished jobs after MinJobAge. Kept as one ordered set that follows the state's changes, so that looking
// for what is due costs nothing while nothing is.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/view.h"
#include "state/command.h"

namespace spur::ctld {

class JobClocks {
 public:
  // A job changed (or is gone): its moments are computed anew.
  void update(const model::View& view, JobId id);
  void rebuild(const model::View& view);

  struct Due {
    std::vector<state::Command> commands;
    struct Signal {
      JobId job;
      int signal;
      bool batch_only;
    };
    std::vector<Signal> signals;
  };
  // What is due at `now`. A moment is handed out once; if the command has no effect the job's next change brings it back.
  Due take_due(const model::View& view, Time now);
  Time next() const;      // wall clock; not set: nothing

 private:
  enum class Kind : std::uint8_t { Limit, Signal, Deadline, Immediate, Purge, Preemption };
  struct Moment {
    Time at;
    JobId job;
    Kind kind;
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };
  void add(Time at, JobId job, Kind kind);
  void drop(JobId job);

  std::set<Moment> moments_;
  std::unordered_map<JobId, std::vector<Moment>> of_job_;
  std::set<std::pair<JobId, Epoch>> signalled_;   // --signal went out in this run
};

}  // namespace spur::ctld
