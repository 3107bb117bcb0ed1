// SPDX-License-Identifier: Apache-2.0
// scontrol update JobId=: which parts of a request become a new specification and which change the job itself.
#pragma once

#include "base/result.h"
#include "model/view.h"
#include "spur/v1/controller.pb.h"
#include "state/command.h"

namespace spur::ctld {

Result<state::UpdateJob> update_request(const model::View& view, state::JobTarget target, const v1::UpdateJobRequest& request);

}  // namespace spur::ctld
