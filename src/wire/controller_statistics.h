// SPDX-License-Identifier: Apache-2.0
// What sdiag shows, as the controller counts it (ctld/statistics.h says what is meant). Microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace spur::wire {

struct ControllerStatistics {
  struct Calls {
    std::string method;  // of the service; empty for a user
    Uid uid;
    std::uint64_t count = 0, total_us = 0;
  };
  struct Cycles {
    std::uint64_t count = 0, last_us = 0, max_us = 0, sum_us = 0, depth_last = 0, depth_sum = 0, tried_last = 0,
                  tried_sum = 0, queue_last = 0, queue_sum = 0, starts = 0, starts_ever = 0, het_starts_ever = 0,
                  starts_last = 0;
    Time last_at;
  };
  Time as_of, since;
  std::uint64_t submitted = 0, started = 0, completed = 0, cancelled = 0, failed = 0, pending = 0, running = 0;
  Cycles quick, full;
  std::vector<Calls> by_method, by_user;
  std::string cluster_name;
  std::uint32_t clock_us = 0;
  std::uint64_t accounting_backlog = 0;  // records that the database has not confirmed
};

}  // namespace spur::wire
