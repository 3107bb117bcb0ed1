// SPDX-License-Identifier: Apache-2.0
#include "sched/start_search.h"

#include <algorithm>
#include <functional>

namespace spur::sched {

bool in_time(const Request& request, Time start) {
  if (!is_set(request.deadline)) return true;
  return request.limit.is_finite() ? request.end_of_run(start) <= request.deadline : start < request.deadline;
}

StartSearch::StartSearch(const Request& request, const Reach& reach, Profile& profile, Time until)
    : request_(request),
      reach_(reach),
      profile_(profile),
      until_(until),
      offers_(request, reach, profile),
      cursor_(profile.ends().index()) {}

std::optional<Hold> StartSearch::find(Time from) {
  offers_.add_groups();
  take_ends(from);
  offers_.leave_to_others(from, request_.end_of_run(from));
  for (const NodeNumber n : profile_.held_nodes())
    if (offers_.in_reach(n)) look_at_held(n, from);
  look_at_licenses(from);
  if (auto hold = attempt(from)) return hold;
  if (!request_.places_freely()) return find_greedily(from);
  while (true) {
    const Time at = std::min({next_end(), due_.empty() ? Time::max() : due_.front().first, licenses_due_});
    if (at >= until_ || !in_time(request_, at)) return std::nullopt;
    bool more = take_ends(at);
    while (!due_.empty() && due_.front().first == at) {
      const NodeNumber n = due_.front().second;
      std::ranges::pop_heap(due_, std::greater{});
      due_.pop_back();
      more |= look_at_held(n, at);
    }
    if (licenses_due_ == at) more |= look_at_licenses(at);
    if (!more) continue;  // only less than before: it was not enough then
    if (auto hold = attempt(at)) return hold;
  }
}

// Where it matters which nodes they are, the choice is greedy: it may succeed with less where it failed with more. So
// it is tried whenever anything ends that anybody has.
std::optional<Hold> StartSearch::find_greedily(Time from) {
  std::vector<Time> hold_ends = profile_.hold_ends(from);
  std::size_t next_hold = 0;
  EndIndex::Cursor all(profile_.ends().index());
  while (true) {
    while (all.get() && time_of(*all.get()) <= from) all.next();
    while (next_hold < hold_ends.size() && hold_ends[next_hold] <= from) ++next_hold;
    const Time at = std::min({all.get() ? time_of(*all.get()) : Time::max(),
                              next_hold < hold_ends.size() ? hold_ends[next_hold] : Time::max(), licenses_due_});
    if (at >= until_ || !in_time(request_, at)) return std::nullopt;
    from = at;
    take_ends(at);
    while (!due_.empty() && due_.front().first <= at) {
      const NodeNumber n = due_.front().second;
      std::ranges::pop_heap(due_, std::greater{});
      due_.pop_back();
      look_at_held(n, at);
    }
    if (licenses_due_ <= at) changed_ |= look_at_licenses(at);
    if (changed_)
      if (auto hold = attempt(at)) return hold;
  }
}

bool StartSearch::passes(const EndIndex::End& end) const {
  return !profile_.is_held(end.node) && profile_.lets_use(end.node) &&
         end.cpus >= reach_.cpus[profile_.groups().sort_of(end.node)] &&
         !std::ranges::binary_search(request_.excluded, end.node);
}

// The next moment at which a node without holds may offer more.
Time StartSearch::next_end() {
  for (cursor_.skip_below(reach_.least); const auto* end = cursor_.get(); cursor_.skip_below(reach_.least)) {
    if (passes(*end)) return time_of(*end);
    cursor_.next();
  }
  return Time::max();
}

bool StartSearch::take_ends(Time until) {
  bool more = false;
  while (next_end() <= until) {
    const NodeNumber n = cursor_.get()->node;
    const bool taken = profile_.taken_by_others(request_, n, until, request_.end_of_run(until));
    more |= offers_.set(n, taken ? profile_.nothing() : profile_.ends().row_at(n, until));
    changed_ = true;
    cursor_.next();
  }
  return more;
}

bool StartSearch::look_at_held(NodeNumber n, Time at) {
  const Timeline& timeline = profile_.timeline_of(n);
  const Time end = request_.end_of_run(at);
  const std::int32_t need = reach_.cpus[profile_.groups().sort_of(n)];
  // A step with too few CPUs inside the run: none that begins before that step is over can do it.
  std::optional<std::size_t> in_the_way;
  for (std::size_t step = timeline.step_of(at); step < timeline.steps() && timeline.begin_of(step) < end; ++step)
    if (timeline.row(step)[Columns::kCpu] < need) in_the_way = step;
  bool more = false;
  changed_ = true;
  Time due = Time::max();
  if (in_the_way) {
    offers_.set(n, timeline.row(*in_the_way));
    if (*in_the_way + 1 < timeline.steps()) due = timeline.begin_of(*in_the_way + 1);
  } else {
    const bool taken = profile_.taken_by_others(request_, n, at, end);
    more = offers_.set(n, taken ? profile_.nothing() : profile_.least(n, at, end));
    due = profile_.next_change(request_, n, at);
  }
  if (due != Time::max()) {
    due_.emplace_back(due, n);
    std::ranges::push_heap(due_, std::greater{});
  }
  return more;
}

bool StartSearch::look_at_licenses(Time at) {
  const bool before = licensed_;
  licensed_ = profile_.licenses_suffice(request_, at, request_.end_of_run(at));
  licenses_due_ = profile_.next_license_change(request_, at);
  return licensed_ && !before;
}

std::optional<Hold> StartSearch::attempt(Time at) {
  if (!licensed_ || !in_time(request_, at)) return std::nullopt;
  changed_ = false;
  auto shares = offers_.place();
  if (shares.empty()) return std::nullopt;
  return profile_.make_hold(request_, at, std::move(shares));
}

}  // namespace spur::sched
