// SPDX-License-Identifier: Apache-2.0
// On whose account a job runs and with which QOS: what the job leaves open is filled in from its user's association,
// and what AccountingStorageEnforce demands is checked.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/view.h"

namespace spur::ctld {

using SpecPtr = std::shared_ptr<const model::JobSpec>;

// The specification with account and QOS settled. A QOS that there is not is refused where QOS are enforced, else left out.
Result<SpecPtr> with_account(const model::View& view, SpecPtr spec);

}  // namespace spur::ctld
