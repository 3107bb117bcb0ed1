// SPDX-License-Identifier: Apache-2.0
// Nodes that one user has to himself (--exclusive=user, ExclusiveUser): who is on a node, and who is to come. Looked
// up when asked for; nobody pays for it on a cluster where no job wants that.
#include <algorithm>

#include "sched/profile.h"

namespace spur::sched {

bool Profile::keeps_others_off(const model::Job& job) const {
  using model::Exclusive;
  const model::Partition* partition = model::find_partition(view_, job.allocation->partition);
  if (job.spec->exclusive == Exclusive::Node) return false;  // there is nobody else anyway
  if (partition && partition->config.oversubscribe == model::OverSubscribe::Exclusive) return false;
  return job.spec->exclusive != Exclusive::No || (partition && partition->config.exclusive_user);
}

bool Profile::taken_by_others(const Request& request, NodeNumber n, Time from, Time to) const {
  if (!heeds_users(request)) return false;
  const auto clash = [&](Uid user, bool alone) { return user != request.user && (request.user_alone || alone); };
  bool taken = false;
  capacity_.for_each_job_on(view_, n, [&](const model::Job& job, const model::NodeGrant&) {
    taken |= not_before_soon(raw_end(job), now_) > from && clash(job.spec->uid, keeps_others_off(job));
  });
  for (const UserStart& start : user_starts_)
    taken |= start.node == n && start.until > from && clash(start.user, start.alone);
  if (!taken && is_held(n))
    for (const auto& [hold, share] : held_[held_at_[n]].holds)
      taken |= !hold->closes && hold != lifted_ && hold->start < to && hold->end > from &&
               clash(hold->user, hold->user_alone);
  return taken;
}

// When the first planned start on the node begins that does not get along with the request.
Time Profile::others_come(const Request& request, NodeNumber n) const {
  Time first = Time::max();
  for (const auto& [hold, share] : held_[held_at_[n]].holds)
    if (!hold->closes && hold != lifted_ && hold->start > now_ && hold->user != request.user &&
        (request.user_alone || hold->user_alone))
      first = std::min(first, hold->start);
  return first;
}

}  // namespace spur::sched
