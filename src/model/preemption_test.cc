// SPDX-License-Identifier: Apache-2.0
#include "model/preemption.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

TEST(Preemption, HowAPartitionSaysIt) {
  EXPECT_EQ(parse_preempt_how(""), PreemptHow::Unset);
  EXPECT_EQ(parse_preempt_how("GANG"), PreemptHow::Unset);
  EXPECT_EQ(parse_preempt_how("off"), PreemptHow::Off);
  EXPECT_EQ(parse_preempt_how("SUSPEND,GANG"), PreemptHow::Suspend);
  EXPECT_EQ(parse_preempt_how("GANG,requeue"), PreemptHow::Requeue);
}

TEST(Preemption, HowTheClusterShowsIt) {
  EXPECT_EQ(preempt_mode_text({}), "OFF");
  EXPECT_EQ(preempt_mode_text({.by = PreemptBy::Qos, .how = PreemptHow::Suspend, .gang = true}), "GANG,SUSPEND");
  EXPECT_EQ(preempt_mode_text({.by = PreemptBy::Qos, .how = PreemptHow::Cancel, .within = true}), "WITHIN,CANCEL");
}

TEST(Preemption, RulesOfPartitionsAndQos) {
  View view;
  auto config = std::make_shared<ClusterConfig>();
  config->preempt = {.by = PreemptBy::PartitionTier, .how = PreemptHow::Requeue, .exempt = seconds(60)};
  view.config = config;
  Partition low, high;
  low.config.name = "low";
  low.config.grace_time_seconds = 30;
  high.config.name = "high";
  high.config.priority_tier = 2;
  view.partitions = std::make_shared<const std::vector<Partition>>(std::vector{low, high});
  Qos q;
  q.name = "q";
  q.grace = seconds(5);
  q.exempt = seconds(7);
  q.preempt_mode = PreemptHow::Suspend;
  view.qos = std::make_shared<const std::vector<Qos>>(std::vector{q});
  auto spec = std::make_shared<JobSpec>();
  spec->qos = "q";
  Job job;
  job.spec = spec;
  auto allocation = std::make_shared<Allocation>();
  allocation->partition = "low";
  job.allocation = allocation;
  job.started = from_unix_seconds(100);

  PreemptRule rule = preempt_rule(view, job);
  EXPECT_EQ(rule.how, PreemptHow::Requeue);
  EXPECT_EQ(rule.grace, seconds(30));
  EXPECT_EQ(rule.exempt, seconds(7));
  EXPECT_EQ(preemptable_from(view, job), from_unix_seconds(107));
  EXPECT_EQ(may_preempt(view, *spec, high, job), MayPreempt::Yes);
  EXPECT_EQ(may_preempt(view, *spec, low, job), MayPreempt::No);

  config->preempt.by = PreemptBy::Qos;
  rule = preempt_rule(view, job);
  EXPECT_EQ(rule.how, PreemptHow::Suspend);
  EXPECT_EQ(rule.grace, seconds(0));  // nothing is lost
  EXPECT_EQ(may_preempt(view, *spec, high, job), MayPreempt::No);
  config->preempt.within = true;
  EXPECT_EQ(may_preempt(view, *spec, high, job), MayPreempt::IfOfLowerPriority);

  config->preempt.by = PreemptBy::Nothing;
  EXPECT_EQ(preempt_rule(view, job).how, PreemptHow::Off);
  EXPECT_FALSE(is_set(preemptable_from(view, job)));
}

}  // namespace
}  // namespace spur::model
