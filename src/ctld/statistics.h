// SPDX-License-Identifier: Apache-2.0
// What sdiag shows: how many jobs came and went, how long the scheduler takes, which calls are made and by whom. Fed
// by the core thread (jobs), the planner's (cycles) and the threads of calls; counts are of this process, not of the
// state.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/job.h"
#include "sched/plan.h"

namespace spur::ctld {

class Statistics {
 public:
  explicit Statistics(Time now) : since_(now) {}

  // A record before and after a batch of commands; null: there is none.
  void job_changed(const model::Job* before, const model::Job* after);

  struct Cycle {
    bool full = false;
    Duration took;
    std::size_t looked_at = 0, tested = 0, queue = 0;
    const std::vector<sched::Start>& starts;
    Time at;
  };
  void cycle(const Cycle& cycle);
  void call(std::string_view method, Uid uid, Duration took);
  // Counts anew; what is called "ever" stays.
  void reset(Time now);

  struct Cycles {
    std::uint64_t count = 0, last_us = 0, max_us = 0, sum_us = 0, depth_last = 0, depth_sum = 0, tried_last = 0,
                  tried_sum = 0, queue_last = 0, queue_sum = 0, starts = 0, starts_ever = 0, het_starts_ever = 0,
                  starts_last = 0;
    Time last_at;
  };
  struct Calls {
    std::uint64_t count = 0, total_us = 0;
  };
  struct Counts {
    Time since;
    std::uint64_t submitted = 0, started = 0, completed = 0, cancelled = 0, failed = 0;
    Cycles quick, full;
    std::map<std::string, Calls, std::less<>> by_method;
    std::map<std::uint32_t, Calls> by_user;
  };
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Time since_;
  Counts counts_;
};

}  // namespace spur::ctld
