// SPDX-License-Identifier: Apache-2.0
#include "sched/node_ends.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "sched/request.h"
#include "sched/shared_cores.h"

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
      state_(capacity.size()),
      scratch_(capacity.width()) {}

std::int32_t NodeEnds::cpus_of(NodeNumber n, std::size_t step) const {
  return static_cast<std::int32_t>(capacity_.free(n)[Columns::kCpu] +
                                   steps_[n].rows[step * capacity_.width() + Columns::kCpu]);
}

// ---- what happens

void NodeEnds::outdate(NodeNumber n) {
  if (!index_built_ || state_[n].outdated) return;
  state_[n].outdated = true;
  outdated_.push_back(n);
}

void NodeEnds::add(NodeNumber n, Time until, const Amount* row) {
  if (!state_[n].known) return;
  const std::size_t width = capacity_.width();
  Steps& steps = steps_[n];
  const auto at = std::ranges::lower_bound(steps.at, until);
  const auto step = static_cast<std::size_t>(at - steps.at.begin());
  if (at == steps.at.end() || *at != until) {
    steps.at.insert(at, until);
    steps.jobs.insert(steps.jobs.begin() + static_cast<std::ptrdiff_t>(step), 0);
    steps.rows.resize(steps.rows.size() + width);
    const auto here = steps.rows.begin() + static_cast<std::ptrdiff_t>(step * width);
    std::copy_backward(here, steps.rows.end() - static_cast<std::ptrdiff_t>(width), steps.rows.end());
    if (step == 0)
      std::fill_n(here, width, 0);
    else
      std::copy_n(here - static_cast<std::ptrdiff_t>(width), width, here);
    if (state_[n].indexed) index_.add({until, n, 0});
  }
  ++steps.jobs[step];
  for (std::size_t i = step * width; i < steps.rows.size(); i += width)
    for (std::size_t c = 0; c < width; ++c) steps.rows[i + c] += row[c];
  outdate(n);
}

void NodeEnds::remove(NodeNumber n, Time until, const Amount* row) {
  if (!state_[n].known) return;
  const std::size_t width = capacity_.width();
  Steps& steps = steps_[n];
  const auto at = std::ranges::lower_bound(steps.at, until);
  SPUR_CHECK_MSG(at != steps.at.end() && *at == until, "whoever goes was there");
  const auto step = static_cast<std::size_t>(at - steps.at.begin());
  for (std::size_t i = step * width; i < steps.rows.size(); i += width)
    for (std::size_t c = 0; c < width; ++c) steps.rows[i + c] -= row[c];
  if (--steps.jobs[step] == 0) {
    steps.at.erase(at);
    steps.jobs.erase(steps.jobs.begin() + static_cast<std::ptrdiff_t>(step));
    const auto here = steps.rows.begin() + static_cast<std::ptrdiff_t>(step * width);
    steps.rows.erase(here, here + static_cast<std::ptrdiff_t>(width));
    if (state_[n].indexed) index_.remove(until, n);
  }
  outdate(n);
}

void NodeEnds::forget(NodeNumber n) {
  if (!state_[n].known) return;
  if (state_[n].indexed)
    for (const Time at : steps_[n].at) index_.remove(at, n);
  steps_[n] = {};
  state_[n].known = false;
  outdate(n);
}

void NodeEnds::add_start(NodeNumber n, Time until, const Amount* row) {
  starts_[n].push_back({until, {row, row + capacity_.width()}});
  add(n, until, row);
  outdate(n);
}

void NodeEnds::forget_starts(NodeNumber n) {
  const auto started = starts_.find(n);
  if (started == starts_.end()) return;
  for (const Start& start : started->second) remove(n, start.until, start.row.data());
  starts_.erase(started);
}

// ---- what is known

void NodeEnds::work_out(NodeNumber n) {
  state_[n].known = true;
  std::vector<Start> ends;
  std::optional<LastLeavers> last;
  capacity_.for_each_job_on(view_, n, [&](const model::Job& job, const model::NodeGrant& grant) {
    Start& end = ends.emplace_back(raw_end(job), std::vector<Amount>(capacity_.width()));
    if (!(job.flags & model::kSharesCores)) return capacity_.row_of(job, grant, end.row);
    if (!last) last.emplace(view_, capacity_, n);
    capacity_.row_of(job, grant, last->cpus_of(job, grant), end.row);
  });
  if (const auto started = starts_.find(n); started != starts_.end())
    ends.insert(ends.end(), started->second.begin(), started->second.end());
  std::ranges::sort(ends, {}, &Start::until);
  for (const Start& end : ends) add(n, end.until, end.row.data());
}

const NodeEnds::Steps& NodeEnds::steps(NodeNumber n) {
  if (!state_[n].known) work_out(n);
  return steps_[n];
}

const Amount* NodeEnds::row_at(NodeNumber n, Time at) {
  const Steps& found = steps(n);
  const auto after = std::ranges::upper_bound(found.at, at) - found.at.begin();
  const Amount* free = capacity_.free(n);
  if (after == 0) return free;
  const std::size_t width = capacity_.width();
  const Amount* back = &found.rows[static_cast<std::size_t>(after - 1) * width];
  for (std::size_t c = 0; c < width; ++c) scratch_[c] = free[c] + back[c];
  return scratch_.data();
}

void NodeEnds::bring_into_index(NodeNumber n) {
  State& state = state_[n];
  if (!state.known) work_out(n);
  const Steps& steps = steps_[n];
  state.outdated = false;
  if (state.indexed != capacity_.usable(n)) {
    state.indexed = !state.indexed;
    for (std::size_t i = 0; i < steps.at.size(); ++i)
      state.indexed ? index_.add({steps.at[i], n, cpus_of(n, i)}) : index_.remove(steps.at[i], n);
    return;
  }
  if (state.indexed) index_.set_cpus(n, steps.at, [&](std::size_t i) { return cpus_of(n, i); });
}

const EndIndex& NodeEnds::index() {
  if (!index_built_) {
    std::vector<EndIndex::End> all;
    for (NodeNumber n = 0; n < capacity_.size(); ++n) {
      const Steps& known = steps(n);
      state_[n].indexed = capacity_.usable(n);
      for (std::size_t i = 0; state_[n].indexed && i < known.at.size(); ++i)
        all.push_back({known.at[i], n, cpus_of(n, i)});
    }
    index_.assign(std::move(all));
    index_built_ = true;
  }
  for (const NodeNumber n : std::exchange(outdated_, {})) bring_into_index(n);
  return index_;
}

}  // namespace spur::sched
