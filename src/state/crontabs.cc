// SPDX-License-Identifier: Apache-2.0
// What becomes of the jobs of a table of scrontab (model/crontab.h), and of its lines when one is cancelled.
#include <algorithm>

#include "base/check.h"
#include "state/apply.h"

namespace spur::state {

using model::Job;

namespace {

// Slurm's mark.
constexpr std::string_view kDisabled = "#DISABLED: ";

// The text with the mark in front of these lines, counted from 1.
std::string with_disabled(std::string_view text, std::uint32_t first, std::uint32_t last) {
  std::string out;
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (line >= first && line <= last) out += kDisabled;
    out += text.substr(0, end);
    text.remove_prefix(end);
  }
  return out;
}

// Until the leader has said when; nobody ever waits that long.
constexpr auto kNotBefore = std::chrono::hours(24 * 366);

}  // namespace

model::CronEntry* Applier::cron_entry_of(const Job& job) {
  if (!(job.flags & model::kCronJob)) return nullptr;
  const auto table = cluster.crontabs_.find(job.spec->uid);
  if (table == cluster.crontabs_.end()) return nullptr;
  auto& entries = table->second.entries;
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.job == job.id; });
  return entry == entries.end() ? nullptr : &*entry;
}

void Applier::disable_cron(const Job& job) {
  const model::CronEntry* found = cron_entry_of(job);
  if (!found) return;
  model::Crontab& table = cluster.crontabs_[job.spec->uid];
  table.text = with_disabled(table.text, found->first_line, found->last_line);
  std::erase_if(table.entries, [&](const auto& entry) { return entry.job == job.id; });
}

void Applier::wait_for_next_time(JobId id) {
  Job job = *model::find_job(view, id);
  auto spec = std::make_shared<model::JobSpec>(*job.spec);
  spec->begin = now + kNotBefore;
  job.spec = cluster.interner_.intern(std::move(spec));
  job.flags |= model::kCronWaits;
  job.reason = model::Reason::None;
  job.reason_detail.clear();
  back_to_queue(job);
  job.restarts = 0;  // another run, not another try
  put(std::move(job));
}

// Those that wait go; those that run may end their run, and are over then, as no entry brings them back.
void Applier::drop_cron_jobs(const model::Crontab& crontab) {
  const auto entries = crontab.entries;
  cluster.crontabs_[crontab.user].entries.clear();
  for (const auto& entry : entries) {
    const Job* job = model::find_job(view, entry.job);
    if (!job || !is_waiting(*job)) continue;
    cancel_record(*job, CancelJob{.target = {.id = entry.job, .tasks = {}},
                                  .final_state = model::JobState::Cancelled,
                                  .reason = model::Reason::None,
                                  .by_user = true,
                                  .by = crontab.user,
                                  .exit = {}});
  }
}

Status Applier::check_cron_jobs(const SetCrontab& command) const {
  if (command.specs.size() != command.crontab.entries.size())
    return fail(ErrorCode::InvalidArgument, "a table whose entries and jobs do not go together");
  const std::uint64_t count = command.specs.size();
  if (view.jobs.size() + count > config().max_job_count)
    return fail(ErrorCode::TooManyJobs, "the limit of jobs (MaxJobCount) is reached");
  if (std::uint64_t{config().max_job_id} - config().first_job_id + 1 < view.jobs.size() + view.arrays.size() + count)
    return fail(ErrorCode::TooManyJobs, "all job ids are in use");
  for (const auto& spec : command.specs) {
    if (!spec || spec->uid != command.crontab.user) return fail(ErrorCode::InvalidUser, "Invalid user id");
    if (spec->array) return fail(ErrorCode::InvalidArray, "Invalid job array specification");
    if (!spec->dependencies.empty())
      return fail(ErrorCode::InvalidDependency, "a job of scrontab cannot wait for others");
    SPUR_TRY(check_submit_limits(SubmitJob{spec, {}, {}}));
  }
  return {};
}

Outcome Applier::apply(const SetCrontab& command) {
  if (auto ok = check_cron_jobs(command); !ok) return refused(ok.error());
  const Uid user = command.crontab.user;
  if (const auto known = cluster.crontabs_.find(user); known != cluster.crontabs_.end()) drop_cron_jobs(known->second);
  model::Crontab table = command.crontab;
  Outcome outcome;
  for (std::size_t i = 0; i < command.specs.size(); ++i) {
    const auto id = free_id();
    SPUR_CHECK(id);
    submit(SubmitJob{command.specs[i], {}, {}}, *id, 0);
    Job job = *model::find_job(view, *id);
    job.flags |= model::kCronJob;
    put(std::move(job));
    table.entries[i].job = *id;
    outcome.jobs.push_back(*id);
  }
  cluster.crontabs_[user] = std::move(table);
  return outcome;
}

Outcome Applier::apply(const RemoveCrontab& command) {
  const auto known = cluster.crontabs_.find(command.user);
  if (known == cluster.crontabs_.end()) return refused(ErrorCode::NotFound, "no crontab");
  drop_cron_jobs(known->second);
  cluster.crontabs_.erase(command.user);
  return {};
}

Outcome Applier::apply(const ScheduleCron& command) {
  const Job* found = model::find_job(view, command.job);
  if (!found) return refused(ErrorCode::InvalidJobId, "Invalid job id specified");
  if (!(found->flags & model::kCronWaits) || !is_waiting(*found))
    return refused(ErrorCode::InvalidArgument, "the job does not wait for its next time");
  Job job = *found;
  auto spec = std::make_shared<model::JobSpec>(*job.spec);
  spec->begin = command.begin;
  job.spec = cluster.interner_.intern(std::move(spec));
  job.flags &= ~static_cast<std::uint32_t>(model::kCronWaits);
  job.eligible = job.accrue = {};
  settle_pending(job);
  const JobId id = job.id;
  put(std::move(job));
  Outcome outcome;
  outcome.jobs.push_back(id);
  return outcome;
}

}  // namespace spur::state
