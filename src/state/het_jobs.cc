// SPDX-License-Identifier: Apache-2.0
// Heterogeneous jobs: several components with a record each, whose ids follow each other. They are made, started and
// requeued together. The script runs in the first, the leader; when its run ends the others' do. A component that
// runs may be cancelled by itself; one that fails through its node takes all others along, as they could not go on
// as they were promised.
#include "base/check.h"
#include "state/apply.h"

namespace spur::state {

using model::AfterCompleting;
using model::Job;
using model::JobState;
using model::Reason;

namespace {

// Whether the end of a component is the end of all.
bool is_decisive(const Job& job) {
  return !job.is_het_follower() || job.after_completing != AfterCompleting::Stay || job.state == JobState::NodeFail ||
         job.state == JobState::Preempted || job.reason == Reason::JobLaunchFailure;
}

}  // namespace

std::vector<JobId> Applier::components_of(const Job& job) const {
  std::vector<JobId> found;
  if (!job.het_job) return found;
  for (std::uint32_t i = 0; i < job.het_size; ++i) {
    const Job* other = model::find_job(view, JobId{job.het_job.value + i});
    if (other && other->het_job == job.het_job) found.push_back(other->id);
  }
  return found;
}

bool Applier::means_component(const JobTarget& target) const {
  if (target.het_offset) return *target.het_offset > 0;
  const Job* job = model::find_job(view, target.id);
  return !target.tasks && job && job->is_het_follower();
}

void Applier::end_with(const Job& component) {
  if (!component.het_job || !is_decisive(component)) return;
  const Job ended = component;  // the caller's may be gone by the first put()
  for (const JobId id : components_of(ended)) {
    if (id == ended.id) continue;
    Job job = *model::find_job(view, id);
    const bool completing = job.flags & model::kCompleting;
    if (ended.after_completing != AfterCompleting::Stay) {
      // Also those that were over before: the job starts anew with all of them.
      if (is_waiting(job) || (completing && job.after_completing != AfterCompleting::Stay)) continue;
      job.cancelled = false;
      job.reason = ended.reason;
      if (is_over(job)) {
        job.after_completing = ended.after_completing;
        back_to_queue(job);
        put(std::move(job));
        continue;
      }
      end_run_to_requeue(job, ended.after_completing);
      if (completing) {
        put(std::move(job));
        continue;
      }
    } else {
      if (!model::is_active(job.state) || completing) continue;
      job.exit = ended.exit;
      job.cancelled = ended.cancelled;
      job.ended_by = ended.ended_by;
      end_run(job, ended.state, ended.reason);
    }
    job.reason_detail = ended.reason_detail;
    close(std::move(job));
  }
}

void Applier::cancel_with(const Job& component) {
  const Job over = component;
  for (const JobId id : components_of(over)) {
    const Job* found = model::find_job(view, id);
    if (id == over.id || found->state != JobState::Pending) continue;
    Job job = *found;
    if (job.flags & model::kCompleting) {  // on its way back to the queue
      job.cancelled = over.cancelled;
      job.ended_by = over.ended_by;
      end_run(job, JobState::Cancelled, over.reason);
      put(std::move(job));
      continue;
    }
    job.state = over.state;
    job.reason = over.reason;
    job.ended = now;
    job.cancelled = over.cancelled;
    job.ended_by = over.ended_by;
    forget_claim(job);
    put(job);
    ended(job);
  }
}

bool Applier::all_components_over(const Job& job) const {
  for (const JobId id : components_of(job))
    if (!is_over(*model::find_job(view, id))) return false;
  return true;
}

std::optional<JobId> Applier::free_ids(std::uint32_t count) const {
  const std::uint32_t last = config().max_job_id;
  const auto in_use = [&](std::uint64_t id) {
    return view.jobs.contains(static_cast<std::uint32_t>(id)) || view.arrays.contains(static_cast<std::uint32_t>(id));
  };
  const std::uint32_t first = config().first_job_id;
  std::uint64_t begin = view.next_job_id;
  if (begin < first || begin > last) begin = first;
  // At most once around, and as far again as the run may reach.
  for (std::uint64_t tried = 0, all = std::uint64_t{last} - first + 1 + count; tried <= all; ++tried) {
    if (begin + count - 1 > last) begin = first;
    std::uint64_t run = 0;
    while (run < count && !in_use(begin + run)) ++run;
    if (run == count) return JobId{static_cast<std::uint32_t>(begin)};
    tried += run;
    begin += run + 1;
  }
  return std::nullopt;
}

}  // namespace spur::state
