// SPDX-License-Identifier: Apache-2.0
// sinfo --json and scontrol show node --json: the fields of Slurm's node object that programs read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/controller_client.h"

namespace spur::cli {

std::string nodes_json(const wire::ClusterTable& table, const std::vector<bool>& wanted, std::string_view program);

}  // namespace spur::cli
