// SPDX-License-Identifier: Apache-2.0
#include "model/trigger.h"

#include "state/test_world.h"

namespace spur::state {
namespace {

SetTrigger down_trigger(bool permanent = false) {
  model::Trigger trigger;
  trigger.user = Uid{1000};
  trigger.source = model::TriggerSource::Node;
  trigger.events = model::kTriggerDown;
  trigger.permanent = permanent;
  trigger.program = "/bin/true";
  return {trigger};
}

TEST(Triggers, SeenRanAndGone) {
  World w(1);
  w.must(down_trigger());
  w.must(down_trigger(true));
  ASSERT_EQ(w.cluster.triggers().size(), 2u);
  EXPECT_EQ(w.refusal(TriggersRan{{1}}), ErrorCode::NotFound);  // nothing has happened
  w.must(TriggerSeen{1, w.now + seconds(5), "n1"});
  w.must(TriggerSeen{1, w.now + seconds(50), "n[1-2]"});
  EXPECT_EQ(w.cluster.triggers().at(1).argument, "n[1-2]");
  EXPECT_LT(w.cluster.triggers().at(1).due, w.now + seconds(10));  // the first counts
  w.must(TriggerSeen{2, w.now, "n1"});
  EXPECT_EQ(w.refusal(TriggersRan{{1, 7}}), ErrorCode::NotFound);
  w.must(TriggersRan{{1, 2}});
  ASSERT_EQ(w.cluster.triggers().size(), 1u);
  EXPECT_FALSE(is_set(w.cluster.triggers().at(2).due));
  w.must(down_trigger());
  EXPECT_TRUE(w.cluster.triggers().contains(3));  // a number is not given twice
}

TEST(Triggers, WhoMayClearThem) {
  World w(1);
  w.must(down_trigger());
  ClearTriggers others{.id = 1, .job = {}, .user = {}, .by = Uid{5}, .by_admin = false};
  EXPECT_EQ(w.refusal(others), ErrorCode::PermissionDenied);
  EXPECT_EQ(w.refusal(ClearTriggers{.id = 9, .job = {}, .user = {}, .by = Uid{0}, .by_admin = true}), ErrorCode::NotFound);
  EXPECT_EQ(w.refusal(ClearTriggers{.id = 0, .job = {}, .user = Uid{5}, .by = Uid{5}, .by_admin = false}),
            ErrorCode::NotFound);
  w.must(ClearTriggers{.id = 0, .job = {}, .user = Uid{1000}, .by = Uid{1000}, .by_admin = false});
  EXPECT_TRUE(w.cluster.triggers().empty());
}

TEST(Triggers, OfJobs) {
  World w(1);
  SetTrigger fini = down_trigger(true);
  fini.trigger.source = model::TriggerSource::Job;
  fini.trigger.events = model::kTriggerFini;
  fini.trigger.job = JobId{1};
  EXPECT_EQ(w.refusal(fini), ErrorCode::InvalidJobId);
  fini.trigger.job = JobId{w.submit(spec())};
  w.must(fini);
  w.must(TriggerSeen{1, w.now, "1"});
  w.must(TriggersRan{{1}});
  EXPECT_TRUE(w.cluster.triggers().empty());  // a job ends once, whatever the flag says
  w.must(fini);
  w.must(cancel(target(fini.trigger.job.value)));
  w.must(PurgeJobs{{fini.trigger.job}});
  EXPECT_TRUE(w.cluster.triggers().empty());
}

TEST(Triggers, AnImageHasThemAll) {
  World w(1);
  w.must(down_trigger());
  w.must(down_trigger());
  w.must(ClearTriggers{.id = 2, .job = {}, .user = {}, .by = Uid{0}, .by_admin = true});
  const auto again = Cluster::from_image(w.cluster.image());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->triggers(), w.cluster.triggers());
  EXPECT_EQ((*again)->state_hash(), w.cluster.state_hash());
}

}  // namespace
}  // namespace spur::state
