// SPDX-License-Identifier: Apache-2.0
// When usage is forgotten (PriorityUsageResetPeriod): at midnight, local time, of the day, week, month, quarter or
// year.
#pragma once

#include <string_view>

#include "base/time.h"

namespace spur::ctld {

// The last such moment that is not after `now`; not set for NONE, and for a word that means none.
Time last_usage_reset(std::string_view period, Time now);

}  // namespace spur::ctld
