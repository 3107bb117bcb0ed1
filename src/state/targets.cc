// SPDX-License-Identifier: Apache-2.0
// From "12", "12_3", "12_[1-5]" or "12+1" to records.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {
namespace {

// Edits of single tasks make a record each; more at once than this is a mistake or an attack.
constexpr std::uint64_t kMaxSplit = 10'000;

}  // namespace

Result<Applier::Targets> Applier::resolve(const JobTarget& target) const {
  const auto unknown = [&] {
    return fail(ErrorCode::InvalidJobId, fmt::format("Invalid job id specified: {}", target.id.value));
  };
  Targets out;
  const model::Job* own = model::find_job(view, target.id);
  const CowMap<JobId>* listed = view.arrays.find(target.id.value);
  if (target.het_offset) {
    const model::Job* one = own && own->het_job == target.id && *target.het_offset < own->het_size
                                ? model::find_job(view, JobId{target.id.value + *target.het_offset})
                                : nullptr;
    if (!one || one->het_job != target.id) return unknown();
    out.records.push_back(one->id);
    return out;
  }
  if (own && own->het_job == target.id && !target.tasks) {
    out.records = components_of(*own);
    return out;
  }
  if (!target.tasks) {
    if (own) out.records.push_back(target.id);
    if (listed)
      listed->for_each([&](std::uint32_t, JobId id) {
        if (id != target.id) out.records.push_back(id);
      });
    if (out.records.empty()) return unknown();
    return out;
  }
  if (own && own->is_array_rest()) {
    IndexSet meant = own->array_pending->intersect(*target.tasks);
    if (meant.size() == own->array_pending->size()) {
      out.records.push_back(target.id);
    } else if (!meant.empty()) {
      out.rest = target.id;
      out.tasks = std::move(meant);
    }
  }
  if (listed) {
    // The range may be far larger than the array: walk whichever is smaller.
    for (const auto& range : target.tasks->ranges()) {
      if (range.last - range.first < listed->size()) {
        for (std::uint64_t task = range.first; task <= range.last; ++task)
          if (const JobId* id = listed->find(static_cast<std::uint32_t>(task))) out.records.push_back(*id);
      } else {
        listed->for_each([&](std::uint32_t task, JobId id) {
          if (task >= range.first && task <= range.last) out.records.push_back(id);
        });
      }
    }
  }
  if (out.records.empty() && !out.rest) return unknown();
  return out;
}

Status Applier::can_split(const Targets& targets) const {
  const std::uint64_t count = targets.tasks.size();
  if (count > kMaxSplit)
    return fail(ErrorCode::ResourceLimit,
                fmt::format("{} tasks of an array cannot be changed one by one, at most {}", count, kMaxSplit));
  const std::uint64_t ids = std::uint64_t{config().max_job_id} - config().first_job_id + 1;
  if (view.jobs.size() + view.arrays.size() + count > ids)
    return fail(ErrorCode::TooManyJobs, "all job ids are in use");
  return {};
}

}  // namespace spur::state
