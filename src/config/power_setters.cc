// SPDX-License-Identifier: Apache-2.0
// Switching nodes off and on: SuspendProgram and what belongs to it, of the cluster and of partitions.
#include "config/setter_parts.h"
#include "config/setters.h"
#include "model/power.h"
#include "text/words.h"

namespace spur::config {
namespace {

std::uint32_t or_never(const Value& value) {
  return value.infinite ? model::kNeverSuspend : static_cast<std::uint32_t>(value.number);
}

}  // namespace

Status set_suspend_program(Target& target, const Value& value) {
  target.draft.cluster.power.suspend_program = value.text;
  keep(target, "SuspendProgram", value);
  return {};
}

Status set_resume_program(Target& target, const Value& value) {
  target.draft.cluster.power.resume_program = value.text;
  keep(target, "ResumeProgram", value);
  return {};
}

Status set_resume_fail_program(Target& target, const Value& value) {
  target.draft.cluster.power.resume_fail_program = value.text;
  keep(target, "ResumeFailProgram", value);
  return {};
}

Status set_suspend_time(Target& target, const Value& value) {
  target.draft.cluster.power.suspend_time_seconds = or_never(value);
  keep(target, "SuspendTime", value);
  return {};
}

Status set_suspend_timeout(Target& target, const Value& value) {
  target.draft.cluster.power.suspend_timeout = seconds(static_cast<std::int64_t>(value.number));
  keep(target, "SuspendTimeout", value);
  return {};
}

Status set_suspend_rate(Target& target, const Value& value) {
  target.draft.cluster.power.suspend_rate = static_cast<std::uint32_t>(value.number);
  keep(target, "SuspendRate", value);
  return {};
}

Status set_resume_rate(Target& target, const Value& value) {
  target.draft.cluster.power.resume_rate = static_cast<std::uint32_t>(value.number);
  keep(target, "ResumeRate", value);
  return {};
}

Status set_spared_nodes(Target& target, const Value& value) {
  SPUR_TRY(model::parse_spared_nodes(value.text));
  target.draft.cluster.power.spared_nodes = value.text;
  keep(target, "SuspendExcNodes", value);
  return {};
}

Status set_spared_partitions(Target& target, const Value& value) {
  target.draft.cluster.power.spared_partitions = value.list;
  keep(target, "SuspendExcParts", value);
  return {};
}

Status set_spared_states(Target& target, const Value& value) {
  for (const std::string& word : value.list)
    if (!model::spared_state(word))
      return fail(ErrorCode::ConfigInvalid,
                  fmt::format("SuspendExcStates: {} is no state to spare nodes by", text::shown(word, 40)));
  target.draft.cluster.power.spared_states = value.list;
  keep(target, "SuspendExcStates", value);
  return {};
}

Status set_partition_suspend_time(Target& target, const Value& value) {
  target.partition->partition.suspend_time_seconds = or_never(value);
  return {};
}

}  // namespace spur::config
