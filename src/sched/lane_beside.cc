// SPDX-License-Identifier: Apache-2.0
// A job that found no room on idle cores, beside others of its partition that share theirs: on nodes where that takes as
// few jobs on a core as possible, and there on idle cores first, then on those with the fewest jobs.
#include <algorithm>

#include "sched/lane.h"

namespace spur::sched {

std::vector<Share> Lane::fit_beside(Profile& profile, const Hold* own) {
  beside_.reset();
  if (!shares_cores()) return {};
  if (own) {
    profile.lift(*own);
    auto shares = look_beside(profile);
    profile.restore(*own);
    return shares;
  }
  if (beside_full_ && *beside_full_ == profile.gains().end()) return {};
  beside_full_.reset();
  auto shares = look_beside(profile);
  // As for fit_now(): where less to choose from can be more, nothing is learnt.
  const bool learns = !asker_ && request_.places_freely() && !profile.heeds_users(request_);
  if (shares.empty() && learns) beside_full_ = profile.gains().end();
  return shares;
}

// In the first of the reservations that has room; for the whole of its limit, else for as long as it must.
std::vector<Share> Lane::look_beside(Profile& profile) {
  const auto look_at = [&](const model::Reservation* entry) {
    const Entered inside(profile, entry);
    entry_ = entry;
    chosen_short_ = false;
    auto shares = look_beside(profile, request_);
    if (!shares.empty() || !short_) return shares;
    chosen_short_ = true;
    return look_beside(profile, *short_);
  };
  if (!asker_) return look_at(nullptr);
  for (const Reservations::Open& one : open(profile))
    if (auto shares = look_at(one.entry); !shares.empty()) return shares;
  entry_ = nullptr;
  return {};
}

std::vector<Share> Lane::look_beside(Profile& profile, const Request& request) {
  const Time now = profile.now(), end = request.end_of_run(now);
  if (!in_time(request, now) || !profile.licenses_suffice(request, now, end)) return {};
  CoreSet set{partition_.config.name, entry_ ? entry_->name : std::string(), jobs_per_core_};
  std::vector<NodeNumber> nodes;
  std::uint32_t fewest = set.most, most = 0;
  for (const NodeIndex at : partition_.nodes) {
    const NodeNumber n = at.value;
    if (!profile.has_jobs(n) || reach_.cpus[profile.groups().sort_of(n)] == kNoUse) continue;
    const auto& cores = profile.shared_cores(n, set);
    if (cores.empty() || profile.taken_by_others(request, n, now, end)) continue;
    nodes.push_back(n);
    fewest = std::min(fewest, cores.front().jobs);
    most = std::max(most, cores.back().jobs);
  }
  const std::uint32_t last = std::min(most + 1, set.most);
  for (set.most = fewest + 1; set.most <= last; ++set.most) {
    Offers offers(request, reach_, profile);
    offers.add_groups();
    offers.leave_to_others(now, end);
    for (const NodeNumber n : profile.held_nodes())
      if (profile.free_cpus(n) >= reach_.least && offers.in_reach(n) &&
          !profile.taken_by_others(request, n, now, end))
        offers.set(n, profile.least(n, now, end));
    for (const NodeNumber n : nodes)
      if (offers.in_reach(n)) offers.set(n, profile.beside(n, end, set).row.data());
    auto shares = offers.place();
    if (shares.empty()) continue;
    beside_ = std::move(set);
    return shares;
  }
  return {};
}

}  // namespace spur::sched
