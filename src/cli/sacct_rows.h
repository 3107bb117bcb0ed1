// SPDX-License-Identifier: Apache-2.0
// The jobs that sacct shows: from the database, and from the controller's memory where that is ahead of it. So a job
// is there from the moment it was submitted, also while the database is away or behind.
#pragma once

#include <vector>

#include "cli/context.h"
#include "spur/v1/accounting.pb.h"

namespace spur::cli {

// By cluster and job id. Without an answer of the accounting service: its error, unless the controller knows all that
// was asked for.
Result<std::vector<v1::AcctJobRow>> sacct_rows(Context& context, Accounting& accounting,
                                               const v1::AcctJobQuery& query);

}  // namespace spur::cli
