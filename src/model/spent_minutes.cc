// SPDX-License-Identifier: Apache-2.0
#include "model/spent_minutes.h"

#include <algorithm>
#include <map>

#include "model/counting.h"

namespace spur::model {
namespace {

constexpr std::string_view kWall = "wall";

using Spent = std::vector<std::string_view>;  // resources of which nothing is left

Spent spent_of(const View& view, const GroupLimits& limits, const TallyPtr* tally, std::int64_t now) {
  Spent out;
  if (!tally || (*tally)->running == 0) return out;
  for (const TresCount& limit : limits.tres_minutes) {
    const std::size_t column = view.tres->find(limit.tres);
    if (column < view.tres->size() && (*tally)->used(column, now) / 60 >= limit.count) out.push_back(limit.tres);
  }
  if (limits.wall_minutes && (*tally)->used(view.tres->size(), now) / 60 >= *limits.wall_minutes) out.push_back(kWall);
  return out;
}

class Search {
 public:
  Search(const View& view, Time now) : view_(view), now_(now) {
    const std::int64_t second = whole_seconds(now);
    for (const AssociationPtr& row : view.accounts->associations()) {
      if (auto spent = spent_of(view, row->group, view.tallies.associations.find(row->id), second); !spent.empty())
        associations_.emplace(row->id, std::move(spent));
      own_ |= !row->max_tres_minutes_per_job.empty();
    }
    for (const Qos& qos : *view.qos) {
      if (auto spent = spent_of(view, qos.group, view.tallies.qos.find(qos.id), second); !spent.empty())
        qos_.emplace(qos.id, std::move(spent));
      own_ |= !qos.max_tres_minutes_per_job.empty();
    }
  }

  bool finds_nothing() const { return associations_.empty() && qos_.empty() && !own_; }

  bool is_over(const Job& job) const {
    const CountedIn where = counted_in(view_, *job.spec, job.association, partition_of(view_, job));
    if (!where.association) return false;
    const TresRow held = view_.tres->held(*job.spec, *job.allocation, *view_.config);
    for (int i = 0; i < 2; ++i)
      if (where.qos[i] && (group_of_qos(where, i, held) || own_minutes(where, i, where.qos[i]->max_tres_minutes_per_job,
                                                                       held, job)))
        return true;
    if (own_minutes(where, 2, where.association->max_tres_minutes_per_job, held, job)) return true;
    for (const Association* row = where.association; row; row = view_.accounts->parent(*row))
      if (const auto spent = associations_.find(row->id); spent != associations_.end())
        for (const std::string_view tres : spent->second)
          if (uses(held, tres) && !has_group_limit(where, 2, tres)) return true;
    return false;
  }

 private:
  bool uses(const TresRow& held, std::string_view tres) const {
    return tres == kWall || held[view_.tres->find(tres)] > 0;
  }
  // A QOS before number `than` has a limit of its own.
  static bool has_group_limit(const CountedIn& where, int than, std::string_view tres) {
    for (int i = 0; i < than; ++i) {
      if (!where.qos[i]) continue;
      const GroupLimits& limits = where.qos[i]->group;
      if (tres == kWall ? limits.wall_minutes.has_value() : find_tres(limits.tres_minutes, tres) != nullptr) return true;
    }
    return false;
  }
  bool group_of_qos(const CountedIn& where, int i, const TresRow& held) const {
    const auto spent = qos_.find(where.qos[i]->id);
    return spent != qos_.end() && std::ranges::any_of(spent->second, [&](std::string_view tres) {
             return uses(held, tres) && !has_group_limit(where, i, tres);
           });
  }
  bool own_minutes(const CountedIn& where, int than, const TresCounts& limits, const TresRow& held,
                   const Job& job) const {
    const auto run = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, std::chrono::duration_cast<seconds>(run_time(job, now_)).count()));
    for (const TresCount& limit : limits) {
      const std::size_t column = view_.tres->find(limit.tres);
      if (column >= view_.tres->size()) continue;
      bool said = false;
      for (int i = 0; i < than; ++i)
        said |= where.qos[i] && find_tres(where.qos[i]->max_tres_minutes_per_job, limit.tres) != nullptr;
      if (!said && static_cast<Wide>(held[column]) * run / 60 > limit.count) return true;
    }
    return false;
  }

  const View& view_;
  Time now_;
  std::map<std::uint32_t, Spent> associations_, qos_;
  bool own_ = false;
};

}  // namespace

std::vector<JobId> jobs_out_of_minutes(const View& view, Time now) {
  std::vector<JobId> out;
  if (!view.config->accounting.limits || view.accounts->empty()) return out;
  const Search search(view, now);
  if (search.finds_nothing()) return out;
  view.active.for_each([&](std::uint32_t, const JobPtr& job) {
    if (job->association == 0 || job->state != JobState::Running || (job->flags & kCompleting)) return;
    if (search.is_over(*job)) out.push_back(job->id);
  });
  return out;
}

}  // namespace spur::model
