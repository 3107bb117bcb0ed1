// SPDX-License-Identifier: Apache-2.0
// QOS with the flag Relative: their limits on amounts (GrpTRES, MaxTRES of a job, a user and an account, MinTRES) are
// percents of what the cluster has, or of what the partition has whose QOS it is.
#pragma once

#include <memory>
#include <vector>

#include "model/view.h"

namespace spur::model {

// All QOS with amounts instead of percents; null if there is none with the flag.
View::List<Qos> qos_with_amounts(const View& view);

}  // namespace spur::model
