// SPDX-License-Identifier: Apache-2.0
// srun --multi-prog: a file that says which tasks run which program, a line each: "0,3-4 program arguments".
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "wire/agent_client.h"

namespace spur::cli {

// Every one of `tasks` must be named, and once; "*" means all that are not named before. The error is srun's lines.
std::expected<std::vector<wire::StepRequest::Program>, std::string> parse_multi_prog(std::string_view content,
                                                                                     std::string_view path,
                                                                                     std::uint32_t tasks);

}  // namespace spur::cli
