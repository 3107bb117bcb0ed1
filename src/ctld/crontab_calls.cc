// SPDX-License-Identifier: Apache-2.0
// The calls about tables of scrontab of controller_calls.h.
#include <algorithm>
#include <utility>

#include "ctld/controller_calls.h"
#include "spur/v1/crontab.pb.h"
#include "wire/crontab_codec.h"

namespace spur::ctld {
namespace {

v1::SetCrontabReply refusal_of(const CrontabReply& why) {
  v1::SetCrontabReply reply;
  const std::string_view slurm = slurm_message(why.error.code);
  reply.set_error(slurm.empty() ? why.error.message : std::string(slurm));
  reply.set_first_line(why.first_line);
  reply.set_last_line(why.last_line);
  return reply;
}

}  // namespace

void ControllerCalls::set_crontab(const Caller& caller, const v1::SetCrontabRequest& request,
                                  Answer<v1::SetCrontabReply> answer) {
  model::Crontab crontab;
  if (auto ok = wire::from_proto(request.crontab(), &crontab); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  Controller::Specs specs;
  for (int i = 0; i < request.specs_size(); ++i) {
    google::protobuf::RepeatedPtrField<v1::JobSpec> one;
    *one.Add() = request.specs(i);
    auto taken = take_more(one, caller);
    if (!taken) {
      const auto at = static_cast<std::size_t>(i);
      if (at >= crontab.entries.size()) return answer(std::unexpected(std::move(taken.error())));
      return answer(refusal_of({{}, taken.error(), crontab.entries[at].first_line, crontab.entries[at].last_line}));
    }
    specs.push_back(std::move(taken->front()));
  }
  core_.post([caller, crontab = std::move(crontab), specs = std::move(specs),
              answer = std::move(answer)](Controller& controller) {
    controller.set_crontab(caller, crontab, specs, [answer](Result<CrontabReply> result) {
      if (!result) return answer(std::unexpected(std::move(result.error())));
      if (result->first_line > 0) return answer(refusal_of(*result));
      v1::SetCrontabReply reply;
      for (const JobId job : result->jobs) reply.add_jobs(job.value);
      answer(std::move(reply));
    });
  });
}

void ControllerCalls::get_crontab(const Caller& caller, const v1::GetCrontabRequest& request,
                                  Answer<v1::GetCrontabReply> answer) {
  core_.post([caller, user = Uid{request.user()}, answer = std::move(answer)](Controller& controller) {
    if (auto ok = controller.check_crontab_access(caller, user); !ok) return answer(std::unexpected(ok.error()));
    v1::GetCrontabReply reply;
    const auto& tables = controller.cluster().crontabs();
    if (const auto table = tables.find(user); table != tables.end())
      wire::to_proto(table->second, reply.mutable_crontab());
    answer(std::move(reply));
  });
}

void ControllerCalls::remove_crontab(const Caller& caller, const v1::RemoveCrontabRequest& request,
                                     Answer<v1::Done> answer) {
  change(caller, std::move(answer), [user = Uid{request.user()}](Controller& c, const Caller& who, auto reply) {
    c.remove_crontab(who, user, std::move(reply));
  });
}

void ControllerCalls::cron_jobs(const Caller&, const v1::CronJobsRequest&, Answer<v1::CronJobsReply> answer) {
  core_.post([answer = std::move(answer)](Controller& controller) {
    std::vector<model::CronEntry> entries;
    for (const auto& [user, table] : controller.cluster().crontabs())
      entries.insert(entries.end(), table.entries.begin(), table.entries.end());
    std::ranges::sort(entries, {}, [](const model::CronEntry& entry) { return entry.job; });
    v1::CronJobsReply reply;
    for (const model::CronEntry& entry : entries) wire::to_proto(entry, reply.add_entries());
    answer(std::move(reply));
  });
}

}  // namespace spur::ctld
