// SPDX-License-Identifier: Apache-2.0
// Bounds of a job's priority. priority_at() is declared in plan.h, because commands show it too; the order of the
// queue is in turn.h.
#pragma once

#include <cstdint>

namespace spur::sched {

// A job without a priority set by hand starts from here; age adds, --nice subtracts.
inline constexpr std::uint32_t kBasePriority = 100'000;
// One less than Slurm's INFINITE and NO_VAL.
inline constexpr std::uint32_t kMaxPriority = 0xfffffffdu;

}  // namespace spur::sched
