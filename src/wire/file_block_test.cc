// SPDX-License-Identifier: Apache-2.0
#include "wire/file_block.h"

#include <gtest/gtest.h>

namespace spur::wire {
namespace {

TEST(FileBlock, PlainAndCompressedDataComeBack) {
  std::string even(100'000, 'a'), uneven;
  std::uint64_t seed = 1;
  for (int i = 0; i < 50'003; ++i)
    uneven.push_back(static_cast<char>((seed = seed * 6364136223846793005u + 1) >> 56));
  for (const std::string& data : {even, uneven, std::string("x")})
    for (const bool compress : {false, true}) {
      const auto block = make_file_block(data, compress);
      std::string room;
      const auto back = open_file_block(block, room);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, data);
    }
  EXPECT_LT(make_file_block(even, true).data().size(), 1000u);
  EXPECT_EQ(make_file_block(uneven, true).plain_bytes(), 0u) << "what does not shrink goes as it is";
}

TEST(FileBlock, DamageIsFound) {
  std::string room;
  const std::string data(10'000, 'b');
  auto block = make_file_block(data, false);
  (*block.mutable_data())[77] = 'c';
  EXPECT_FALSE(open_file_block(block, room));
  block = make_file_block(data, true);
  block.set_plain_bytes(9'999);
  EXPECT_FALSE(open_file_block(block, room));
  block = make_file_block(data, true);
  block.mutable_data()->resize(block.data().size() - 1);
  EXPECT_FALSE(open_file_block(block, room));
  block.set_plain_bytes(0xffffffff);  // a promise of 4 GiB is not believed
  EXPECT_FALSE(open_file_block(block, room));
}

}  // namespace
}  // namespace spur::wire
