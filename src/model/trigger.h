// SPDX-License-Identifier: Apache-2.0
// What strigger sets: a program of a user that the controller runs when something happens to a job, to nodes or to the
// daemons. The life of one:
//
//             SetTrigger          TriggerSeen, perhaps again    TriggersRan
//      (none) ----------> waits ------------------------> due at T --------------> (gone), and its program runs
//                           ^                                         |
//                           +------------ permanent ------------------+
//
// The journal has it that a program is about to run before it runs: whatever crashes, it runs at most once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

namespace spur::model {

// Slurm's numbers.
enum class TriggerSource : std::uint8_t { None, Job, Node, Slurmctld, Slurmdbd, Database, FrontEnd, Other };

// A bit set, Slurm's numbers.
enum TriggerEvent : std::uint32_t {
  kTriggerUp = 1u << 0,
  kTriggerDown = 1u << 1,
  kTriggerFail = 1u << 2,
  kTriggerTime = 1u << 3,
  kTriggerFini = 1u << 4,
  kTriggerReconfig = 1u << 5,
  kTriggerIdle = 1u << 7,
  kTriggerDrained = 1u << 8,
  kTriggerPrimaryCtldFail = 1u << 9,
  kTriggerPrimaryCtldResumedOperation = 1u << 10,
  kTriggerPrimaryCtldResumedControl = 1u << 11,
  kTriggerPrimaryCtldAccountingFull = 1u << 12,
  kTriggerBackupCtldFail = 1u << 13,
  kTriggerBackupCtldResumedOperation = 1u << 14,
  kTriggerBackupCtldAssumedControl = 1u << 15,
  kTriggerPrimaryDbdFail = 1u << 16,
  kTriggerPrimaryDbdResumedOperation = 1u << 17,
  kTriggerPrimaryDbFail = 1u << 18,
  kTriggerPrimaryDbResumedOperation = 1u << 19,
  kTriggerBurstBuffer = 1u << 20,
};

struct Trigger {
  std::uint32_t id = 0;
  Uid user;
  Gid group;
  TriggerSource source = TriggerSource::None;
  std::uint32_t events = 0;  // TriggerEvent bits
  JobId job;                 // source Job
  std::string nodes;         // source Node: a hostlist; empty: all
  std::int32_t offset = 0;   // seconds behind the event, or, for a time limit, before it
  bool permanent = false;
  std::string program;       // with its arguments
  Time set_at;               // or when its program ran last
  Time due;                  // not set: nothing happened yet
  std::string argument;      // what the program is told, the job or the nodes; without `due`: was told last
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

// Slurm's words: "primary_slurmctld_failure", and "unknown" for several events; "job", "node", "slurmctld".
std::string_view event_name(std::uint32_t events);
std::string_view source_name(TriggerSource source);

}  // namespace spur::model
