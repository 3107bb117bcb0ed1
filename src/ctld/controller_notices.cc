// SPDX-License-Identifier: Apache-2.0
// Lines for who looks at a job (scontrol notify): its salloc or srun, or the output of its batch script. They are not
// journaled: like Slurm's they are lost with the controller that took them.
#include <algorithm>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/controller.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kLongestNotice = 16 * 1024, kKept = 64;

}  // namespace

std::vector<Controller::Notice> Controller::notices_after(JobId job, std::uint64_t after) const {
  const auto found = notices_.find(job);
  if (found == notices_.end()) return {};
  const auto& kept = found->second.kept;
  return {std::ranges::upper_bound(kept, after, {}, &Notice::number), kept.end()};
}

void Controller::attend_job(JobId id, Until until, std::uint64_t after, std::function<void(Result<Heard>)> reply,
                            std::function<bool()> gone) {
  const auto* job = cluster_->view().jobs.find(id.value);
  if (!job) return reply(fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
  if (until == Until::Final && (*job)->spec->kind == model::JobKind::Interactive && !is_over(id)) {
    notices_[id].attended = true;
    holders_.attend(id, std::move(gone), doors_.clock.monotonic());
  }
  Waiter waiter{.until = until,
                .reply =
                    [this, id, after, reply](Result<model::JobPtr> there) {
                      if (!there) return reply(std::unexpected(std::move(there.error())));
                      reply(Heard{std::move(*there), notices_after(id, after), false});
                    },
                .after = after,
                .on_notices = [reply](Heard heard) { reply(std::move(heard)); }};
  waiters_.emplace(id, std::move(waiter));
  answer_waiters(id);
}

void Controller::notify_job(const model::Caller& caller, JobId id, std::string text, DoneReply reply) {
  const auto* found = cluster_->view().jobs.find(id.value);
  if (!found) return reply(fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
  const model::JobPtr job = *found;
  if (!may_touch(caller, *job)) return reply(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
  if (job->state != model::JobState::Pending && job->state != model::JobState::Running)
    return reply(fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed"));
  const bool waits = job->state == model::JobState::Pending;
  const bool batch = job->spec->kind == model::JobKind::Batch;
  if (waits && batch) return reply(fail(ErrorCode::RequestDisabled, "Requested operation is presently disabled"));
  if (text.size() > kLongestNotice) text.resize(kLongestNotice);
  Notices* notices = nullptr;
  if (!batch && (waits || (notices_.contains(id) && notices_[id].attended))) notices = &notices_[id];
  if (!notices) {
    if (job->allocation && !job->allocation->nodes.empty())
      if (const auto* node = cluster_->view().nodes.find(job->allocation->nodes.front().node.value))
        doors_.agents.send((*node)->name, model::ControllerNotify{{job->id, job->epoch}, std::move(text)});
    return reply({});
  }
  const auto now = static_cast<std::uint64_t>(to_micros(doors_.clock.now()));
  const std::uint64_t last = notices->kept.empty() ? 0 : notices->kept.back().number;
  notices->kept.push_back({std::max(now, last + 1), std::move(text)});
  if (notices->kept.size() > kKept) notices->kept.erase(notices->kept.begin());
  answer_waiters(id);
  reply({});
}

}  // namespace spur::ctld
