// SPDX-License-Identifier: Apache-2.0
#include "ctld/mail_watch.h"

#include <algorithm>
#include <utility>

#include "text/mail_type.h"

namespace spur::ctld {
namespace {

using model::Job;

constexpr std::uint32_t kKilled = 9;  // SIGKILL, as wait(2) has it

// Tells of the array as a whole rather than of each task.
bool is_summed_up(const Job& job) {
  return job.array_job && !(job.spec->mail_types & text::kMailArrayTasks);
}

bool has_begun(const Job* before, const Job& now) {
  if (!now.allocation || !is_set(now.started)) return false;
  return !before || !is_set(before->started) || before->epoch != now.epoch;
}
bool has_ended(const Job* before, const Job& now) {
  return model::is_final(now.state) && !(before && model::is_final(before->state));
}
bool was_requeued(const Job* before, const Job& now) {
  if (!before || (before->flags & model::kRequeued)) return false;
  return (now.flags & model::kRequeued) || now.epoch > before->epoch;
}
bool waits_in_vain(const Job* before, const Job& now) {
  return now.dependency_never && !(before && before->dependency_never);
}

// The record of a task that starts is new; until then it was part of the array's.
const Job* earlier(const model::View& before, const Job& job) {
  const Job* found = model::find_job(before, job.id);
  // The last task takes over the array's record, which was about others before.
  return found && found->is_array_rest() && !job.is_array_rest() ? nullptr : found;
}

template <class F>
void for_each_task(const model::View& view, JobId array, F&& f) {
  if (const auto* tasks = view.arrays.find(array.value))
    tasks->for_each([&](std::uint32_t, JobId id) {
      if (const Job* task = model::find_job(view, id)) f(*task);
    });
}

// Whether a task of the array has run, or is so long gone that nobody knows it.
bool array_has_begun(const model::View& view, const Job& job) {
  std::uint64_t known = 0;
  bool begun = false;
  for_each_task(view, job.array_job, [&](const Job& task) {
    ++known;
    begun |= task.allocation != nullptr;
  });
  if (const Job* rest = model::find_job(view, job.array_job); rest && rest->is_array_rest())
    known += rest->array_pending->size();
  return begun || (known > 0 && job.spec->array && known < job.spec->array->tasks.size());
}

bool array_is_over(const model::View& view, JobId array) {
  if (const Job* rest = model::find_job(view, array); rest && rest->is_array_rest() && !model::is_final(rest->state))
    return false;
  bool over = true;
  for_each_task(view, array, [&](const Job& task) { over &= model::is_final(task.state); });
  return over;
}

}  // namespace

void MailWatch::begin(const model::View& view, Time now) {
  reset();
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) { watch_limit(*job, now); });
}

void MailWatch::reset() {
  moments_.clear();
  of_job_.clear();
  arrays_.clear();
}

void MailWatch::drop_limit(JobId id) {
  const auto found = of_job_.find(id);
  if (found == of_job_.end()) return;
  for (const Moment& moment : found->second) moments_.erase(moment);
  of_job_.erase(found);
}

void MailWatch::watch_limit(const Job& job, Time now) {
  drop_limit(job.id);
  const Time end = model::limit_end(job);
  if (!is_set(end)) return;
  const Duration limit = job.time_limit.duration();
  const std::pair<std::uint32_t, int> parts[] = {{text::kMailTimeLimit50, 50},
                                                 {text::kMailTimeLimit80, 20},
                                                 {text::kMailTimeLimit90, 10},
                                                 {text::kMailTimeLimit, 0}};
  for (const auto& [type, percent_left] : parts) {
    const Time at = end - limit * percent_left / 100;
    if (!(job.spec->mail_types & type) || at <= now) continue;
    const Moment moment{at, job.id, type};
    moments_.insert(moment);
    of_job_[job.id].push_back(moment);
  }
}

void MailWatch::on_change(const model::View& before, const model::View& view, JobId id, Time now, Mails* out) {
  const Job* job = model::find_job(view, id);
  if (!job || !model::is_active(job->state) || (job->flags & model::kCompleting)) drop_limit(id);
  if (!job || job->spec->mail_types == 0 || job->is_het_follower()) return;
  if (model::is_active(job->state)) watch_limit(*job, now);
  const Job* was = earlier(before, *job);
  if (was_requeued(was, *job)) {
    // What it ran is told of the run that is over, though the record may already be about the next one.
    Job over = is_set(job->started) ? *job : *was;
    over.state = job->state;
    on_event(before, view, over, text::kMailRequeue, now, out);
  }
  if (has_begun(was, *job)) on_event(before, view, *job, text::kMailBegin, now, out);
  if (has_ended(was, *job)) {
    const bool well = job->state == model::JobState::Completed || job->state == model::JobState::Cancelled;
    on_event(before, view, *job, well ? text::kMailEnd : text::kMailFail, now, out);
  } else if (waits_in_vain(was, *job)) {
    on_event(before, view, *job, text::kMailInvalidDepend, now, out);
  }
}

void MailWatch::on_event(const model::View& before, const model::View& view, const Job& job, std::uint32_t type,
                         Time now, Mails* out) {
  const bool of_array = type == text::kMailBegin || type == text::kMailEnd || type == text::kMailFail;
  if (is_summed_up(job) && of_array) return on_array_event(before, view, job, type, now, out);
  if (!(job.spec->mail_types & type)) return;
  out->push_back(mail_message(view, job, type, now, is_summed_up(job) ? std::optional(ArrayExits{}) : std::nullopt));
}

void MailWatch::on_array_event(const model::View& before, const model::View& view, const Job& job,
                               std::uint32_t type, Time now, Mails* out) {
  Array& array = arrays_[job.array_job];
  if (type == text::kMailBegin) {
    if (std::exchange(array.begun, true) || array_has_begun(before, job)) return;
    // As long as tasks wait, the array's own record is the one that is shown.
    const Job* rest = model::find_job(view, job.array_job);
    const Job& shown = rest && rest->is_array_rest() ? *rest : job;
    if (job.spec->mail_types & type) out->push_back(mail_message(view, shown, type, now, ArrayExits{}));
    return;
  }
  const auto add = [&array](const Job& task) {
    // Slurm counts what was cancelled before it ran as killed.
    const bool never = task.state == model::JobState::Cancelled && !task.allocation;
    const std::uint32_t status = never ? kKilled : wait_status(task.exit);
    array.exits.min = array.any ? std::min(array.exits.min, status) : status;
    array.exits.max = array.any ? std::max(array.exits.max, status) : status;
    array.any = true;
  };
  add(job);
  if (!array_is_over(view, job.array_job)) return;
  for_each_task(view, job.array_job, add);  // those that ended before this controller led
  const bool failed = (array.exits.max >> 8) != 0;
  const std::uint32_t told = failed && (job.spec->mail_types & text::kMailFail) ? text::kMailFail : text::kMailEnd;
  if (job.spec->mail_types & told) out->push_back(mail_message(view, job, told, now, array.exits));
  arrays_.erase(job.array_job);
}

void MailWatch::on_time(const model::View& view, Time now, Mails* out) {
  while (!moments_.empty() && moments_.begin()->at <= now) {
    const Moment moment = *moments_.begin();
    moments_.erase(moments_.begin());
    if (auto found = of_job_.find(moment.job); found != of_job_.end()) {
      std::erase(found->second, moment);
      if (found->second.empty()) of_job_.erase(found);
    }
    const Job* job = model::find_job(view, moment.job);
    if (job && model::is_active(job->state)) on_event(view, view, *job, moment.type, now, out);
  }
}

Time MailWatch::next() const {
  return moments_.empty() ? Time{} : moments_.begin()->at;
}

}  // namespace spur::ctld
