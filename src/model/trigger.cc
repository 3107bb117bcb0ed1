// SPDX-License-Identifier: Apache-2.0
#include "model/trigger.h"

namespace spur::model {
namespace {

struct EventWord {
  std::uint32_t event;
  std::string_view word;
};
constexpr EventWord kEvents[] = {
    {kTriggerUp, "up"},
    {kTriggerDown, "down"},
    {kTriggerFail, "fail"},
    {kTriggerTime, "time"},
    {kTriggerFini, "fini"},
    {kTriggerReconfig, "reconfig"},
    {kTriggerIdle, "idle"},
    {kTriggerDrained, "drained"},
    {kTriggerPrimaryCtldFail, "primary_slurmctld_failure"},
    {kTriggerPrimaryCtldResumedOperation, "primary_slurmctld_resumed_operation"},
    {kTriggerPrimaryCtldResumedControl, "primary_slurmctld_resumed_control"},
    {kTriggerPrimaryCtldAccountingFull, "primary_slurmctld_acct_buffer_full"},
    {kTriggerBackupCtldFail, "backup_slurmctld_failure"},
    {kTriggerBackupCtldResumedOperation, "backup_slurmctld_resumed_operation"},
    {kTriggerBackupCtldAssumedControl, "backup_slurmctld_assumed_control"},
    {kTriggerPrimaryDbdFail, "primary_slurmdbd_failure"},
    {kTriggerPrimaryDbdResumedOperation, "primary_slurmdbd_resumed_operation"},
    {kTriggerPrimaryDbFail, "primary_database_failure"},
    {kTriggerPrimaryDbResumedOperation, "primary_database_resumed_operation"},
    {kTriggerBurstBuffer, "burst_buffer"},
};

}  // namespace

std::string_view event_name(std::uint32_t events) {
  for (const EventWord& row : kEvents)
    if (row.event == events) return row.word;
  return "unknown";
}

std::string_view source_name(TriggerSource source) {
  switch (source) {
    case TriggerSource::Job:
      return "job";
    case TriggerSource::Node:
      return "node";
    case TriggerSource::Slurmctld:
      return "slurmctld";
    case TriggerSource::Slurmdbd:
      return "slurmdbd";
    case TriggerSource::Database:
      return "database";
    case TriggerSource::FrontEnd:
      return "front_end";
    case TriggerSource::Other:
      return "other";
    case TriggerSource::None:
      break;
  }
  return "unknown";
}

}  // namespace spur::model
