// SPDX-License-Identifier: Apache-2.0
#include "sched/offers.h"

#include <algorithm>

namespace spur::sched {

std::uint32_t most_nodes(const Request& request) {
  // Where it matters which nodes they are, all of them have to be seen.
  if (!request.places_freely() || request.topology) return kNoLimit;
  std::uint32_t most = request.min_nodes;
  if (request.tasks_fixed) most = std::max(most, request.tasks);
  if (request.spread && !request.tasks_fixed) most = std::max(most, request.max_nodes);
  for (const auto& need : request.gres_per_job) most = std::max(most, static_cast<std::uint32_t>(need.count));
  return std::min(most, request.max_nodes);
}

bool Offers::in_reach(NodeNumber n) const {
  return profile_.groups().usable(n) && profile_.lets_use(n) && reach_.cpus[profile_.groups().sort_of(n)] != kNoUse &&
         !std::ranges::binary_search(request_.excluded, n);
}

Offer Offers::offer_of(NodeNumber n, const Amount* row) const {
  const Capacity& capacity = profile_.capacity();
  if (row[Columns::kCpu] < reach_.cpus[profile_.groups().sort_of(n)]) {
    Offer none;
    none.node = n;
    return none;
  }
  return make_offer(request_, capacity, n, row);
}

void Offers::count(const Offer& offer, std::int64_t times) {
  if (offer.tasks == 0) return;
  useful_ += times;
  tasks_ += times * std::int64_t{offer.tasks};
  enough_alone_ += offer.tasks >= request_.tasks ? times : 0;
  for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i) gres_[i] += times * offer.job_gres[i];
  if (request_.tasks_fixed && request_.max_nodes != kNoLimit && request_.max_nodes > 1)
    by_tasks_[offer.tasks] += times;
}

void Offers::add_groups() {
  if (profile_.confined()) return;             // nodes with a reservation are in no group
  with_groups_ = request_.task_nodes.empty();  // else no others than those that are named matter
  const auto& sorts = profile_.groups().sorts();
  for (std::size_t s = 0; s < sorts.size() && with_groups_; ++s) {
    if (reach_.cpus[s] == kNoUse) continue;
    for (const auto& [row, members] : sorts[s].groups) {
      if (row[Columns::kCpu] < reach_.cpus[s]) break;
      const Offer offer = offer_of(*members.begin(), row.data());
      if (offer.tasks == 0) continue;
      groups_.push_back({&members, offer, row.data()});
      count(offer, static_cast<std::int64_t>(members.size()));
    }
  }
  // Nodes asked for by name are looked at by themselves.
  for (const NodeNumber n : request_.required)
    if (in_reach(n) && profile_.groups().grouped(n)) set(n, profile_.capacity().free(n));
}

void Offers::leave_to_others(Time from, Time to) {
  if (!profile_.heeds_users(request_)) return;
  for (NodeNumber n = 0; n < profile_.capacity().size(); ++n)
    if (in_reach(n) && !profile_.is_held(n) && profile_.taken_by_others(request_, n, from, to))
      set(n, profile_.nothing());
}

bool Offers::set(NodeNumber n, const Amount* row) {
  const Offer offer = offer_of(n, row);
  Offer before;
  std::uint32_t at = marks_.find(n);
  if (at != NodeMarks::kNone) {
    before = singles_[at];
  } else {
    const bool grouped = with_groups_ && profile_.groups().grouped(n);
    if (grouped) before = offer_of(n, profile_.capacity().free(n));
    if (offer.tasks == 0 && !grouped) return false;  // as if it were not there
    at = static_cast<std::uint32_t>(singles_.size());
    marks_.set(n, at);
    singles_.emplace_back().node = n;
    if (heeds_fragments_) single_gpus_.emplace_back();
  }
  Offer& single = singles_[at];
  singles_useful_ += (offer.tasks > 0) - (single.tasks > 0);
  if (std::ranges::binary_search(request_.required, n)) required_ += (offer.tasks > 0) - (single.tasks > 0);
  single = offer;
  if (heeds_fragments_ && offer.tasks > 0)
    single_gpus_[at] = gpu_node(profile_.capacity().layout(n), profile_.capacity().memory_is_consumable(), row);
  count(before, -1);
  count(offer, 1);
  return offer.tasks > before.tasks || (offer.tasks > 0 && offer.job_gres != before.job_gres);
}

// The tasks that the roomiest so many nodes can take.
std::uint64_t Offers::most_tasks(std::uint32_t nodes) const {
  std::uint64_t tasks = 0, left = nodes;
  for (const auto& [each, count] : by_tasks_) {
    const std::uint64_t here = std::min<std::uint64_t>(left, static_cast<std::uint64_t>(count));
    tasks += here * each;
    left -= here;
    if (left == 0 || tasks >= request_.tasks) break;
  }
  return tasks;
}

bool Offers::may_suffice() const {
  if (useful_ < std::int64_t{request_.min_nodes}) return false;
  if (required_ < static_cast<std::int64_t>(request_.required.size())) return false;
  for (std::size_t i = 0; i < request_.gres_per_job.size(); ++i)
    if (gres_[i] < request_.gres_per_job[i].count) return false;
  if (!request_.tasks_fixed) return true;
  if (request_.max_nodes == 1) return enough_alone_ > 0;
  if (tasks_ < std::int64_t{request_.tasks}) return false;
  return request_.max_nodes == kNoLimit || most_tasks(request_.max_nodes) >= request_.tasks;
}

template <class F>
void Offers::for_each_member(const GroupOffer& group, std::uint32_t at_most, F f) const {
  for (const NodeNumber n : *group.members) {
    if (at_most == 0) return;
    if (marks_.find(n) != NodeMarks::kNone || std::ranges::binary_search(request_.excluded, n)) continue;
    --at_most;
    f(n);
  }
}

FitKey Offers::best_alone() const {
  FitKey best;
  const auto consider = [&](const Offer& offer) {
    if (offer.tasks >= request_.tasks) best = std::min(best, fit_key(request_, offer, request_.tasks, {}));
  };
  for (const auto& group : groups_) {
    if (group.offer.tasks < request_.tasks) continue;
    for_each_member(group, 1, [&](NodeNumber n) {
      Offer offer = group.offer;
      offer.node = n;
      consider(offer);
    });
  }
  for (const auto& single : singles_) consider(single);
  return best;
}

void judge_growth(const Request& request, const Capacity& capacity, const std::optional<GpuNode>& gpus,
                  Offer& offer) {
  if (!gpus) return;
  const Amount shares = capacity.layout(offer.node).group("gpu")->devices.front().capacity;
  offer.growth = growth(*gpus, gpu_part(request, offer, shares), capacity.popular());
}

// Only now: most looks end before anything is placed.
void Offers::judge_all() {
  const Capacity& capacity = profile_.capacity();
  for (auto& group : groups_)
    judge_growth(request_, capacity,
                 gpu_node(capacity.layout(group.offer.node), capacity.memory_is_consumable(), group.row),
                 group.offer);
  for (std::size_t i = 0; i < singles_.size(); ++i)
    if (singles_[i].tasks > 0) judge_growth(request_, capacity, single_gpus_[i], singles_[i]);
}

std::vector<Share> Offers::place() {
  if (!may_suffice()) return {};
  if (heeds_fragments_) judge_all();
  if (prefers_one_node(request_, profile_.capacity().one_weight())) {
    if (const FitKey best = best_alone(); !best.is_none()) return {Share{best.node(), request_.tasks, {}}};
    if (!request_.tasks_fixed || request_.tasks == 1 || request_.max_nodes == 1) return {};
  }
  std::vector<Offer> offers;
  const std::uint32_t most = most_nodes(request_);
  for (const auto& group : groups_)
    for_each_member(group, most, [&](NodeNumber n) { offers.emplace_back(group.offer).node = n; });
  for (const auto& single : singles_)
    if (single.tasks > 0) offers.push_back(single);
  if (offers.size() < request_.min_nodes) return {};
  std::ranges::sort(offers, {}, &Offer::node);
  return choose(request_, offers);
}

}  // namespace spur::sched
