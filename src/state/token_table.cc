// SPDX-License-Identifier: Apache-2.0
#include "state/token_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace spur::state {
namespace {

std::string key_of(Uid uid, std::string_view token) {
  return fmt::format("{}:{}", uid.value, token);
}
std::string key_of(const model::Job& job) {
  return key_of(job.spec->uid, job.submit_token);
}
std::uint64_t token_hash(std::string_view key) {
  return std::hash<std::string_view>{}(key);
}

}  // namespace

JobId TokenTable::find(const model::View& view, Uid uid, std::string_view token) const {
  const std::string key = key_of(uid, token);
  const auto [from, to] = by_hash_.equal_range(token_hash(key));
  for (auto at = from; at != to; ++at) {
    const JobId id = at->second;
    if (const auto old = old_.find(id); old != old_.end()) {
      if (old->second == key) return id;
    } else if (const model::Job* job = model::find_job(view, id)) {
      if (job->spec->uid == uid && job->submit_token == token) return id;
    }
  }
  return {};
}

void TokenTable::add(const model::Job& job) {
  by_hash_.emplace(token_hash(key_of(job)), job.id);
}

void TokenTable::drop_hash(std::uint64_t hash, JobId id) {
  const auto [from, to] = by_hash_.equal_range(hash);
  const auto at = std::find_if(from, to, [id](const auto& row) { return row.second == id; });
  if (at != to) by_hash_.erase(at);
}

void TokenTable::forget(JobId id) {
  const auto at = old_.find(id);
  if (at == old_.end()) return;
  drop_hash(token_hash(at->second), id);
  old_.erase(at);
}

void TokenTable::retire(const model::Job& job, std::uint32_t next_job_id) {
  old_.emplace(job.id, key_of(job));
  if (old_.size() <= kMaxOldTokens) return;
  // Ids from next_job_id upwards were given out in the round before: they are the oldest.
  auto oldest = old_.lower_bound(JobId{next_job_id});
  if (oldest == old_.end()) oldest = old_.begin();
  forget(oldest->first);
}

TokenTable::Rows TokenTable::rows(const model::View& view) const {
  Rows out;
  out.reserve(by_hash_.size());
  if (by_hash_.size() > old_.size())
    view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (!job->submit_token.empty()) out.emplace_back(key_of(*job), job->id);
    });
  for (const auto& [id, key] : old_) out.emplace_back(key, id);
  std::sort(out.begin(), out.end());
  return out;
}

Status TokenTable::load(const model::View& view, const Rows& rows) {
  by_hash_.clear();
  old_.clear();
  for (const auto& [key, id] : rows) {
    if (!model::find_job(view, id) && !old_.emplace(id, key).second)
      return fail(ErrorCode::Corrupt, fmt::format("two submit tokens stand for the purged job {}", id.value));
    by_hash_.emplace(token_hash(key), id);
  }
  return check(view);
}

Status TokenTable::check(const model::View& view) const {
  std::size_t live = 0;
  Status status;
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->submit_token.empty()) return true;
    ++live;
    if (find(view, job->spec->uid, job->submit_token) != job->id)
      status = fail(ErrorCode::Corrupt, fmt::format("the submit token of job {} is not known", job->id.value));
    return status.has_value();
  });
  SPUR_TRY(status);
  if (live + old_.size() != by_hash_.size())
    return fail(ErrorCode::Corrupt, "there are submit tokens that belong to no job");
  for (const auto& [id, key] : old_)
    if (model::find_job(view, id))
      return fail(ErrorCode::Corrupt, fmt::format("an old submit token stands for the living job {}", id.value));
  return {};
}

}  // namespace spur::state
