// SPDX-License-Identifier: Apache-2.0
// From the records of an outbox to rows of the database. Of several records of the same run of a job in one chunk
// only the last is written: that is what makes a backlog drain fast.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::acct {

// `records` are encoded AcctRecords in the order of their numbers. Corrupt for what is none, or out of order.
Result<io::AcctChunk> make_chunk(const std::string& cluster, Time born, const std::vector<std::string_view>& records);

}  // namespace spur::acct
