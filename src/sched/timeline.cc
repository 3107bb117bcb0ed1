// SPDX-License-Identifier: Apache-2.0
#include "sched/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

Timeline::Timeline(std::size_t width, const Amount* free_now, Time now)
    : width_(width), times_{now}, rows_(free_now, free_now + width) {}

void Timeline::append(Time at, const Amount* free) {
  SPUR_CHECK(built() && at >= times_.back());
  if (at == times_.back()) {
    std::copy(free, free + width_, rows_.end() - static_cast<std::ptrdiff_t>(width_));
    return;
  }
  times_.push_back(at);
  rows_.insert(rows_.end(), free, free + width_);
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
}

void Timeline::lower(Time from, Time to, const Amount* most) {
  if (from >= to) return;
  const std::size_t first = step_at(from);
  const std::size_t end = to == Time::max() ? times_.size() : step_at(to);
  for (std::size_t i = first; i < end; ++i)
    for (std::size_t c = 0; c < width_; ++c) rows_[i * width_ + c] = std::min(rows_[i * width_ + c], most[c]);
}

std::size_t Timeline::step_of(Time at) const {
  const auto next = static_cast<std::size_t>(std::ranges::upper_bound(times_, at) - times_.begin());
  SPUR_CHECK_MSG(next > 0, "a timeline knows no past");
  return next - 1;
}

void Timeline::least(Time from, Time to, Amount* out) const {
  std::size_t step = step_of(from);
  std::copy(row(step), row(step) + width_, out);
  while (++step < times_.size() && times_[step] < to) {
    const Amount* here = row(step);
    for (std::size_t c = 0; c < width_; ++c) out[c] = std::min(out[c], here[c]);
  }
}

Time Timeline::next_step(Time after) const {
  const auto next = std::ranges::upper_bound(times_, after);
  return next == times_.end() ? Time::max() : *next;
}

}  // namespace spur::sched
