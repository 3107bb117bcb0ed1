// SPDX-License-Identifier: Apache-2.0
#include "cli/watched_jobs.h"

namespace spur::cli {

WatchedJobs::Changed WatchedJobs::take(const wire::JobChanges& changes) {
  Changed changed;
  current_ = changes.current;
  if (changes.resync) {
    resyncing_ = true;
    for (auto& [id, known] : jobs_) known.confirmed = false;
  }
  const wire::JobTable& table = changes.table;
  about_.as_of = table.as_of;
  if (!table.cluster_name.empty()) about_.cluster_name = table.cluster_name;
  if (about_.node_names.size() < table.node_names.size()) about_.node_names.resize(table.node_names.size());
  for (std::size_t i = 0; i < table.node_names.size(); ++i)
    if (!table.node_names[i].empty()) about_.node_names[i] = table.node_names[i];

  for (std::size_t i = 0; i < table.jobs.size(); ++i) {
    const model::JobPtr& job = table.jobs[i];
    Known now{.job = job,
              .expected_start = i < table.expected_starts.size() ? table.expected_starts[i] : Time{},
              .preemptable = i < table.preemptable.size() ? table.preemptable[i] : Time{},
              .planned_nodes = i < table.planned_nodes.size() ? table.planned_nodes[i] : std::string()};
    jobs_.insert_or_assign(job->id.value, std::move(now));
    changed.jobs.push_back(job->id);
  }
  for (const JobId id : changes.gone) {
    const auto at = jobs_.find(id.value);
    if (at == jobs_.end()) continue;
    changed.gone.push_back(at->second.job);
    jobs_.erase(at);
  }
  if (resyncing_ && current_) {
    resyncing_ = false;
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      if (at->second.confirmed) {
        ++at;
        continue;
      }
      changed.gone.push_back(at->second.job);
      at = jobs_.erase(at);
    }
  }
  return changed;
}

const model::Job* WatchedJobs::find(JobId id) const {
  const auto at = jobs_.find(id.value);
  return at == jobs_.end() ? nullptr : at->second.job.get();
}

wire::JobTable WatchedJobs::table(const std::set<std::uint32_t>* only) const {
  wire::JobTable table = about_;
  const auto add = [&](const Known& known) {
    table.jobs.push_back(known.job);
    table.expected_starts.push_back(known.expected_start);
    table.preemptable.push_back(known.preemptable);
    table.planned_nodes.push_back(known.planned_nodes);
  };
  if (!only) {
    for (const auto& [id, known] : jobs_) add(known);
    return table;
  }
  for (const std::uint32_t id : *only)
    if (const auto at = jobs_.find(id); at != jobs_.end()) add(at->second);
  return table;
}

}  // namespace spur::cli
