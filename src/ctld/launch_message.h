// SPDX-License-Identifier: Apache-2.0
// What a node is told about a job it must run: a pure function of the published state.
#pragma once

#include <optional>
#include <string_view>

#include "model/agent_message.h"
#include "model/view.h"

namespace spur::ctld {

// The message for the `part`-th node of the job's allocation. The job is active.
model::ControllerLaunch launch_message(const model::View& view, const model::Job& job, std::uint32_t part);

}  // namespace spur::ctld
