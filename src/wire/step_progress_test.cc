// SPDX-License-Identifier: Apache-2.0
#include "wire/step_progress.h"

#include <gtest/gtest.h>

namespace spur::wire {
namespace {

v1::StepOutput output(std::uint32_t part, std::uint64_t seq) {
  v1::StepOutput out;
  out.mutable_data()->set_data("x");
  out.set_part(part);
  out.set_seq(seq);
  return out;
}
v1::StepOutput done(std::uint32_t part, std::uint64_t seq) {
  v1::StepOutput out = output(part, seq);
  out.mutable_done();
  return out;
}
v1::StepOutput taken(std::uint32_t part, std::uint64_t seq) {
  v1::StepOutput out;
  out.mutable_taken()->set_seq(seq);
  out.set_part(part);
  return out;
}

class StepProgressTest : public testing::Test {
 protected:
  StepProgressTest() {
    v1::StepOutput granted;
    granted.mutable_granted()->set_parts(2);
    EXPECT_TRUE(progress_.take(granted, 1));
    for (const std::uint32_t part : {0u, 1u}) {
      v1::StepOutput started = output(part, 1);
      started.mutable_started()->add_ranks(part);
      EXPECT_TRUE(progress_.take(started, 1));
    }
  }
  static v1::StepInput input(const std::string& text) {
    v1::StepInput out;
    out.mutable_stdin_data()->set_data(text);
    return out;
  }
  StepProgress progress_;
};

TEST_F(StepProgressTest, OutputsAreTakenOnceAndInOrder) {
  EXPECT_TRUE(progress_.take(output(0, 2), 1));
  EXPECT_FALSE(progress_.take(output(0, 2), 1)) << "again";
  EXPECT_FALSE(progress_.take(output(0, 4), 1)) << "one is missing: it comes again";
  EXPECT_TRUE(progress_.take(output(0, 3), 1));
  EXPECT_TRUE(progress_.take(output(0, 4), 1));
  EXPECT_TRUE(progress_.take(output(1, 2), 1)) << "another part counts for itself";
  EXPECT_TRUE(progress_.take(output(1, 0), 1)) << "the manager's own";
  EXPECT_FALSE(progress_.take(output(7, 1), 1)) << "there is no such part";
}

TEST_F(StepProgressTest, AcknowledgesMuchOutputAndEnds) {
  EXPECT_TRUE(progress_.acknowledge().empty()) << "a word is not worth one";
  EXPECT_TRUE(progress_.take(output(0, 2), 300 << 10));
  auto acks = progress_.acknowledge();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].part(), 0u);
  EXPECT_EQ(acks[0].seq(), 2u);
  EXPECT_TRUE(progress_.acknowledge().empty());
  EXPECT_TRUE(progress_.take(done(1, 2), 1));
  EXPECT_FALSE(progress_.done());
  acks = progress_.acknowledge();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].part(), 1u);
  EXPECT_TRUE(progress_.take(done(0, 0), 1)) << "lost, says the manager";
  EXPECT_FALSE(progress_.take(done(0, 0), 1));
  EXPECT_TRUE(progress_.done());
}

TEST_F(StepProgressTest, InputIsKeptUntilAllWhoNeedItHaveIt) {
  v1::StepInput first;
  ASSERT_TRUE(first.ParseFromString(std::string(progress_.number(input("all"), {}))));
  EXPECT_EQ(first.seq(), 1u);
  progress_.number(input("one"), 1);
  EXPECT_FALSE(progress_.take(taken(1, 2), 1));
  EXPECT_EQ(progress_.kept().size(), 2u) << "part 0 lacks the first";
  EXPECT_FALSE(progress_.take(taken(0, 1), 1));
  EXPECT_TRUE(progress_.kept().empty()) << "the second was not for part 0";
  EXPECT_EQ(progress_.kept_bytes(), 0u);
  progress_.number(input("more"), {});
  EXPECT_TRUE(progress_.take(done(0, 2), 1));
  EXPECT_EQ(progress_.kept().size(), 1u);
  EXPECT_FALSE(progress_.take(taken(1, 3), 1));
  EXPECT_TRUE(progress_.kept().empty()) << "a part that is over needs nothing";
}

TEST_F(StepProgressTest, SaysHowFarItWas) {
  EXPECT_FALSE(StepProgress().resume().granted());
  EXPECT_TRUE(progress_.take(output(0, 2), 300 << 10));
  EXPECT_TRUE(progress_.take(done(1, 2), 1));
  EXPECT_EQ(progress_.acknowledge().size(), 2u);
  const auto resume = progress_.resume();
  EXPECT_TRUE(resume.granted());
  ASSERT_EQ(resume.parts_size(), 2);
  EXPECT_EQ(resume.parts(0).seq(), 2u);
  EXPECT_FALSE(resume.parts(0).done());
  EXPECT_TRUE(resume.parts(1).done());
  progress_.forget_acknowledged();
  EXPECT_EQ(progress_.acknowledge().size(), 1u) << "the end; the other part has nothing new";
}

}  // namespace
}  // namespace spur::wire
