// SPDX-License-Identifier: Apache-2.0
#include "sched/lane.h"

#include <algorithm>
#include <iterator>

#include "model/core_sharing.h"
#include "sched/closures.h"
#include "sched/eligibility.h"
#include "sched/feasibility.h"
#include "sched/placement.h"

namespace spur::sched {
namespace {

using model::Reason;

// With fewer free CPUs no node offers anything.
std::int32_t least_cpus(const Request& request, const Capacity& capacity, NodeNumber example) {
  if (request.exclusive) return static_cast<std::int32_t>(capacity.total(example)[Columns::kCpu]);
  return static_cast<std::int32_t>(std::max(request.cpus_per_task, request.min_cpus));
}

Amount least_cpus_in_all(const Request& request) {
  if (request.core_spec) return 0;  // may use CPUs that nobody else does
  const Amount on_node = std::max(request.cpus_per_task, request.min_cpus);
  const Amount by_nodes = on_node * request.min_nodes;
  return request.tasks_fixed && !request.overcommit ? std::max(by_nodes, request.cpus_per_task * request.tasks)
                                                    : by_nodes;
}

}  // namespace

Lane::Lane(const model::View& view, const Capacity& capacity, const model::JobSpec& spec, std::size_t partition,
           TimeLimit limit, bool relaxed)
    : view_(view), partition_((*view.partitions)[partition]), partition_number_(partition) {
  auto request = make_request(view, capacity.columns(), spec, partition, limit);
  if (request) {
    request_ = relaxed ? without_leaf_limit(*std::move(request)) : *std::move(request);
    if (request_.least_limit.is_finite()) short_ = with_least_limit(request_);
  } else {
    request_.partition = partition;
    request_.limit = limit_in(partition_.config, limit);
  }
  least_cpus_ = least_cpus_in_all(request_);
  if (!request_.exclusive) jobs_per_core_ = model::jobs_per_core(partition_.config, spec);
  fixed_reason_ = limit_reason(partition_.config, request_);
  if (fixed_reason_ == Reason::None && !request) fixed_reason_ = Reason::BadConstraints;
  if (spec.reservation.empty() && !any_magnetic(view)) return;
  auto asker = std::make_unique<model::JobSpec>();
  asker->reservation = spec.reservation;
  asker->uid = spec.uid;
  asker->account = spec.account;
  asker->qos = spec.qos;
  asker_ = std::move(asker);
}

Reason Lane::reason(const Profile& profile) {
  if (fixed_reason_ != Reason::None) return fixed_reason_;
  if (!in_time_at_all(profile.now())) return Reason::DeadLine;
  if (asker_ && open(profile).empty()) return Reason::Reservation;
  if (static_seen_ != profile.static_version()) {
    static_seen_ = profile.static_version();
    update_reach(profile);
    node_reason_ = Reason::None;
    if (!suffices_when_empty(request_, profile, Nodes::Usable)) {
      if (!suffices_when_empty(size_of(request_), profile, Nodes::All))
        node_reason_ = Reason::PartitionConfig;
      else if (!suffices_when_empty(request_, profile, Nodes::All))
        node_reason_ = Reason::BadConstraints;
      else
        node_reason_ = Reason::ReqNodeNotAvail;  // Slurm says so whether or not the nodes were asked for by name
    }
  }
  return node_reason_;
}

// ---- reservations

const std::vector<Reservations::Open>& Lane::open(const Profile& profile) {
  if (open_of_ != view_.reservations || open_at_ != profile.now()) {
    open_of_ = view_.reservations;
    open_at_ = profile.now();
    open_ = Reservations(view_, open_at_, reservation_horizon(open_at_)).open_now(*asker_);
  }
  return open_;
}

bool Lane::may_use(const Profile& profile, const std::string& reservation, Time start) {
  if (!asker_) return reservation.empty();
  return std::ranges::any_of(open(profile), [&](const Reservations::Open& one) {
    return (one.entry ? one.entry->name == reservation : reservation.empty()) && start < one.until;
  });
}

bool Lane::licensed_now(Profile& profile) {
  const Request& shortest = short_ ? *short_ : request_;
  const Time now = profile.now(), end = shortest.end_of_run(now);
  if (!asker_) return profile.licenses_suffice(shortest, now, end);
  return std::ranges::any_of(open(profile), [&](const Reservations::Open& one) {
    const Entered inside(profile, one.entry);
    return profile.licenses_suffice(shortest, now, end);
  });
}

// In the first of the reservations that has room. Nothing is remembered: they open and close without any node gaining
// anything.
std::vector<Share> Lane::look_inside(Profile& profile) {
  for (const Reservations::Open& one : open(profile)) {
    const Entered inside(profile, one.entry);
    auto shares = look(profile);
    if (shares.empty()) continue;
    entry_ = one.entry;
    return shares;
  }
  return {};
}

// ---- nodes that exist, whatever runs on them

void Lane::update_reach(const Profile& profile) {
  const NodeGroups& groups = profile.groups();
  const Capacity& capacity = profile.capacity();
  reach_.cpus.assign(groups.sorts().size(), kNoUse);
  reach_.least = kNoUse;
  for (std::size_t s = 0; s < groups.sorts().size(); ++s) {
    const NodeSort& sort = groups.sorts()[s];
    if (sort.usable.empty() || !groups.in_partition(sort, partition_number_)) continue;
    const NodeNumber example = *sort.usable.begin();
    if (!node_allowed(request_, capacity, example) ||
        tasks_that_fit(request_, capacity, example, capacity.total(example)) == 0)
      continue;
    reach_.cpus[s] = least_cpus(request_, capacity, example);
    reach_.least = std::min(reach_.least, reach_.cpus[s]);
  }
}

bool Lane::suffices_when_empty(const Request& request, const Profile& profile, Nodes which) const {
  const NodeGroups& groups = profile.groups();
  const Capacity& capacity = profile.capacity();
  if (!request.task_nodes.empty()) {  // just those nodes
    const bool usable = std::ranges::all_of(request.required, [&](NodeNumber n) {
      return groups.in_partition(groups.sorts()[groups.sort_of(n)], partition_number_) &&
             (which == Nodes::All || groups.usable(n)) && !std::ranges::binary_search(request.excluded, n) &&
             node_allowed(request, capacity, n);
    });
    return usable && listed_suffice(request, capacity);
  }
  const std::uint32_t most = most_nodes(request);
  std::uint64_t nodes = 0, tasks = 0;
  std::vector<Offer> offers;
  std::size_t required = 0;
  const bool lay_out = !request.gres_per_job.empty() || (request.max_nodes != kNoLimit && request.tasks_fixed) ||
                       !request.places_freely();
  for (const NodeSort& sort : groups.sorts()) {
    if (!groups.in_partition(sort, partition_number_)) continue;
    if (sort.usable.empty() && (which == Nodes::Usable || sort.unusable.empty())) continue;
    const NodeNumber example = sort.usable.empty() ? *sort.unusable.begin() : *sort.usable.begin();
    if (!node_allowed(request, capacity, example)) continue;
    const Offer offer = make_offer(request, capacity, example, capacity.total(example));
    if (offer.tasks == 0) continue;
    const auto has = [&](NodeNumber n) {
      return sort.usable.contains(n) || (which == Nodes::All && sort.unusable.contains(n));
    };
    std::size_t count = sort.usable.size() + (which == Nodes::All ? sort.unusable.size() : 0);
    for (const NodeNumber n : request.excluded) count -= has(n);
    nodes += count;
    tasks += count * offer.tasks;
    for (const NodeNumber n : request.required) {
      if (!has(n) || std::ranges::binary_search(request.excluded, n)) continue;
      ++required;
      if (lay_out) offers.emplace_back(offer).node = n;
    }
    const auto take = [&](const NodeSet& set) {
      std::uint32_t left = most;
      for (auto n = set.begin(); lay_out && n != set.end() && left > 0; ++n) {
        if (std::ranges::binary_search(request.excluded, *n) || std::ranges::binary_search(request.required, *n))
          continue;
        offers.emplace_back(offer).node = *n;
        --left;
      }
    };
    take(sort.usable);
    if (which == Nodes::All) take(sort.unusable);
  }
  if (nodes < request.min_nodes || required < request.required.size()) return false;
  if (request.tasks_fixed && tasks < request.tasks) return false;
  if (!lay_out) return true;  // with no upper limit on nodes, enough in all is enough
  std::ranges::sort(offers, {}, &Offer::node);
  return !choose(request, offers).empty();
}

// ---- now

// Whether a node either takes the whole job or is of no use to it.
bool Lane::takes_one_node(const Profile& profile) const {
  return prefers_one_node(request_, profile.capacity().one_weight()) &&
         (!request_.tasks_fixed || request_.tasks == 1 || request_.max_nodes == 1);
}

// For the whole of its limit, else for as long as it must.
std::vector<Share> Lane::look(Profile& profile) {
  chosen_short_ = false;
  auto shares = in_time(request_, profile.now()) ? look(profile, request_) : std::vector<Share>{};
  if (!shares.empty() || !short_) return shares;
  chosen_short_ = true;
  return look(profile, *short_);
}

bool Lane::in_time_at_all(Time start) const {
  return in_time(short_ ? *short_ : request_, start);
}

TimeLimit Lane::limit_of_run(Time now, Time until) const {
  if (!chosen_short_) return request_.limit;
  if (is_set(request_.deadline)) until = std::min(until, request_.deadline);
  return limit_until(request_, now, until);
}

std::vector<Share> Lane::look(Profile& profile, const Request& request) const {
  const Time end = request.end_of_run(profile.now());
  if (!profile.licenses_suffice(request, profile.now(), end)) return {};
  Offers offers(request, reach_, profile);
  offers.add_groups();
  offers.leave_to_others(profile.now(), end);
  for (const NodeNumber n : profile.held_nodes())
    if (profile.free_cpus(n) >= reach_.least && offers.in_reach(n) &&
        !profile.taken_by_others(request, n, profile.now(), end))
      offers.set(n, profile.least(n, profile.now(), end));
  return offers.place();
}

std::vector<Share> Lane::fit_now(Profile& profile) {
  beside_.reset();
  if (asker_) return look_inside(profile);
  if (is_full_of_others(profile) || !licensed_now(profile)) return {};
  std::vector<Share> shares;
  if (profile.free_cpus_in_all() >= least_cpus_) shares = look_at_gains(profile);
  // Where it matters which nodes they are the choice is greedy: less to choose from can be more. So nothing is
  // learnt; nor where users matter, who may go without a node gaining anything.
  if (shares.empty() && request_.places_freely() && !profile.heeds_users(request_)) full_ = profile.gains().end();
  return shares;
}

// Only what gained since it was full can make a difference.
std::vector<Share> Lane::look_at_gains(Profile& profile) {
  const auto gained = full_ && !short_ ? profile.gains().since(*full_) : std::nullopt;
  if (!gained) return look(profile);
  const Time now = profile.now(), end = request_.end_of_run(now);
  Offers offers(request_, reach_, profile);
  for (const NodeNumber n : *gained)
    if (profile.free_cpus(n) >= reach_.least && offers.in_reach(n)) offers.set(n, profile.least(n, now, end));
  if (!offers.any_single()) return {};
  return takes_one_node(profile) ? offers.place() : look(profile);
}

// Whether there is no room even without any holds.
bool Lane::base_is_full(Profile& profile) {
  const GainLog& gains = profile.base_gains();
  const Capacity& capacity = profile.capacity();
  const auto gained = base_full_ ? gains.since(*base_full_) : std::nullopt;
  if (gained) {
    Offers offers(request_, reach_, profile);
    for (const NodeNumber n : *gained)
      if (profile.free_cpus(n) >= reach_.least && offers.in_reach(n)) offers.set(n, capacity.free(n));
    if (!offers.any_single() || (takes_one_node(profile) && !offers.may_suffice())) {
      base_full_ = gains.end();
      return true;
    }
  }
  Offers offers(request_, reach_, profile);
  offers.add_groups();
  for (const NodeNumber n : profile.held_nodes())
    if (profile.free_cpus(n) >= reach_.least && offers.in_reach(n)) offers.set(n, capacity.free(n));
  base_full_.reset();
  if (offers.may_suffice()) return false;
  base_full_ = gains.end();
  return true;
}

std::vector<Share> Lane::fit_now_without(Profile& profile, const Hold& own) {
  beside_.reset();
  if (base_is_full(profile)) return {};
  profile.lift(own);
  auto shares = asker_ ? look_inside(profile) : look(profile);
  profile.restore(own);
  return shares;
}

bool Lane::can_use_gains(const Profile& profile, std::uint64_t since) const {
  const auto gained = profile.gains().since(since);
  if (!gained) return true;
  const NodeGroups& groups = profile.groups();
  return std::ranges::any_of(*gained, [&](NodeNumber n) {
    const std::int32_t need = reach_.cpus[groups.sort_of(n)];
    return groups.usable(n) && (shares_cores() ? need != kNoUse : profile.free_cpus(n) >= need);
  });
}

bool Lane::stays_full(const Profile& profile) {
  if (!full_ || (shares_cores() && !beside_full_)) return false;
  if (can_use_gains(profile, shares_cores() ? std::min(*full_, *beside_full_) : *full_)) return false;
  full_ = profile.gains().end();
  if (shares_cores()) beside_full_ = full_;
  return true;
}

bool Lane::is_wrongly_full(Profile& profile) const {
  if (!is_full(profile)) return false;
  return !look(profile, request_).empty() || (short_ && !look(profile, *short_).empty());
}

// ---- later

std::optional<Hold> Lane::fit_later(Profile& profile) {
  if (has_no_time(profile)) return std::nullopt;
  // As long as nothing was given back, the next one of a lane cannot start sooner than the last.
  const bool known = planned_ && planned_->first == profile.gains().end() && request_.places_freely();
  auto hold = fit_after(profile, known ? planned_->second : profile.now());
  if (hold)
    planned_.emplace(profile.gains().end(), hold->start);
  else if (request_.places_freely())
    no_time_ = profile.gains().end();
  return hold;
}

// A short run only if that is sooner.
std::optional<Hold> Lane::search(Profile& profile, Time from, Time until) {
  auto hold = StartSearch(request_, reach_, profile, until).find(from);
  if (!short_ || (hold && hold->start == from)) return hold;
  auto sooner = StartSearch(*short_, reach_, profile, hold ? hold->start : until).find(from);
  return sooner ? std::move(sooner) : std::move(hold);
}

std::optional<Hold> Lane::fit_after(Profile& profile, Time from) {
  if (!asker_) return search(profile, from, Time::max());
  std::optional<Hold> best;
  for (const Reservations::Open& one : open(profile)) {
    if (from >= one.until) continue;  // the search would try `from` all the same
    const Entered inside(profile, one.entry);
    auto hold = search(profile, from, one.until);
    if (hold && (!best || hold->start < best->start)) best = std::move(hold);
  }
  return best;
}

std::optional<Lane::Fit> Lane::fit_at(Profile& profile, Time at, const std::vector<NodeNumber>& without,
                                      const std::function<bool(const Request&)>& licensed) {
  const auto look_at = [&](const Request& whole, const model::Reservation* entry) -> std::optional<Fit> {
    if (!licensed(whole)) return std::nullopt;
    Request request = whole;
    request.excluded.clear();
    std::ranges::set_union(whole.excluded, without, std::back_inserter(request.excluded));
    for (const NodeNumber n : request.required)
      if (std::ranges::binary_search(without, n)) return std::nullopt;
    auto hold = StartSearch(request, reach_, profile, at).find(at);
    if (!hold) return std::nullopt;
    return Fit{*std::move(hold), &whole != &request_, entry};
  };
  const auto look_inside = [&](const model::Reservation* entry) {
    const Entered inside(profile, entry);
    auto fit = look_at(request_, entry);
    return fit || !short_ ? std::move(fit) : look_at(*short_, entry);
  };
  if (!asker_) return look_inside(nullptr);
  for (const Reservations::Open& one : open(profile))
    if (at < one.until)
      if (auto fit = look_inside(one.entry)) return fit;
  return std::nullopt;
}

Time Lane::next_license_step(Profile& profile, Time at) {
  if (request_.licenses.empty()) return Time::max();
  if (!asker_) return profile.next_license_step(at);
  Time next = Time::max();
  for (const Reservations::Open& one : open(profile)) {
    const Entered inside(profile, one.entry);
    next = std::min(next, profile.next_license_step(at));
  }
  return next;
}

}  // namespace spur::sched
