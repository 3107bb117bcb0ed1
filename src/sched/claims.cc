// SPDX-License-Identifier: Apache-2.0
// The beginning of a walk: jobs for which others had to go come first, in the order in which they were promised
// something, and get nothing but that. What was freed for them is kept for them as long as one of the others is still
// leaving; so nobody goes in vain, and nobody who had a planned start before loses it to them. Elsewhere they may
// start in their turn like everybody else.
#include <algorithm>

#include "sched/placement.h"
#include "sched/preempt.h"
#include "sched/walk.h"

namespace spur::sched {

using model::Reason;

bool Walk::visit_claims() {
  std::vector<std::uint32_t> slots(s_.backlog.claimed().begin(), s_.backlog.claimed().end());
  std::ranges::sort(slots, {}, [&](std::uint32_t slot) {
    const model::Job& job = *s_.backlog.slot(slot).job;
    return std::pair(job.claimed_from, job.id);
  });
  return std::ranges::all_of(slots, [&](std::uint32_t slot) { return visit_claim(slot); });
}

// Of an array one task.
bool Walk::visit_claim(std::uint32_t slot) {
  const model::Job& job = *s_.backlog.slot(slot).job;
  if (at_cap(job)) return true;
  const model::Allocation& claim = *job.claim;
  const auto at = s_.planned.find(job.id);
  PlannedStart* planned = at == s_.planned.end() ? nullptr : &at->second;
  const auto& lanes = s_.lanes_of_class[s_.backlog.slot(slot).job_class];
  const auto lane = std::ranges::find_if(lanes, [&](std::uint32_t l) {
    return (*s_.view.partitions)[s_.lanes[l]->partition].config.name == claim.partition;
  });
  const auto lost = [&](const model::NodeGrant& grant) { return !s_.profile.groups().usable(grant.node.value); };
  if (lane == lanes.end() || s_.lanes[*lane]->lane.reason(s_.profile) != Reason::None ||
      std::ranges::any_of(claim.nodes, lost)) {
    if (planned && planned->claim) give_back(planned);
    return true;
  }
  const Item item{{}, *lane, slot, true};
  if (planned) s_.profile.lift(planned->hold);
  const auto shares = fit_claim(claim, s_.lanes[*lane]->lane);
  if (planned) s_.profile.restore(planned->hold);
  if (!shares.empty()) {
    if (plan_.starts.size() >= s_.params.max_starts) return !(plan_.more = true);
    give_back(planned);
    start(item, shares);
  } else if (!s_.leaving.contains(job.id)) {
    if (planned && planned->claim) give_back(planned);  // all are gone and it is not enough: something else came
  } else if (!planned || !planned->claim) {
    give_back(planned);
    keep_claim(item, claim);
  }
  return true;
}

// The job on the nodes of its claim, now.
std::vector<Share> Walk::fit_claim(const model::Allocation& claim, Lane& lane) {
  const Request& request = lane.request();
  const Time end = request.end_of_run(now_);
  if (!s_.profile.licenses_suffice(request, now_, end)) return {};
  std::vector<Offer> offers;
  for (const model::NodeGrant& grant : claim.nodes) {
    const NodeNumber n = grant.node.value;
    Offer offer = make_offer(request, s_.profile.capacity(), n, s_.profile.least(n, now_, end));
    if (offer.tasks == 0) return {};
    offers.push_back(offer);
  }
  return choose(request, offers);
}

void Walk::keep_claim(const Item& item, const model::Allocation& claim) {
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  const Request& request = s_.lanes[item.lane]->lane.request();
  const Capacity& capacity = s_.profile.capacity();
  const Time from = std::max(job.claimed_from, now_);
  Hold hold{from, request.end_of_run(from), {}, {}, {}};
  hold.rows.resize(claim.nodes.size() * capacity.width());
  for (std::size_t i = 0; i < claim.nodes.size(); ++i) {
    hold.shares.push_back({claim.nodes[i].node.value, claim.nodes[i].tasks / std::max(1u, request.lot), {}});
    capacity.row_of(claim.partition, claim.nodes[i], Capacity::Part::All,
                    std::span(hold.rows).subspan(i * capacity.width(), capacity.width()));
  }
  hold.licenses = s_.profile.license_row(request);
  keep(item, std::move(hold));
  s_.planned.at(job.id).claim = job.claim;
}

void Walk::propose_preemptions() {
  if (s_.view.config->preempt.by == model::PreemptBy::Nothing) return;
  if (!grants_) grants_.emplace(s_.profile.capacity());
  const auto waits = [&](std::uint32_t slot) { return !started(slot) && !at_cap(*s_.backlog.slot(slot).job); };
  plan_.preemptions = Preemptor(s_, *grants_, waits).run();
}

}  // namespace spur::sched
