// SPDX-License-Identifier: Apache-2.0
// Which nodes are switched off for being idle, how fast, and what else is found due.
#include "ctld/node_watch.h"

#include "state/test_world.h"

namespace spur::ctld {
namespace {

using model::NodeDue;
using state::World;
using Names = std::vector<std::string>;

model::ClusterConfig with_programs() {
  model::ClusterConfig config;
  config.power.suspend_program = "/sbin/off";
  config.power.resume_program = "/sbin/on";
  config.power.suspend_time_seconds = 600;
  config.power.suspend_timeout = seconds(20);
  config.resume_timeout = seconds(100);
  config.reboot_program = "/sbin/reboot";
  return config;
}

struct WatchWorld : World {
  explicit WatchWorld(const model::ClusterConfig& config = with_programs()) : World(4, 4, 0, config) {}
  // The nodes for which this is due now; `apply`: and it is done.
  Names look(NodeDue what, bool apply = false) {
    for (const state::NodesDue& due : watch.look(view(), now, monotonic)) {
      if (due.what != what) continue;
      if (apply) must(due);
      return due.nodes;
    }
    return {};
  }
  void update(const char* node, state::UpdateNode::Action action, std::optional<std::string> reason = "r") {
    state::UpdateNode command;
    command.nodes = {node};
    command.action = action;
    command.reason = std::move(reason);
    must(command);
  }
  NodeWatch watch;
  Duration monotonic = std::chrono::hours(1);
};

TEST(NodeWatch, IdleNodesAreSwitchedOffAndOnWhenNeeded) {
  WatchWorld w;
  EXPECT_EQ(w.look(NodeDue::PowerDown), Names{});
  const auto id = w.submit(state::spec());
  w.start(id, World::on(1));
  w.now += seconds(700);
  EXPECT_EQ(w.look(NodeDue::PowerDown, true), (Names{"n1", "n3", "n4"}));
  EXPECT_EQ(w.look(NodeDue::PoweredDown), Names{});
  w.now += seconds(20);
  EXPECT_EQ(w.look(NodeDue::PoweredDown, true), (Names{"n1", "n3", "n4"}));
  const auto second = w.submit(state::spec());
  w.start(second, World::on(2));
  EXPECT_EQ(w.look(NodeDue::PowerUp, true), Names{"n3"});
  EXPECT_EQ(w.look(NodeDue::PowerUp), Names{});
  w.now += seconds(100);
  EXPECT_EQ(w.look(NodeDue::PowerUpOverdue, true), Names{"n3"});
}

TEST(NodeWatch, SomeAreSpared) {
  using Action = state::UpdateNode::Action;
  struct Row {
    const char* what;
    std::function<void(model::PowerConfig&)> say;
    Names off;
  };
  const Row rows[] = {
      {"by name", [](auto& p) { p.spared_nodes = "n[1-2],n4"; }, {"n3"}},
      {"so many of them; n1 is drained and does not count", [](auto& p) { p.spared_nodes = "n[1-4]:2"; }, {"n1", "n2"}},
      {"more than there are", [](auto& p) { p.spared_nodes = "n[2-3]:5"; }, {"n1", "n4"}},
      {"by partition", [](auto& p) { p.spared_partitions = {"main"}; }, {}},
      {"by a partition that is not there", [](auto& p) { p.spared_partitions = {"other"}; }, {"n1", "n2", "n3", "n4"}},
      {"by state", [](auto& p) { p.spared_states = {"drain", "DOWN"}; }, {"n2", "n3", "n4"}},
  };
  for (const Row& row : rows) {
    auto config = with_programs();
    row.say(config.power);
    WatchWorld w(config);
    w.update("n1", Action::Drain);
    w.now += seconds(700);
    EXPECT_EQ(w.look(NodeDue::PowerDown), row.off) << row.what;
  }
}

TEST(NodeWatch, WhoIsToldToGoIsNotSpared) {
  auto config = with_programs();
  config.power.spared_nodes = "n[1-4]";
  WatchWorld w(config);
  w.update("n2", state::UpdateNode::Action::PowerDown);
  EXPECT_EQ(w.look(NodeDue::PowerDown), Names{"n2"});
}

TEST(NodeWatch, SoManyInAMinute) {
  auto config = with_programs();
  config.power.suspend_rate = 3;
  config.power.resume_rate = 1;
  WatchWorld w(config);
  w.now += seconds(700);
  EXPECT_EQ(w.look(NodeDue::PowerDown, true), (Names{"n1", "n2", "n3"}));
  EXPECT_EQ(w.look(NodeDue::PowerDown), Names{});
  w.monotonic += seconds(59);
  EXPECT_EQ(w.look(NodeDue::PowerDown), Names{});
  w.monotonic += seconds(1);
  EXPECT_EQ(w.look(NodeDue::PowerDown, true), Names{"n4"});
  w.now += seconds(20);
  w.look(NodeDue::PoweredDown, true);
  for (const char* node : {"n1", "n2"}) w.update(node, state::UpdateNode::Action::PowerUp);
  EXPECT_EQ(w.look(NodeDue::PowerUp, true), Names{"n1"});
  EXPECT_EQ(w.look(NodeDue::PowerUp), Names{});
  w.watch.forget();  // another leads, or this one again
  EXPECT_EQ(w.look(NodeDue::PowerUp), Names{"n2"});
}

TEST(NodeWatch, RebootsThatTakeTooLong) {
  WatchWorld w;
  w.update("n3", state::UpdateNode::Action::Reboot, {});
  EXPECT_EQ(w.look(NodeDue::RebootOverdue), Names{});
  w.now += seconds(100);
  EXPECT_EQ(w.look(NodeDue::RebootOverdue, true), Names{"n3"});
  EXPECT_EQ(w.look(NodeDue::RebootOverdue), Names{});
}

}  // namespace
}  // namespace spur::ctld
