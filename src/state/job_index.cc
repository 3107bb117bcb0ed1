// SPDX-License-Identifier: Apache-2.0
#include "state/job_index.h"

#include <fmt/format.h>

#include <utility>

namespace spur::state {
namespace {

using model::Job;

bool counts_as_running(const Job& job) {
  return model::is_active(job.state) && !(job.flags & model::kCompleting);
}

std::string name_key(const Job& job) {
  return fmt::format("{}:{}", job.spec->uid.value, job.spec->name);
}

// What the index keeps of a record; if equal before and after, there is nothing to do.
bool same_for_index(const Job& a, const Job& b) {
  return a.state == b.state && a.flags == b.flags && a.array_job == b.array_job && a.spec == b.spec &&
         a.dependency_never == b.dependency_never && a.dependencies_left == b.dependencies_left;
}

}  // namespace

void JobIndex::count(const Job& job, int sign) {
  const auto add = [sign](std::uint32_t& n, bool yes) { n += yes ? static_cast<std::uint32_t>(sign) : 0u; };
  const auto exclusive = job.spec->exclusive;
  const bool has_nodes = model::is_active(job.state) || (job.flags & model::kCompleting);
  add(user_exclusive_, has_nodes && (exclusive == model::Exclusive::User || exclusive == model::Exclusive::Mcs));
  if (has_nodes)
    for (const model::LicenseRequest& license : job.spec->licenses) {
      const auto at = licenses_.try_emplace(license.name, 0).first;
      at->second += sign > 0 ? license.count : std::uint64_t{0} - license.count;
      if (at->second == 0) licenses_.erase(at);
    }
  if (!job.array_job) return;
  Tally& tally = tallies_[job.array_job];
  add(tally.live, !is_over(job));
  add(tally.waiting, is_waiting(job));
  add(tally.running, counts_as_running(job));
  add(tally.bad, is_over(job) && job.state != model::JobState::Completed);
  if (tally == Tally{}) tallies_.erase(job.array_job);
}

void JobIndex::wait(const Job& job, bool add) {
  if (!is_waiting(job) || job.dependency_never) return;
  for (const model::Dependency& term : job.dependencies_left) {
    if (!term.job) continue;
    if (add) {
      waiting_for_[term.job].insert(job.id);
    } else if (const auto at = waiting_for_.find(term.job); at != waiting_for_.end()) {
      at->second.erase(job.id);
      if (at->second.empty()) waiting_for_.erase(at);
    }
  }
}

void JobIndex::name(const Job& job, bool add) {
  if (!watches_names_ || is_over(job)) return;
  const std::string key = name_key(job);
  NameGroup& group = names_[key];
  if (!group.live.empty()) name_changes_.push_back(*group.live.begin());
  if (add) {
    group.live.insert(job.id);
  } else {
    group.live.erase(job.id);
  }
  if (!is_waiting(job)) group.running += add ? 1u : static_cast<std::uint32_t>(-1);
  if (group.live.empty()) {
    names_.erase(key);
  } else {
    name_changes_.push_back(*group.live.begin());
  }
}

void JobIndex::age(const Job& job, bool add) {
  if (!(job.flags & model::kNotAging)) return;
  const model::JobSpec& spec = *job.spec;
  const Alike key{spec.uid.value, spec.account, spec.qos, spec.partitions.empty() ? "" : spec.partitions.front()};
  if (add) {
    not_aging_[key].insert(job.id);
  } else if (const auto at = not_aging_.find(key); at != not_aging_.end()) {
    at->second.erase(job.id);
    if (at->second.empty()) not_aging_.erase(at);
  }
}

void JobIndex::replace(const Job* before, const Job* after) {
  if (before && after && same_for_index(*before, *after)) return;
  // In this order: what the record was goes, then what it is comes, so that a key in both is right in the end.
  if (before) count(*before, -1), wait(*before, false), name(*before, false), age(*before, false);
  if (after) count(*after, +1), wait(*after, true), name(*after, true), age(*after, true);
}

JobIndex::Tally JobIndex::tally(JobId array) const {
  const auto at = tallies_.find(array);
  return at == tallies_.end() ? Tally{} : at->second;
}

std::uint64_t JobIndex::licenses_held(const std::string& name) const {
  const auto at = licenses_.find(name);
  return at == licenses_.end() ? 0 : at->second;
}

const std::set<JobId>* JobIndex::waiting_for(JobId job) const {
  const auto at = waiting_for_.find(job);
  return at == waiting_for_.end() ? nullptr : &at->second;
}

void JobIndex::watch_names(const CowMap<model::JobPtr>& jobs) {
  if (std::exchange(watches_names_, true)) return;
  jobs.for_each([this](std::uint32_t, const model::JobPtr& job) { name(*job, true); });
  name_changes_.clear();
}

bool JobIndex::is_single(const Job& job) const {
  const auto at = names_.find(name_key(job));
  if (at == names_.end()) return true;
  const NameGroup& group = at->second;
  return group.running == 0 && (group.live.empty() || *group.live.begin() >= job.id);
}

std::vector<JobId> JobIndex::take_name_changes() {
  return std::exchange(name_changes_, {});
}

}  // namespace spur::state
