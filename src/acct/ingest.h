// SPDX-License-Identifier: Apache-2.0
// From the records of an outbox to rows of the database. Of several records of the same run of a job in one chunk
// only the last is written: that is what makes a backlog drain fast.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "acct/catalog.h"
#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::acct {

// `records` are encoded AcctRecords in the order of their numbers. Corrupt for what is none, or out of order. `wckeys`
// not null: workload keys are tracked. It gets those of the jobs, and a job without one has "*", as in Slurm.
Result<io::AcctChunk> make_chunk(const std::string& cluster, Time born, const std::vector<std::string_view>& records,
                                 std::set<WckeyUse>* wckeys = nullptr);

}  // namespace spur::acct
