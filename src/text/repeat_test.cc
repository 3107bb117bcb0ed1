// SPDX-License-Identifier: Apache-2.0
#include "text/repeat.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(Repeat, EqualNeighboursTogether) {
  struct Row {
    std::vector<std::uint32_t> in;
    const char* out;
  };
  for (const Row& row :
       {Row{{}, ""}, Row{{1}, "1"}, Row{{2, 2, 2, 1}, "2(x3),1"}, Row{{1, 2, 1}, "1,2,1"}, Row{{3, 1, 1}, "3,1(x2)"}})
    EXPECT_EQ(repeat_text(row.in), row.out);
}

}  // namespace
}  // namespace spur::text
