// SPDX-License-Identifier: Apache-2.0
// Storing records, so that the maps of the view, the indexes and the list of changes stay right.
#include <utility>

#include "base/check.h"
#include "model/counting.h"
#include "model/relative_qos.h"
#include "state/apply.h"

namespace spur::state {

using model::Job;

void Applier::put(Job job, bool quiet) {
  const Job* before = model::find_job(view, job.id);
  const bool same_state = before && before->state == job.state;
  SPUR_CHECK_MSG(!before || same_state || model::may_follow(before->state, job.state), "a state that may not follow");
  settle_aging(before, job);
  index().replace(before, &job);
  if (!quiet) model::recount(view, before, &job, now);
  const bool has_nodes = model::is_active(job.state) || (job.flags & model::kCompleting);
  const bool waiting = is_waiting(job);
  const bool had_nodes = before && (model::is_active(before->state) || (before->flags & model::kCompleting));
  const bool waited = before && is_waiting(*before);
  const bool was_over = before && is_over(*before);

  const bool noted = is_noted(before, job);

  const JobId id = job.id;
  const auto record = std::make_shared<const Job>(std::move(job));
  view.jobs.set(id.value, record);
  if (noted) note(JobNote{record, false});
  if (waiting) {
    view.pending.set(id.value, record);
  } else if (waited) {
    view.pending.erase(id.value);
  }
  if (has_nodes) {
    view.active.set(id.value, record);
  } else if (had_nodes) {
    view.active.erase(id.value);
  }
  cluster.changes_.jobs.push_back(id);
  if (!quiet) emit(JobChanged{id});
  if (!record->spec->reservation.empty() && is_over(*record) && !was_over) note_idle_reservations(*record);
}

void Applier::forget(const Job& job) {
  const JobId id = job.id;
  if (model::ages(job)) others_may_age = true;
  disable_cron(job);
  std::erase_if(cluster.triggers_, [&](const auto& row) { return row.second.job == job.id && !is_set(row.second.due); });
  index().replace(&job, nullptr);
  model::recount(view, &job, nullptr, now);
  if (!job.submit_token.empty()) cluster.tokens_.retire(job, view.next_job_id);
  if (job.array_task) {
    unlist_task(job.array_job, *job.array_task);
  } else if (job.array_job && job.array_job != id) {
    unlist_task(job.array_job, *job.array_pending->lowest());
  }
  view.pending.erase(id.value);
  view.active.erase(id.value);
  view.jobs.erase(id.value);
  cluster.changes_.jobs.push_back(id);
}

void Applier::put_node(model::Node node) {
  const NodeIndex at = node.index;
  if (issue_reboot(node)) emit(RebootNode{at});
  const model::NodePtr* before = view.nodes.find(at.value);
  const bool noted = is_noted(before ? before->get() : nullptr, node);
  const bool other_hardware = before && (*before)->hardware != node.hardware;
  const auto record = std::make_shared<const model::Node>(std::move(node));
  view.nodes.set(at.value, record);
  if (noted) note(NodeNote{record});
  if (other_hardware) note_cluster();
  if (other_hardware && view.qos_in_force) {
    view.qos_in_force = model::qos_with_amounts(view);
    cluster.changes_.qos = true;
  }
  cluster.changes_.nodes.push_back(at);
}

model::Node Applier::node_copy(NodeIndex at) const {
  const model::NodePtr* node = view.nodes.find(at.value);
  SPUR_CHECK(node);
  return **node;
}

std::optional<JobId> Applier::free_id() const {
  const std::uint32_t first = config().first_job_id, last = config().max_job_id;
  const auto in_use = [&](std::uint32_t id) { return view.jobs.contains(id) || view.arrays.contains(id); };
  std::uint32_t id = view.next_job_id;
  // At most once around; ids in use come in runs of live jobs, so this is a step or two unless the round is nearly
  // full.
  for (std::uint64_t tried = 0, all = std::uint64_t{last} - first + 1; tried <= all; ++tried) {
    if (id < first || id > last) id = first;
    if (!in_use(id)) return JobId{id};
    ++id;
  }
  return std::nullopt;
}

void Applier::claim(JobId id) {
  view.next_job_id = id.value >= config().max_job_id ? config().first_job_id : id.value + 1;
  cluster.tokens_.forget(id);
}

// The inner map is moved out while it changes, so that it is written in place where no published view holds it.
void Applier::list_task(JobId array, std::uint32_t task, JobId record) {
  CowMap<JobId> tasks;
  if (const CowMap<JobId>* found = view.arrays.find(array.value)) {
    tasks = *found;
    view.arrays.set(array.value, {});
  }
  tasks.set(task, record);
  view.arrays.set(array.value, std::move(tasks));
}

void Applier::unlist_task(JobId array, std::uint32_t task) {
  const CowMap<JobId>* found = view.arrays.find(array.value);
  SPUR_CHECK(found);
  CowMap<JobId> tasks = *found;
  view.arrays.set(array.value, {});
  SPUR_CHECK(tasks.erase(task));
  if (tasks.empty()) {
    view.arrays.erase(array.value);
  } else {
    view.arrays.set(array.value, std::move(tasks));
  }
}

std::optional<Job> Applier::split_task(JobId rest_id, std::uint32_t task) {
  Job job = *model::find_job(view, rest_id);
  SPUR_CHECK(job.is_array_rest() && job.array_pending->contains(task));
  if (job.array_pending->size() > 1) {
    const auto id = free_id();
    if (!id) return std::nullopt;
    claim(*id);
    Job rest = job;
    auto tasks = std::make_shared<IndexSet>(*rest.array_pending);
    tasks->erase(task);
    rest.array_pending = std::move(tasks);
    put(std::move(rest));
    job.id = *id;
    forget_claim(job);         // stays with the others
    job.submit_token.clear();  // the token stays with the id that the submitter was told
  }
  job.array_pending = nullptr;
  job.array_task = task;
  list_task(job.array_job, task, job.id);
  return job;
}

}  // namespace spur::state
