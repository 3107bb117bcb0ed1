// SPDX-License-Identifier: Apache-2.0
// Free amounts over time, as a step function: row i holds from the i-th time until the next one, the last for ever.
// The scheduler keeps one per node and one for the cluster's licences. It starts at the planning time and knows no
// past.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "sched/capacity.h"

namespace spur::sched {

class Timeline {
 public:
  Timeline() = default;
  Timeline(std::size_t width, const Amount* free_now, Time now) { begin(width, free_now, now); }
  // From the beginning, with the memory that it has.
  void begin(std::size_t width, const Amount* free_now, Time now);

  // Builds it up: at those moments, which ascend, so much has come back in all (a row each), but not before
  // `soonest`.
  void append(const std::vector<Time>& at, const std::vector<Amount>& back, Time soonest);

  std::size_t width() const { return width_; }
  bool built() const { return !times_.empty(); }

  // `amounts` come back at `at` (not before now).
  void release(Time at, const Amount* amounts) { add(at, Time::max(), amounts, 1); }
  // They are held from `from` until `to`.
  void take(Time from, Time to, const Amount* amounts) { add(from, to, amounts, -1); }
  void give_back(Time from, Time to, const Amount* amounts) { add(from, to, amounts, 1); }

  // From `from` until `to` there is at most so much.
  void lower(Time from, Time to, const Amount* most);

  // The least free of each column at any moment of [from, to). from < to.
  void least(Time from, Time to, Amount* out) const;

  // The first step later than `after`; Time::max() if there is none.
  Time next_step(Time after) const;
  // The step that holds at that moment; steps are numbered from 0, which begins at the planning time.
  std::size_t step_of(Time at) const;
  std::size_t steps() const { return times_.size(); }
  Time begin_of(std::size_t step) const { return times_[step]; }
  const Amount* row(std::size_t step) const { return &rows_[step * width_]; }

 private:
  void add(Time from, Time to, const Amount* amounts, int sign);
  void note_fall(Time at);
  std::size_t step_at(Time at);  // position of the step at `at`, made if it is not there

  std::size_t width_ = 0;
  std::vector<Time> times_;
  std::vector<Amount> rows_;
  // Where less may be free than just before, ascending. Between these it only gets more.
  std::vector<Time> falls_;
};

}  // namespace spur::sched
