// SPDX-License-Identifier: Apache-2.0
#include "sched/timeline.h"

#include <gtest/gtest.h>

namespace spur::sched {
namespace {

Time t(int n) {
  return from_unix_seconds(1000 + n);
}

std::vector<Amount> least(const Timeline& timeline, int from, int to) {
  std::vector<Amount> out(2);
  timeline.least(t(from), t(to), out.data());
  return out;
}

TEST(Timeline, ReleasesAndHolds) {
  const Amount free[] = {1, 10}, two[] = {2, 0}, five[] = {1, 5};
  Timeline timeline(2, free, t(0));
  EXPECT_EQ(least(timeline, 0, 1000), (std::vector<Amount>{1, 10}));

  timeline.release(t(20), two);
  timeline.release(t(10), two);
  EXPECT_EQ(least(timeline, 0, 10), (std::vector<Amount>{1, 10}));
  EXPECT_EQ(least(timeline, 10, 11), (std::vector<Amount>{3, 10}));
  EXPECT_EQ(least(timeline, 19, 25), (std::vector<Amount>{3, 10}));
  EXPECT_EQ(least(timeline, 20, 25), (std::vector<Amount>{5, 10}));

  timeline.take(t(15), t(30), five);
  EXPECT_EQ(least(timeline, 10, 15), (std::vector<Amount>{3, 10}));  // ends as the hold begins
  EXPECT_EQ(least(timeline, 10, 16), (std::vector<Amount>{2, 5}));
  EXPECT_EQ(least(timeline, 0, 40), (std::vector<Amount>{1, 5}));
  EXPECT_EQ(least(timeline, 30, 40), (std::vector<Amount>{5, 10}));

  timeline.give_back(t(15), t(30), five);
  EXPECT_EQ(least(timeline, 10, 40), (std::vector<Amount>{3, 10}));
}

TEST(Timeline, Steps) {
  const Amount free[] = {1}, one[] = {1};
  Timeline timeline(1, free, t(0));
  EXPECT_EQ(timeline.next_step(t(0)), Time::max());
  timeline.take(t(0), t(7), one);
  timeline.release(t(7), one);  // the same moment twice is one step
  EXPECT_EQ(timeline.steps(), 2u);
  EXPECT_EQ(timeline.next_step(t(0)), t(7));
  EXPECT_EQ(timeline.next_step(t(7)), Time::max());
  EXPECT_EQ(timeline.step_of(t(6)), 0u);
  EXPECT_EQ(timeline.step_of(t(7)), 1u);
  EXPECT_EQ(timeline.row(1)[0], 2);
  timeline.take(t(9), t(9), one);  // nothing
  EXPECT_EQ(timeline.steps(), 2u);
}

}  // namespace
}  // namespace spur::sched
