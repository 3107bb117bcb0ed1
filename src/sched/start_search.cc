// SPDX-License-Identifier: Apache-2.0
#include "sched/start_search.h"

#include <algorithm>

#include "sched/placement.h"

namespace spur::sched {

bool in_time(const Request& request, Time start) {
  if (!is_set(request.deadline)) return true;
  return request.limit.is_finite() ? request.end_of_run(start) <= request.deadline : start < request.deadline;
}

StartSearch::StartSearch(const Request& request, std::span<const NodeNumber> nodes, const Capacity& capacity,
                         Profile& profile, Time from)
    : request_(request), nodes_(nodes), capacity_(capacity), profile_(profile), at_(from) {}

std::optional<Hold> StartSearch::next() {
  catch_up();
  if (auto hold = attempt()) return hold;
  while (!heap_.empty() && in_time(request_, heap_.front().first)) {
    at_ = heap_.front().first;
    bool more = false;
    while (!heap_.empty() && heap_.front().first == at_) {
      const std::size_t i = heap_.front().second;
      std::ranges::pop_heap(heap_, std::greater{});
      heap_.pop_back();
      if ((i == kLicenses ? licenses_due_ : due_[i]) != at_) continue;  // looked at since
      more |= i == kLicenses ? look_at_licenses() : look_at(i);
    }
    if (!more) continue;  // only less than before: it was not enough then
    if (auto hold = attempt()) return hold;
  }
  return std::nullopt;
}

void StartSearch::catch_up() {
  const auto& changes = profile_.changes();
  const std::size_t news = changes.size() - seen_;
  if (!begun_ || news > nodes_.size()) {
    begun_ = true;
    offers_.assign(nodes_.size(), {});
    due_.assign(nodes_.size(), Time::max());
    heap_.clear();
    useful_ = tasks_ = enough_alone_ = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) look_at(i);
  } else {
    for (; seen_ < changes.size(); ++seen_) {
      const auto at = std::ranges::lower_bound(nodes_, changes[seen_]);
      if (at != nodes_.end() && *at == changes[seen_]) look_at(static_cast<std::size_t>(at - nodes_.begin()));
    }
  }
  seen_ = changes.size();
  look_at_licenses();
}

// Brings the offer of a node up to date. True if it may have become more.
bool StartSearch::look_at(std::size_t i) {
  const NodeNumber node = nodes_[i];
  Offer& offer = offers_[i];
  count(offer, -1);
  const Offer before = offer;
  const Amount* free = profile_.least(node, at_, request_.end_of_run(at_));
  offer = make_offer(request_, capacity_, node, free, capacity_.total(node));
  count(offer, 1);
  due_[i] = profile_.only_grows(node) ? next_gain(i) : profile_.next_change(request_, node, at_);
  remember(due_[i], i);
  return offer.tasks > before.tasks || offer.job_gres != before.job_gres;
}

// On a node without holds only a step that lets more of the job in is worth a look.
Time StartSearch::next_gain(std::size_t i) {
  const Offer& offer = offers_[i];
  if (offer.tasks >= request_.tasks && request_.gres_per_job.empty()) return Time::max();
  const Timeline& timeline = profile_.timeline_of(nodes_[i]);
  for (std::size_t step = timeline.step_of(at_) + 1; step < timeline.steps(); ++step) {
    if (!request_.gres_per_job.empty()) return timeline.begin_of(step);
    if (tasks_that_fit(request_, capacity_, nodes_[i], timeline.row(step)) > offer.tasks)
      return timeline.begin_of(step);
  }
  return Time::max();
}

bool StartSearch::look_at_licenses() {
  const bool before = licensed_;
  licensed_ = profile_.licenses_suffice(request_, at_, request_.end_of_run(at_));
  licenses_due_ = profile_.next_license_change(request_, at_);
  remember(licenses_due_, kLicenses);
  return licensed_ && !before;
}

void StartSearch::remember(Time when, std::size_t i) {
  if (when == Time::max()) return;
  heap_.emplace_back(when, i);
  std::ranges::push_heap(heap_, std::greater{});
}

void StartSearch::count(const Offer& offer, int sign) {
  if (offer.tasks == 0) return;
  useful_ += sign;
  tasks_ += sign * std::int64_t{offer.tasks};
  enough_alone_ += offer.tasks >= request_.tasks ? sign : 0;
}

// Cheap, and right whenever it says no.
bool StartSearch::may_suffice() const {
  if (!licensed_ || useful_ < std::int64_t{request_.min_nodes}) return false;
  if (!request_.tasks_fixed) return true;
  return request_.max_nodes == 1 ? enough_alone_ > 0 : tasks_ >= std::int64_t{request_.tasks};
}

std::optional<Hold> StartSearch::attempt() {
  if (!may_suffice() || !in_time(request_, at_)) return std::nullopt;
  std::vector<Offer> useful;
  useful.reserve(static_cast<std::size_t>(useful_));
  std::ranges::copy_if(offers_, std::back_inserter(useful), [](const Offer& offer) { return offer.tasks > 0; });
  auto shares = choose(request_, useful);
  if (shares.empty()) return std::nullopt;
  return profile_.make_hold(request_, at_, std::move(shares));
}

}  // namespace spur::sched
