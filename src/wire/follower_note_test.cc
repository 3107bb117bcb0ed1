// SPDX-License-Identifier: Apache-2.0
#include "wire/follower_note.h"

#include <gtest/gtest.h>

namespace spur::wire {
namespace {

TEST(FollowerNote, ComesBackAsItWas) {
  const auto note = decode_follower_note(encode_follower_note({"c2", Duration(1'234'567)}));
  ASSERT_TRUE(note);
  EXPECT_EQ(note->name, "c2");
  EXPECT_EQ(note->silence, Duration(1'234'567));
  for (const char* bad : {"", "c2", "12", "-5 c2", "x c2"}) EXPECT_FALSE(decode_follower_note(bad)) << bad;
}

}  // namespace
}  // namespace spur::wire
