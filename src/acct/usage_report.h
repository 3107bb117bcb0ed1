// SPDX-License-Identifier: Apache-2.0
// Sums over a time window, for sreport: what each user of each account used of every resource, and how the cluster's
// own resources were spent. Straight from the rows of jobs and events, to the second. Pure but for the door.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::v1 {
class AcctUsageReply;
}

namespace spur::acct {

// Of running jobs, up to `now`.
Status add_usage(io::AccountingStore& store, const std::string& cluster, Time from, Time until, Time now,
                 v1::AcctUsageReply* reply);

}  // namespace spur::acct
