// SPDX-License-Identifier: Apache-2.0
#include "ctld/plan_pace.h"

#include <gtest/gtest.h>

namespace spur::ctld {
namespace {

sched::Plan plan_of(bool full, bool more = false) {
  sched::Plan plan;
  plan.full = full;
  plan.more = more;
  return plan;
}

TEST(PlanPace, NothingUnlessWanted) {
  PlanPace pace;
  EXPECT_TRUE(pace.idle());
  EXPECT_FALSE(pace.ask(seconds(1)));
  EXPECT_EQ(pace.next(), Duration::max());
}

TEST(PlanPace, CheapCyclesAreTheAnswer) {
  PlanPace pace;
  pace.want();
  EXPECT_EQ(pace.ask(seconds(1)), PlanKind::Full);
  EXPECT_TRUE(pace.idle());
  pace.answered(plan_of(true), seconds(1) + milliseconds(1));
  // Within the rest of a cycle, quick answers; then a full one, without any further event.
  pace.want();
  EXPECT_EQ(pace.next(), seconds(1) + milliseconds(2));
  EXPECT_FALSE(pace.ask(seconds(1) + milliseconds(1)));
  EXPECT_EQ(pace.ask(seconds(1) + milliseconds(2)), PlanKind::Quick);
  pace.answered(plan_of(false), seconds(1) + milliseconds(3));
  EXPECT_FALSE(pace.idle());
  EXPECT_EQ(pace.next(), seconds(1) + milliseconds(51));
  EXPECT_FALSE(pace.ask(seconds(1) + milliseconds(50)));
  EXPECT_EQ(pace.ask(seconds(1) + milliseconds(51)), PlanKind::Full);
  pace.answered(plan_of(true), seconds(1) + milliseconds(52));
  EXPECT_TRUE(pace.idle());
}

TEST(PlanPace, DearCyclesComeSecond) {
  PlanPace pace;
  pace.want();
  EXPECT_EQ(pace.ask(seconds(1)), PlanKind::Full);
  pace.answered(plan_of(true), seconds(1) + milliseconds(20));
  pace.want();
  EXPECT_EQ(pace.ask(seconds(9)), PlanKind::Quick);
  pace.answered(plan_of(false), seconds(9));
  EXPECT_EQ(pace.ask(seconds(9)), PlanKind::Full);
  pace.answered(plan_of(true), seconds(9) + milliseconds(20));
  pace.want();
  EXPECT_EQ(pace.ask(seconds(9) + milliseconds(40)), PlanKind::Quick);
  pace.answered(plan_of(false), seconds(9) + milliseconds(40));
  EXPECT_EQ(pace.next(), seconds(9) + milliseconds(220));  // ten times its cost
}

TEST(PlanPace, WhatIsCutShortGoesOn) {
  PlanPace pace;
  pace.want();
  EXPECT_EQ(pace.ask(seconds(1)), PlanKind::Full);
  pace.answered(plan_of(true, true), seconds(1) + milliseconds(1));
  EXPECT_EQ(pace.ask(seconds(1) + milliseconds(2)), PlanKind::Full);
  // A quick question may get a full answer: the first of all, or after a new configuration.
  pace.answered(plan_of(true), seconds(1) + milliseconds(3));
  pace.want();
  EXPECT_EQ(pace.ask(seconds(1) + milliseconds(5)), PlanKind::Quick);
  pace.answered(plan_of(true), seconds(1) + milliseconds(6));
  EXPECT_TRUE(pace.idle());
}

}  // namespace
}  // namespace spur::ctld
