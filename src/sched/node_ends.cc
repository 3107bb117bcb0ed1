// SPDX-License-Identifier: Apache-2.0
#include "sched/node_ends.h"

#include <algorithm>

#include "sched/request.h"

namespace spur::sched {

Time raw_end(const model::Job& job) {
  if (job.flags & model::kCompleting) return {};
  const bool leaves = is_set(job.preempt_at) && job.preempt_how != model::PreemptHow::Suspend;
  if (job.state == model::JobState::Suspended) return leaves ? job.preempt_at : kNever;
  const Time end = model::limit_end(job);
  if (leaves) return is_set(end) ? std::min(end, job.preempt_at) : job.preempt_at;
  return is_set(end) ? end : kNever;
}

Time expected_end(const model::Job& job, Time now) {
  return not_before_soon(raw_end(job), now);
}

NodeEnds::NodeEnds(const model::View& view, const Capacity& capacity)
    : view_(view),
      capacity_(capacity),
      steps_(capacity.size()),
      state_(capacity.size(), State::Unknown),
      indexed_(capacity.size()) {}

template <class F>
void NodeEnds::for_each_end(NodeNumber n, F f) const {
  const std::size_t width = capacity_.width();
  const Steps& steps = steps_[n];
  for (std::size_t i = 0; i < steps.at.size(); ++i)
    f(EndIndex::End{steps.at[i], n, static_cast<std::int32_t>(steps.rows[i * width + Columns::kCpu])});
}

void NodeEnds::outdate(NodeNumber n) {
  if (state_[n] != State::Known) return;
  state_[n] = State::Outdated;
  outdated_.push_back(n);
}

void NodeEnds::add_start(NodeNumber n, Time until, const Amount* row) {
  starts_[n].push_back({until, {row, row + capacity_.width()}});
  outdate(n);
}

void NodeEnds::work_out(NodeNumber n) {
  const std::size_t width = capacity_.width();
  order_.clear();
  rows_.clear();
  const auto add = [&](Time until) {
    order_.emplace_back(until, order_.size());
    rows_.resize(rows_.size() + width);
    return std::span(rows_).last(width);
  };
  capacity_.for_each_job_on(view_, n, [&](const model::Job& job, const model::NodeGrant& grant) {
    capacity_.row_of(job, grant, add(raw_end(job)));
  });
  if (const auto started = starts_.find(n); started != starts_.end())
    for (const auto& start : started->second) std::ranges::copy(start.row, add(start.until).begin());
  std::ranges::sort(order_);

  if (index_built_ && indexed_[n]) for_each_end(n, [&](const auto& end) { index_.remove(end); });
  Steps& steps = steps_[n];
  steps.at.clear();
  steps.rows.clear();
  for (const auto& [until, which] : order_) {
    if (steps.at.empty() || steps.at.back() != until) {
      // Not a pointer into what grows.
      const std::vector<Amount> before =
          steps.at.empty()
              ? std::vector<Amount>(capacity_.free(n), capacity_.free(n) + width)
              : std::vector<Amount>(steps.rows.end() - static_cast<std::ptrdiff_t>(width), steps.rows.end());
      steps.at.push_back(until);
      steps.rows.insert(steps.rows.end(), before.begin(), before.end());
    }
    Amount* last = &steps.rows[(steps.at.size() - 1) * width];
    for (std::size_t c = 0; c < width; ++c) last[c] += rows_[which * width + c];
  }
  state_[n] = State::Known;
  if (!index_built_) return;
  indexed_[n] = capacity_.usable(n);
  if (indexed_[n]) for_each_end(n, [&](const auto& end) { index_.add(end); });
}

const NodeEnds::Steps& NodeEnds::steps(NodeNumber n) {
  if (state_[n] != State::Known) work_out(n);
  return steps_[n];
}

const Amount* NodeEnds::row_at(NodeNumber n, Time at) {
  const Steps& found = steps(n);
  const auto after = std::ranges::upper_bound(found.at, at) - found.at.begin();
  if (after == 0) return capacity_.free(n);
  return &found.rows[static_cast<std::size_t>(after - 1) * capacity_.width()];
}

const EndIndex& NodeEnds::index() {
  if (!index_built_) {
    std::vector<EndIndex::End> all;
    for (NodeNumber n = 0; n < capacity_.size(); ++n) {
      if (state_[n] != State::Known) work_out(n);
      indexed_[n] = capacity_.usable(n);
      if (indexed_[n]) for_each_end(n, [&](const auto& end) { all.push_back(end); });
    }
    index_.assign(std::move(all));
    index_built_ = true;
  }
  for (const NodeNumber n : outdated_)
    if (state_[n] == State::Outdated) work_out(n);
  outdated_.clear();
  return index_;
}

}  // namespace spur::sched
