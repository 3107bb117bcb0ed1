// SPDX-License-Identifier: Apache-2.0
// Slurm's way to write one number per node: equal neighbours together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spur::text {

// {2,2,2,1} is "2(x3),1".
std::string repeat_text(const std::vector<std::uint32_t>& counts);

}  // namespace spur::text
