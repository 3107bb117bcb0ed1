// SPDX-License-Identifier: Apache-2.0
// squeue --json: the fields of Slurm's job object that programs read (data_parser v0.0.42 spelling).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/squeue_columns.h"

namespace spur::cli {

std::string jobs_json(const std::vector<JobLine>& lines, const wire::JobTable& table, std::string_view program);

}  // namespace spur::cli
