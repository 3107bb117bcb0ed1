// SPDX-License-Identifier: Apache-2.0
#include "os/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace spur::os {
namespace {

TEST(Crc32c, PublishedVectors) {
  std::string rising(32, '\0');
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);
  const std::pair<std::string, std::uint32_t> cases[] = {
      {"", 0},
      {"123456789", 0xe3069283},
      {std::string(32, '\0'), 0x8a9136aa},
      {std::string(32, '\xff'), 0x62a8ab43},
      {rising, 0x46dd794e},
  };
  for (const auto& [bytes, crc] : cases) EXPECT_EQ(crc32c(bytes), crc);
}

TEST(Crc32c, AnySplitGivesTheSame) {
  const std::string text = "every acknowledged action is durable before it is acknowledged";
  const std::uint32_t whole = crc32c(text);
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(std::string_view(text).substr(cut), crc32c(std::string_view(text).substr(0, cut))), whole);
}

}  // namespace
}  // namespace spur::os
