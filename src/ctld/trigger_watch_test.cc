// SPDX-License-Identifier: Apache-2.0
#include "ctld/trigger_watch.h"

#include <gtest/gtest.h>

#include "state/test_world.h"

namespace spur::ctld {
namespace {

using state::World;

model::Trigger trigger(model::TriggerSource source, std::uint32_t events, std::int32_t offset = 0) {
  model::Trigger out;
  out.id = 1;
  out.source = source;
  out.events = events;
  out.offset = offset;
  out.program = "/bin/true";
  return out;
}
Triggers only(model::Trigger one) {
  return {{1, std::move(one)}};
}
constexpr auto kNode = model::TriggerSource::Node;
constexpr auto kJob = model::TriggerSource::Job;

state::UpdateNode set_node(const std::string& name, state::UpdateNode::Action action) {
  state::UpdateNode command;
  command.nodes = {name};
  command.action = action;
  command.reason = "test";
  return command;
}

TEST(TriggerWatch, NodesThatChange) {
  World w(3);
  const model::View up = w.view();
  w.must(set_node("n1", state::UpdateNode::Action::Down));
  w.must(set_node("n3", state::UpdateNode::Action::Down));
  const auto down = look_at_triggers(only(trigger(kNode, model::kTriggerDown)), up, w.view(), w.now);
  ASSERT_EQ(down.hits.size(), 1u);
  EXPECT_EQ(down.hits[0].argument, "n[1,3]");
  EXPECT_EQ(down.hits[0].due, w.now + kTriggerGathers);
  EXPECT_TRUE(look_at_triggers(only(trigger(kNode, model::kTriggerUp)), up, w.view(), w.now).hits.empty());
  EXPECT_TRUE(look_at_triggers(only(trigger(kNode, model::kTriggerDown)), w.view(), w.view(), w.now).hits.empty());
  auto named = trigger(kNode, model::kTriggerDown);
  named.nodes = "n[2-3]";
  EXPECT_EQ(look_at_triggers(only(named), up, w.view(), w.now).hits.at(0).argument, "n3");
  // One that has been told of n2 gathers on.
  auto gathers = trigger(kNode, model::kTriggerDown);
  gathers.due = w.now;
  gathers.argument = "n2";
  EXPECT_EQ(look_at_triggers(only(gathers), up, w.view(), w.now).hits.at(0).argument, "n[1-3]");
  const model::View was_down = w.view();
  w.must(set_node("n1", state::UpdateNode::Action::Resume));
  EXPECT_EQ(look_at_triggers(only(trigger(kNode, model::kTriggerUp)), was_down, w.view(), w.now).hits.at(0).argument,
            "n1");
}

TEST(TriggerWatch, DrainedOnceItsJobsAreGone) {
  World w(1);
  const auto id = w.submit(state::spec());
  w.start(id, World::on(0));
  model::View before = w.view();
  w.must(set_node("n1", state::UpdateNode::Action::Drain));
  const Triggers drained = only(trigger(kNode, model::kTriggerDrained));
  EXPECT_TRUE(look_at_triggers(drained, before, w.view(), w.now).hits.empty());
  before = w.view();
  w.done(id, "n1");
  EXPECT_EQ(look_at_triggers(drained, before, w.view(), w.now).hits.at(0).argument, "n1");
}

TEST(TriggerWatch, IdleForSoLong) {
  World w(1);
  const auto id = w.submit(state::spec());
  w.start(id, World::on(0));
  const Triggers idle = only(trigger(kNode, model::kTriggerIdle, 60));
  EXPECT_FALSE(is_set(look_at_triggers(idle, w.view(), w.view(), w.now).again));  // it works
  w.done(id, "n1");
  const auto waits = look_at_triggers(idle, w.view(), w.view(), w.now);
  EXPECT_TRUE(waits.hits.empty());
  EXPECT_EQ(waits.again, w.now + seconds(60));
  const Time then = w.now + seconds(60);
  EXPECT_EQ(look_at_triggers(idle, w.view(), w.view(), then).hits.at(0).argument, "n1");
  auto ran = trigger(kNode, model::kTriggerIdle, 60);
  ran.permanent = true;
  ran.argument = "n1";
  ran.set_at = then;
  EXPECT_TRUE(look_at_triggers(only(ran), w.view(), w.view(), then + seconds(9)).hits.empty());  // told of already
}

TEST(TriggerWatch, JobsThatEnd) {
  World w(1);
  model::JobSpec limited = state::spec();
  limited.time_limit = TimeLimit::of_minutes(10);
  const auto id = w.submit(limited);
  auto fini = trigger(kJob, model::kTriggerFini, 5);
  auto time = trigger(kJob, model::kTriggerTime, -120);
  fini.job = time.job = JobId{id};
  EXPECT_TRUE(look_at_triggers(only(fini), w.view(), w.view(), w.now).hits.empty());
  w.start(id, World::on(0));
  const Time warned = w.now + std::chrono::minutes(8);
  EXPECT_EQ(look_at_triggers(only(time), w.view(), w.view(), w.now).again, warned);
  EXPECT_EQ(look_at_triggers(only(time), w.view(), w.view(), warned).hits.at(0).argument, std::to_string(id));
  w.done(id, "n1");
  const auto over = look_at_triggers(only(fini), w.view(), w.view(), w.now);
  EXPECT_EQ(over.hits.at(0).argument, std::to_string(id));
  EXPECT_EQ(over.hits.at(0).due, w.now + seconds(5));
}

TEST(TriggerWatch, DaemonsAndConfiguration) {
  const Triggers triggers = {{1, trigger(kNode, model::kTriggerReconfig)},
                             {2, trigger(model::TriggerSource::Slurmctld, model::kTriggerPrimaryCtldFail)}};
  const Time now = from_unix_seconds(5);
  ASSERT_EQ(daemon_triggers(triggers, model::kTriggerReconfig, now).size(), 1u);
  EXPECT_EQ(daemon_triggers(triggers, model::kTriggerReconfig, now)[0].argument, "reconfig");
  EXPECT_EQ(daemon_triggers(triggers, model::kTriggerPrimaryCtldFail | model::kTriggerBackupCtldAssumedControl, now)
                .at(0)
                .argument,
            "primary_slurmctld_failure");
}

}  // namespace
}  // namespace spur::ctld
