// SPDX-License-Identifier: Apache-2.0
// What an administrator changes of runs that the database has: `sacctmgr modify job`, and the end of runaway jobs.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "io/accounting_store.h"

namespace spur::v1 {
class AcctJobEdit;
}

namespace spur::acct {

// How many of the named runs were there and are changed now. A run that has ended is not ended again.
Result<std::uint64_t> edit_jobs(io::AccountingStore& store, const v1::AcctJobEdit& edit);

}  // namespace spur::acct
