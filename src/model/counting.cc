// SPDX-License-Identifier: Apache-2.0
#include "model/counting.h"

#include <algorithm>
#include <utility>

namespace spur::model {
namespace {

// One tally is changed. Written in place where nobody else holds it.
template <class F>
void change(CowMap<TallyPtr>& map, std::uint32_t key, F&& f) {
  Tally tally;
  if (const TallyPtr* found = map.find(key)) tally = **found;
  f(tally);
  if (tally.empty()) {
    map.erase(key);
  } else {
    map.set(key, std::make_shared<const Tally>(std::move(tally)));
  }
}

template <class F>
void change(CowMap<CowMap<TallyPtr>>& map, std::uint32_t outer, std::uint32_t inner, F&& f) {
  CowMap<TallyPtr> list;
  if (const CowMap<TallyPtr>* found = map.find(outer)) {
    list = *found;
    map.set(outer, {});
  }
  change(list, inner, f);
  if (list.empty()) {
    map.erase(outer);
  } else {
    map.set(outer, std::move(list));
  }
}

}  // namespace

std::int64_t whole_seconds(Time at) {
  return to_micros(at) / 1'000'000;
}

std::string_view partition_of(const View& view, const Job& job) {
  if (job.allocation) return job.allocation->partition;
  if (!job.spec->partitions.empty()) return job.spec->partitions.front();
  const Partition* partition = default_partition(view);
  return partition ? std::string_view(partition->config.name) : std::string_view();
}

CountedIn counted_in(const View& view, const JobSpec& spec, std::uint32_t association, std::string_view partition) {
  CountedIn where;
  if (association == 0) return where;
  where.association = view.accounts->find(association);
  if (!where.association) return where;
  where.user = spec.uid;
  if (const Association* account = view.accounts->account(where.association->account)) where.account = account->id;
  const auto known = [](const Qos* qos) { return qos && qos->id != 0 ? qos : nullptr; };
  const Qos* own = known(find_qos(view, spec.qos));
  const Partition* in = find_partition(view, partition);
  const Qos* of_partition = in && !in->config.qos.empty() ? known(find_qos(view, in->config.qos)) : nullptr;
  where.qos[0] = of_partition;
  where.qos[1] = own == of_partition ? nullptr : own;
  if (own && (own->flags & kQosOverPartitionQos)) std::swap(where.qos[0], where.qos[1]);
  return where;
}

bool ages(const Job& job) {
  return job.state == JobState::Pending && !(job.flags & (kCompleting | kNotAging)) && is_set(job.accrue);
}

TallyPart part_of_wait(std::uint32_t jobs, bool ages) {
  TallyPart part;
  part.submitted = jobs;
  part.accruing = ages ? 1 : 0;
  return part;
}

TallyPart part_of_start(const View& view, const JobSpec& spec, TresRow held, TimeLimit limit, Time now,
                        std::shared_ptr<const Allocation> where) {
  TallyPart part;
  part.where = std::move(where);
  part.running = part.submitted = 1;
  part.tres = std::move(held);
  part.used_since = whole_seconds(now);
  if (limit.is_finite()) part.limit_end = whole_seconds(now + limit.duration());
  if (const Qos* qos = find_qos(view, spec.qos))
    part.factor_thousandths = std::max<std::int64_t>(0, qos->usage_factor_thousandths);
  return part;
}

TallyPart part_of(const View& view, const Job& job) {
  TallyPart part;
  if (job.association == 0 || is_final(job.state)) return part;
  part = part_of_wait(job.is_array_rest() ? static_cast<std::uint32_t>(job.array_pending->size()) : 1, ages(job));
  if (!is_active(job.state) || (job.flags & kCompleting) || !job.allocation) return part;
  part.running = 1;
  part.tres = view.tres->held(*job.spec, *job.allocation, *view.config);
  part.where = job.allocation;
  if (const Time end = limit_end(job); is_set(end)) part.limit_end = whole_seconds(end);
  if (!is_set(job.suspended_at) && is_set(job.counted_from))
    part.used_since = whole_seconds(std::max(job.counted_from, view.decayed));
  if (const Qos* qos = find_qos(view, job.spec->qos))
    part.factor_thousandths = std::max<std::int64_t>(0, qos->usage_factor_thousandths);
  return part;
}

void recount(Tallies& tallies, const View& view, const CountedIn& where, const TallyPart& before,
             const TallyPart& after, Time now) {
  if (!where.association || before == after) return;
  const bool over = before.used_since && before.used_since != after.used_since;
  const std::int64_t at = whole_seconds(now);
  const auto both = [&](Tally& tally, const TresCounts& limits) {
    const bool by_node = find_tres(limits, "node") != nullptr;
    tally.remove(before);
    if (by_node) tally.leave_nodes(before);
    if (over) {
      TallyPart used = before;
      used.running = used.submitted = used.accruing = 0;
      Tally lone;
      lone.add(used);
      lone.settle(at);
      for (std::size_t i = 0; i < lone.past.size(); ++i) tally.past[i] += lone.past[i];
    }
    tally.add(after);
    if (by_node) tally.enter_nodes(after);
  };
  for (const Association* row = where.association; row; row = view.accounts->parent(*row))
    change(tallies.associations, row->id, [&](Tally& tally) { both(tally, row->group.tres); });
  for (const Qos* qos : where.qos) {
    if (!qos) continue;
    change(tallies.qos, qos->id, [&](Tally& tally) { both(tally, qos->group.tres); });
    change(tallies.users, qos->id, where.user.value, [&](Tally& tally) { both(tally, qos->max_tres_per_user); });
    if (where.account != 0)
      change(tallies.accounts, qos->id, where.account, [&](Tally& tally) { both(tally, qos->max_tres_per_account); });
  }
}

void recount(View& view, const Job* before, const Job* after, Time now) {
  const std::uint32_t old_row = before ? before->association : 0, new_row = after ? after->association : 0;
  if (old_row == 0 && new_row == 0) return;
  const auto where = [&](const Job& job) {
    return counted_in(view, *job.spec, job.association, partition_of(view, job));
  };
  const TallyPart was = before ? part_of(view, *before) : TallyPart{};
  const TallyPart is = after ? part_of(view, *after) : TallyPart{};
  const bool same_place = before && after && old_row == new_row && before->spec->qos == after->spec->qos &&
                          before->spec->uid == after->spec->uid &&
                          partition_of(view, *before) == partition_of(view, *after);
  if (same_place) return recount(view.tallies, view, where(*after), was, is, now);
  if (before) recount(view.tallies, view, where(*before), was, {}, now);
  if (after) recount(view.tallies, view, where(*after), {}, is, now);
}

}  // namespace spur::model
