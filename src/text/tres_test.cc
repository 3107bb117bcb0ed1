// SPDX-License-Identifier: Apache-2.0
#include "text/tres.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(Tres, ParsesAndPrints) {
  const struct {
    const char* text;
    std::vector<Tres> items;
    const char* printed;
  } rows[] = {
      {"", {}, ""},
      {"cpu=4", {{"cpu", "", 4}}, "cpu=4"},
      {"cpu=4,mem=10G,node=1,billing=4,gres/gpu:mi300x=8",
       {{"cpu", "", 4}, {"mem", "", 10240}, {"node", "", 1}, {"billing", "", 4}, {"gres", "gpu:mi300x", 8}},
       "cpu=4,mem=10G,node=1,billing=4,gres/gpu:mi300x=8"},
      {"cpu=1,mem=1000M", {{"cpu", "", 1}, {"mem", "", 1000}}, "cpu=1,mem=1000M"},
      {"gres/gpu:2", {{"gres", "gpu", 2}}, "gres/gpu=2"},
      {"CPU=2,MEM=512", {{"cpu", "", 2}, {"mem", "", 512}}, "cpu=2,mem=512M"},
      {"license/matlab=3", {{"license", "matlab", 3}}, "license/matlab=3"},
      {"bb/datawarp=1T", {{"bb", "datawarp", 1u << 20}}, "bb/datawarp=1T"},
      {"mem=0", {{"mem", "", 0}}, "mem=0"},
  };
  for (const auto& row : rows) {
    const auto items = parse_tres(row.text);
    ASSERT_TRUE(items) << row.text << ": " << items.error().message;
    EXPECT_EQ(*items, row.items) << row.text;
    EXPECT_EQ(format_tres(*items), row.printed);
  }
  EXPECT_EQ(format_tres({{"mem", "", 10240}}, UnitStyle::Plain), "mem=10240M");
}

TEST(Tres, RefusesTheRest) {
  for (const char* text :
       {",", "cpu", "cpu=", "=4", "cpu=x", "cpu=-1", "cpu/x=1", "gres=1", "gres/=1", "gres/gpu", "bogus=1",
        "cpu=1,cpu=2", "cpu=1,", "mem=99999999999999999999", "gres/a b=1", "gres/gpu=99999999999999999999"}) {
    const auto items = parse_tres(text);
    EXPECT_FALSE(items) << text;
  }
}

}  // namespace
}  // namespace spur::text
