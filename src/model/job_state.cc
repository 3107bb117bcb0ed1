// SPDX-License-Identifier: Apache-2.0
// The drawing of job_state.h as a table, and the names. Where several flags are set, the one that stands first in
// kFlagNames is shown, as Slurm does; the order in which the names are listed in an error message is another.
#include "model/job_state.h"

#include <array>

#include "text/words.h"

namespace spur::model {
namespace {

struct StateName {
  std::string_view name, brief;
};
constexpr std::array<StateName, 12> kStateNames{{
    {"PENDING", "PD"},
    {"RUNNING", "R"},
    {"SUSPENDED", "S"},
    {"COMPLETED", "CD"},
    {"CANCELLED", "CA"},
    {"FAILED", "F"},
    {"TIMEOUT", "TO"},
    {"NODE_FAIL", "NF"},
    {"PREEMPTED", "PR"},
    {"BOOT_FAIL", "BF"},
    {"DEADLINE", "DL"},
    {"OUT_OF_MEMORY", "OOM"},
}};

struct FlagName {
  JobFlag flag;
  std::string_view name, brief;
};
constexpr std::array<FlagName, 12> kFlagNames{{
    {kCompleting, "COMPLETING", "CG"},
    {kStageOut, "STAGE_OUT", "SO"},
    {kConfiguring, "CONFIGURING", "CF"},
    {kResizing, "RESIZING", "RS"},
    {kRequeued, "REQUEUED", "RQ"},
    {kRequeueFed, "REQUEUE_FED", "RF"},
    {kRequeueHold, "REQUEUE_HOLD", "RH"},
    {kSpecialExit, "SPECIAL_EXIT", "SE"},
    {kStopped, "STOPPED", "ST"},
    {kRevoked, "REVOKED", "RV"},
    {kResvDelHold, "RESV_DEL_HOLD", "RD"},
    {kSignaling, "SIGNALING", "SI"},
}};

const StateName& names_of(JobState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

const FlagName* shown_flag(std::uint32_t flags) {
  static constexpr std::uint32_t kShown = [] {
    std::uint32_t all = 0;
    for (const FlagName& row : kFlagNames) all |= row.flag;
    return all;
  }();
  if ((flags & kShown) == 0) return nullptr;
  for (const FlagName& row : kFlagNames)
    if (flags & row.flag) return &row;
  return nullptr;
}

}  // namespace

bool may_follow(JobState from, JobState to) {
  if (from == to) return false;
  switch (from) {
    case JobState::Pending:
      return to == JobState::Running || to == JobState::Cancelled || to == JobState::Deadline;
    case JobState::Running:
      return true;  // suspended, any end, or back to the queue
    case JobState::Suspended:
      return true;  // resumed, any end (its end may have been under way when it was suspended), or back to the queue
    default:
      return to == JobState::Pending;  // a requeue, which raises the epoch
  }
}

std::string_view long_name(JobState state, std::uint32_t flags) {
  const FlagName* flag = shown_flag(flags);
  return flag ? flag->name : names_of(state).name;
}

std::string_view short_name(JobState state, std::uint32_t flags) {
  const FlagName* flag = shown_flag(flags);
  return flag ? flag->brief : names_of(state).brief;
}

std::string_view base_name(JobState state) {
  return names_of(state).name;
}

bool StateFilter::matches(JobState s, std::uint32_t flags) const {
  if (flag) return (flags & flag) != 0;
  return state && *state == s;
}

std::optional<StateFilter> parse_state(std::string_view word) {
  for (std::size_t i = 0; i < kStateNames.size(); ++i)
    if (text::equal_ignoring_case(word, kStateNames[i].name) || text::equal_ignoring_case(word, kStateNames[i].brief))
      return StateFilter{.state = static_cast<JobState>(i), .flag = 0};
  for (const FlagName& row : kFlagNames)
    if (text::equal_ignoring_case(word, row.name) || text::equal_ignoring_case(word, row.brief))
      return StateFilter{.state = {}, .flag = row.flag};
  return std::nullopt;
}

std::string valid_state_names() {
  constexpr std::array<JobFlag, 12> order{kCompleting, kConfiguring, kResizing,    kResvDelHold,
                                          kRequeued,   kRequeueFed,  kRequeueHold, kRevoked,
                                          kSignaling,  kSpecialExit, kStageOut,    kStopped};
  std::string out;
  for (const StateName& row : kStateNames) out.append(row.name).push_back(',');
  for (const JobFlag flag : order) out.append(shown_flag(flag)->name).push_back(',');
  out.pop_back();
  return out;
}

}  // namespace spur::model
