// SPDX-License-Identifier: Apache-2.0
#include "sched/features.h"

#include <gtest/gtest.h>

namespace spur::sched {
namespace {

TEST(Features, Refuses) {
  for (const char* text :
       {"&",   "red&", "|red", "a||b",        "a b",     "a,b",     "[a|b",  "a]", "(a", "a)", "[]",
        "a*0", "a*",   "*2",   "[a|b]&[c|d]", "[a*2|b]", "[a|b]|c", "a*2|b", "!",  "()", "a!b"}) {
    const auto parsed = parse_features(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidFeature);
  }
  EXPECT_FALSE(parse_features(std::string(100'000, '(') + "a"));
  EXPECT_FALSE(parse_features(std::string(100'000, '!') + "a"));
}

TEST(Features, Groups) {
  auto request = *parse_features("[rack1|rack2&x]&big");
  EXPECT_EQ(request.one_of.size(), 2u);
  EXPECT_EQ(request.all.size(), 1u);
  EXPECT_FALSE(request.is_per_node());
  request = *parse_features("gpu*2&big");
  ASSERT_EQ(request.counts.size(), 1u);
  EXPECT_EQ(request.counts[0].nodes, 2u);
  EXPECT_EQ(request.least_nodes(), 2u);
  request = *parse_features("[rack1*2&(a&b)*4]");
  EXPECT_EQ(request.least_nodes(), 6u);

  model::Node node;
  node.active_features = {"a", "b"};
  EXPECT_EQ(feature_bits(node, request), FeatureBits{0b10} << 16);
  EXPECT_TRUE(has_features(node, request));
  EXPECT_EQ(feature_bits(node, *parse_features("[a|c|b]")), FeatureBits{0b101});
}

TEST(Features, OfNodes) {
  model::Node node;
  node.active_features = {"red", "fast"};
  node.features = {"red", "fast", "spare"};
  const struct {
    const char* text;
    bool has;
  } rows[] = {{"", true},
              {"red", true},
              {"re", false},
              {"red&fast", true},
              {"red&blue", false},
              {"blue|fast", true},
              {"blue|green", false},
              {"spare", false},
              {"!blue", true},
              {"!red", false},
              {"(red&blue)|fast", true},
              {"red|blue&green", false},
              {"red&!blue", true},
              {"!(blue|green)", true},
              {"[blue|fast]", true},
              {"blue*2", true}};
  for (const auto& row : rows) EXPECT_EQ(has_features(node, *parse_features(row.text)), row.has) << row.text;
}

}  // namespace
}  // namespace spur::sched
