// SPDX-License-Identifier: Apache-2.0
#include "sched/earliest_start.h"

#include <algorithm>
#include <vector>

#include "sched/placement.h"

namespace spur::sched {
namespace {

class Walk {
 public:
  Walk(const Request& request, std::span<const NodeNumber> nodes, const Capacity& capacity, Profile& profile)
      : request_(request), nodes_(nodes), capacity_(capacity), profile_(profile), offers_(nodes.size()) {}

  std::optional<Hold> run(Time from) {
    at_ = from;
    for (std::size_t i = 0; i < nodes_.size(); ++i) look_at(i);
    look_at_licenses();
    std::ranges::make_heap(changes_, std::greater{});
    if (auto hold = attempt()) return hold;
    while (!changes_.empty() && in_time(request_, changes_.front().first)) {
      at_ = changes_.front().first;
      bool more = false;
      while (!changes_.empty() && changes_.front().first == at_) {
        const std::size_t i = changes_.front().second;
        std::ranges::pop_heap(changes_, std::greater{});
        changes_.pop_back();
        const std::size_t before = changes_.size();
        more |= i == kLicenses ? look_at_licenses() : look_at(i);
        if (changes_.size() > before) std::ranges::push_heap(changes_, std::greater{});
      }
      if (!more) continue;  // only less than before: it was not enough then
      if (auto hold = attempt()) return hold;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kLicenses = ~std::size_t{0};

  // Brings the offer of a node up to date. True if it may have become more.
  bool look_at(std::size_t i) {
    Offer& offer = offers_[i];
    count(offer, -1);
    const Offer before = offer;
    offer = make_offer(request_, capacity_, nodes_[i], profile_.least(nodes_[i], at_, request_.end_of_run(at_)));
    count(offer, 1);
    if (const Time next = profile_.next_change(request_, nodes_[i], at_); next != Time::max()) changes_.emplace_back(next, i);
    return offer.tasks > before.tasks || offer.job_gres != before.job_gres;
  }

  bool look_at_licenses() {
    const bool before = licensed_;
    licensed_ = profile_.licenses_suffice(request_, at_, request_.end_of_run(at_));
    if (const Time next = profile_.next_license_change(request_, at_); next != Time::max()) changes_.emplace_back(next, kLicenses);
    return licensed_ && !before;
  }

  void count(const Offer& offer, int sign) {
    if (offer.tasks == 0) return;
    useful_ += sign;
    tasks_ += sign * std::int64_t{offer.tasks};
    enough_alone_ += offer.tasks >= request_.tasks ? sign : 0;
  }

  // Cheap, and right whenever it says no.
  bool may_suffice() const {
    if (!licensed_ || useful_ < std::int64_t{request_.min_nodes}) return false;
    if (!request_.tasks_fixed) return true;
    return request_.max_nodes == 1 ? enough_alone_ > 0 : tasks_ >= std::int64_t{request_.tasks};
  }

  std::optional<Hold> attempt() {
    if (!may_suffice() || !in_time(request_, at_)) return std::nullopt;
    std::vector<Offer> useful;
    std::ranges::copy_if(offers_, std::back_inserter(useful), [](const Offer& offer) { return offer.tasks > 0; });
    auto shares = choose(request_, useful);
    if (shares.empty()) return std::nullopt;
    return profile_.make_hold(request_, at_, std::move(shares));
  }

  const Request& request_;
  std::span<const NodeNumber> nodes_;
  const Capacity& capacity_;
  Profile& profile_;
  std::vector<Offer> offers_;                          // beside nodes_
  std::vector<std::pair<Time, std::size_t>> changes_;  // heap: when to look again at which node; the soonest first
  Time at_;
  bool licensed_ = false;
  std::int64_t useful_ = 0, tasks_ = 0, enough_alone_ = 0;
};

}  // namespace

bool in_time(const Request& request, Time start) {
  if (!is_set(request.deadline)) return true;
  return request.limit.is_finite() ? request.end_of_run(start) <= request.deadline : start < request.deadline;
}

std::optional<Hold> earliest_start(const Request& request, std::span<const NodeNumber> nodes, const Capacity& capacity,
                                   Profile& profile, Time from) {
  return Walk(request, nodes, capacity, profile).run(from);
}

}  // namespace spur::sched
