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

// All checks of one job. Each returns the first limit that it finds broken.
class Checker {
 public:
  Checker(const View& view, const Tallies& tallies, const LimitQuestion& question, Time now)
      : view_(view),
        table_(*view.tres),
        tallies_(tallies),
        q_(question),
        now_(whole_seconds(now)),
        minutes_(question.limit.is_finite() ? question.limit.minutes_value() : kNoLimit),
        safe_(view.config->accounting.safe) {}

  Reason by_itself(bool only_denying) {
    for (int i = 0; i < 2; ++i) {
      const Qos* qos = q_.where.qos[i];
      if (!qos) continue;
      if (only_denying && !(qos->flags & kQosDenyOnLimit)) continue;
      if (const Reason r = job_limits_of(i); r != Reason::None) return r;
    }
    const bool denies =
        std::ranges::any_of(q_.where.qos, [](const Qos* q) { return q && (q->flags & kQosDenyOnLimit); });
    return only_denying && !denies ? Reason::None : job_limits_of_association();
  }

  Reason beside_others() {
    for (int i = 0; i < 2; ++i) {
      if (!q_.where.qos[i]) continue;
      if (const Reason r = shared_limits_of(i); r != Reason::None) return r;
    }
    return shared_limits_of_associations();
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

  Reason job_limits_of(int i) const {
    const Qos& qos = *q_.where.qos[i];
    const auto more = [&](std::size_t c, std::uint64_t limit) { return asked(c) > limit; };
    const auto more_on_node = [&](std::size_t c, std::uint64_t limit) { return at(q_.per_node, c) > limit; };
    const auto more_minutes = [&](std::size_t c, std::uint64_t limit) { return asked_minutes(c) > limit; };
    const auto less = [&](std::size_t c, std::uint64_t limit) { return asked(c) < limit; };
    Reason r = amounts(i, &Qos::max_tres_per_job, LimitOn::QosMaxPerJob, more);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_node, LimitOn::QosMaxPerNode, more_on_node);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_minutes_per_job, LimitOn::QosMaxMinutesPerJob, more_minutes);
    if (r == Reason::None) r = amounts(i, &Qos::min_tres_per_job, LimitOn::QosMin, less);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_user, LimitOn::QosMaxPerUser, more);
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_account, LimitOn::QosMaxPerAccount, more);
    const auto group = [](const Qos& q) -> const TresCounts& { return q.group.tres; };
    if (r == Reason::None) r = amounts(i, qos.group.tres, group, LimitOn::QosGrp, more);
    if (r != Reason::None) return r;
    if (qos.max_wall_minutes && !hidden(i, &Qos::max_wall_minutes) && minutes_ > *qos.max_wall_minutes)
      return Reason::QosMaxWall;
    return Reason::None;
  }

  Reason job_limits_of_association() const {
    const Association& row = *q_.where.association;
    const auto list = [](Amounts of) { return [of](const Qos& qos) -> const TresCounts& { return qos.*of; }; };
    const auto more = [&](std::size_t c, std::uint64_t limit) { return asked(c) > limit; };
    const auto more_on_node = [&](std::size_t c, std::uint64_t limit) { return at(q_.per_node, c) > limit; };
    const auto more_minutes = [&](std::size_t c, std::uint64_t limit) { return asked_minutes(c) > limit; };
    Reason r = amounts(2, row.max_tres_per_job, list(&Qos::max_tres_per_job), LimitOn::AssocMaxPerJob, more);
    if (r == Reason::None)
      r = amounts(2, row.max_tres_per_node, list(&Qos::max_tres_per_node), LimitOn::AssocMaxPerNode, more_on_node);
    if (r == Reason::None)
      r = amounts(2, row.max_tres_minutes_per_job, list(&Qos::max_tres_minutes_per_job),
                  LimitOn::AssocMaxMinutesPerJob, more_minutes);
    if (r != Reason::None) return r;
    if (row.max_wall_minutes && !hidden(2, &Qos::max_wall_minutes) && minutes_ > *row.max_wall_minutes)
      return Reason::AssocMaxWall;
    return Reason::None;
  }

  // The limits of a group on what is held, has been used, and may still be used.
  Reason group_limits(int than, const GroupLimits& limits, const Tally& tally, std::uint64_t factor, LimitOn held,
                      LimitOn used, LimitOn running) const {
    Reason r = amounts(
        than, limits.tres, [](const Qos& q) -> const TresCounts& { return q.group.tres; }, held,
        [&](std::size_t c, std::uint64_t limit) {
          return asked(c) > 0 && plus(at(tally.tres, c), asked(c)) > times(limit, factor) / 1000;
        });
    if (r != Reason::None) return r;
    r = amounts(
        than, limits.tres_minutes, [](const Qos& q) -> const TresCounts& { return q.group.tres_minutes; }, used,
        [&](std::size_t c, std::uint64_t limit) {
          const std::uint64_t spent = tally.used(c, now_) / 60;
          if (spent >= limit) return true;
          return safe_ && plus(plus(spent, tally.promised(c, now_) / 60), asked_minutes(c)) > limit;
        });
    if (r != Reason::None) return r;
    return amounts(
        than, limits.tres_run_minutes, [](const Qos& q) -> const TresCounts& { return q.group.tres_run_minutes; },
        running,
        [&](std::size_t c, std::uint64_t limit) {
          return plus(tally.promised(c, now_) / 60, asked_minutes(c)) > limit;
        });
  }

  bool wall_is_used_up(const Tally& tally, std::uint32_t limit) const {
    const std::uint64_t spent = tally.used(table_.size(), now_) / 60;
    return spent >= limit || (safe_ && plus(spent, minutes_) > limit);
  }

  Reason shared_limits_of(int i) const {
    const Qos& qos = *q_.where.qos[i];
    const Tally& all = or_nothing(tallies_.qos.find(qos.id));
    const Tally& user = inner(tallies_.users, qos.id, q_.where.user.value);
    const Tally& account = inner(tallies_.accounts, qos.id, q_.where.account);
    const auto has_jobs = [](const Qos& q) { return q.group.jobs.has_value(); };
    if (qos.group.jobs && !hidden(i, has_jobs) && all.running >= *qos.group.jobs) return Reason::QosGrpJobs;
    if (qos.max_jobs_per_user && !hidden(i, &Qos::max_jobs_per_user) && user.running >= *qos.max_jobs_per_user)
      return Reason::QosMaxJobsPerUser;
    if (qos.max_jobs_per_account && !hidden(i, &Qos::max_jobs_per_account) &&
        account.running >= *qos.max_jobs_per_account)
      return Reason::QosMaxJobsPerAccount;
    Reason r =
        group_limits(i, qos.group, all, 1000, LimitOn::QosGrp, LimitOn::QosGrpMinutes, LimitOn::QosGrpRunMinutes);
    const auto beside = [&](const Tally& tally) {
      return [&](std::size_t c, std::uint64_t limit) {
        return asked(c) > 0 && plus(at(tally.tres, c), asked(c)) > limit;
      };
    };
    const auto minutes_beside = [&](const Tally& tally) {
      return [&](std::size_t c, std::uint64_t limit) {
        return plus(tally.promised(c, now_) / 60, asked_minutes(c)) > limit;
      };
    };
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_user, LimitOn::QosMaxPerUser, beside(user));
    if (r == Reason::None) r = amounts(i, &Qos::max_tres_per_account, LimitOn::QosMaxPerAccount, beside(account));
    if (r == Reason::None)
      r = amounts(i, &Qos::max_tres_run_minutes_per_user, LimitOn::QosMaxMinutesPerJob, minutes_beside(user));
    if (r == Reason::None)
      r = amounts(i, &Qos::max_tres_run_minutes_per_account, LimitOn::QosMaxMinutesPerJob, minutes_beside(account));
    if (r != Reason::None) return r;
    const auto has_wall = [](const Qos& q) { return q.group.wall_minutes.has_value(); };
    if (qos.group.wall_minutes && !hidden(i, has_wall) && wall_is_used_up(all, *qos.group.wall_minutes))
      return Reason::QosGrpWall;
    if (qos.usage_threshold_thousandths) {
      const FairShare* share = find_share(view_, q_.account, q_.where.user, q_.partition);
      if (share && std::int64_t{share->factor} * 1000 < *qos.usage_threshold_thousandths * std::int64_t{kFullShare})
        return Reason::QosUsageThreshold;
    }
    return Reason::None;
  }

  Reason shared_limits_of_associations() const {
    std::uint64_t factor = 1000;
    for (const Qos* qos : q_.where.qos)
      if (qos && qos->limit_factor_thousandths && *qos->limit_factor_thousandths > 0) {
        factor = static_cast<std::uint64_t>(*qos->limit_factor_thousandths);
        break;
      }
    const Association& own = *q_.where.association;
    const auto jobs_per_user = [](const Qos& q) { return q.max_jobs_per_user.has_value(); };
    if (own.max_jobs && !hidden(2, jobs_per_user) &&
        or_nothing(tallies_.associations.find(own.id)).running >= *own.max_jobs)
      return Reason::AssocMaxJobs;
    const auto has_jobs = [](const Qos& q) { return q.group.jobs.has_value(); };
    const auto has_wall = [](const Qos& q) { return q.group.wall_minutes.has_value(); };
    for (const Association* row = &own; row; row = view_.accounts->parent(*row)) {
      const Tally& tally = or_nothing(tallies_.associations.find(row->id));
      if (row->group.jobs && !hidden(2, has_jobs) && tally.running >= *row->group.jobs) return Reason::AssocGrpJobs;
      const Reason r = group_limits(2, row->group, tally, factor, LimitOn::AssocGrp, LimitOn::AssocGrpMinutes,
                                    LimitOn::AssocGrpRunMinutes);
      if (r != Reason::None) return r;
      if (row->group.wall_minutes && !hidden(2, has_wall) && wall_is_used_up(tally, *row->group.wall_minutes))
        return Reason::AssocGrpWall;
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
};

}  // namespace

LimitQuestion limit_question(const View& view, const JobSpec& spec, std::uint32_t association, const Partition& in,
                             TimeLimit limit) {
  LimitQuestion question{
      counted_in(view, spec, association, in.config.name), {}, {}, limit, spec.account, in.config.name};
  if (!question.where.association) return question;
  question.tres = view.tres->wanted(spec, in.config, *view.config);
  const std::uint64_t nodes = std::max<std::uint64_t>(question.tres[TresTable::kNode], 1);
  for (const std::uint64_t amount : question.tres) question.per_node.push_back((amount + nodes - 1) / nodes);
  return question;
}

LimitQuestion limit_question(const View& view, const JobSpec& spec, std::uint32_t association,
                             const Allocation& allocation, TimeLimit limit) {
  LimitQuestion question{
      counted_in(view, spec, association, allocation.partition), {}, {}, limit, spec.account, allocation.partition};
  if (!question.where.association) return question;
  question.tres = view.tres->held(spec, allocation, *view.config);
  question.per_node.assign(question.tres.size(), 0);
  const bool limited =
      !question.where.association->max_tres_per_node.empty() ||
      std::ranges::any_of(question.where.qos, [](const Qos* q) { return q && !q->max_tres_per_node.empty(); });
  if (!limited) return question;
  JobSpec bare;  // licenses are not of a node
  for (const NodeGrant& grant : allocation.nodes) {
    const TresRow row = view.tres->held(bare, {{grant}, allocation.partition, {}}, *view.config);
    for (std::size_t i = 0; i < row.size(); ++i) question.per_node[i] = std::max(question.per_node[i], row[i]);
  }
  return question;
}

Reason limit_at_start(const View& view, const Tallies& tallies, const LimitQuestion& question, Time now) {
  if (!view.config->accounting.limits || !question.where.association) return Reason::None;
  Checker checker(view, tallies, question, now);
  const Reason reason = checker.by_itself(false);
  return reason != Reason::None ? reason : checker.beside_others();
}

Reason denied_at_submit(const View& view, const LimitQuestion& question) {
  if (!view.config->accounting.limits || !question.where.association) return Reason::None;
  return Checker(view, view.tallies, question, view.as_of).by_itself(true);
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

std::optional<std::uint32_t> longest_wall(const CountedIn& where) {
  for (const Qos* qos : where.qos)
    if (qos && qos->max_wall_minutes) return qos->max_wall_minutes;
  return where.association ? where.association->max_wall_minutes : std::nullopt;
}

}  // namespace spur::model
