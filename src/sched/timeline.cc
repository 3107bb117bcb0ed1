// SPDX-License-Identifier: Apache-2.0
#include "sched/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

void Timeline::begin(std::size_t width, const Amount* free_now, Time now) {
  width_ = width;
  times_.assign(1, now);
  rows_.assign(free_now, free_now + width);
  falls_.clear();
}

void Timeline::append(const std::vector<Time>& at, const std::vector<Amount>& back, Time soonest) {
  SPUR_CHECK(steps() == 1 && soonest > times_.back());
  const auto later = std::ranges::upper_bound(at, soonest) - at.begin();
  times_.reserve(times_.size() + at.size() + 4);  // and a hold or two
  rows_.reserve((times_.size() + at.size() + 4) * width_);
  const auto add_row = [&](std::size_t i) {
    for (std::size_t c = 0; c < width_; ++c) rows_.push_back(rows_[c] + back[i * width_ + c]);
  };
  if (later > 0) {
    times_.push_back(soonest);
    add_row(static_cast<std::size_t>(later) - 1);
  }
  times_.insert(times_.end(), at.begin() + later, at.end());
  for (auto i = static_cast<std::size_t>(later); i < at.size(); ++i) add_row(i);
}

void Timeline::note_fall(Time at) {
  const auto next = std::ranges::lower_bound(falls_, at);
  if (next == falls_.end() || *next != at) falls_.insert(next, at);
}

std::size_t Timeline::step_at(Time at) {
  const auto next = std::ranges::upper_bound(times_, at);
  SPUR_CHECK_MSG(next != times_.begin(), "a timeline knows no past");
  const auto before = static_cast<std::size_t>(next - times_.begin()) - 1;
  if (times_[before] == at) return before;
  times_.insert(next, at);
  rows_.resize(rows_.size() + width_);
  const auto row = rows_.begin() + static_cast<std::ptrdiff_t>(before * width_);
  std::copy_backward(row, rows_.end() - static_cast<std::ptrdiff_t>(width_), rows_.end());
  return before + 1;
}

void Timeline::add(Time from, Time to, const Amount* amounts, int sign) {
  if (from >= to) return;
  const std::size_t first = step_at(from);
  const std::size_t end = to == Time::max() ? times_.size() : step_at(to);
  for (std::size_t i = first; i < end; ++i)
    for (std::size_t c = 0; c < width_; ++c) rows_[i * width_ + c] += sign * amounts[c];
  if (sign < 0)
    note_fall(from);
  else if (to != Time::max())
    note_fall(to);
}

void Timeline::lower(Time from, Time to, const Amount* most) {
  if (from >= to) return;
  const std::size_t first = step_at(from);
  const std::size_t end = to == Time::max() ? times_.size() : step_at(to);
  for (std::size_t i = first; i < end; ++i)
    for (std::size_t c = 0; c < width_; ++c) rows_[i * width_ + c] = std::min(rows_[i * width_ + c], most[c]);
  note_fall(from);
}

std::size_t Timeline::step_of(Time at) const {
  const auto next = static_cast<std::size_t>(std::ranges::upper_bound(times_, at) - times_.begin());
  SPUR_CHECK_MSG(next > 0, "a timeline knows no past");
  return next - 1;
}

void Timeline::least(Time from, Time to, Amount* out) const {
  const Amount* first = row(step_of(from));
  std::copy(first, first + width_, out);
  for (auto fall = std::ranges::upper_bound(falls_, from); fall != falls_.end() && *fall < to; ++fall) {
    const Amount* here = row(step_of(*fall));
    for (std::size_t c = 0; c < width_; ++c) out[c] = std::min(out[c], here[c]);
  }
}

Time Timeline::next_step(Time after) const {
  const auto next = std::ranges::upper_bound(times_, after);
  return next == times_.end() ? Time::max() : *next;
}

}  // namespace spur::sched
