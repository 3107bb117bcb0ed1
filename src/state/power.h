// SPDX-License-Identifier: Apache-2.0
// Nodes that are switched off and on by programs of the site (SuspendProgram, ResumeProgram).
//
//                power_down, or a job of a partition with PowerDownOnIdle
//   in service ------------------------------------------------------------> POWER_DOWN '!' (in service, too)
//       |  idle for SuspendTime                                                   |  nothing left on it
//       +---------------------------------> POWERING_DOWN '%' <-------------------+
//                                                |  SuspendTimeout, or resume
//                                                v
//       +----------------------------------- POWERED_DOWN '~'   jobs may be given to it: they are CONFIGURING
//       |  a job was given to it, or power_up    ^
//       v                                        |  not within ResumeTimeout: DOWN, its jobs requeued
//   POWERING_UP '#' -----------------------------+
//       |  registers with a later boot
//       v
//   in service
//
// Moves that take time are found due by the leader (ctld/node_watch.h) and made by NodesDue. Nothing is ever launched on a
// node that is away, so that a job leaves it without asking it.
#pragma once

#include "model/node.h"
#include "state/command.h"

namespace spur::state {

void request_power(model::Node& node, const UpdateNode& command, Time now);
void power_down(model::Node& node, Time now);
void be_powered_down(model::Node& node);
void power_up(model::Node& node, Time now);
void end_power_up(model::Node& node, Time now);
void give_up_power_up(model::Node& node, Time now);

}  // namespace spur::state
