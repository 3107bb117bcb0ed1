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

// Nobody has to be asked who takes his time, and the jobs are named or a user's.
bool is_quickly_listed(const model::View& view, const wire::JobFilter& filter) {
  constexpr std::size_t kFewTargets = 16;
  const auto asks_for_groups = [](const model::Partition& p) { return !p.config.allow_groups.empty(); };
  if (filter.hide && std::ranges::any_of(*view.partitions, asks_for_groups)) return false;
  if (filter.jobs.empty()) return filter.users.size() == 1;
  return filter.jobs.size() <= kFewTargets && std::ranges::all_of(filter.jobs, [&](const state::JobTarget& target) {
           const auto* tasks = view.arrays.find(target.id.value);
           return !tasks || tasks->size() <= JobChunks::kShort / kFewTargets;
         });
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
  const bool present = request.at_us() == 0;
  const bool of_user = present && options_.user_jobs && filter->users.size() == 1 && filter->jobs.empty();
  const auto list = [this, caller, filter, answer, of_user](std::shared_ptr<const Picture> picture, Time at,
                                                           std::optional<UserJobs::Jobs> among) {
    if (filter->hide && !caller.is_admin()) {
      filter->hidden = hidden_partitions(picture->view, caller.uid, caller.gid, options_.groups_of);
      // What is hidden now stays hidden, whatever it was then.
      const auto current = core_.picture();
      if (current != picture)
        std::ranges::move(hidden_partitions(current->view, caller.uid, caller.gid, options_.groups_of),
                          std::back_inserter(filter->hidden));
    }
    filter->may_see = Sight(core_.picture()->view, caller).of_jobs();
    if (of_user && !among) among = options_.user_jobs->of(picture->view, filter->users.front());
    answer(std::make_shared<JobChunks>(std::move(picture), *filter, caller, at, std::move(among)));
  };
  // Who asks for a few is answered on the spot: to wake a reader would cost more than the answer.
  if (auto picture = core_.picture(); present && is_quickly_listed(picture->view, *filter)) {
    auto among = of_user ? options_.user_jobs->of_now(picture->view, filter->users.front()) : std::nullopt;
    if (!filter->jobs.empty() || (among && among->size() <= JobChunks::kShort)) {
      const Time at = now(picture->view);
      return list(std::move(picture), at, std::move(among));
    }
  }
  look(request.at_us(), refusal(answer),
       [list](std::shared_ptr<const Picture> picture, Time at) { list(std::move(picture), at, {}); });
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
