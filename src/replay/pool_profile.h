// SPDX-License-Identifier: Apache-2.0
// Free processors of a pool over time, as steps: what is promised to jobs that start later is taken off.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace spur::replay {

class PoolProfile {
 public:
  PoolProfile(Time now, std::int64_t free) { steps_.push_back({now, free}); }

  // Processors that come back then. In order of time.
  void comes_back(Time when, std::int64_t processors) {
    if (when > steps_.back().from) steps_.push_back({when, steps_.back().free});
    steps_.back().free += processors;
  }

  bool fits(Time from, Duration length, std::int64_t processors) const {
    return std::ranges::all_of(steps_, [&](const Step& step) {
      return step.free >= processors || step.from >= from + length || end_of(step) <= from;
    });
  }

  // The earliest start. There is one, as everything comes back in the end.
  Time earliest(Duration length, std::int64_t processors) const {
    for (const Step& step : steps_)
      if (step.free >= processors && fits(step.from, length, processors)) return step.from;
    check_failed(__FILE__, __LINE__, "earliest", "a job wider than the pool");
  }

  void take(Time from, Duration length, std::int64_t processors) {
    split(from);
    split(from + length);
    for (Step& step : steps_)
      if (step.from >= from && step.from < from + length) step.free -= processors;
  }

 private:
  struct Step {
    Time from;
    std::int64_t free;
  };
  Time end_of(const Step& step) const { return &step == &steps_.back() ? Time::max() : (&step + 1)->from; }
  void split(Time at) {
    const auto next = std::ranges::lower_bound(steps_, at, {}, &Step::from);
    if (next == steps_.begin() || (next != steps_.end() && next->from == at)) return;
    steps_.insert(next, {at, std::prev(next)->free});
  }

  std::vector<Step> steps_;
};

}  // namespace spur::replay
