// SPDX-License-Identifier: Apache-2.0
// Slurm's DebugFlags: subjects of which a log is to say more than its level does. docs/configuration.md says which have
// something to say here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spur::text {

// A bit of the set: its place in the table of names.
using DebugFlags = std::uint64_t;

// In any case; nothing if Slurm (22.05 to 25.05) knows no such flag.
std::optional<DebugFlags> find_debug_flag(std::string_view name);
// Of a list with commas; nothing if a name is unknown.
std::optional<DebugFlags> parse_debug_flags(std::string_view list);
// "Agent,Backfill"; "(null)" for none.
std::string debug_flags_text(DebugFlags flags);

// Those that lines are about here.
namespace debug {
extern const DebugFlags kAgent, kAuditRpcs, kBackfill, kPower, kPriority, kReservation, kSteps, kTraceJobs, kTriggers;
}

}  // namespace spur::text
