// SPDX-License-Identifier: Apache-2.0
#include "text/words.h"

#include <gtest/gtest.h>

#include "text/decimal.h"

namespace spur::text {
namespace {

TEST(Words, CutsAndCompares) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("", ','), Parts{""});
  EXPECT_EQ(split("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" "), "");
  EXPECT_TRUE(equal_ignoring_case("NoDe", "nOdE"));
  EXPECT_FALSE(equal_ignoring_case("node", "nodes"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));  // 0x20 apart, but no letters
  EXPECT_TRUE(starts_with_ignoring_case("SIGKILL", "sig"));
  EXPECT_FALSE(starts_with_ignoring_case("SI", "sig"));
  EXPECT_EQ(lower("A\xc3\x84z"), "a\xc3\x84z");
  EXPECT_EQ(upper("a1_"), "A1_");
}

TEST(Decimal, TakesDigitsOnlyAndNeverWraps) {
  EXPECT_EQ(parse_decimal("0"), 0u);
  EXPECT_EQ(parse_decimal("0018"), 18u);
  EXPECT_EQ(parse_decimal("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1a", "0x1", "18446744073709551616", "99999999999999999999"})
    EXPECT_FALSE(parse_decimal(text)) << text;
  EXPECT_EQ(parse_decimal("59", 59), 59u);
  EXPECT_FALSE(parse_decimal("60", 59));
  EXPECT_EQ(parse_decimal("3", 3), 3u);
  EXPECT_FALSE(parse_decimal("4", 3));
  EXPECT_FALSE(parse_decimal("10", 3));
  EXPECT_EQ(parse_decimal32("4294967295"), 4294967295u);
  EXPECT_FALSE(parse_decimal32("4294967296"));
  EXPECT_FALSE(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  EXPECT_FALSE(checked_add(~std::uint64_t{0}, 1));
  EXPECT_EQ(checked_mul(3, 4), 12u);
}

}  // namespace
}  // namespace spur::text
