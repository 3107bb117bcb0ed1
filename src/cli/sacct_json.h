// SPDX-License-Identifier: Apache-2.0
// sacct --json: the jobs in the shape of data_parser v0.0.42.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/sacct_columns.h"

namespace spur::cli {

std::string sacct_json(const Context& context, const std::vector<v1::AcctJobRow>& rows, const SacctStyle& style);

}  // namespace spur::cli
