// SPDX-License-Identifier: Apache-2.0
// scontrol update JobId=: which parts of a request become a new specification and which change the job itself.
#pragma once

#include "base/result.h"
#include "model/view.h"
#include "spur/v1/controller.pb.h"
#include "state/command.h"

namespace spur::ctld {

// The records to be edited one by one: a heterogeneous job is edited by component, as their specifications differ.
std::vector<state::JobTarget> update_targets(const model::View& view, state::JobTarget target);

Result<state::UpdateJob> update_request(const model::View& view, state::JobTarget target, const v1::UpdateJobRequest& request);

}  // namespace spur::ctld
