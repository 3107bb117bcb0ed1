// SPDX-License-Identifier: Apache-2.0
#include "sched/preempt_room.h"

#include <algorithm>

namespace spur::sched {

PreemptRoom::PreemptRoom(const Lane& lane, Profile& profile, Time end, const std::vector<NodeNumber>& closed)
    : request_(lane.request()),
      profile_(profile),
      end_(end),
      offers_(lane.request(), lane.reach(), profile),
      row_(profile.capacity().width()) {
  offers_.add_groups();
  for (const NodeNumber n : profile.held_nodes())
    if (profile.free_cpus(n) >= lane.reach().least && offers_.in_reach(n))
      offers_.set(n, profile.least(n, profile.now(), end));
  const std::vector<Amount> nothing(profile.capacity().width());
  for (const NodeNumber n : closed)
    if (offers_.in_reach(n)) offers_.set(n, nothing.data());
}

std::uint32_t PreemptRoom::add(const PreemptCandidate& candidate) {
  const auto number = static_cast<std::uint32_t>(parts_of_.size());
  parts_of_.emplace_back();
  gone_.push_back(false);
  const model::Job& job = *candidate.job;
  const Capacity& capacity = profile_.capacity();
  const Time end = not_before_soon(raw_end(job), profile_.now());
  if (candidate.aside) {
    for (const auto& part : candidate.aside->kept)
      if (in_reach(part.cpus.node.value))
        std::ranges::copy(part.row, add_part(number, part.cpus.node.value, end).begin());
    return number;
  }
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    const NodeNumber n = grant.node.value;
    if (!std::ranges::binary_search(capacity.node(n).jobs, job.id) || !in_reach(n)) continue;
    const std::span<Amount> row = add_part(number, n, end);
    if (job.flags & model::kSharesCores) add_shared(number, job, grant);
    if (candidate.how == model::PreemptHow::Suspend)
      capacity.row_of(job.allocation->partition, profile_.alone(job, grant), Capacity::Part::Cpus, row);
    else if (job.flags & model::kSharesCores)
      capacity.row_of(job, grant, profile_.alone(job, grant).cpus, row);
    else
      capacity.row_of(job, grant, row);
  }
  return number;
}

std::span<Amount> PreemptRoom::add_part(std::uint32_t candidate, NodeNumber n, Time end) {
  const auto [at, added] = node_at_.try_emplace(n, static_cast<std::uint32_t>(nodes_.size()));
  if (added) nodes_.push_back({n, {}, {}, false});
  nodes_[at->second].parts.push_back(static_cast<std::uint32_t>(parts_.size()));
  parts_of_[candidate].push_back(static_cast<std::uint32_t>(parts_.size()));
  return parts_.emplace_back(Part{at->second, candidate, end, std::vector<Amount>(row_.size())}).row;
}

void PreemptRoom::add_shared(std::uint32_t candidate, const model::Job& job, const model::NodeGrant& grant) {
  const CoreSet set{job.allocation->partition, job.allocation->reservation, 0};
  auto& here = nodes_[node_at_.at(grant.node.value)].shared;
  for (const SharedCore& core : profile_.shared_cores(grant.node.value, set)) {
    if (core.jobs < 2 || !std::ranges::binary_search(grant.cpus, core.first)) continue;
    auto at = std::ranges::find(here, core.first, [](const Shared& one) { return one.core.first; });
    if (at == here.end()) at = here.insert(at, {core, {}});
    at->candidates.push_back(candidate);
  }
}

template <class F>
void PreemptRoom::for_each_left(const NodeHere& node, F&& f) const {
  if (node.shared.empty()) return;
  std::vector<Amount> row(row_.size());
  for (const Shared& shared : node.shared) {
    const auto gone = std::ranges::count_if(shared.candidates, [&](std::uint32_t one) { return gone_[one]; });
    if (gone != shared.core.jobs) continue;
    std::ranges::fill(row, 0);
    const NodeLayout& layout = profile_.capacity().layout(node.number);
    add_cpus(layout, cpus_of(layout, {&shared.core, 1}), row.data());
    f(shared.core, row);
  }
}

model::NodeGrant PreemptRoom::left_by_all(NodeNumber n) const {
  model::NodeGrant left;
  left.node = NodeIndex(n);
  const auto at = node_at_.find(n);
  if (at == node_at_.end()) return left;
  for_each_left(nodes_[at->second], [&](const SharedCore& core, const std::vector<Amount>&) {
    const auto cpus = cpus_of(profile_.capacity().layout(n), {&core, 1});
    left.cpus.insert(left.cpus.end(), cpus.begin(), cpus.end());
  });
  std::ranges::sort(left.cpus);
  return left;
}

void PreemptRoom::set_gone(std::uint32_t candidate, bool gone) {
  if (gone_[candidate] == gone) return;
  gone_[candidate] = gone;
  for (const std::uint32_t part : parts_of_[candidate]) {
    NodeHere& node = nodes_[parts_[part].node];
    if (!std::exchange(node.changed, true)) changed_.push_back(parts_[part].node);
  }
}

std::vector<NodeNumber> PreemptRoom::nodes_of(std::uint32_t candidate) const {
  std::vector<NodeNumber> found;
  for (const std::uint32_t part : parts_of_[candidate]) found.push_back(nodes_[parts_[part].node].number);
  return found;
}

// A node without holds only gets more free with time, also with somebody gone from it: what is free now is the least.
const Amount* PreemptRoom::row(NodeNumber n) {
  const auto at = node_at_.find(n);
  if (at == node_at_.end()) return profile_.least(n, profile_.now(), end_);
  const NodeHere& node = nodes_[at->second];
  if (profile_.is_held(n)) {
    Timeline timeline = profile_.timeline_of(n);
    for (const std::uint32_t p : node.parts)
      if (gone_[parts_[p].candidate]) timeline.give_back(profile_.now(), parts_[p].end, parts_[p].row.data());
    for_each_left(node, [&](const SharedCore& core, const std::vector<Amount>& back) {
      timeline.give_back(profile_.now(), not_before_soon(core.until, profile_.now()), back.data());
    });
    timeline.least(profile_.now(), end_, row_.data());
    for (Amount& amount : row_) amount = std::max<Amount>(amount, 0);
  } else {
    std::copy_n(profile_.capacity().free(n), row_.size(), row_.begin());
    for (const std::uint32_t p : node.parts)
      if (gone_[parts_[p].candidate])
        for (std::size_t c = 0; c < row_.size(); ++c) row_[c] += parts_[p].row[c];
    for_each_left(node, [&](const SharedCore&, const std::vector<Amount>& back) {
      for (std::size_t c = 0; c < row_.size(); ++c) row_[c] += back[c];
    });
  }
  return row_.data();
}

std::vector<Amount> PreemptRoom::given_back(NodeNumber n) const {
  std::vector<Amount> sum(row_.size());
  const auto at = node_at_.find(n);
  if (at == node_at_.end()) return sum;
  for (const std::uint32_t p : nodes_[at->second].parts)
    if (gone_[parts_[p].candidate])
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += parts_[p].row[c];
  for_each_left(nodes_[at->second], [&](const SharedCore&, const std::vector<Amount>& back) {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += back[c];
  });
  return sum;
}

void PreemptRoom::bring_up_to_date() {
  for (const std::uint32_t at : changed_) {
    nodes_[at].changed = false;
    offers_.set(nodes_[at].number, row(nodes_[at].number));
  }
  changed_.clear();
}

std::uint32_t PreemptRoom::tasks_on(NodeNumber n) {
  return make_offer(request_, profile_.capacity(), n, row(n)).tasks;
}

bool PreemptRoom::may_suffice() {
  bring_up_to_date();
  return offers_.may_suffice();
}

std::vector<Share> PreemptRoom::place() {
  bring_up_to_date();
  return offers_.place();
}

}  // namespace spur::sched
