// SPDX-License-Identifier: Apache-2.0
// When a job will start if nobody does anything any more and all jobs use their limits: the cluster, or an edited
// copy of it, is played forward until then (forward.h). Within a budget, as a play may be long.
#pragma once

#include <cstdint>
#include <functional>

#include "sched/plan.h"
#include "sched/what_if.h"

namespace spur::sched {

struct OutlookLimits {
  std::uint32_t most_plans = 20'000;  // of one play
  // Of all plays together, as Forward counts it: two or three seconds on a cluster of a thousand nodes.
  std::uint64_t most_work = 500'000;
};

struct Seen {
  enum class How : std::uint8_t {
    Starts,
    NotBefore,  // nor at the moment until which it was looked for
    Never,      // unless somebody does something
    Unknown,    // it would take too long to find out
  };
  How how = How::Unknown;
  Time start;         // of Starts
  bool sure = false;  // nothing happened on the way that nobody can know
};

class Outlook {
 public:
  // The view must outlive it.
  Outlook(const model::View& view, const Params& params, JobId job, Time now, const OutlookLimits& limits);

  using Edit = std::function<void(WhatIf&)>;
  // Looks no further than `until`, if set.
  Seen look(const Edit& edit = {}, Time until = {});
  bool may_look() const { return work_left_ > 0; }

 private:
  const model::View& view_;
  Params params_;
  JobId job_;
  Time now_;
  std::uint32_t most_plans_;
  std::uint64_t work_left_;
};

}  // namespace spur::sched
