// SPDX-License-Identifier: Apache-2.0
#include "text/debug_flags.h"

#include <algorithm>
#include <iterator>

#include "text/words.h"

namespace spur::text {
namespace {

// By the alphabet, as Slurm lists them.
constexpr std::string_view kNames[] = {
    "Accrue",     "Agent",        "AuditRPCs",        "AuditTLS",    "Backfill",     "BackfillMap",  "BurstBuffer",
    "Cgroup",     "ConMgr",       "CPU_Bind",         "CpuFrequency", "Data",        "DBD_Agent",    "Dependency",
    "Elasticsearch", "Energy",    "ExtSensors",       "Federation",  "FrontEnd",     "Gang",         "GLOB_SILENCE",
    "Gres",       "Hetjob",       "Interconnect",     "JobAccountGather", "JobComp", "JobContainer", "License",
    "Mpi",        "Network",      "NetworkRaw",       "NO_CONF_HASH", "NO_REALTIME", "NodeFeatures", "Power",
    "PowerSave",  "Priority",     "Profile",          "Protocol",    "Reservation",  "Route",        "Sackd",
    "Script",     "SelectType",   "Steps",            "Switch",      "TimeCray",     "TLS",          "TraceJobs",
    "Triggers",   "WorkQueue"};
static_assert(std::size(kNames) <= 64);

constexpr DebugFlags bit_of(std::string_view name) {
  return DebugFlags{1} << (std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames));
}

}  // namespace

constinit const DebugFlags debug::kAgent = bit_of("Agent"), debug::kAuditRpcs = bit_of("AuditRPCs"),
                           debug::kBackfill = bit_of("Backfill"), debug::kPower = bit_of("Power"),
                           debug::kPriority = bit_of("Priority"), debug::kReservation = bit_of("Reservation"),
                           debug::kSteps = bit_of("Steps"), debug::kTraceJobs = bit_of("TraceJobs"),
                           debug::kTriggers = bit_of("Triggers");

std::optional<DebugFlags> find_debug_flag(std::string_view name) {
  const auto found = std::ranges::find_if(kNames, [&](auto known) { return equal_ignoring_case(known, name); });
  if (found == std::end(kNames)) return std::nullopt;
  return DebugFlags{1} << (found - std::begin(kNames));
}

std::optional<DebugFlags> parse_debug_flags(std::string_view list) {
  DebugFlags flags = 0;
  for (const std::string_view word : split(list, ',')) {
    if (trim(word).empty()) continue;
    const auto flag = find_debug_flag(trim(word));
    if (!flag) return std::nullopt;
    flags |= *flag;
  }
  return flags;
}

std::string debug_flags_text(DebugFlags flags) {
  std::string out;
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (flags >> i & 1) out.append(out.empty() ? "" : ",").append(kNames[i]);
  return out.empty() ? "(null)" : out;
}

}  // namespace spur::text
