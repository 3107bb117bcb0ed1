// SPDX-License-Identifier: Apache-2.0
#include "ctld/update_request.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/spec_codec.h"

namespace spur::ctld {

std::vector<state::JobTarget> update_targets(const model::View& view, state::JobTarget target) {
  const model::Job* job = model::find_job(view, target.id);
  if (!job || job->het_job != job->id || target.het_offset || target.tasks) return {std::move(target)};
  std::vector<state::JobTarget> all;
  for (std::uint32_t i = 0; i < job->het_size; ++i)
    if (const auto* other = model::find_job(view, JobId{job->id.value + i}); other && !model::is_final(other->state))
      all.push_back({target.id, {}, i});
  if (all.empty()) all.push_back(std::move(target));
  return all;
}

Result<state::UpdateJob> update_request(const model::View& view, state::JobTarget target,
                                        const v1::UpdateJobRequest& request) {
  const JobId id{target.id.value + target.het_offset.value_or(0)};
  const model::Job* job = target.tasks && target.tasks->size() == 1
                              ? model::find_array_task(view, target.id, *target.tasks->lowest())
                              : model::find_job(view, id);
  if (!job || (target.het_offset && job->het_job != target.id))
    return fail(ErrorCode::InvalidJobId, "Invalid job id specified");
  model::JobSpec wanted;
  SPUR_TRY(wire::from_proto(request.spec(), &wanted));

  state::UpdateJob update;
  update.target = std::move(target);
  std::vector<std::string> changed;
  for (const auto& name : request.changed()) {
    if (name == "time_limit") {
      update.time_limit = wanted.time_limit;
    } else if (name == "priority") {
      update.priority = wanted.priority;
    } else if (name == "array") {
      update.array_max_running = wanted.array ? wanted.array->max_running : 0;
    } else {
      changed.push_back(name);
      if (name == "dependencies" || name == "dependencies_any") update.dependencies_changed = true;
    }
  }
  if (!changed.empty()) {
    auto spec = std::make_shared<model::JobSpec>(*job->spec);
    SPUR_TRY(wire::merge_spec(wanted, changed, spec.get()));
    update.spec = std::move(spec);
  }
  return update;
}

}  // namespace spur::ctld
