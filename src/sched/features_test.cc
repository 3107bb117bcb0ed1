// SPDX-License-Identifier: Apache-2.0
#include "sched/features.h"

#include <gtest/gtest.h>

namespace spur::sched {
namespace {

TEST(Features, Parse) {
  const struct {
    const char* text;
    std::vector<std::string> names;
    bool any;
  } rows[] = {
      {"", {}, false},
      {"red", {"red"}, false},
      {"red&big", {"red", "big"}, false},
      {"red|big|x-1.2", {"red", "big", "x-1.2"}, true},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_features(row.text);
    ASSERT_TRUE(parsed) << row.text;
    EXPECT_EQ(parsed->names, row.names) << row.text;
    EXPECT_EQ(parsed->any, row.any) << row.text;
  }
}

TEST(Features, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"red&big|x", "[red|blue]", "(a&b)|c", "red*4", "!red", "a,b"}) {
    const auto parsed = parse_features(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidFeature);
    EXPECT_NE(parsed.error().message.find("not supported yet"), std::string::npos) << parsed.error().message;
  }
  for (const char* text : {"&", "red&", "|red", "a||b", "a b"}) {
    const auto parsed = parse_features(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidFeature);
    EXPECT_EQ(parsed.error().message.find("not supported yet"), std::string::npos) << parsed.error().message;
  }
}

TEST(Features, OfNodes) {
  model::Node node;
  node.active_features = {"red", "fast"};
  node.features = {"red", "fast", "spare"};
  const struct {
    const char* text;
    bool has;
  } rows[] = {{"", true},          {"red", true},       {"re", false},         {"red&fast", true},
              {"red&blue", false}, {"blue|fast", true}, {"blue|green", false}, {"spare", false}};
  for (const auto& row : rows) EXPECT_EQ(has_features(node, *parse_features(row.text)), row.has) << row.text;
}

}  // namespace
}  // namespace spur::sched
