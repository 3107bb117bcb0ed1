// SPDX-License-Identifier: Apache-2.0
// The limits of accounts and QOS as plainly as they can be written: whenever somebody asks, everything that runs is
// added up anew. Only the usage of jobs that are over comes from the view's tallies; there is nowhere else to look.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "model/limits.h"
#include "model/view.h"

namespace spur::sched {

class NaiveLimits {
 public:
  using Reason = model::Reason;

  NaiveLimits(const model::View& view, Time now) : view_(view), now_(model::whole_seconds(now)), at_(now) {
    view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (!model::is_active(job->state) || (job->flags & model::kCompleting)) return;
      std::optional<std::int64_t> since;
      if (!is_set(job->suspended_at)) since = model::whole_seconds(job->counted_from);
      std::optional<std::int64_t> end;
      if (const Time at = model::limit_end(*job); is_set(at)) end = model::whole_seconds(at);
      add(*job, *job->allocation, since, end);
    });
  }

  bool on() const { return view_.config->accounting.limits && !view_.accounts->empty(); }

  void started(const model::Job& job, const model::Allocation& allocation, TimeLimit limit) {
    if (!limit.is_set()) limit = job.time_limit;
    std::optional<std::int64_t> end;
    if (limit.is_finite()) end = model::whole_seconds(at_ + limit.duration());
    add(job, allocation, now_, end);
  }

  // What it asks for, in a partition.
  Reason of(const model::Job& job, const model::Partition& partition) const {
    if (!on() || job.association == 0) return Reason::None;
    const auto tres = view_.tres->wanted(*job.spec, partition.config, *view_.config);
    return check(job, partition.config.name, tres, nullptr, job.time_limit, false);
  }
  // Why it waits, once it has been tried.
  Reason told(const model::Job& job, const model::Partition& partition) const {
    if (!on() || job.association == 0) return Reason::None;
    const auto tres = view_.tres->wanted(*job.spec, partition.config, *view_.config);
    return check(job, partition.config.name, tres, nullptr, job.time_limit, true);
  }
  // What it is to get.
  Reason of(const model::Job& job, const model::Allocation& allocation, TimeLimit limit) const {
    if (!on() || job.association == 0) return Reason::None;
    const auto tres = view_.tres->held(*job.spec, allocation, *view_.config);
    return check(job, allocation.partition, tres, &allocation, limit.is_set() ? limit : job.time_limit, false);
  }

  bool may_be_planned(const model::Job& job, const model::Partition& partition, std::int64_t priority) const {
    const model::Qos* own_qos = model::find_qos(view_, job.spec->qos);
    if (own_qos && (own_qos->flags & model::kQosNoReserve)) return false;
    if (!view_.config->accounting.limits) return true;
    const auto* own = view_.accounts->find(job.association);
    if (!own) return true;
    for (const auto* qos : qos_of(*job.spec, partition.config.name))
      if (qos->min_priority) return priority >= *qos->min_priority;
    return !own->min_priority || priority >= *own->min_priority;
  }

 private:
  struct Running {
    std::vector<std::uint32_t> associations;  // it and all above it
    std::vector<std::uint32_t> qos;
    Uid user;
    std::string account;
    model::TresRow tres;
    std::optional<std::int64_t> since, end;
    std::int64_t factor = 1000;
    std::set<std::uint32_t> nodes;
  };
  using Which = std::function<bool(const Running&)>;
  using Amounts = const model::TresCounts& (*)(const model::Qos&);

  static bool has(const std::vector<std::uint32_t>& list, std::uint32_t id) {
    return std::ranges::find(list, id) != list.end();
  }
  std::vector<const model::Qos*> qos_of(const model::JobSpec& spec, const std::string& partition) const {
    const model::Qos* own = model::find_qos(view_, spec.qos);
    const auto* in = model::find_partition(view_, partition);
    const model::Qos* of_partition = in ? model::find_qos(view_, in->config.qos) : nullptr;
    std::vector<const model::Qos*> list;
    if (of_partition) list.push_back(of_partition);
    if (own && own != of_partition) list.push_back(own);
    if (own && (own->flags & model::kQosOverPartitionQos)) std::ranges::reverse(list);
    return list;
  }
  void add(const model::Job& job, const model::Allocation& allocation, std::optional<std::int64_t> since,
           std::optional<std::int64_t> end) {
    const auto* row = view_.accounts->find(job.association);
    if (!row) return;
    Running one;
    one.account = row->account;
    for (; row; row = view_.accounts->parent(*row)) one.associations.push_back(row->id);
    for (const auto* qos : qos_of(*job.spec, allocation.partition)) one.qos.push_back(qos->id);
    one.user = job.spec->uid;
    one.tres = view_.tres->held(*job.spec, allocation, *view_.config);
    one.tres.push_back(1);
    one.since = since;
    one.end = end;
    if (const auto* own = model::find_qos(view_, job.spec->qos)) one.factor = own->usage_factor_thousandths;
    for (const auto& grant : allocation.nodes) one.nodes.insert(grant.node.value);
    running_.push_back(std::move(one));
  }

  std::uint32_t count(const Which& which) const {
    return static_cast<std::uint32_t>(std::ranges::count_if(running_, which));
  }
  std::uint64_t held(const Which& which, std::size_t column) const {
    std::uint64_t sum = 0;
    for (const Running& one : running_)
      if (which(one)) sum += one.tres[column];
    return sum;
  }
  std::set<std::uint32_t> nodes(const Which& which) const {
    std::set<std::uint32_t> out;
    for (const Running& one : running_)
      if (which(one)) out.insert(one.nodes.begin(), one.nodes.end());
    return out;
  }
  std::uint64_t minutes_used(const Which& which, std::size_t column, const model::TallyPtr* past) const {
    std::uint64_t before = 0;
    if (past && column < (*past)->past.size())
      before = static_cast<std::uint64_t>((*past)->past[column] >> model::kFadedBits);
    std::int64_t since = 0;  // thousandths
    for (const Running& one : running_)
      if (which(one) && one.since)
        since += static_cast<std::int64_t>(one.tres[column]) * one.factor * (now_ - *one.since);
    return (before + static_cast<std::uint64_t>(std::max<std::int64_t>(since, 0)) + 500) / 1000 / 60;
  }
  std::uint64_t minutes_promised(const Which& which, std::size_t column) const {
    std::int64_t sum = 0;
    for (const Running& one : running_)
      if (which(one) && one.end) sum += static_cast<std::int64_t>(one.tres[column]) * (*one.end - now_);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0)) / 60;
  }

  Reason check(const model::Job& job, const std::string& partition, const model::TresRow& tres,
               const model::Allocation* allocation, TimeLimit limit, bool tried) const {
    using model::LimitOn;
    using Qos = model::Qos;
    const auto* own = view_.accounts->find(job.association);
    if (!own) return Reason::None;
    const auto list = qos_of(*job.spec, partition);
    const std::size_t all = list.size();
    const bool timed = limit.is_finite();
    const std::uint64_t minutes = timed ? limit.minutes_value() : 0;
    const std::uint64_t asked_nodes = std::max<std::uint64_t>(tres[model::TresTable::kNode], 1);
    std::vector<const model::Association*> rows;
    for (const auto* row = own; row; row = view_.accounts->parent(*row)) rows.push_back(row);

    // ---- what can be over
    const auto longer = [&](std::uint64_t most) { return !timed || minutes > most; };
    const auto too_many_minutes = [&](std::uint64_t amount, std::uint64_t already, std::uint64_t most,
                                      std::uint64_t thousandths) {
      return amount > 0 && (!timed || already + amount * minutes * thousandths / 1000 > most);
    };
    const auto beside = [&](const Which& which, std::size_t c, std::uint64_t most) {
      if (tres[c] == 0) return false;
      if (c != model::TresTable::kNode) return held(which, c) + tres[c] > most;
      auto places = nodes(which);
      if (!allocation) return tres[c] > most || (tried && places.size() + tres[c] > most);
      for (const auto& grant : allocation->nodes) places.insert(grant.node.value);
      return places.size() > most;
    };
    // A limit speaks if none of the first `before` of the list says something of the same resource.
    const auto amounts = [&](std::size_t before, const model::TresCounts& limits, Amounts same, LimitOn what,
                             const std::function<bool(std::size_t, std::uint64_t)>& over) {
      for (const auto& one : limits) {
        const std::size_t column = view_.tres->find(one.tres);
        if (column >= view_.tres->size()) continue;
        bool said = false;
        for (std::size_t i = 0; i < before; ++i) said = said || model::find_tres(same(*list[i]), one.tres);
        if (!said && over(column, one.count)) return model::tres_reason(what, model::tres_kind(one.tres));
      }
      return Reason::None;
    };
    const auto said_before = [&](std::size_t before, auto&& number) {
      for (std::size_t i = 0; i < before; ++i)
        if (number(*list[i])) return true;
      return false;
    };
    const auto too_much = [&](std::size_t c, std::uint64_t most) { return tres[c] > most; };
    const auto too_much_there = [&](std::size_t c, std::uint64_t most) { return tres[c] / asked_nodes > most; };
    const auto too_long = [&](std::size_t c, std::uint64_t most) { return too_many_minutes(tres[c], 0, most, 1000); };
    const auto too_little = [&](std::size_t c, std::uint64_t least) { return tres[c] < least; };
    const Amounts per_job = [](const Qos& q) -> const model::TresCounts& { return q.max_tres_per_job; };
    const Amounts on_node = [](const Qos& q) -> const model::TresCounts& { return q.max_tres_per_node; };
    const Amounts job_minutes = [](const Qos& q) -> const model::TresCounts& { return q.max_tres_minutes_per_job; };
    const Amounts least = [](const Qos& q) -> const model::TresCounts& { return q.min_tres_per_job; };
    const Amounts per_user = [](const Qos& q) -> const model::TresCounts& { return q.max_tres_per_user; };
    const Amounts per_account = [](const Qos& q) -> const model::TresCounts& { return q.max_tres_per_account; };
    const Amounts group = [](const Qos& q) -> const model::TresCounts& { return q.group.tres; };
    const Amounts group_minutes = [](const Qos& q) -> const model::TresCounts& { return q.group.tres_minutes; };
    const Amounts group_run = [](const Qos& q) -> const model::TresCounts& { return q.group.tres_run_minutes; };
    const Amounts user_run = [](const Qos& q) -> const model::TresCounts& { return q.max_tres_run_minutes_per_user; };
    const Amounts account_run = [](const Qos& q) -> const model::TresCounts& {
      return q.max_tres_run_minutes_per_account;
    };
    std::uint64_t factor = 1000, safe_factor = 1000;
    for (auto at = list.rbegin(); at != list.rend(); ++at)
      if ((*at)->limit_factor_thousandths.value_or(0) > 0)
        factor = static_cast<std::uint64_t>(*(*at)->limit_factor_thousandths);
    for (const Qos* q : list)
      if (q->flags & model::kQosUsageFactorSafe) safe_factor = static_cast<std::uint64_t>(q->usage_factor_thousandths);
    const auto wall_over = [&](const Which& which, const model::TallyPtr* past, std::uint32_t most, bool whole) {
      const auto used = minutes_used(which, view_.tres->size(), past);
      if (used >= most) return true;
      return view_.config->accounting.safe && whole && too_many_minutes(1, used, most, safe_factor);
    };
    // A job that named no time has a QOS's limit, if there is one: no association is asked then.
    bool timed_by_qos = false;
    for (const Qos* q : list)
      if (!job.spec->time_limit.is_set() && (q->max_wall_minutes || q->group.wall_minutes)) timed_by_qos = true;

    // ---- first what is counted in jobs and minutes on the wall
    for (std::size_t i = 0; i < all; ++i) {
      const Qos& q = *list[i];
      const Which in = [&](const Running& one) { return has(one.qos, q.id); };
      const Which user = [&](const Running& one) { return has(one.qos, q.id) && one.user == job.spec->uid; };
      const Which account = [&](const Running& one) { return has(one.qos, q.id) && one.account == own->account; };
      if (q.group.jobs && !said_before(i, [](const Qos& x) { return x.group.jobs.has_value(); }) &&
          count(in) >= *q.group.jobs)
        return Reason::QosGrpJobs;
      if (q.group.wall_minutes && !said_before(i, [](const Qos& x) { return x.group.wall_minutes.has_value(); }) &&
          wall_over(in, view_.tallies.qos.find(q.id), *q.group.wall_minutes, true))
        return Reason::QosGrpWall;
      if (q.max_jobs_per_account &&
          !said_before(i, [](const Qos& x) { return x.max_jobs_per_account.has_value(); }) &&
          count(account) >= *q.max_jobs_per_account)
        return Reason::QosMaxJobsPerAccount;
      if (q.max_jobs_per_user && !said_before(i, [](const Qos& x) { return x.max_jobs_per_user.has_value(); }) &&
          count(user) >= *q.max_jobs_per_user)
        return Reason::QosMaxJobsPerUser;
      if (q.max_wall_minutes && !said_before(i, [](const Qos& x) { return x.max_wall_minutes.has_value(); }) &&
          longer(*q.max_wall_minutes))
        return Reason::QosMaxWall;
    }
    for (const auto* row : rows) {
      const Which below = [&](const Running& one) { return has(one.associations, row->id); };
      if (row->group.jobs && !said_before(all, [](const Qos& x) { return x.group.jobs.has_value(); }) &&
          count(below) >= *row->group.jobs)
        return Reason::AssocGrpJobs;
      if (row->group.wall_minutes &&
          !said_before(all, [](const Qos& x) { return x.group.wall_minutes.has_value(); }) &&
          wall_over(below, view_.tallies.associations.find(row->id), *row->group.wall_minutes, !timed_by_qos))
        return Reason::AssocGrpWall;
      if (row != own) continue;
      if (row->max_jobs && count(below) >= *row->max_jobs && !said_before(all, [](const Qos& x) {
            return x.max_jobs_per_user.has_value() || x.max_jobs_per_account.has_value();
          }))
        return Reason::AssocMaxJobs;
      if (row->max_wall_minutes && longer(*row->max_wall_minutes) && !timed_by_qos &&
          !said_before(all, [](const Qos& x) { return x.max_wall_minutes.has_value(); }))
        return Reason::AssocMaxWall;
    }

    // ---- then nodes, whichever limit on them is the lowest
    {
      std::vector<std::pair<std::uint64_t, Reason>> limits;
      const auto add = [&](std::size_t before, const model::TresCounts& limited, Amounts same, LimitOn what,
                           std::uint64_t by) {
        const auto* one = model::find_tres(limited, "node");
        if (one && !said_before(before, [&](const Qos& x) { return model::find_tres(same(x), "node") != nullptr; }))
          limits.emplace_back(one->count * by / 1000, model::tres_reason(what, model::TresKind::Node));
      };
      for (std::size_t i = 0; i < all; ++i) {
        add(i, list[i]->group.tres, group, LimitOn::QosGrp, 1000);
        add(i, list[i]->max_tres_per_job, per_job, LimitOn::QosMaxPerJob, 1000);
        add(i, list[i]->max_tres_per_account, per_account, LimitOn::QosMaxPerAccount, 1000);
        add(i, list[i]->max_tres_per_user, per_user, LimitOn::QosMaxPerUser, 1000);
      }
      for (const auto* row : rows) add(all, row->group.tres, group, LimitOn::AssocGrp, factor);
      add(all, own->max_tres_per_job, per_job, LimitOn::AssocMaxPerJob, factor);
      const auto lowest = std::ranges::min_element(limits, {}, &std::pair<std::uint64_t, Reason>::first);
      if (lowest != limits.end() && tres[model::TresTable::kNode] > lowest->first) return lowest->second;
    }

    // ---- then amounts
    Reason r = Reason::None;
    const auto found = [&](Reason next) { return r == Reason::None ? (r = next) != Reason::None : true; };
    const auto group_of = [&](std::size_t before, const model::GroupLimits& limits, const Which& which,
                              const model::TallyPtr* past, std::uint64_t by, LimitOn a, LimitOn b, LimitOn c) {
      return found(amounts(before, limits.tres_minutes, group_minutes, b,
                           [&](std::size_t column, std::uint64_t most) {
                             if (tres[column] == 0) return false;
                             const auto used = minutes_used(which, column, past);
                             if (used >= most) return true;
                             return view_.config->accounting.safe &&
                                    too_many_minutes(tres[column], used + minutes_promised(which, column), most,
                                                     safe_factor);
                           })) ||
             found(amounts(before, limits.tres, group, a,
                           [&](std::size_t column, std::uint64_t most) {
                             return beside(which, column, most * by / 1000);
                           })) ||
             found(
                 amounts(before, limits.tres_run_minutes, group_run, c, [&](std::size_t column, std::uint64_t most) {
                   return too_many_minutes(tres[column], minutes_promised(which, column), most, 1000);
                 }));
    };
    for (std::size_t i = 0; i < all; ++i) {
      const Qos& q = *list[i];
      const Which in = [&](const Running& one) { return has(one.qos, q.id); };
      const Which user = [&](const Running& one) { return has(one.qos, q.id) && one.user == job.spec->uid; };
      const Which account = [&](const Running& one) { return has(one.qos, q.id) && one.account == own->account; };
      const auto held_beside = [&](const Which& which) {
        return [&](std::size_t c, std::uint64_t most) { return beside(which, c, most); };
      };
      const auto minutes_beside = [&](const Which& which) {
        return [&](std::size_t c, std::uint64_t most) {
          return too_many_minutes(tres[c], minutes_promised(which, c), most, 1000);
        };
      };
      if (group_of(i, q.group, in, view_.tallies.qos.find(q.id), 1000, LimitOn::QosGrp, LimitOn::QosGrpMinutes,
                   LimitOn::QosGrpRunMinutes) ||
          found(amounts(i, q.max_tres_minutes_per_job, job_minutes, LimitOn::QosMaxMinutesPerJob, too_long)) ||
          found(amounts(i, q.max_tres_per_job, per_job, LimitOn::QosMaxPerJob, too_much)) ||
          found(amounts(i, q.max_tres_per_node, on_node, LimitOn::QosMaxPerNode, too_much_there)) ||
          found(amounts(i, q.min_tres_per_job, least, LimitOn::QosMin, too_little)) ||
          found(amounts(i, q.max_tres_per_account, per_account, LimitOn::QosMaxPerAccount, held_beside(account))) ||
          found(amounts(i, q.max_tres_per_user, per_user, LimitOn::QosMaxPerUser, held_beside(user))) ||
          found(amounts(i, q.max_tres_run_minutes_per_account, account_run, LimitOn::QosMaxMinutesPerJob,
                        minutes_beside(account))) ||
          found(amounts(i, q.max_tres_run_minutes_per_user, user_run, LimitOn::QosMaxMinutesPerJob,
                        minutes_beside(user))))
        return r;
    }
    const auto much_more = [&](std::size_t c, std::uint64_t most) { return tres[c] > most * factor / 1000; };
    for (const auto* row : rows) {
      const Which below = [&](const Running& one) { return has(one.associations, row->id); };
      if (group_of(all, row->group, below, view_.tallies.associations.find(row->id), factor, LimitOn::AssocGrp,
                   LimitOn::AssocGrpMinutes, LimitOn::AssocGrpRunMinutes))
        return r;
      if (row == own &&
          (found(amounts(all, own->max_tres_minutes_per_job, job_minutes, LimitOn::AssocMaxMinutesPerJob, too_long)) ||
           found(amounts(all, own->max_tres_per_job, per_job, LimitOn::AssocMaxPerJob, much_more)) ||
           found(amounts(all, own->max_tres_per_node, on_node, LimitOn::AssocMaxPerNode, too_much_there))))
        return r;
    }
    return Reason::None;
  }

  const model::View& view_;
  const std::int64_t now_;
  const Time at_;
  std::vector<Running> running_;
};

}  // namespace spur::sched
