// SPDX-License-Identifier: Apache-2.0
// Job ids as users type them: "8", "8_3", "8_[1-5,7]", "8+1", and lists of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/command.h"

namespace spur::cli {

// Nothing for anything else, job 0 included.
std::optional<state::JobTarget> parse_job_target(std::string_view text);
// Cuts at commas outside brackets: "8_[1,2],9" is two words.
std::vector<std::string> split_job_list(std::string_view text);

}  // namespace spur::cli
