// SPDX-License-Identifier: Apache-2.0
#include "stepd/output_log.h"

#include <gtest/gtest.h>

namespace spur::stepd {
namespace {

v1::StepOutput data(const std::string& text) {
  v1::StepOutput out;
  out.mutable_data()->set_data(text);
  return out;
}

// What next() gives until there is nothing more, as "1a 2b".
std::string rest_of(OutputLog& log) {
  std::string out;
  while (const Frame frame = log.next()) {
    wire::FrameReader reader(1 << 20);
    EXPECT_TRUE(reader.take(*frame, [&](std::string_view bytes) {
      v1::StepOutput output;
      EXPECT_TRUE(output.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      EXPECT_EQ(output.part(), 3u);
      out += (out.empty() ? "" : " ") + std::to_string(output.seq()) + output.data().data();
    }));
    EXPECT_TRUE(reader.between_messages());
  }
  return out;
}

TEST(OutputLogTest, OutputsAreNumberedAndGivenOnce) {
  OutputLog log;
  log.append(data("a"), 3);
  log.append(data("b"), 3);
  EXPECT_EQ(rest_of(log), "1a 2b");
  EXPECT_EQ(rest_of(log), "");
  log.append(data("c"), 3);
  EXPECT_EQ(rest_of(log), "3c");
  EXPECT_EQ(log.sent(), 3u);
}

TEST(OutputLogTest, WhatIsNotAcknowledgedCanBeHadAgain) {
  OutputLog log;
  for (const char* text : {"a", "b", "c", "d"}) log.append(data(text), 3);
  EXPECT_EQ(rest_of(log), "1a 2b 3c 4d");
  const std::size_t all = log.bytes();
  log.acknowledge(2);
  EXPECT_EQ(log.bytes(), all / 2);
  log.rewind(2);
  EXPECT_EQ(rest_of(log), "3c 4d");
  log.rewind(3);
  log.append(data("e"), 3);
  EXPECT_EQ(rest_of(log), "4d 5e");
  log.acknowledge(5);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.bytes(), 0u);
  log.append(data("f"), 3);
  EXPECT_EQ(rest_of(log), "6f");
}

TEST(OutputLogTest, AnAcknowledgementMayComeWhileItIsSentAgain) {
  OutputLog log;
  for (const char* text : {"a", "b", "c"}) log.append(data(text), 3);
  EXPECT_EQ(rest_of(log), "1a 2b 3c");
  log.rewind(0);
  const Frame held = log.next();  // under way
  log.acknowledge(2);
  EXPECT_EQ(rest_of(log), "3c");
  EXPECT_GT(held->size(), wire::kFramePrefixBytes);
}

}  // namespace
}  // namespace spur::stepd
