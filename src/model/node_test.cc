// SPDX-License-Identifier: Apache-2.0
#include "model/node.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

struct Row {
  const char* what;
  bool registered, down;
  std::uint32_t flags;
  std::uint32_t jobs, completing, cpus;  // of 4
  bool exclusive;
  const char *full, *brief, *scontrol;
};

const Row kRows[] = {
    {"idle", true, false, 0, 0, 0, 0, false, "idle", "idle", "IDLE"},
    {"some CPUs", true, false, 0, 1, 0, 2, false, "mixed", "mix", "MIXED"},
    {"all CPUs", true, false, 0, 2, 0, 4, false, "allocated", "alloc", "ALLOCATED"},
    {"exclusive", true, false, 0, 1, 0, 1, true, "allocated", "alloc", "ALLOCATED"},
    {"suspended only", true, false, 0, 1, 0, 0, false, "idle", "idle", "IDLE"},
    {"completing only", true, false, 0, 1, 1, 4, false, "completing", "comp", "IDLE+COMPLETING"},
    {"full and completing", true, false, 0, 2, 1, 4, false, "allocated+", "alloc+", "ALLOCATED+COMPLETING"},
    {"drained", true, false, kNodeDrain, 0, 0, 0, false, "drained", "drain", "IDLE+DRAIN"},
    {"draining", true, false, kNodeDrain, 1, 0, 2, false, "draining", "drng", "MIXED+DRAIN"},
    {"draining, completing", true, false, kNodeDrain, 1, 1, 2, false, "draining", "drng", "IDLE+COMPLETING+DRAIN"},
    {"down", true, true, 0, 0, 0, 0, false, "down", "down", "DOWN"},
    {"lost", true, true, kNodeNoResponse, 0, 0, 0, false, "down*", "down*", "DOWN+NOT_RESPONDING"},
    {"lost and drained", true, true, kNodeNoResponse | kNodeDrain, 0, 0, 0, false, "drained*", "drain*",
     "DOWN+DRAIN+NOT_RESPONDING"},
    {"never seen", false, false, kNodeNoResponse, 0, 0, 0, false, "unknown*", "unk*", "UNKNOWN+NOT_RESPONDING"},
    {"silent", true, false, kNodeNoResponse, 1, 0, 2, false, "mixed*", "mix*", "MIXED+NOT_RESPONDING"},
    {"failing", true, false, kNodeFail, 1, 0, 2, false, "failing", "failg", "MIXED+FAIL"},
    {"failed", true, false, kNodeFail, 0, 0, 0, false, "fail", "fail", "IDLE+FAIL"},
    {"invalid", true, false, kNodeInvalidRegistration | kNodeDrain, 0, 0, 0, false, "inval", "inval",
     "IDLE+DRAIN+INVALID_REG"},
    {"to reboot", true, false, kNodeRebootRequested, 0, 0, 0, false, "reboot", "boot", "IDLE+REBOOT_REQUESTED"},
    {"to reboot, busy", true, false, kNodeRebootRequested, 1, 0, 2, false, "mixed@", "mix@", "MIXED+REBOOT_REQUESTED"},
    {"to reboot, full and completing", true, false, kNodeRebootRequested, 2, 1, 4, false, "allocated@", "alloc@",
     "ALLOCATED+COMPLETING+REBOOT_REQUESTED"},
    {"to reboot soon", true, false, kNodeRebootRequested | kNodeDrain, 1, 0, 2, false, "draining@", "drng@",
     "MIXED+DRAIN+REBOOT_REQUESTED"},
    {"to reboot, drained", true, false, kNodeRebootRequested | kNodeDrain, 0, 0, 0, false, "reboot", "boot",
     "IDLE+DRAIN+REBOOT_REQUESTED"},
    {"rebooting", true, true, kNodeRebootIssued | kNodeDrain, 0, 0, 0, false, "reboot^", "boot^",
     "DOWN+DRAIN+REBOOT_ISSUED"},
    {"all at once", true, true,
     kNodeDrain | kNodeFail | kNodeNoResponse | kNodeMaintenance | kNodeReserved | kNodeInvalidRegistration, 1, 1, 0, false, "inval*", "inval*",
     "DOWN+COMPLETING+DRAIN+INVALID_REG+FAIL+MAINTENANCE+RESERVED+NOT_RESPONDING"},
    {"maintenance", true, false, kNodeMaintenance, 0, 0, 0, false, "maint", "maint", "IDLE+MAINTENANCE"},
};

TEST(Node, StateWords) {
  for (const Row& row : kRows) {
    Node node;
    node.hardware.cpus = 4;
    node.registered = row.registered;
    node.down = row.down;
    node.flags = row.flags;
    for (std::uint32_t i = 0; i < row.jobs; ++i) node.jobs.emplace_back(i + 1);
    node.jobs_completing = row.completing;
    node.cpus_allocated = row.cpus;
    node.exclusive = row.exclusive;
    EXPECT_EQ(state_text(node, false), row.full) << row.what;
    EXPECT_EQ(state_text(node, true), row.brief) << row.what;
    EXPECT_EQ(state_text_full(node), row.scontrol) << row.what;
  }
}

}  // namespace
}  // namespace spur::model
