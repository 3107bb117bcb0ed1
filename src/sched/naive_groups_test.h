// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's heterogeneous jobs: all components start at one moment, each on nodes of its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/naive_place_test.h"

namespace spur::sched {

class NaiveGroups : protected NaivePlace {
 protected:
  using NaivePlace::NaivePlace;

  struct Placed {
    Record record;
    Found found;
  };
  // Null where a component does not wait. None for any other job.
  std::vector<const model::Job*> components(const model::Job& job) const {
    std::vector<const model::Job*> found;
    for (std::uint32_t i = 0; job.het_job && i < job.het_size; ++i) {
      const auto* other = view_.pending.find(job.het_job.value + i);
      found.push_back(other && (*other)->het_job == job.het_job ? other->get() : nullptr);
    }
    return found;
  }
  // Where a component can run, the partition that speaks for it first.
  std::vector<Record> places_of(const model::Job& job) {
    std::vector<Record> found;
    std::uint32_t nth = 0;
    for (const auto* partition : partitions_of(view_, job)) {
      const Record record{&job, partition, partition->config.priority_tier, 0, 0, nth++};
      if (never_runs(record, request_of(record)) == model::Reason::None) found.push_back(record);
    }
    std::ranges::stable_sort(found, {}, [](const Record& r) { return ~r.tier; });
    return found;
  }
  model::Reason never_in_any(const model::Job& job) {
    if (!places_of(job).empty()) return model::Reason::None;
    std::vector<Record> all;
    for (const auto* partition : partitions_of(view_, job))
      all.push_back({&job, partition, partition->config.priority_tier, 0, 0, 0});
    std::ranges::stable_sort(all, {}, [](const Record& r) { return ~r.tier; });
    return all.empty() ? model::Reason::PartitionConfig : never_runs(all[0], request_of(all[0]));
  }
  // What keeps the whole from starting, whatever is free.
  model::Reason blocked_by(const model::Job& job) {
    using model::Reason;
    for (const model::Job* one : components(job)) {
      if (!one) return Reason::Cleaning;
      if (own_reason(*one, now_) != Reason::None) return own_reason(*one, now_);
    }
    for (const model::Job* one : components(job))
      if (const Reason never = never_in_any(*one); never != Reason::None) return never;
    return Reason::None;
  }
  bool licensed_group(const model::Job& job) {
    return std::ranges::all_of(components(job), [&](const model::Job* one) {
      const Record place = places_of(*one).front();
      return licensed_now(place, *request_of(place));
    });
  }
  std::int64_t size_of_group(const model::Job& job) const {
    std::int64_t size = 0;
    for (const model::Job* one : components(job)) {
      const Record place = const_cast<NaiveGroups*>(this)->places_of(*one).front();
      size += size_in(view_, *place.partition, *request_of(place));
    }
    return size;
  }
  model::Reason reason_in_group(const model::Job& job, const std::map<std::string, JobId>& first) {
    using model::Reason;
    if (const Reason never = never_in_any(job); never != Reason::None) return never;
    if (const Reason blocked = blocked_by(job); blocked != Reason::None) return blocked;
    if (!licensed_group(job)) return Reason::Licenses;
    const auto at = first.find(places_of(*components(job)[0]).front().partition->config.name);
    return at != first.end() && at->second == job.het_job ? Reason::Resources : Reason::Priority;
  }
  // One component after the other, each on other nodes than those before; whoever finds no room comes first next
  // time.
  std::vector<Placed> place_group(const Record& first, Time when) {
    const auto all = components(*first.job);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i) order.push_back(i);
    std::set<std::size_t> came_first;
    while (true) {
      std::map<std::size_t, Placed> placed;
      std::set<std::uint32_t> taken;
      for (const std::size_t i : order) {
        const auto places = i == 0 ? std::vector<Record>{first} : places_of(*all[i]);
        for (const Record& place : places)
          if (!placed.contains(i))
            if (auto found = place_component(place, when, taken)) placed.emplace(i, Placed{place, *found});
        if (!placed.contains(i)) break;
        const Found& found = placed.at(i).found;
        for (const Part& part : found.parts) taken.insert(part.node);
        held_licenses_.push_back({when,
                                  found.request.end_of_run(when),
                                  {found.request.licenses.begin(), found.request.licenses.end()},
                                  kTrial});
      }
      std::erase_if(held_licenses_, [](const HeldLicenses& held) { return held.planned_for == kTrial; });
      if (placed.size() == all.size()) {
        std::vector<Placed> list;
        for (auto& [i, one] : placed) list.push_back(std::move(one));
        return list;
      }
      const std::size_t failed = placed.size();
      if (failed == 0 || !came_first.insert(order[failed]).second) return {};
      const std::size_t component = order[failed];
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(failed));
      order.insert(order.begin(), component);
    }
  }
  std::optional<Found> place_component(const Record& place, Time when, const std::set<std::uint32_t>& taken) {
    const auto request = request_of(place);
    for (const auto& one : open_to(*place.job)) {
      if (when >= one.until) continue;
      for (Request version : versions(*request)) {
        if (!ends_in_time(version, when)) continue;
        Request other = version;
        std::set<std::uint32_t> excluded(taken);
        excluded.insert(version.excluded.begin(), version.excluded.end());
        other.excluded.assign(excluded.begin(), excluded.end());
        entry_ = one.entry;
        if (auto parts = place_here(place, other, when); !parts.empty())
          return Found{when, std::move(parts), std::move(version), entry_};
      }
    }
    return std::nullopt;
  }
  std::vector<Placed> earliest_group(const Record& first) {
    bool licenses = false;
    for (const model::Job* one : components(*first.job)) licenses |= !one->spec->licenses.empty();
    std::set<Time> moments{now_};
    for (const auto& held : held_)
      if (nodes_[held.node].record->usable()) moments.insert(held.to);
    for (const auto& held : held_licenses_)
      if (licenses && !held.what.empty()) moments.insert(held.from), moments.insert(held.to);
    for (const Time t : moments) {
      if (t < now_) continue;
      if (auto placed = place_group(first, t); !placed.empty()) return placed;
    }
    return {};
  }
  bool visit_group(const Record& record) {
    const model::Job& leader = *record.job;
    if (gone_.contains(leader.id)) return true;
    std::vector<std::pair<JobId, NaiveHold>> old;
    for (const model::Job* one : components(leader))
      if (holds_.contains(one->id)) old.emplace_back(one->id, holds_.at(one->id));
    const auto restore = [&] {
      for (const auto& [id, hold] : old) plan_again(id, hold);
      return true;
    };
    for (const auto& [id, hold] : old) unplan(id);
    const auto placed = place_group(record, now_);
    if (!placed.empty()) {
      if (!starts_.empty() && starts_.size() + placed.size() > params_.max_starts) {
        restore();
        return !(more_ = true);
      }
      for (const auto& [where, found] : placed) {
        entry_ = found.entry;
        start(where, found.request, *request_of(where), found.parts);
        starts_.back().group = leader.id;
      }
      return true;
    }
    if (quick_ && (!old.empty() || leader.reason != model::Reason::None)) return restore();
    if (old.empty()) {
      const std::size_t holds = holds_in(*record.partition);
      if (behind_ || holds >= params_.promises || (holds > 0 && !is_old(record))) return true;
      if (!limits_.may_be_planned(leader, *record.partition, record.priority)) return true;
    }
    const auto later = earliest_group(record);
    if (later.empty() || (!old.empty() && later[0].found.when >= old[0].second.from)) return restore();
    for (const auto& [where, found] : later) {
      plan_later(where, found);
      holds_[where.job->id].follows = where.job->is_het_follower();
    }
    return true;
  }
  void foretell_group(const Record& record, const std::vector<Record>& records, NaiveHolds& expected) {
    std::vector<Placed> best;
    for (const Record* first : records_of(*record.job, records)) {
      auto later = earliest_group(*first);
      if (!later.empty() && (best.empty() || later[0].found.when < best[0].found.when)) best = std::move(later);
    }
    const auto holds = holds_;
    for (const auto& [where, found] : best) {
      plan_later(where, found);
      expected[where.job->id] = holds_.at(where.job->id);
    }
    holds_ = holds;
  }

  static std::vector<const Record*> records_of(const model::Job& job, const std::vector<Record>& records) {
    std::vector<const Record*> found;
    for (const Record& record : records)
      if (record.job == &job) found.push_back(&record);
    std::ranges::sort(found, {}, [](const Record* r) { return std::pair(~r->tier, r->nth); });
    return found;
  }
};

}  // namespace spur::sched
