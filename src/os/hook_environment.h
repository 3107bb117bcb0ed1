// SPDX-License-Identifier: Apache-2.0
// What a prolog or epilog on a node is told of its job, in Slurm's variables. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/agent_message.h"
#include "os/privileges.h"

namespace spur::os {

// `context` is "prolog_slurmd" or "epilog_slurmd"; `exit` only for the latter. `of_node`: entries for all.
std::vector<std::string> hook_environment(const model::ControllerLaunch& launch, const Identity& user,
                                          std::string_view context, const model::ExitStatus* exit,
                                          const std::vector<std::string>& of_node);

}  // namespace spur::os
