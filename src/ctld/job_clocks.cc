// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_clocks.h"

#include <utility>

namespace spur::ctld {
namespace {

constexpr std::size_t kMaxPurgePerBatch = 1000;

state::CancelJob end_as(JobId id, model::JobState final_state, model::Reason reason) {
  return {.target = {.id = id, .tasks = {}}, .final_state = final_state, .reason = reason, .by_user = false, .by = {}, .exit = {}};
}

// The partition's own, if it has one.
seconds over_time_limit(const model::View& view, const model::Job& job) {
  const model::Partition* partition =
      job.allocation ? model::find_partition(view, job.allocation->partition) : nullptr;
  if (partition && partition->config.over_time_limit_minutes)
    return minutes(*partition->config.over_time_limit_minutes);
  return view.config->over_time_limit;
}

}  // namespace

void JobClocks::add(Time at, JobId job, Kind kind) {
  const Moment moment{at, job, kind};
  moments_.insert(moment);
  of_job_[job].push_back(moment);
}

void JobClocks::drop(JobId job) {
  const auto it = of_job_.find(job);
  if (it == of_job_.end()) return;
  for (const auto& moment : it->second) moments_.erase(moment);
  of_job_.erase(it);
}

void JobClocks::rebuild(const model::View& view) {
  moments_.clear();
  of_job_.clear();
  view.jobs.for_each([&](std::uint32_t id, const model::JobPtr&) { update(view, JobId{id}); });
}

void JobClocks::update(const model::View& view, JobId id) {
  drop(id);
  const auto* found = view.jobs.find(id.value);
  if (!found) return;
  const model::Job& job = **found;
  const bool completing = job.flags & model::kCompleting;
  if (model::is_active(job.state) && !completing && is_set(job.preempt_at) &&
      job.preempt_how != model::PreemptHow::Suspend)
    add(job.preempt_at, id, Kind::Preemption);
  // The time of a job begins when its nodes are there.
  if (job.state == model::JobState::Running && !completing && !(job.flags & model::kConfiguring)) {
    const Time end = model::limit_end(job);
    if (!is_set(end)) return;
    add(end + over_time_limit(view, job), id, Kind::Limit);
    if (job.spec->signal.signal != 0 && !signalled_.contains({id, job.epoch}))
      add(end - seconds(job.spec->signal.seconds_before), id, Kind::Signal);
  } else if (job.state == model::JobState::Pending && !completing) {
    if (is_set(job.spec->deadline)) add(job.spec->deadline, id, Kind::Deadline);
    if (job.spec->immediate_seconds > 0) add(job.submitted + seconds(job.spec->immediate_seconds), id, Kind::Immediate);
  } else if (model::is_final(job.state) && !completing) {
    add(job.ended + view.config->min_job_age, id, Kind::Purge);
    signalled_.erase(signalled_.lower_bound({id, Epoch{}}), signalled_.upper_bound({id, Epoch{~0u}}));
  }
}

JobClocks::Due JobClocks::take_due(const model::View& view, Time now) {
  Due due;
  state::PurgeJobs purge;
  while (!moments_.empty() && moments_.begin()->at <= now && purge.jobs.size() < kMaxPurgePerBatch) {
    const Moment moment = *moments_.begin();
    moments_.erase(moments_.begin());
    std::erase(of_job_[moment.job], moment);
    const auto* found = view.jobs.find(moment.job.value);
    if (!found) continue;
    const model::Job& job = **found;
    switch (moment.kind) {
      case Kind::Limit:
        due.commands.push_back(end_as(job.id, model::JobState::Timeout, model::Reason::TimeLimit));
        break;
      case Kind::Signal:
        signalled_.insert({job.id, job.epoch});
        due.signals.push_back({job.id, job.spec->signal.signal, job.spec->signal.batch_only});
        break;
      case Kind::Preemption:
        due.commands.push_back(state::PreemptionDue{job.id, job.epoch});
        break;
      case Kind::Deadline:
        due.commands.push_back(end_as(job.id, model::JobState::Deadline, model::Reason::DeadLine));
        break;
      case Kind::Immediate:
        due.commands.push_back(end_as(job.id, model::JobState::Cancelled, model::Reason::Resources));
        break;
      case Kind::Purge:
        purge.jobs.push_back(job.id);
        break;
    }
  }
  if (!purge.jobs.empty()) due.commands.push_back(std::move(purge));
  return due;
}

Time JobClocks::next() const { return moments_.empty() ? Time{} : moments_.begin()->at; }

}  // namespace spur::ctld
