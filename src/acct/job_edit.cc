// SPDX-License-Identifier: Apache-2.0
#include "acct/job_edit.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "model/job_state.h"
#include "spur/v1/accounting.pb.h"

namespace spur::acct {
namespace {

using Key = std::tuple<std::uint32_t, std::int64_t, std::uint32_t>;  // job, submitted, epoch

bool change(const v1::AcctJobEdit& edit, v1::AcctJob* job) {
  if (edit.end()) {
    if (job->ended_us()) return false;
    job->set_state(static_cast<std::uint32_t>(model::JobState::Completed));
    job->set_ended_us(std::max({job->started_us(), job->eligible_us(), job->submitted_us()}));
    job->set_suspended_at_us(0);
  }
  if (edit.has_comment()) job->set_comment(edit.comment());
  if (edit.has_admin_comment()) job->set_admin_comment(edit.admin_comment());
  if (edit.has_system_comment()) job->set_system_comment(edit.system_comment());
  if (edit.has_wckey()) job->set_wckey(edit.wckey());
  if (edit.has_derived_code()) job->set_derived_code(edit.derived_code());
  if (edit.has_derived_signal()) job->set_derived_signal(edit.derived_signal());
  return true;
}

}  // namespace

Result<std::uint64_t> edit_jobs(io::AccountingStore& store, const v1::AcctJobEdit& edit) {
  io::AcctJobWish wish;
  wish.cluster = edit.cluster();
  std::set<Key> keys;
  for (const auto& key : edit.jobs()) {
    wish.jobs.push_back(key.job());
    keys.emplace(key.job(), key.submitted_us(), key.epoch());
  }
  if (keys.empty()) return 0;
  std::vector<io::AccountingStore::Old> changed;
  bool torn = false;
  SPUR_TRY(store.jobs(wish, [&](const io::AcctJobRow& row) {
    if (!keys.contains(Key{row.job, to_micros(row.submitted), row.epoch})) return true;
    v1::AcctJob job;
    if (!job.ParseFromString(row.record)) return torn = true, false;
    if (!change(edit, &job)) return true;
    io::AccountingStore::Old out{row, {}};
    out.job.state = job.state();
    out.job.ended = from_micros(job.ended_us());
    out.job.record = job.SerializeAsString();
    changed.push_back(std::move(out));
    return true;
  }));
  if (torn) return fail(ErrorCode::Corrupt, "a job's record in the database cannot be read");
  if (!changed.empty()) SPUR_TRY(store.restore(edit.cluster(), changed));
  return changed.size();
}

}  // namespace spur::acct
