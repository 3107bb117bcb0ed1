// SPDX-License-Identifier: Apache-2.0
// What scontrol reboot, cancel_reboot, power and takeover send for what was typed, and what they say to what cannot be
// meant.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_cluster.h"

namespace spur::cli {
namespace {

using model::AfterReboot;
using Action = state::UpdateNode::Action;

struct RebootAnswer {
  int status = 0;
  std::string err;
  std::vector<state::UpdateNode> updates;
  std::vector<std::string> calls;
};

RebootAnswer run(std::vector<std::string> arguments, const char* program = "/sbin/reboot",
           std::vector<std::string> controllers = {"a(10.0.0.1)", "b", "c"}) {
  auto made = std::make_unique<FakeController>();
  FakeController* controller = made.get();  // the context, or we, own it until the end of this function
  fill(*controller);
  controller->cluster_config.shown.clear();
  controller->cluster_config.shown.emplace_back("RebootProgram", program);
  for (std::size_t i = 0; i < controllers.size(); ++i)
    controller->cluster_config.shown.emplace_back(fmt::format("SlurmctldHost[{}]", i), controllers[i]);
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = "scontrol";
  context.arguments = std::move(arguments);
  static const char* const kNothing[] = {nullptr};
  context.environment = kNothing;
  context.now = [] { return kTestNow; };
  context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(made); };
  RebootAnswer answer;
  answer.status = cmd_scontrol(context);
  answer.err = err.text();
  answer.updates = controller->node_updates;
  answer.calls = controller->calls;
  EXPECT_EQ(out.text(), "");
  return answer;
}

TEST(ScontrolReboot, WhatIsSent) {
  struct Row {
    std::vector<std::string> words;
    std::vector<std::string> nodes;
    bool asap;
    AfterReboot then;
    std::optional<std::string> reason;
  };
  const Row rows[] = {
      {{"n1"}, {"n1"}, false, AfterReboot::AsBefore, {}},
      {{"n[1-2]"}, {"n1", "n2"}, false, AfterReboot::AsBefore, {}},
      {{"ALL"}, {"n1", "n2", "n3", "n4"}, false, AfterReboot::AsBefore, {}},
      {{"asap", "n1"}, {"n1"}, true, AfterReboot::AsBefore, {}},
      {{"ASAP", "nextstate=down", "n1"}, {"n1"}, true, AfterReboot::Down, {}},
      {{"NextState=RESUME", "Reason=new kernel", "n1"}, {"n1"}, false, AfterReboot::Resume, "new kernel"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> words = {"reboot"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const RebootAnswer answer = run(words);
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.err, "");
    ASSERT_EQ(answer.updates.size(), 1u);
    const state::UpdateNode& sent = answer.updates[0];
    EXPECT_EQ(sent.action, Action::Reboot);
    EXPECT_EQ(sent.nodes, row.nodes);
    EXPECT_EQ(sent.asap, row.asap);
    EXPECT_EQ(sent.after_reboot, row.then);
    EXPECT_EQ(sent.reason, row.reason);
  }
}

TEST(ScontrolReboot, WhatCannotBeMeant) {
  struct Row {
    std::vector<std::string> words;
    const char* said;
  };
  const Row rows[] = {
      {{"reboot"}, "Missing node list. Specify ALL|<NodeList>\n"},
      {{"reboot", "asap"}, "Missing node list. Specify ALL|<NodeList>\n"},
      {{"reboot", "n1", "n2"}, "too many arguments for keyword:reboot\n"},
      {{"reboot", "nextstate=idle", "n1"}, "Invalid state: idle\nValid states: DOWN, RESUME\n"},
      {{"reboot", "reason=", "n1"}, "missing reason\n"},
      {{"reboot", "nosuch"}, "scontrol_reboot_nodes error: Invalid node name specified\n"},
      {{"reboot", "n[1-"}, "scontrol_reboot_nodes error: Invalid node name specified\n"},
      {{"cancel_reboot"}, "missing argument for keyword:cancel_reboot\n"},
      {{"cancel_reboot", "nosuch"}, "slurm_update error: Invalid node name specified\n"},
      {{"takeover", "0"}, "takeover: invalid backup controller index (0)\n"},
      {{"takeover", "3"}, "takeover: invalid backup controller index (3)\n"},
  };
  for (const Row& row : rows) {
    const RebootAnswer answer = run(row.words);
    EXPECT_EQ(answer.status, 1) << row.said;
    EXPECT_EQ(answer.err, row.said);
    EXPECT_TRUE(answer.updates.empty()) << row.said;
    EXPECT_TRUE(answer.calls.empty()) << row.said;
  }
}

TEST(ScontrolReboot, NothingToRebootWith) {
  const RebootAnswer answer = run({"reboot", "n1"}, "(null)");
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.err,
            "scontrol: error: RebootProgram isn't defined\nscontrol_reboot_nodes error: Unspecified error\n");
  EXPECT_TRUE(answer.updates.empty());
}

TEST(ScontrolReboot, CalledOff) {
  const RebootAnswer answer = run({"cancel_reboot", "n[1,3]"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  ASSERT_EQ(answer.updates.size(), 1u);
  EXPECT_EQ(answer.updates[0].action, Action::CancelReboot);
  EXPECT_EQ(answer.updates[0].nodes, (std::vector<std::string>{"n1", "n3"}));
}

TEST(ScontrolPower, WhatIsSent) {
  struct Row {
    std::vector<std::string> words;
    Action action;
    std::vector<std::string> nodes;
    std::optional<std::string> reason;
  };
  const Row rows[] = {
      {{"power", "up", "n[1-2]"}, Action::PowerUp, {"n1", "n2"}, {}},
      {{"power", "DOWN", "n1"}, Action::PowerDown, {"n1"}, {}},
      {{"power", "down", "asap", "n1", "reason=heat"}, Action::PowerDownAsap, {"n1"}, "heat"},
      {{"power", "down", "force", "ALL"}, Action::PowerDownForce, {"n1", "n2", "n3", "n4"}, {}},
      {{"update", "nodename=n1", "state=power_up"}, Action::PowerUp, {"n1"}, {}},
      {{"update", "nodename=n1", "state=POWER_DOWN"}, Action::PowerDown, {"n1"}, {}},
      {{"update", "nodename=n1", "state=power_down_asap", "reason=x"}, Action::PowerDownAsap, {"n1"}, "x"},
      {{"update", "nodename=n1", "state=power_down_force"}, Action::PowerDownForce, {"n1"}, {}},
  };
  for (const Row& row : rows) {
    const RebootAnswer answer = run(row.words);
    EXPECT_EQ(answer.status, 0) << answer.err;
    ASSERT_EQ(answer.updates.size(), 1u);
    EXPECT_EQ(answer.updates[0].action, row.action) << row.words.back();
    EXPECT_EQ(answer.updates[0].nodes, row.nodes);
    EXPECT_EQ(answer.updates[0].reason, row.reason);
  }
}

TEST(ScontrolPower, WhatCannotBeMeant) {
  struct Row {
    std::vector<std::string> words;
    const char* said;
  };
  const Row rows[] = {
      {{"power", "sideways"}, "invalid power argument: sideways\n"},
      {{"power", "up"}, "too few arguments for keyword:power\n"},
      {{"power", "down", "force"}, "too few arguments for keyword:power\n"},
      {{"power", "up", "asap", "n1"}, "invalid power argument: asap\n"},
      {{"power", "down", "n1", "n2"}, "too many arguments for keyword:power\n"},
      {{"power", "down", "n1", "reason="}, "missing reason\n"},
      {{"power", "down", "nosuch"}, "slurm_update error: Invalid node name specified\n"},
      {{"power", "down", "n[1-"}, "slurm_update error: Invalid node name specified\n"},
  };
  for (const Row& row : rows) {
    const RebootAnswer answer = run(row.words);
    EXPECT_EQ(answer.status, 1) << row.said;
    EXPECT_EQ(answer.err, row.said);
    EXPECT_TRUE(answer.updates.empty()) << row.said;
  }
}

TEST(ScontrolTakeover, BackupsAreCountedFromTheSecondHost) {
  EXPECT_EQ(run({"takeover"}).calls, (std::vector<std::string>{"takeover "}));
  EXPECT_EQ(run({"takeover", "2"}).calls, (std::vector<std::string>{"takeover c"}));
  const RebootAnswer alone = run({"takeover"}, "/sbin/reboot", {"a"});
  EXPECT_EQ(alone.status, 1);
  EXPECT_TRUE(alone.calls.empty());
  EXPECT_EQ(run({"abort"}).calls, (std::vector<std::string>{"abort"}));
}

}  // namespace
}  // namespace spur::cli
