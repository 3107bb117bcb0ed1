// SPDX-License-Identifier: Apache-2.0
#include "sched/preempt.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "model/preemption.h"
#include "sched/task_numbers.h"
#include "sched/victim_search.h"

namespace spur::sched {

using model::PreemptHow;

Preemptor::Preemptor(EngineState& state, Grants& grants, std::function<bool(std::uint32_t)> waits)
    : s_(state), grants_(grants), waits_(std::move(waits)), now_(state.profile.now()) {}

std::vector<Preemption> Preemptor::run() {
  if (s_.view.config->preempt.by == model::PreemptBy::Nothing) return {};
  const auto places = queue();
  if (places.empty()) return {};
  gather();
  // Who cannot do it now, no one of the same lane and QOS behind him can.
  std::set<std::pair<std::uint32_t, std::string>> failed;
  for (const Place& place : places) {
    if (jobs_ >= kJobs || tries_ >= kTries || victims_ >= s_.view.config->preempt.most_per_plan) break;
    const model::Job& job = *s_.backlog.slot(place.slot).job;
    const bool done = std::ranges::find(made_, job.id, &Preemption::beneficiary) != made_.end();
    if (done || failed.contains({place.lane, job.spec->qos})) continue;
    if (!attempt(place)) failed.emplace(place.lane, job.spec->qos);
  }
  return std::move(made_);
}

// ---- the queue

Position Preemptor::position_of(const Turn& turn, const LaneRecord& record) const {
  const auto& group = s_.backlog.classes()[record.of_class].groups[s_.backlog.slot(turn.slot).group];
  const std::uint32_t priority = s_.scale.priority({group.key[record.nth], turn.order}, now_);
  return {record.tier, priority, turn.order, turn.job, record.nth};
}

// Of each lane the first jobs that may preempt anybody: as many as could be looked at.
std::vector<Preemptor::Place> Preemptor::queue() const {
  std::vector<Place> places;
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    if (!s_.lanes[l] || s_.lanes[l]->lane.reason(s_.profile) != model::Reason::None) continue;
    if (s_.lanes[l]->lane.has_entries()) continue;  // who waits for a reservation pushes nobody out of it
    const LaneRecord& record = *s_.lanes[l];
    for (const auto& group : s_.backlog.classes()[record.of_class].groups) {
      std::uint32_t taken = 0, passed = 0;
      for (const Turn& turn : group.turns) {
        if (taken >= kJobs || passed >= kPassed) break;
        const model::Job& job = *s_.backlog.slot(turn.slot).job;
        // One that has a claim waits for it.
        if (!waits_(turn.slot) || s_.leaving.contains(job.id) || !may_preempt_anybody(record, job)) {
          ++passed;
          continue;
        }
        ++taken;
        places.push_back({position_of(turn, record), l, turn.slot});
      }
    }
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) { return a.position < b.position; });
  return places;
}

// By the rules alone, whoever runs.
bool Preemptor::may_preempt_anybody(const LaneRecord& record, const model::Job& job) const {
  const auto& config = s_.view.config->preempt;
  if (config.by == model::PreemptBy::PartitionTier) {
    return std::ranges::any_of(*s_.view.partitions,
                               [&](const auto& other) { return other.config.priority_tier < record.tier; });
  }
  const model::Qos* qos = model::find_qos(s_.view, job.spec->qos);
  return qos && (!qos->preempts.empty() || config.within || qos->preempt_mode == PreemptHow::Within);
}

// ---- who may have to go

// min_exempt_priority: by the priority that it has now.
bool Preemptor::is_exempt(const model::Job& running) const {
  const auto least = s_.view.config->preempt.min_exempt_priority;
  if (!least) return false;
  const model::Partition* partition = model::find_partition(s_.view, running.allocation->partition);
  return partition && s_.scale.priority(running, *partition, now_) >= *least;
}

void Preemptor::gather() {
  s_.view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    const bool pushed_aside = job->state == model::JobState::Suspended && job->preempt_how == PreemptHow::Suspend;
    if ((job->flags & model::kCompleting) || !job->allocation || job->het_job) return;
    if (job->state != model::JobState::Running && !pushed_aside) return;
    const auto kept = s_.aside_holds.find(job->id);
    if (pushed_aside && kept == s_.aside_holds.end()) return;  // it runs on
    if (is_set(job->preempt_at) && !pushed_aside) return;
    const model::PreemptRule rule = model::preempt_rule(s_.view, *job);
    const Duration run = model::run_time(*job, now_);
    if (rule.how == PreemptHow::Off || run < rule.exempt) return;
    if (is_exempt(*job)) return;
    PreemptCandidate candidate{job.get(), rule.how, rule.grace, {}};
    if (const auto* partition = model::find_partition(s_.view, job->allocation->partition))
      candidate.tier = partition->config.priority_tier;
    candidate.qos = model::find_qos(s_.view, job->spec->qos);
    if (pushed_aside) candidate.how = PreemptHow::Suspend, candidate.aside = &kept->second;
    const std::int64_t ms = std::chrono::duration_cast<milliseconds>(run).count();
    const bool by_age = s_.view.config->preempt.youngest_first;
    const std::int64_t lost = candidate.how == PreemptHow::Suspend ? 0 : ms * job->cpus_allocated;
    candidate.cost = {by_age ? ms : lost, 1, ms};
    all_.push_back(candidate);
  });
  std::ranges::sort(all_, [](const PreemptCandidate& a, const PreemptCandidate& b) {
    return std::tie(a.cost, a.job->id) < std::tie(b.cost, b.job->id);
  });
  closed_.resize(all_.size());
  first_on_.assign(s_.profile.capacity().size() + std::size_t{1}, 0);
  for (const PreemptCandidate& candidate : all_)
    for (const model::NodeGrant& grant : candidate.job->allocation->nodes)
      ++first_on_[grant.node.value + std::size_t{1}];
  std::partial_sum(first_on_.begin(), first_on_.end(), first_on_.begin());
  on_nodes_.resize(first_on_.back());
  std::vector<std::uint32_t> next(first_on_.begin(), first_on_.end() - 1);
  for (std::uint32_t c = 0; c < all_.size(); ++c)
    for (const model::NodeGrant& grant : all_[c].job->allocation->nodes)
      on_nodes_[next[grant.node.value]++] = {c, static_cast<std::uint32_t>(grant.cpus.size())};
}

std::span<const Preemptor::OnNode> Preemptor::on_node(NodeNumber n) const {
  return std::span(on_nodes_).subspan(first_on_[n], first_on_[n + std::size_t{1}] - first_on_[n]);
}

// The rules of model::may_preempt, for many.
bool Preemptor::may_preempt(const LaneRecord& record, const model::Job& job,
                            const PreemptCandidate& candidate) const {
  if (s_.view.config->preempt.by == model::PreemptBy::PartitionTier) return candidate.tier < record.tier;
  if (!candidate.qos) return false;
  const model::Partition& partition = (*s_.view.partitions)[record.partition];
  switch (model::may_preempt(s_.view, *job.spec, partition, *candidate.job)) {
    case model::MayPreempt::No:
      return false;
    case model::MayPreempt::Yes:
      return true;
    case model::MayPreempt::IfOfLowerPriority:
      break;
  }
  const model::Partition* theirs = model::find_partition(s_.view, candidate.job->allocation->partition);
  return theirs && s_.scale.priority(*candidate.job, *theirs, now_) < s_.scale.priority(job, partition, now_);
}

void Preemptor::touch(const model::Allocation& allocation) {
  for (const model::NodeGrant& grant : allocation.nodes) {
    const auto at = std::ranges::lower_bound(touched_, grant.node.value);
    if (at != touched_.end() && *at == grant.node.value) continue;
    touched_.insert(at, grant.node.value);
    for (const OnNode& one : on_node(grant.node.value)) closed_[one.candidate] = 1;
  }
}

// ---- one job

// The job's own, and those of jobs behind it; what others have a claim on stays.
std::vector<const Hold*> Preemptor::holds_behind(const Place& place) const {
  std::vector<const Hold*> holds;
  for (const auto& [id, planned] : s_.planned) {
    if (planned.claim) continue;
    const std::uint32_t slot = s_.backlog.find(id);
    const auto& lanes = s_.lanes_of_class[s_.backlog.slot(slot).job_class];
    const auto lane =
        std::ranges::find_if(lanes, [&](std::uint32_t l) { return s_.lanes[l]->partition == planned.partition; });
    if (lane == lanes.end()) continue;
    const Turn turn{s_.backlog.slot(slot).order, id, slot};
    if (slot == place.slot || place.position < position_of(turn, *s_.lanes[*lane])) holds.push_back(&planned.hold);
  }
  return holds;
}

// Nodes by what a task there would cost, judged by CPUs alone: a first choice out of many.
std::vector<NodeNumber> Preemptor::cheapest_nodes(const Lane& lane, const PreemptRoom& room,
                                                  const std::vector<std::uint8_t>& allowed) const {
  const Request& request = lane.request();
  const std::uint32_t tasks =
      request.tasks_fixed ? (request.tasks + request.min_nodes - 1) / std::max(1u, request.min_nodes) : 1;
  const bool by_cpus = !request.wants_gres() && request.memory == MemoryNeed::None;
  std::vector<std::pair<std::int64_t, NodeNumber>> found;
  for (NodeNumber n = 0; n < s_.profile.capacity().size(); ++n) {
    if (on_node(n).empty() || !room.in_reach(n)) continue;
    const Amount total = s_.profile.capacity().total(n)[Columns::kCpu];
    const Amount need =
        request.exclusive ? total : std::min(total, std::max(request.min_cpus, request.cpus_per_task * tasks));
    Amount cpus = s_.profile.free_cpus(n);
    std::int64_t cost = 0;
    bool any = false;
    for (const OnNode& one : on_node(n)) {
      if (by_cpus && cpus >= need) break;
      if (!allowed[one.candidate]) continue;
      any = true;
      cpus += one.cpus;
      cost += all_[one.candidate].cost.cpu_milliseconds + 1;
    }
    if (any && cpus >= std::max<Amount>(1, std::min(need, request.cpus_per_task)))
      found.emplace_back(cost * need / std::clamp<Amount>(cpus, 1, std::max<Amount>(need, 1)), n);
  }
  std::ranges::sort(found);
  std::vector<NodeNumber> nodes;
  for (const auto& [cost, n] : found) nodes.push_back(n);
  return nodes;
}

bool Preemptor::attempt(const Place& place) {
  const LaneRecord& record = *s_.lanes[place.lane];
  const Request& request = record.lane.request();
  const model::Job& job = *s_.backlog.slot(place.slot).job;
  std::vector<std::uint8_t> allowed(all_.size());
  bool any = false;
  seconds grace{0};
  for (std::size_t c = 0; c < all_.size(); ++c) {
    if (closed_[c] || !may_preempt(record, job, all_[c])) continue;
    any = true;
    allowed[c] = 1;
    grace = std::max(grace, all_[c].grace);
  }
  if (!any) return false;
  ++jobs_;
  const Duration delay = Duration(grace) + s_.view.config->kill_wait;
  const Time end = request.limit.is_finite() ? request.end_of_run(now_ + delay) : request.end_of_run(now_);
  if (!in_time(request, now_ + delay) || !s_.profile.licenses_suffice(request, now_, end)) return false;
  const auto behind = holds_behind(place);
  for (const Hold* hold : behind) s_.profile.lift(*hold);
  std::optional<Preemption> found;
  {
    PreemptRoom room(record.lane, s_.profile, end, touched_);
    found = search(place, room, allowed);
  }
  for (const Hold* hold : behind) s_.profile.restore(*hold);
  if (found) made_.push_back(*std::move(found));
  return found.has_value();
}

// Over the jobs of the cheapest nodes, and of more of them as long as it takes.
std::optional<Preemption> Preemptor::search(const Place& place, PreemptRoom& room,
                                            const std::vector<std::uint8_t>& allowed) {
  const LaneRecord& record = *s_.lanes[place.lane];
  const Request& request = record.lane.request();
  const auto nodes = cheapest_nodes(record.lane, room, allowed);
  const std::size_t most = s_.view.config->preempt.most_per_plan - victims_;
  std::vector<PreemptCandidate> candidates;
  std::vector<std::uint8_t> in(all_.size());
  std::size_t taken = 0;
  for (std::size_t count = std::max<std::size_t>(kNodes, 2 * std::size_t{request.min_nodes}); taken < nodes.size();
       count *= 4) {
    for (; taken < std::min(count, nodes.size()); ++taken)
      for (const OnNode& one : on_node(nodes[taken]))
        if (allowed[one.candidate] && !std::exchange(in[one.candidate], 1)) {
          candidates.push_back(all_[one.candidate]);
          room.add(candidates.back());
        }
    VictimSearch search(request, room, candidates);
    const auto victims = search.find(most);
    tries_ += search.tries();
    if (search.too_many()) return std::nullopt;
    if (!victims) {
      for (std::uint32_t c = 0; c < candidates.size(); ++c) room.set_gone(c, false);
      continue;
    }
    std::vector<PreemptCandidate> chosen;
    for (const std::uint32_t number : *victims) chosen.push_back(candidates[number]);
    std::ranges::sort(chosen, {}, [](const PreemptCandidate& c) { return c.job->id; });
    return make(place, room, chosen, room.place());
  }
  return std::nullopt;
}

// With the victims gone in the room.
Preemption Preemptor::make(const Place& place, PreemptRoom& room, const std::vector<PreemptCandidate>& victims,
                           const std::vector<Share>& shares) {
  const LaneRecord& record = *s_.lanes[place.lane];
  const Request& request = record.lane.request();
  const Capacity& capacity = s_.profile.capacity();
  Preemption made;
  made.beneficiary = s_.backlog.slot(place.slot).job->id;
  for (const PreemptCandidate& victim : victims) {
    made.victims.push_back({victim.job->id, victim.job->epoch, victim.how, victim.grace});
    if (victim.aside) {
      for (const auto& part : victim.aside->kept) grants_.give_back(part.cpus, Grants::Gone::Cpus);
    } else {
      const auto what = victim.how == PreemptHow::Suspend ? Grants::Gone::Cpus : Grants::Gone::All;
      for (const model::NodeGrant& grant : victim.job->allocation->nodes)
        if (std::ranges::binary_search(capacity.node(grant.node.value).jobs, victim.job->id))
          grants_.give_back(s_.profile.alone(*victim.job, grant), what);
    }
    touch(*victim.job->allocation);
  }
  for (const NodeNumber n : touched_)
    if (const model::NodeGrant left = room.left_by_all(n); !left.cpus.empty()) grants_.give_back(left, Grants::Gone::Cpus);
  victims_ += victims.size();
  auto allocation = std::make_shared<model::Allocation>();
  allocation->partition = (*s_.view.partitions)[record.partition].config.name;
  std::vector<Amount> take(capacity.width());
  const std::uint64_t rails =
      common_rails(request, capacity, shares, [&](const Share& share) { return room.row(share.node); });
  for (const Share& share : shares) {
    auto more = room.given_back(share.node);
    s_.profile.pretend_free(share.node, more);
    take_of_share(request, capacity, share, rails, room.row(share.node), take.data());
    for (Amount& amount : more) amount = -amount;
    s_.profile.pretend_free(share.node, more);
    allocation->nodes.push_back(grants_.grant(request, share, take.data()));
  }
  number_tasks(request, allocation->nodes);
  touch(*allocation);
  made.allocation = std::move(allocation);
  return made;
}

}  // namespace spur::sched
