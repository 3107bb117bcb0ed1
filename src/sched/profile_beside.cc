// SPDX-License-Identifier: Apache-2.0
// Jobs beside others on cores that they share (shared_cores.h). Planning for later counts on a core only when nobody has
// it, so whoever stays on one for longer than those who are there must not do so where somebody counts on it.
#include <algorithm>

#include "sched/profile.h"

namespace spur::sched {

void Profile::forget_shared(NodeNumber n) {
  ends_.forget(n);
  shared_.forget(n);
}

// Some of the node is to be somebody's before then, or would be now if it were free.
bool Profile::is_promised(NodeNumber n, Time to) const {
  if (!is_held(n)) return false;
  return std::ranges::any_of(held_[held_at_[n]].holds, [&](const auto& one) {
    const Hold& hold = *one.first;
    if (&hold == lifted_ || (hold.closes && !keeps_out(hold))) return false;
    return hold.start < to && hold.end > now_;
  });
}

Beside Profile::beside(NodeNumber n, Time to, const CoreSet& set) {
  const bool promised = is_promised(n, to);
  std::vector<SharedCore> cores;
  for (const SharedCore& core : shared_cores(n, set))
    if (core.jobs < set.most && (!promised || core.until >= to)) cores.push_back(core);
  return make_beside(capacity_.layout(n), {least(n, now_, to), capacity_.width()}, std::move(cores));
}

model::NodeGrant Profile::alone(const model::Job& job, const model::NodeGrant& grant) {
  model::NodeGrant rest = grant;
  rest.cpus = shared_.alone(job, grant);
  return rest;
}

void Profile::share(const model::Allocation& allocation, Time until) {
  shared_.note_start(allocation, until);
}

Hold Profile::make_hold_beside(const Request& request, const CoreSet& set, std::vector<Share> shares) {
  Hold hold{now_, request.end_of_run(now_), std::move(shares), {}, license_row(request)};
  hold.rows.resize(hold.shares.size() * capacity_.width());
  for (std::size_t i = 0; i < hold.shares.size(); ++i)
    take_of_share(request, capacity_, hold.shares[i], kAllRails, beside(hold.shares[i].node, hold.end, set).row.data(),
                  &hold.rows[i * capacity_.width()]);
  return hold;
}

// What others give back when they leave stays taken for as long as this run goes on.
void Profile::stay_on(NodeNumber n, const std::vector<SharedCore>& cores, Time until) {
  const NodeLayout& layout = capacity_.layout(n);
  std::vector<Amount> row(capacity_.width());
  for (const SharedCore& core : cores) {
    if (core.until >= until) continue;
    std::ranges::fill(row, 0);
    add_cpus(layout, cpus_of(layout, {&core, 1}), row.data());
    if (entry_) reserved_starts_.push_back({n, entry_->name, {not_before_soon(core.until, now_), until, row}});
    ends_.add_start(n, until, row.data());
    for (Amount& amount : row) amount = -amount;
    ends_.add_start(n, core.until, row.data());
    if (is_held(n)) held_[held_at_[n]].outdated = true;
  }
}

}  // namespace spur::sched
