// SPDX-License-Identifier: Apache-2.0
#include "ctld/update_request.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/spec_codec.h"

namespace spur::ctld {

Result<state::UpdateJob> update_request(const model::View& view, state::JobTarget target,
                                        const v1::UpdateJobRequest& request) {
  const model::Job* job = target.tasks && target.tasks->size() == 1
                              ? model::find_array_task(view, target.id, *target.tasks->lowest())
                              : model::find_job(view, target.id);
  if (!job) return fail(ErrorCode::InvalidJobId, "Invalid job id specified");
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
