// SPDX-License-Identifier: Apache-2.0
// The beginning of a walk: jobs for which others had to go come first, in the order in which they were promised
// something, and get nothing but that. What was freed for them is kept for them until they start; so nobody goes in
// vain, and nobody who had a planned start before loses it to them. Elsewhere they may start in their turn like
// everybody else.
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
  // All of them are kept before the first one starts: nobody takes what was freed for another.
  std::vector<Item> open;
  const auto waits = [&](const Item& item) { return s_.leaving.contains(s_.backlog.slot(item.slot).job->id); };
  for (const std::uint32_t slot : slots)
    if (const auto lane = lane_of_claim(slot)) {
      open.push_back({{}, *lane, slot, 0, true});
      keep_claim(open.back(), waits(open.back()) ? now_ + seconds(1) : now_);
    } else {
      give_up_claim(slot);
    }
  // What is free now is first for those for whom all have gone; the others count on what comes back in a moment.
  bool stop = false;
  std::erase_if(open, [&](const Item& item) { return !waits(item) && !stop && start_claim(item, stop); });
  for (const Item& item : open) keep_claim(item, now_);
  for (const Item& item : open)
    if (waits(item) && !stop) start_claim(item, stop);
  std::erase_if(open, waits);
  // All are gone for those, and it is not enough: something else came between. The last one gives up first.
  while (!open.empty() && !stop) {
    const model::Job& last = *s_.backlog.slot(open.back().slot).job;
    if (last.claimed_from + s_.view.config->kill_wait + kClaimPatience < now_) give_up_claim(open.back().slot);
    open.pop_back();
    std::erase_if(open, [&](const Item& item) { return !stop && start_claim(item, stop); });
  }
  return !stop;
}

// None if it cannot be honoured any more.
std::optional<std::uint32_t> Walk::lane_of_claim(std::uint32_t slot) const {
  const model::Allocation& claim = *s_.backlog.slot(slot).job->claim;
  const auto lost = [&](const model::NodeGrant& grant) { return !s_.profile.groups().usable(grant.node.value); };
  if (std::ranges::any_of(claim.nodes, lost)) return std::nullopt;
  for (const std::uint32_t l : s_.lanes_of_class[s_.backlog.slot(slot).job_class])
    if ((*s_.view.partitions)[s_.lanes[l]->partition].config.name == claim.partition &&
        s_.lanes[l]->lane.reason(s_.profile) == Reason::None)
      return l;
  return std::nullopt;
}

void Walk::give_up_claim(std::uint32_t slot) {
  const JobId job = s_.backlog.slot(slot).job->id;
  const auto at = s_.planned.find(job);
  PlannedStart* planned = at == s_.planned.end() ? nullptr : &at->second;
  if (planned && planned->claim) give_back(planned);
  plan_.given_up.push_back(job);
}

// Of an array one task.
bool Walk::start_claim(const Item& item, bool& stop) {
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  if (at_cap(job) || limit_of(item.lane, tallies_) != Reason::None) return false;
  PlannedStart* planned = &s_.planned.at(job.id);
  s_.profile.lift(planned->hold);
  const auto shares = fit_claim(*job.claim, s_.lanes[item.lane]->lane);
  s_.profile.restore(planned->hold);
  if (shares.empty()) return false;
  if (plan_.starts.size() >= s_.params.max_starts) return plan_.more = stop = true;
  give_back(planned);
  s_.lanes[item.lane]->lane.choose_whole();
  return start(item, shares);
}

// The job on the nodes of its claim, now.
std::vector<Share> Walk::fit_claim(const model::Allocation& claim, Lane& lane) {
  const Request& request = lane.request();
  const Time end = request.end_of_run(now_);
  if (!s_.profile.licenses_suffice(request, now_, end)) return {};
  std::vector<Offer> offers;
  for (const model::NodeGrant& grant : claim.nodes) {
    const NodeNumber n = grant.node.value;
    const Capacity& capacity = s_.profile.capacity();
    const Amount* row = s_.profile.least(n, now_, end);
    Offer offer = make_offer(request, capacity, n, row);
    if (offer.tasks == 0) return {};
    if (heeds_fragments(request, capacity))
      judge_growth(request, capacity, gpu_node(capacity.layout(n), capacity.memory_is_consumable(), row), offer);
    offers.push_back(offer);
  }
  return choose(request, offers);
}

// Not before `soonest`.
void Walk::keep_claim(const Item& item, Time soonest) {
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  const model::Allocation& claim = *job.claim;
  const Time from = std::max(job.claimed_from, soonest);
  if (const auto at = s_.planned.find(job.id); at != s_.planned.end()) {
    PlannedStart* planned = &at->second;
    if (planned->claim && planned->hold.start == from) return;
    give_back(planned);
  }
  const Request& request = s_.lanes[item.lane]->lane.request();
  const Capacity& capacity = s_.profile.capacity();
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
  --holds_in_[s_.lanes[item.lane]->partition];  // it takes no promise from others
}

// Then those who were suspended to make room, in that order: whose CPUs are all free again runs on. Of the others',
// what is free stays free: else jobs that came later would keep them from ever going on.
void Walk::visit_aside() {
  std::vector<const model::Job*> jobs;
  for (const auto& [id, job] : s_.aside) jobs.push_back(job.get());
  std::ranges::sort(jobs, {}, [](const model::Job* job) { return std::pair(job->preempt_at, job->id); });
  if (!jobs.empty() && !grants_) grants_.emplace(s_.profile.capacity());
  for (const model::Job* job : jobs) visit_aside(*job);
}

void Walk::visit_aside(const model::Job& job) {
  const Capacity& capacity = s_.profile.capacity();
  const Duration left =
      job.time_limit.is_finite() ? job.time_limit.duration() - model::run_time(job, now_) : Duration{};
  const Time end = job.time_limit.is_finite() ? now_ + std::max<Duration>(left, seconds(1)) : kNever;
  bool all = true;
  EngineState::Aside aside{{now_, kNever, {}, {}, {}}, {}};
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    const NodeNumber n = grant.node.value;
    if (!std::ranges::binary_search(capacity.node(n).jobs, job.id)) continue;
    model::NodeGrant free{grant.node, {}, 0, 0, {}, {}, {}}, taken = free;
    for (const model::CpuNumber cpu : grant.cpus) (grants_->is_free(n, cpu) ? free : taken).cpus.push_back(cpu);
    for (const model::CpuNumber cpu : grant.kept_cpus)
      (grants_->is_free(n, cpu) ? free : taken).kept_cpus.push_back(cpu);
    const bool all_free = model::cpus_held(taken) == 0;
    EngineState::Aside::Part part{free, std::vector<Amount>(capacity.width())};
    capacity.row_of(job.allocation->partition, free, Capacity::Part::Cpus, part.row);
    all &= all_free && std::ranges::equal(part.row, std::span(s_.profile.least(n, now_, end), part.row.size()),
                                          std::ranges::less_equal{});
    aside.kept.push_back(std::move(part));
    if (all_free) continue;
    aside.hold.shares.push_back({n, 1, {}});
    aside.hold.rows.resize(aside.hold.rows.size() + capacity.width());
    capacity.row_of(job.allocation->partition, taken, Capacity::Part::Cpus,
                    std::span(aside.hold.rows).last(capacity.width()));
  }
  for (const auto& part : aside.kept) {
    grants_->take_cpus(part.cpus);
    s_.profile.occupy(part.cpus.node.value, all ? end : kNever, part.row.data());
  }
  if (all) {
    plan_.resumes.push_back(job.id);
    return;
  }
  const auto [at, added] = s_.aside_holds.insert_or_assign(job.id, std::move(aside));
  s_.profile.add(at->second.hold);
}

void Walk::propose_preemptions() {
  if (s_.view.config->preempt.by == model::PreemptBy::Nothing) return;
  if (!grants_) grants_.emplace(s_.profile.capacity());
  const auto limited = [&](std::uint32_t slot) {
    return limits_ && std::ranges::all_of(s_.lanes_of_class[s_.backlog.slot(slot).job_class],
                                          [&](std::uint32_t l) { return limit_of(l, tallies_) != Reason::None; });
  };
  const auto waits = [&](std::uint32_t slot) {
    return !started(slot) && !at_cap(*s_.backlog.slot(slot).job) && !limited(slot);
  };
  plan_.preemptions = Preemptor(s_, *grants_, waits).run();
}

}  // namespace spur::sched
