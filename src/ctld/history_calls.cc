// SPDX-License-Identifier: Apache-2.0
// Calls that look back: the picture of an earlier moment instead of the present one, and what was done to a job.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ctld/controller_calls.h"
#include "ctld/history.h"
#include "ctld/sight.h"
#include "wire/id_codec.h"
#include "wire/job_list_codec.h"

namespace spur::ctld {
namespace {

std::unexpected<Error> no_history() {
  return fail(ErrorCode::NotFound, "this controller keeps no history (controller.history_days)");
}

std::string shown_id(const io::HistoryStore::Record& record) {
  if (!record.part) return std::to_string(record.job.value);
  return fmt::format("{}{}{}", record.group.value, record.is_component ? '+' : '_', *record.part);
}

v1::JobEventsReply told(const History::JobEvents& found) {
  v1::JobEventsReply reply;
  reply.set_more(found.more);
  reply.set_since_us(to_micros(found.since));
  for (const auto& event : found.events) {
    auto* out = reply.add_events();
    const auto record = std::ranges::find(found.records, event.job, &io::HistoryStore::Record::job);
    out->set_job(event.job.value);
    out->set_shown(record == found.records.end() ? std::to_string(event.job.value) : shown_id(*record));
    out->set_entry(event.index);
    out->set_at_us(to_micros(event.at));
    if (event.by) out->set_by(event.by->value);
    out->set_source(event.source);
    out->set_what(event.what);
    out->set_details(event.details);
  }
  return reply;
}

}  // namespace

void ControllerCalls::look(std::int64_t at_us, std::function<void(const Error&)> refuse, Look use) {
  if (at_us == 0)
    return read([this, use = std::move(use)] {
      auto picture = core_.picture();
      const Time present = now(picture->view);
      use(std::move(picture), present);
    });
  if (!options_.history) return refuse(no_history().error());
  const Time then = from_micros(at_us);
  options_.history->at(then, [then, refuse = std::move(refuse), use = std::move(use)](auto picture) {
    picture ? use(*std::move(picture), then) : refuse(picture.error());
  });
}

void ControllerCalls::list_jobs(const Caller& caller, const v1::ListJobsRequest& request,
                                Answer<std::shared_ptr<JobChunks>> answer) {
  auto filter = std::make_shared<wire::JobFilter>();
  if (auto ok = wire::from_proto(request, filter.get()); !ok) return answer(std::unexpected(std::move(ok.error())));
  // What is known of each user's jobs is of the present.
  UserJobs* const user_jobs = request.at_us() == 0 ? options_.user_jobs : nullptr;
  const auto list = [this, caller, filter, answer, user_jobs](std::shared_ptr<const Picture> picture, Time at) {
    if (filter->hide && !caller.is_admin()) {
      filter->hidden = hidden_partitions(picture->view, caller.uid, caller.gid, options_.groups_of);
      // What is hidden now stays hidden, whatever it was then.
      const auto present = core_.picture();
      if (present != picture)
        std::ranges::move(hidden_partitions(present->view, caller.uid, caller.gid, options_.groups_of),
                          std::back_inserter(filter->hidden));
    }
    filter->may_see = Sight(core_.picture()->view, caller).of_jobs();
    answer(std::make_shared<JobChunks>(std::move(picture), *filter, caller, at, user_jobs));
  };
  look(request.at_us(), refusal(answer), list);
}

void ControllerCalls::job_events(const Caller& caller, const v1::JobEventsRequest& request,
                                 Answer<v1::JobEventsReply> answer) {
  state::JobTarget target;
  if (auto ok = wire::from_proto(request.target(), &target); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  if (!options_.history) return answer(no_history());
  options_.history->job_events(std::move(target), [caller, answer](Result<History::JobEvents> found) {
    if (!found) return answer(std::unexpected(std::move(found.error())));
    if (found->records.empty())
      return answer(fail(ErrorCode::InvalidJobId, std::string(slurm_message(ErrorCode::InvalidJobId))));
    const bool own = std::ranges::all_of(found->records, [&](const auto& r) { return r.owner == caller.uid; });
    if (!caller.is_admin() && !own) return answer(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
    answer(told(*found));
  });
}

}  // namespace spur::ctld
