// SPDX-License-Identifier: Apache-2.0
#include "sched/lane.h"

#include <algorithm>

#include "sched/eligibility.h"
#include "sched/feasibility.h"

namespace spur::sched {
namespace {

// Calls look(i) for each of `nodes` that changed since `seen`, or for all the first time and where that is less work.
template <class Look>
void catch_up(const Profile& profile, const std::vector<NodeNumber>& nodes, bool all, std::size_t& seen, Look look) {
  const auto& changes = profile.changes();
  if (all || changes.size() - seen > nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) look(i);
    seen = changes.size();
  }
  for (; seen < changes.size(); ++seen) {
    const auto at = std::ranges::lower_bound(nodes, changes[seen]);
    if (at != nodes.end() && *at == changes[seen]) look(static_cast<std::size_t>(at - nodes.begin()));
  }
}

}  // namespace

Lane::Lane(const model::View& view, const Capacity& capacity, const model::JobSpec& spec, std::size_t partition,
           TimeLimit limit, Time now)
    : partition_((*view.partitions)[partition]), capacity_(capacity) {
  auto request = make_request(view, capacity.columns(), spec, partition, limit);
  if (request) {
    request_ = *std::move(request);
  } else {
    request_.partition = partition;
    request_.limit = limit_in(partition_.config, limit);
  }
  using model::Reason;
  reason_ = limit_reason(partition_.config, request_);
  if (reason_ == Reason::None && !request) reason_ = Reason::BadConstraints;
  if (reason_ == Reason::None && !in_time(request_, now)) reason_ = Reason::DeadLine;
  know_nodes_ = reason_ != Reason::None;
}

model::Reason Lane::reason() {
  if (!know_nodes_) {
    know_nodes_ = true;
    Candidates found = find_candidates(partition_, request_, capacity_);
    reason_ = found.reason;
    nodes_ = std::move(found.nodes);
  }
  return reason_;
}

std::vector<Share> Lane::fit_now(Profile& profile) {
  const Time now = profile.now();
  if (!profile.licenses_suffice(request_, now, request_.end_of_run(now))) return {};
  if (prefers_one_node(request_, capacity_.one_weight())) {
    find_best_node(profile);
    if (!keys_[best_].is_none()) return {Share{nodes_[best_], request_.tasks, {}}};
    if (!request_.tasks_fixed || request_.tasks == 1 || request_.max_nodes == 1) return {};
  }
  refresh_offers(profile);
  std::vector<Offer> useful;
  useful.reserve(offers_.size());
  std::ranges::copy_if(offers_, std::back_inserter(useful), [](const Offer& offer) { return offer.tasks > 0; });
  if (useful.size() < request_.min_nodes) return {};
  return choose(request_, useful);
}

FitKey Lane::key_of(std::size_t i, Profile& profile, Time end) const {
  const Amount* row = profile.least(nodes_[i], profile.now(), end);
  if (row[Columns::kCpu] < request_.cpus_per_task) return {};  // mostly it is that
  const Offer offer = make_offer(request_, capacity_, nodes_[i], row, row);
  return offer.tasks >= request_.tasks ? fit_key(request_, offer, request_.tasks, {}) : FitKey{};
}

void Lane::find_best_node(Profile& profile) {
  const Time end = request_.end_of_run(profile.now());
  const bool first = keys_.empty();
  if (first) keys_.resize(nodes_.size());
  // A node that took a job fits the next one better still; only where it is full (or LLN) all have to be compared.
  bool compare_all = false;
  catch_up(profile, nodes_, first, keys_seen_, [&](std::size_t i) {
    const FitKey before = keys_[i];
    keys_[i] = key_of(i, profile, end);
    if (i == best_)
      compare_all |= keys_[i] > before;
    else if (keys_[i] < keys_[best_])
      best_ = i;
  });
  if (first || compare_all) best_ = static_cast<std::size_t>(std::ranges::min_element(keys_) - keys_.begin());
}

void Lane::refresh_offers(Profile& profile) {
  const Time end = request_.end_of_run(profile.now());
  const bool first = offers_.empty();
  if (first) offers_.resize(nodes_.size());
  catch_up(profile, nodes_, first, offers_seen_, [&](std::size_t i) {
    const Amount* row = profile.least(nodes_[i], profile.now(), end);
    offers_[i] = make_offer(request_, capacity_, nodes_[i], row, row);
  });
}

std::optional<Hold> Lane::fit_later(Profile& profile, bool continue_search) {
  if (!search_ || !continue_search) search_.emplace(request_, nodes_, capacity_, profile, profile.now());
  return search_->next();
}

std::optional<Hold> Lane::fit_after(Profile& profile, Time from) {
  return StartSearch(request_, nodes_, capacity_, profile, from).next();
}

}  // namespace spur::sched
