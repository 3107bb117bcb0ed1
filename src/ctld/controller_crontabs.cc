// SPDX-License-Identifier: Apache-2.0
// Tables of scrontab (model/crontab.h): who may set which, and when their jobs run next. The calendar is the local one of
// the controller that leads, as in Slurm; the state only knows moments.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/controller.h"
#include "ctld/job_account.h"
#include "text/cron.h"
#include "text/words.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kMostEntries = 1'000, kMostBytes = 1u << 20;

}  // namespace

bool has_scron_parameter(const model::ClusterConfig& config, std::string_view word) {
  for (const auto& [key, value] : config.shown)
    if (key == "ScronParameters")
      for (const std::string_view one : text::split(value, ','))
        if (text::equal_ignoring_case(text::trim(one), word)) return true;
  return false;
}

Status Controller::check_crontab_access(const model::Caller& caller, Uid user) const {
  if (!has_scron_parameter(config(), "enable"))
    return fail(ErrorCode::RequestDisabled, std::string(slurm_message(ErrorCode::RequestDisabled)));
  if (caller.uid != user && !caller.is_admin())
    return fail(ErrorCode::PermissionDenied, std::string(slurm_message(ErrorCode::PermissionDenied)));
  return {};
}

// A job of the table as it is to be submitted, or why it cannot be.
Result<std::shared_ptr<const model::JobSpec>> Controller::cron_job(const model::CronEntry& entry,
                                                                   std::shared_ptr<const model::JobSpec> given) {
  if (given->kind != model::JobKind::Batch || given->array)
    return fail(ErrorCode::InvalidArray, std::string(slurm_message(ErrorCode::InvalidArray)));
  if (!given->dependencies.empty())
    return fail(ErrorCode::InvalidDependency, std::string(slurm_message(ErrorCode::InvalidDependency)));
  SPUR_ASSIGN(const auto schedule, text::parse_cron(entry.schedule));
  SPUR_ASSIGN(auto settled, with_account(cluster_->view(), std::move(given)));
  auto spec = std::make_shared<model::JobSpec>(*settled);
  spec->begin = text::next_cron(schedule, std::max(doors_.clock.now(), cluster_->view().as_of));
  if (!is_set(spec->begin)) return fail(ErrorCode::InvalidTime, fmt::format("\"{}\" never comes", entry.schedule));
  SPUR_TRY(submit_check_.check(cluster_->view(), *spec));
  return spec;
}

void Controller::set_crontab(const model::Caller& caller, model::Crontab crontab, const Specs& specs,
                             std::function<void(Result<CrontabReply>)> reply) {
  if (auto ok = check_crontab_access(caller, crontab.user); !ok) return reply(std::unexpected(ok.error()));
  if (specs.size() != crontab.entries.size() || specs.size() > kMostEntries || crontab.text.size() > kMostBytes)
    return reply(fail(ErrorCode::InvalidArgument, "the table is too large, or its entries and jobs do not go together"));
  state::SetCrontab command{std::move(crontab), {}};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const model::CronEntry& entry = command.crontab.entries[i];
    if (specs[i]->uid != command.crontab.user) return reply(fail(ErrorCode::InvalidUser, "Invalid user id"));
    auto spec = cron_job(entry, specs[i]);
    if (!spec) return reply(CrontabReply{{}, spec.error(), entry.first_line, entry.last_line});
    command.specs.push_back(*std::move(spec));
  }
  propose(
      std::move(command),
      [reply = std::move(reply)](const state::Outcome& outcome) {
        if (!outcome.status) return reply(std::unexpected(outcome.status.error()));
        reply(CrontabReply{outcome.jobs, {}, 0, 0});
      },
      IfFull::Refuse, caller.uid);
}

void Controller::remove_crontab(const model::Caller& caller, Uid user, DoneReply reply) {
  if (auto ok = check_crontab_access(caller, user); !ok) return reply(std::move(ok));
  propose(
      state::RemoveCrontab{user}, [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); },
      IfFull::Refuse, caller.uid);
}

Status Controller::check_cron_cancel(const model::Caller& caller, const state::JobTarget& target) const {
  if (!has_scron_parameter(config(), "explicit_scancel")) return {};
  const auto jobs = resolve(caller, target);
  if (!jobs) return {};  // the cancellation itself says so
  for (const auto* job : *jobs)
    if ((job->flags & model::kCronJob) && !model::is_final(job->state))
      return fail(ErrorCode::InvalidArgument, "Cannot cancel scrontab jobs without --cron flag.");
  return {};
}

// The next time of a job whose run is over.
void Controller::schedule_cron(const model::Job& job) {
  const auto table = cluster_->crontabs().find(job.spec->uid);
  if (table == cluster_->crontabs().end()) return;
  for (const model::CronEntry& entry : table->second.entries) {
    if (entry.job != job.id) continue;
    const auto schedule = text::parse_cron(entry.schedule);
    if (!schedule) return doors_.log(fmt::format("error: the time of job {} cannot be read any more", job.id.value));
    const Time next = text::next_cron(*schedule, std::max(doors_.clock.now(), cluster_->view().as_of));
    if (is_set(next)) propose(state::ScheduleCron{job.id, next});
    return;
  }
}

// What a leader before this one did not come to.
void Controller::schedule_all_crons() {
  std::vector<JobId> waiting;
  for (const auto& [user, table] : cluster_->crontabs())
    for (const model::CronEntry& entry : table.entries) waiting.push_back(entry.job);
  for (const JobId id : waiting)
    if (const model::Job* job = model::find_job(cluster_->view(), id); job && (job->flags & model::kCronWaits))
      schedule_cron(*job);
}

}  // namespace spur::ctld
