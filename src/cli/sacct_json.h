// SPDX-License-Identifier: Apache-2.0
// sacct --json and --yaml: the jobs in the shapes of Slurm's data parsers.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/document.h"
#include "cli/sacct_columns.h"

namespace spur::cli {

std::string sacct_document(const Context& context, const std::vector<v1::AcctJobRow>& rows, const SacctStyle& style,
                           DocumentStyle document_style);

}  // namespace spur::cli
