// SPDX-License-Identifier: Apache-2.0
#include "container/user_files.h"

#include <gtest/gtest.h>

namespace spur::container {
namespace {

TEST(UserFiles, AddsWhomTheImageDoesNotKnow) {
  EXPECT_EQ(with_user("root:x:0:0::/root:/bin/sh", "eve", 1000, 100, "/home/eve"),
            "root:x:0:0::/root:/bin/sh\neve:x:1000:100::/home/eve:/bin/sh\n");
  EXPECT_EQ(with_user("app:x:1000:1000::/:/bin/sh\n", "eve", 1000, 100, ""), "app:x:1000:1000::/:/bin/sh\n");
  EXPECT_EQ(with_user("", "eve", 1000, 100, ""), "eve:x:1000:100::/:/bin/sh\n");
  EXPECT_EQ(with_group("root:x:0:\n", "eve", 100), "root:x:0:\neve:x:100:\n");
  EXPECT_EQ(with_group("users:x:100:\n", "eve", 100), "users:x:100:\n");
}

TEST(UserFiles, AHomeMakesNoSecondLine) {
  EXPECT_EQ(with_user("", "eve", 1000, 100, "/h\nroot2::0:0::/:/bin/sh"),
            "eve:x:1000:100::/hroot200//bin/sh:/bin/sh\n");
}

}  // namespace
}  // namespace spur::container
