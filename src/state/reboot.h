// SPDX-License-Identifier: Apache-2.0
// Reboots of nodes (scontrol reboot).
//
//            nothing left on it                  registers with a later boot
//   REQUESTED ----------------> ISSUED, down ------------------------------> in service again, or down
//       |                            |  not within ResumeTimeout
//       +--- cancel_reboot           +--------------------------------------> down
//
// Whoever stores a node (Applier::put_node) issues what is due. Words of the reason are Slurm's.
#pragma once

#include "model/node.h"
#include "state/command.h"

namespace spur::state {

void request_reboot(model::Node& node, const UpdateNode& command, Time now);
void cancel_reboot(model::Node& node);
// Nothing of a reboot is left: it is over, or was called off.
void forget_reboot(model::Node& node);
// The agent registers: whether the machine has booted since. `before` is the boot time that was known.
bool has_booted(const model::Node& node, Time before);
void end_reboot(model::Node& node, Time now);
void give_up_reboot(model::Node& node, Time now);

}  // namespace spur::state
