// SPDX-License-Identifier: Apache-2.0
// The rules of preemption, read from configuration and QOS: the scheduler chooses by them, commands show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/view.h"

namespace spur::model {

// "REQUEUE" and the like, of a partition; GANG beside it says nothing here. Unset if it says nothing else.
PreemptHow parse_preempt_how(std::string_view words);
// The cluster's PreemptMode as Slurm shows it: "OFF", "REQUEUE", "GANG,SUSPEND".
std::string preempt_mode_text(const PreemptConfig& config);

// What happens to a running job that has to go. A job that cannot be requeued is cancelled instead; apply sees to it.
struct PreemptRule {
  PreemptHow how = PreemptHow::Off;  // Off, Cancel, Requeue or Suspend
  seconds grace{0};                  // between TERM and the end
  seconds exempt{0};                 // it is left alone until it has run for so long
};
PreemptRule preempt_rule(const View& view, const Job& running);
// From when on the job may be made to go: its start and what it is exempt for. Not set: never.
Time preemptable_from(const View& view, const Job& running);

enum class MayPreempt : std::uint8_t { No, Yes, IfOfLowerPriority };  // the last: within one QOS
// Whether a job of that specification, in that partition, may push out a running one; leaving time aside.
MayPreempt may_preempt(const View& view, const JobSpec& spec, const Partition& partition, const Job& running);

}  // namespace spur::model
