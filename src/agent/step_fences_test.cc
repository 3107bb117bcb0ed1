// SPDX-License-Identifier: Apache-2.0
#include "agent/step_fences.h"

#include <gtest/gtest.h>

namespace spur::agent {
namespace {

std::string text(const std::optional<StepFences::Pass>& pass) {
  if (!pass) return "-";
  return std::to_string(pass->number) + pass->data + (pass->only ? "@" + std::to_string(*pass->only) : "");
}

TEST(StepFencesTest, PassWhenAllHaveCome) {
  StepFences fences(2);
  EXPECT_EQ(text(fences.at(0, 1, "a")), "-");
  EXPECT_EQ(text(fences.at(1, 1, "b")), "1ab");
  EXPECT_EQ(text(fences.at(1, 2, "d")), "-");
  EXPECT_EQ(text(fences.at(0, 2, "c")), "2cd");
}

TEST(StepFencesTest, ThoseWhoseTasksHaveEndedKeepNobodyWaiting) {
  StepFences fences(2);
  EXPECT_EQ(text(fences.at(0, 1, "a")), "-");
  EXPECT_EQ(text(fences.over(1)), "1a");
  EXPECT_EQ(text(fences.at(0, 2, "b")), "2b");
  EXPECT_EQ(text(fences.over(0)), "-");
}

TEST(StepFencesTest, WhoMissedOneHearsItAgain) {
  StepFences fences(2);
  EXPECT_EQ(text(fences.at(0, 1, "a")), "-");
  EXPECT_EQ(text(fences.at(1, 1, "b")), "1ab");
  EXPECT_EQ(text(fences.at(1, 1, "b")), "1ab@1") << "its connection broke before it heard";
  EXPECT_EQ(text(fences.at(0, 2, "c")), "-");
  EXPECT_EQ(text(fences.at(0, 1, "a")), "1ab@0") << "told again with the last: harmless";
  EXPECT_EQ(text(fences.at(0, 2, "c")), "-") << "twice is once";
  EXPECT_EQ(text(fences.at(1, 2, "d")), "2cd");
}

// A new manager hears the last two of each: one part has passed the fifth, the other has not heard of it.
TEST(StepFencesTest, ANewManagerGathersWhatItsPredecessorHad) {
  StepFences fences(2);
  EXPECT_EQ(text(fences.at(0, 5, "a")), "-");
  EXPECT_EQ(text(fences.at(0, 6, "c")), "-");
  EXPECT_EQ(text(fences.at(1, 4, "z")), "-") << "that one is long over for the other";
  EXPECT_EQ(text(fences.at(1, 5, "b")), "5ab");
  EXPECT_EQ(text(fences.at(1, 6, "d")), "6cd");
}

}  // namespace
}  // namespace spur::agent
