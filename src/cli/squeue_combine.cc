// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_combine.h"

#include <algorithm>
#include <map>

#include "cli/display.h"

namespace spur::cli {
namespace {

bool is_split_task(const model::Job& job) {
  return job.state == model::JobState::Pending && job.array_job && job.array_task && !job.is_array_rest();
}

// What is left of an array, on its way to be the line of more of its tasks.
struct Whole {
  model::JobPtr rest;
  IndexSet tasks;
  std::vector<std::string> reasons;
  bool grew = false;

  bool takes(const model::Job& task) const {
    return task.spec->name == rest->spec->name && task.spec->partitions == rest->spec->partitions;
  }
  void take(const model::Job& task) {
    tasks.insert(*task.array_task);
    if (std::string reason = reason_text(task); std::ranges::find(reasons, reason) == reasons.end())
      reasons.push_back(std::move(reason));
    grew = true;
  }
  model::JobPtr job() const {
    if (!grew) return rest;
    auto spec = std::make_shared<model::JobSpec>(*rest->spec);
    if (spec->array) spec->array->max_running = 0;
    auto job = std::make_shared<model::Job>(*rest);
    job->spec = std::move(spec);
    job->array_max_running = 0;
    job->array_pending = std::make_shared<const IndexSet>(tasks);
    if (reasons.size() > 1) job->reason_detail = join(reasons, ",");
    return job;
  }
};

template <class T>
void keep(std::vector<T>& row, const std::vector<bool>& kept) {
  if (row.size() != kept.size()) return;
  std::size_t out = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (kept[i]) {
      if (out != i) row[out] = std::move(row[i]);
      ++out;
    }
  row.resize(out);
}

}  // namespace

bool has_split_tasks(const wire::JobTable& table) {
  return std::ranges::any_of(table.jobs, [](const model::JobPtr& job) { return is_split_task(*job); });
}

wire::JobTable with_tasks_combined(wire::JobTable table) {
  std::map<JobId, Whole> arrays;
  for (const model::JobPtr& job : table.jobs)
    if (job->is_array_rest()) arrays[job->array_job] = {job, *job->array_pending, {reason_text(*job)}};
  std::vector<bool> kept(table.jobs.size(), true);
  for (std::size_t i = 0; i < table.jobs.size(); ++i) {
    const model::Job& job = *table.jobs[i];
    const auto array = is_split_task(job) ? arrays.find(job.array_job) : arrays.end();
    if (array == arrays.end() || !array->second.takes(job)) continue;
    array->second.take(job);
    kept[i] = false;
  }
  for (model::JobPtr& job : table.jobs)
    if (job->is_array_rest()) job = arrays.at(job->array_job).job();
  keep(table.expected_starts, kept);
  keep(table.preemptable, kept);
  keep(table.planned_nodes, kept);
  keep(table.jobs, kept);
  return table;
}

}  // namespace spur::cli
