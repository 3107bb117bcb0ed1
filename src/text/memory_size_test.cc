// SPDX-License-Identifier: Apache-2.0
#include "text/memory_size.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(MemorySize, ParsesUnitsOf1024) {
  const struct {
    const char* text;
    std::uint64_t mib;
  } rows[] = {
      {"0", 0},
      {"1024", 1024},
      {"4GB", 4096},
      {"4g", 4096},
      {"4G", 4096},
      {"4gb", 4096},
      {"512MB", 512},
      {"512M", 512},
      {"4m", 4},
      {"100K", 1},
      {"1K", 1},
      {"0K", 0},
      {"1024K", 1},
      {"1025K", 2},
      {"1T", 1u << 20},
      {"1TB", 1u << 20},
      {"16777216T", std::uint64_t{1} << 44},
      {"007", 7},
      {"9007199254740992", std::uint64_t{1} << 53},
  };
  for (const auto& row : rows) {
    const auto mib = parse_memory_mib(row.text);
    ASSERT_TRUE(mib) << row.text;
    EXPECT_EQ(*mib, row.mib) << row.text;
  }
}

TEST(MemorySize, RefusesTheRest) {
  for (const char* text : {"",
                           "lots",
                           "G",
                           "GB",
                           "4X",
                           "4B",
                           "4GiB",
                           "-1",
                           "+1",
                           "1.5G",
                           " 4",
                           "4 ",
                           "4 G",
                           "0x10",
                           "1P",
                           "1Tx",
                           "4GBB",
                           "BG",
                           "9007199254740993",
                           "18446744073709551615",
                           "99999999999999999999",
                           "17592186044416T",
                           "18014398509481984G"}) {
    const auto mib = parse_memory_mib(text);
    ASSERT_FALSE(mib) << text;
    EXPECT_EQ(mib.error().code, ErrorCode::InvalidMemory);
    EXPECT_NE(mib.error().message.find(text), std::string::npos);
  }
}

TEST(MemorySize, PrintsAsSlurm) {
  const struct {
    std::uint64_t mib;
    const char *exact, *rounded, *plain;
  } rows[] = {
      {0, "0", "0", "0"},
      {1, "1M", "1M", "1M"},
      {1000, "1000M", "1000M", "1000M"},
      {1024, "1G", "1G", "1024M"},
      {1500, "1500M", "1.46G", "1500M"},
      {1536, "1.50G", "1.50G", "1536M"},
      {4000, "4000M", "3.91G", "4000M"},
      {5632, "5.50G", "5.50G", "5632M"},
      {64000, "62.50G", "62.50G", "64000M"},
      {128000, "125G", "125G", "128000M"},
      {257000, "257000M", "250.98G", "257000M"},
      {1048576, "1T", "1T", "1048576M"},
      {1049600, "1025G", "1.00T", "1049600M"},
      {1572864, "1.50T", "1.50T", "1572864M"},
      {1572865, "1572865M", "1.50T", "1572865M"},
      {std::uint64_t{1} << 40, "1E", "1E", "1099511627776M"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(format_mib(row.mib), row.exact);
    EXPECT_EQ(format_mib(row.mib, UnitStyle::Rounded), row.rounded);
    EXPECT_EQ(format_mib(row.mib, UnitStyle::Plain), row.plain);
  }
  EXPECT_EQ(format_amount(1536, Unit::One), "1.50K");
  EXPECT_EQ(format_amount(7, Unit::One), "7");
  EXPECT_EQ(format_amount(2, Unit::Exbi), "2E");
  EXPECT_EQ(format_amount(4096, Unit::Exbi), "4096E");
}

TEST(MemorySize, CountsMayCarryAFactor) {
  EXPECT_EQ(parse_count("4"), 4u);
  EXPECT_EQ(parse_count("2K"), 2048u);
  EXPECT_EQ(parse_count("1m"), 1u << 20);
  EXPECT_EQ(parse_count("15E"), std::uint64_t{15} << 60);
  for (const char* text : {"", "K", "16E", "x", "-1", "1KB", "1.5", "99999999999999999999"})
    EXPECT_FALSE(parse_count(text)) << text;
}

}  // namespace
}  // namespace spur::text
