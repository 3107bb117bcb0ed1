// SPDX-License-Identifier: Apache-2.0
#include "model/limits.h"

#include <algorithm>
#include <utility>

namespace spur::model {
namespace {

const Tally& or_nothing(const TallyPtr* tally) {
  static const Tally nothing;
  return tally ? **tally : nothing;
}
const Tally& inner(const CowMap<CowMap<TallyPtr>>& map, std::uint32_t outer, std::uint32_t key) {
  const CowMap<TallyPtr>* list = map.find(outer);
  return or_nothing(list ? list->find(key) : nullptr);
}

std::uint64_t at(const TresRow& row, std::size_t column) {
  return column < row.size() ? row[column] : 0;
}

std::uint64_t times(std::uint64_t amount, std::uint64_t by) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(amount, by, &product) ? ~std::uint64_t{0} : product;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a + b < a ? ~std::uint64_t{0} : a + b;
}

std::optional<std::uint32_t> lesser(const std::optional<std::uint32_t>& a, const std::optional<std::uint32_t>& b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}
// The longest that a job may run by it.
std::optional<std::uint32_t> wall_of(const Qos& qos) {
  return lesser(qos.max_wall_minutes, qos.group.wall_minutes);
}

// All checks of one job, in Slurm's order: first what is counted in jobs and minutes on the wall, of the QOS and then
// of the associations from the job's own to the root; then amounts, in the same order. Each returns the first limit
// that it finds broken.
class Checker {
 public:
  Checker(const View& view, const Tallies& tallies, const LimitQuestion& question, Time now)
      : view_(view),
        table_(*view.tres),
        tallies_(tallies),
        q_(question),
        now_(whole_seconds(now)),
        minutes_(question.limit.is_finite() ? question.limit.minutes_value() : kNoLimit),
        safe_(view.config->accounting.safe) {
    for (const Qos* qos : q_.where.qos) {
      if (!qos) continue;
      if (factor_ == 0 && qos->limit_factor_thousandths && *qos->limit_factor_thousandths > 0)
        factor_ = static_cast<std::uint64_t>(*qos->limit_factor_thousandths);
      if (qos->flags & kQosUsageFactorSafe) safe_factor_ = static_cast<std::uint64_t>(qos->usage_factor_thousandths);
    }
    if (factor_ == 0) factor_ = 1000;
  }

  Reason at_start() {
    Reason r = Reason::None;
    for (int i = 0; i < 2 && r == Reason::None; ++i)
      if (q_.where.qos[i]) r = counts_of_qos(i);
    if (r == Reason::None) r = counts_of_associations();
    if (r == Reason::None) r = more_nodes_than_any_may();
    for (int i = 0; i < 2 && r == Reason::None; ++i)
      if (q_.where.qos[i]) r = amounts_of_qos(i);
    return r == Reason::None ? amounts_of_associations() : r;
  }

  // What a job can never keep, whatever the others do; if a QOS says that such jobs are to be refused.
  Reason never() {
    if (std::ranges::none_of(q_.where.qos, [](const Qos* q) { return q && (q->flags & kQosDenyOnLimit); }))
      return Reason::None;
    alone_ = true;
    Reason r = Reason::None;
    for (int i = 0; i < 2 && r == Reason::None; ++i)
      if (q_.where.qos[i]) r = by_itself_of_qos(i);
    return r == Reason::None ? by_itself_of_associations() : r;
  }

 private:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  using Amounts = TresCounts Qos::*;
  using Number = std::optional<std::uint32_t> Qos::*;

  // Whether a QOS that comes before number `than` has such a limit; 2: any QOS.
  template <class Has>
  bool hidden(int than, Has&& has) const {
    for (int i = 0; i < than; ++i)
      if (q_.where.qos[i] && has(*q_.where.qos[i])) return true;
    return false;
  }
  bool hidden(int than, Number number) const {
    return hidden(than, [&](const Qos& qos) { return (qos.*number).has_value(); });
  }

  // Calls broken(column, limit) for every amount that nobody hides.
  template <class List, class Broken>
  Reason amounts(int than, const TresCounts& limits, List&& list_of, LimitOn what, Broken&& broken) const {
    for (const TresCount& limit : limits) {
      const std::size_t column = table_.find(limit.tres);
      if (column >= table_.size()) continue;
      if (hidden(than, [&](const Qos& qos) { return find_tres(list_of(qos), limit.tres) != nullptr; })) continue;
      if (broken(column, limit.count)) return tres_reason(what, tres_kind(limit.tres));
    }
    return Reason::None;
  }
  template <class Broken>
  Reason amounts(int than, Amounts list, LimitOn what, Broken&& broken) const {
    return amounts(
        than, q_.where.qos[than]->*list, [&](const Qos& qos) -> const TresCounts& { return qos.*list; }, what,
        broken);
  }

  std::uint64_t asked(std::size_t column) const { return at(q_.tres, column); }
  // Minutes of the resource that the job may use up; without a time limit no limit of minutes can be kept.
  std::uint64_t asked_minutes(std::size_t column) const {
    const std::uint64_t amount = asked(column);
    return amount == 0 ? 0 : times(amount, minutes_);
  }

  // Beside what the others hold. A node counts once, whoever is on it; which nodes the job gets may be open yet.
  bool too_much(const Tally& tally, std::size_t column, std::uint64_t limit) const {
    if (asked(column) == 0) return false;
    if (alone_) return asked(column) > limit;
    if (column != TresTable::kNode) return plus(at(tally.tres, column), asked(column)) > limit;
    if (!q_.allocation) return (q_.in_vain ? plus(tally.distinct_nodes(), asked(column)) : asked(column)) > limit;
    return plus(tally.distinct_nodes(), tally.more_nodes(*q_.allocation)) > limit;
  }
  bool too_many_minutes(const Tally& tally, std::size_t column, std::uint64_t limit) const {
    return asked(column) > 0 && plus(tally.promised(column, now_) / 60, asked_minutes(column)) > limit;
  }
  // What has been used up is compared without those who ask for none of it.
  bool used_up(const Tally& tally, std::size_t column, std::uint64_t limit) const {
    if (asked(column) == 0) return false;
    const std::uint64_t spent = tally.used(column, now_) / 60;
    if (spent >= limit) return true;
    return safe_ && plus(plus(spent, tally.promised(column, now_) / 60),
                         scaled(asked_minutes(column), safe_factor_)) > limit;
  }
  static std::uint64_t scaled(std::uint64_t amount, std::uint64_t thousandths) {
    return thousandths == 1000 || amount == kNoLimit ? amount : times(amount, thousandths) / 1000;
  }
  // Unlike amounts, minutes on the wall that running jobs may still use do not count, as in Slurm.
  bool wall_is_used_up(const Tally& tally, std::uint32_t limit, bool is_timed = true) const {
    const std::uint64_t spent = tally.used(table_.size(), now_) / 60;
    return spent >= limit || (safe_ && is_timed && plus(spent, scaled(minutes_, safe_factor_)) > limit);
  }

  const Tally& of_all(const Qos& qos) const { return or_nothing(tallies_.qos.find(qos.id)); }
  const Tally& of_user(const Qos& qos) const { return inner(tallies_.users, qos.id, q_.where.user.value); }
  const Tally& of_account(const Qos& qos) const { return inner(tallies_.accounts, qos.id, q_.where.account); }
  const Tally& of(const Association& row) const { return or_nothing(tallies_.associations.find(row.id)); }

  Reason counts_of_qos(int i) const {
    const Qos& qos = *q_.where.qos[i];
    if ((qos.flags & kQosEnforceUsageThreshold) && qos.usage_threshold_thousandths) {
      const FairShare* share = find_share(view_, q_.account, q_.where.user, q_.partition);
      if (share && std::int64_t{share->factor} * 1000 < *qos.usage_threshold_thousandths * std::int64_t{kFullShare})
        return Reason::QosUsageThreshold;
    }
    if (qos.group.jobs && !hidden(i, [](const Qos& q) { return q.group.jobs.has_value(); }) &&
        of_all(qos).running >= *qos.group.jobs)
      return Reason::QosGrpJobs;
    if (qos.group.wall_minutes && !hidden(i, [](const Qos& q) { return q.group.wall_minutes.has_value(); }) &&
        wall_is_used_up(of_all(qos), *qos.group.wall_minutes))
      return Reason::QosGrpWall;
    if (qos.max_jobs_per_account && !hidden(i, &Qos::max_jobs_per_account) &&
        of_account(qos).running >= *qos.max_jobs_per_account)
      return Reason::QosMaxJobsPerAccount;
    if (qos.max_jobs_per_user && !hidden(i, &Qos::max_jobs_per_user) &&
        of_user(qos).running >= *qos.max_jobs_per_user)
      return Reason::QosMaxJobsPerUser;
    return wall_of_qos(i);
  }
  Reason wall_of_qos(int i) const {
    const Qos& qos = *q_.where.qos[i];
    const bool over =
        qos.max_wall_minutes && !hidden(i, &Qos::max_wall_minutes) && minutes_ > *qos.max_wall_minutes;
    return over ? Reason::QosMaxWall : Reason::None;
  }

  Reason counts_of_associations() const {
    const auto has_jobs = [](const Qos& q) { return q.group.jobs.has_value(); };
    const auto has_wall = [](const Qos& q) { return q.group.wall_minutes.has_value(); };
    const Association& own = *q_.where.association;
    for (const Association* row = &own; row; row = view_.accounts->parent(*row)) {
      if (row->group.jobs && !hidden(2, has_jobs) && of(*row).running >= *row->group.jobs) return Reason::AssocGrpJobs;
      if (row->group.wall_minutes && !hidden(2, has_wall) &&
          wall_is_used_up(of(*row), *row->group.wall_minutes, !has_time_of_qos()))
        return Reason::AssocGrpWall;
      if (row != &own) continue;
      if (own.max_jobs && !hidden(2, &Qos::max_jobs_per_user) && !hidden(2, &Qos::max_jobs_per_account) &&
          of(own).running >= *own.max_jobs)
        return Reason::AssocMaxJobs;
      if (const Reason r = wall_of_association(); r != Reason::None) return r;
    }
    return Reason::None;
  }
  Reason wall_of_association() const {
    const Association& own = *q_.where.association;
    const bool over = own.max_wall_minutes && !hidden(2, &Qos::max_wall_minutes) && !has_time_of_qos() &&
                      minutes_ > *own.max_wall_minutes;
    return over ? Reason::AssocMaxWall : Reason::None;
  }
  // It asked for no time and has what a QOS allows: the associations do not hold that against it, as in Slurm.
  bool has_time_of_qos() const {
    return !q_.asks_for_time && hidden(2, [](const Qos& qos) { return wall_of(qos).has_value(); });
  }

  // Slurm looks at the number of nodes before all other amounts: the least of all limits on it speaks.
  Reason more_nodes_than_any_may() const {
    std::uint64_t least = asked(TresTable::kNode);
    Reason found = Reason::None;
    const auto weigh = [&](int than, const TresCounts& limits, auto&& list_of, LimitOn what, std::uint64_t factor) {
      const TresCount* limit = find_tres(limits, "node");
      if (!limit || scaled(limit->count, factor) >= least) return;
      if (hidden(than, [&](const Qos& qos) { return find_tres(list_of(qos), "node") != nullptr; })) return;
      least = scaled(limit->count, factor);
      found = tres_reason(what, TresKind::Node);
    };
    const auto list = [](Amounts of) { return [of](const Qos& qos) -> const TresCounts& { return qos.*of; }; };
    const auto group = [](const Qos& qos) -> const TresCounts& { return qos.group.tres; };
    for (int i = 0; i < 2; ++i) {
      const Qos* qos = q_.where.qos[i];
      if (!qos) continue;
      weigh(i, qos->group.tres, group, LimitOn::QosGrp, 1000);
      weigh(i, qos->max_tres_per_job, list(&Qos::max_tres_per_job), LimitOn::QosMaxPerJob, 1000);
      weigh(i, qos->max_tres_per_account, list(&Qos::max_tres_per_account), LimitOn::QosMaxPerAccount, 1000);
      weigh(i, qos->max_tres_per_user, list(&Qos::max_tres_per_user), LimitOn::QosMaxPerUser, 1000);
    }
    for (const Association* row = q_.where.association; row; row = view_.accounts->parent(*row))
      weigh(2, row->group.tres, group, LimitOn::AssocGrp, factor_);
    weigh(2, q_.where.association->max_tres_per_job, list(&Qos::max_tres_per_job), LimitOn::AssocMaxPerJob, factor_);
    return found;
  }

  Reason amounts_of_qos(int i) const {
    const Qos& qos = *q_.where.qos[i];
    const Tally& all = of_all(qos);
    Reason r = group_amounts(i, qos.group, all, 1000, LimitOn::QosGrp, LimitOn::QosGrpMinutes, LimitOn::QosGrpRunMinutes);
    if (r == Reason::None) r = job_amounts_of_qos(i);
    const auto beside = [&](const Tally& tally) {
      return [&](std::size_t c, std::uint64_t limit) { return too_much(tally, c, limit); };
    };
    const auto minutes_beside = [&](const Tally& tally) {
      return [&](std::size_t c, std::uint64_t limit) { return too_many_minutes(tally, c, limit); };
    };
    const Tally &user = of_user(qos), &account = of_account(qos);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_account, LimitOn::QosMaxPerAccount, beside(account));
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_user, LimitOn::QosMaxPerUser, beside(user));
    if (r == Reason::None)
      r = amounts(i, &Qos::max_tres_run_minutes_per_account, LimitOn::QosMaxMinutesPerJob, minutes_beside(account));
    if (r == Reason::None)
      r = amounts(i, &Qos::max_tres_run_minutes_per_user, LimitOn::QosMaxMinutesPerJob, minutes_beside(user));
    return r;
  }
  Reason job_amounts_of_qos(int i) const {
    const auto more = [&](std::size_t c, std::uint64_t limit) { return asked(c) > limit; };
    const auto more_on_node = [&](std::size_t c, std::uint64_t limit) { return at(q_.per_node, c) > limit; };
    const auto more_minutes = [&](std::size_t c, std::uint64_t limit) { return asked_minutes(c) > limit; };
    const auto less = [&](std::size_t c, std::uint64_t limit) { return asked(c) < limit; };
    Reason r = amounts(i, &Qos::max_tres_minutes_per_job, LimitOn::QosMaxMinutesPerJob, more_minutes);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_job, LimitOn::QosMaxPerJob, more);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_node, LimitOn::QosMaxPerNode, more_on_node);
    if (r == Reason::None) r = amounts(i, &Qos::min_tres_per_job, LimitOn::QosMin, less);
    return r;
  }

  Reason amounts_of_associations() const {
    const Association& own = *q_.where.association;
    for (const Association* row = &own; row; row = view_.accounts->parent(*row)) {
      Reason r = group_amounts(2, row->group, of(*row), factor_, LimitOn::AssocGrp, LimitOn::AssocGrpMinutes,
                               LimitOn::AssocGrpRunMinutes);
      if (r == Reason::None && row == &own) r = job_amounts_of_association();
      if (r != Reason::None) return r;
    }
    return Reason::None;
  }
  Reason job_amounts_of_association() const {
    const Association& row = *q_.where.association;
    const auto list = [](Amounts of) { return [of](const Qos& qos) -> const TresCounts& { return qos.*of; }; };
    const auto more = [&](std::size_t c, std::uint64_t limit) { return asked(c) > scaled(limit, factor_); };
    const auto more_on_node = [&](std::size_t c, std::uint64_t limit) { return at(q_.per_node, c) > limit; };
    const auto more_minutes = [&](std::size_t c, std::uint64_t limit) { return asked_minutes(c) > limit; };
    Reason r = amounts(2, row.max_tres_minutes_per_job, list(&Qos::max_tres_minutes_per_job),
                       LimitOn::AssocMaxMinutesPerJob, more_minutes);
    if (r == Reason::None)
      r = amounts(2, row.max_tres_per_job, list(&Qos::max_tres_per_job), LimitOn::AssocMaxPerJob, more);
    if (r == Reason::None)
      r = amounts(2, row.max_tres_per_node, list(&Qos::max_tres_per_node), LimitOn::AssocMaxPerNode, more_on_node);
    return r;
  }

  // The limits of a group on what has been used, is held, and may still be used.
  Reason group_amounts(int than, const GroupLimits& limits, const Tally& tally, std::uint64_t factor, LimitOn held,
                       LimitOn used, LimitOn running) const {
    Reason r = amounts(
        than, limits.tres_minutes, [](const Qos& q) -> const TresCounts& { return q.group.tres_minutes; }, used,
        [&](std::size_t c, std::uint64_t limit) { return used_up(tally, c, limit); });
    if (r == Reason::None) r = held_by_group(than, limits, tally, factor, held);
    if (r != Reason::None) return r;
    return amounts(
        than, limits.tres_run_minutes, [](const Qos& q) -> const TresCounts& { return q.group.tres_run_minutes; },
        running, [&](std::size_t c, std::uint64_t limit) { return too_many_minutes(tally, c, limit); });
  }
  Reason held_by_group(int than, const GroupLimits& limits, const Tally& tally, std::uint64_t factor,
                       LimitOn held) const {
    return amounts(
        than, limits.tres, [](const Qos& q) -> const TresCounts& { return q.group.tres; }, held,
        [&](std::size_t c, std::uint64_t limit) { return too_much(tally, c, scaled(limit, factor)); });
  }

  // As if there were no others.
  Reason group_by_itself(int than, const GroupLimits& limits, std::uint64_t factor, LimitOn held, LimitOn used,
                         LimitOn running, Reason wall) const {
    static const Tally nobody;
    const auto more_minutes = [&](std::size_t c, std::uint64_t limit) { return asked_minutes(c) > limit; };
    Reason r = amounts(
        than, limits.tres_minutes, [](const Qos& q) -> const TresCounts& { return q.group.tres_minutes; }, used,
        more_minutes);
    if (r == Reason::None) r = held_by_group(than, limits, nobody, factor, held);
    if (r == Reason::None)
      r = amounts(
          than, limits.tres_run_minutes, [](const Qos& q) -> const TresCounts& { return q.group.tres_run_minutes; },
          running, more_minutes);
    const bool too_long = limits.wall_minutes && minutes_ > *limits.wall_minutes &&
                          !hidden(than, [](const Qos& q) { return q.group.wall_minutes.has_value(); });
    return r == Reason::None && too_long ? wall : r;
  }
  Reason by_itself_of_qos(int i) const {
    const Qos& qos = *q_.where.qos[i];
    const auto more = [&](std::size_t c, std::uint64_t limit) { return asked(c) > limit; };
    Reason r = group_by_itself(i, qos.group, 1000, LimitOn::QosGrp, LimitOn::QosGrpMinutes, LimitOn::QosGrpRunMinutes,
                               Reason::QosGrpWall);
    if (r == Reason::None) r = job_amounts_of_qos(i);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_account, LimitOn::QosMaxPerAccount, more);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_user, LimitOn::QosMaxPerUser, more);
    return r == Reason::None ? wall_of_qos(i) : r;
  }
  Reason by_itself_of_associations() const {
    const Association& own = *q_.where.association;
    for (const Association* row = &own; row; row = view_.accounts->parent(*row)) {
      Reason r = group_by_itself(2, row->group, factor_, LimitOn::AssocGrp, LimitOn::AssocGrpMinutes,
                                 LimitOn::AssocGrpRunMinutes, Reason::AssocGrpWall);
      if (r == Reason::None && row == &own) r = job_amounts_of_association();
      if (r == Reason::None && row == &own) r = wall_of_association();
      if (r != Reason::None) return r;
    }
    return Reason::None;
  }

  const View& view_;
  const TresTable& table_;
  const Tallies& tallies_;
  const LimitQuestion& q_;
  const std::int64_t now_;
  const std::uint64_t minutes_;
  const bool safe_;
  bool alone_ = false;               // as if there were no others
  std::uint64_t factor_ = 0;         // of a QOS, on the amounts of associations, in thousandths
  std::uint64_t safe_factor_ = 1000;  // on the minutes that a job needs to run to its end
};

}  // namespace

// On a node as Slurm has it: the whole divided by the nodes.
static void spread(LimitQuestion& question) {
  const std::uint64_t nodes = std::max<std::uint64_t>(question.tres[TresTable::kNode], 1);
  for (const std::uint64_t amount : question.tres) question.per_node.push_back(amount / nodes);
}

LimitQuestion limit_question(const View& view, const JobSpec& spec, std::uint32_t association, const Partition& in,
                             TimeLimit limit) {
  LimitQuestion question{
      counted_in(view, spec, association, in.config.name), {}, {}, limit, spec.account, in.config.name, nullptr, false,
      spec.time_limit.is_set()};
  if (!question.where.association) return question;
  question.tres = view.tres->wanted(spec, in.config, *view.config);
  spread(question);
  return question;
}

LimitQuestion limit_question(const View& view, const JobSpec& spec, std::uint32_t association,
                             const Allocation& allocation, TimeLimit limit) {
  LimitQuestion question{counted_in(view, spec, association, allocation.partition), {}, {}, limit, spec.account,
                         allocation.partition, &allocation, false, spec.time_limit.is_set()};
  if (!question.where.association) return question;
  question.tres = view.tres->held(spec, allocation, *view.config);
  spread(question);
  return question;
}

Reason limit_at_start(const View& view, const Tallies& tallies, const LimitQuestion& question, Time now) {
  if (!view.config->accounting.limits || !question.where.association) return Reason::None;
  return Checker(view, tallies, question, now).at_start();
}

Reason denied_at_submit(const View& view, const LimitQuestion& question) {
  if (!view.config->accounting.limits || !question.where.association) return Reason::None;
  return Checker(view, view.tallies, question, view.as_of).never();
}

Reason limit_at_submit(const View& view, const Tallies& tallies, const CountedIn& where, std::uint32_t jobs) {
  if (!view.config->accounting.limits || !where.association) return Reason::None;
  const auto full = [&](const Tally& tally, const std::optional<std::uint32_t>& limit) {
    return limit && std::uint64_t{tally.submitted} + jobs > *limit;
  };
  bool group = false, user = false, account = false;  // said by a QOS
  for (const Qos* qos : where.qos) {
    if (!qos) continue;
    if (!group && full(or_nothing(tallies.qos.find(qos->id)), qos->group.submit)) return Reason::QosGrpSubmit;
    if (!user && full(inner(tallies.users, qos->id, where.user.value), qos->max_submit_per_user))
      return Reason::QosMaxSubmitPerUser;
    if (!account && full(inner(tallies.accounts, qos->id, where.account), qos->max_submit_per_account))
      return Reason::QosMaxSubmitPerAccount;
    group |= qos->group.submit.has_value();
    user |= qos->max_submit_per_user.has_value();
    account |= qos->max_submit_per_account.has_value();
  }
  if (!user && full(or_nothing(tallies.associations.find(where.association->id)), where.association->max_submit))
    return Reason::AssocMaxSubmit;
  for (const Association* row = where.association; row && !group; row = view.accounts->parent(*row))
    if (full(or_nothing(tallies.associations.find(row->id)), row->group.submit)) return Reason::AssocGrpSubmit;
  return Reason::None;
}

bool may_age(const View& view, const Tallies& tallies, const CountedIn& where) {
  if (!view.config->accounting.limits || !where.association) return true;
  const auto full = [](const Tally& tally, const std::optional<std::uint32_t>& limit) {
    return limit && tally.accruing >= *limit;
  };
  bool group = false, user = false, account = false;  // said by a QOS
  for (const Qos* qos : where.qos) {
    if (!qos) continue;
    if (!group && full(or_nothing(tallies.qos.find(qos->id)), qos->group.jobs_accrue)) return false;
    if (!account && full(inner(tallies.accounts, qos->id, where.account), qos->max_jobs_accrue_per_account))
      return false;
    if (!user && full(inner(tallies.users, qos->id, where.user.value), qos->max_jobs_accrue_per_user)) return false;
    group |= qos->group.jobs_accrue.has_value();
    user |= qos->max_jobs_accrue_per_user.has_value();
    account |= qos->max_jobs_accrue_per_account.has_value();
  }
  const Association& own = *where.association;
  if (!user && !account && full(or_nothing(tallies.associations.find(own.id)), own.max_jobs_accrue)) return false;
  for (const Association* row = &own; row && !group; row = view.accounts->parent(*row))
    if (full(or_nothing(tallies.associations.find(row->id)), row->group.jobs_accrue)) return false;
  return true;
}

bool may_be_planned(const View& view, const Job& job, std::string_view partition, std::uint32_t priority) {
  if (const Qos* qos = find_qos(view, job.spec->qos); qos && (qos->flags & kQosNoReserve)) return false;
  if (!view.config->accounting.limits || job.association == 0) return true;
  const CountedIn where = counted_in(view, *job.spec, job.association, partition);
  for (const Qos* qos : where.qos)
    if (qos && qos->min_priority) return priority >= *qos->min_priority;
  return !where.association || priority >= where.association->min_priority.value_or(0);
}

std::optional<std::uint32_t> longest_wall(const View& view, const CountedIn& where) {
  for (const Qos* qos : where.qos)
    if (const auto wall = qos ? wall_of(*qos) : std::nullopt) return wall;
  const Association* row = where.association;
  if (!row) return std::nullopt;
  auto wall = lesser(row->max_wall_minutes, row->group.wall_minutes);
  while (!wall && (row = view.accounts->parent(*row))) wall = row->group.wall_minutes;
  return wall;
}

}  // namespace spur::model
