// SPDX-License-Identifier: Apache-2.0
#include "os/jwt.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <limits>

#include "os/test_directory.h"

namespace spur::os {
namespace {

const Time kIssued = from_unix_seconds(1'700'000'000);

// Made with another implementation from the same key and claims.
TEST(Jwt, IsWhatOthersMake) {
  const auto token = make_jwt("0123456789abcdef0123456789abcdef", "alice", kIssued, seconds(60));
  ASSERT_TRUE(token);
  EXPECT_EQ(*token,
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
            "eyJleHAiOjE3MDAwMDAwNjAsImlhdCI6MTcwMDAwMDAwMCwic3VuIjoiYWxpY2UifQ."
            "Ea0tcvdl1mcBMep3gpmQiyX68fDETDRvZgO2Kcrz0IQ");
}

TEST(Jwt, NeverEndsLaterThanNumbersDo) {
  const auto longest = make_jwt("key", "bob", kIssued, seconds(std::numeric_limits<std::int64_t>::max()));
  const auto nearly = make_jwt("key", "bob", kIssued, seconds(std::numeric_limits<std::int64_t>::max() - 1'700'000'000));
  ASSERT_TRUE(longest && nearly);
  EXPECT_EQ(*longest, *nearly);
  EXPECT_FALSE(make_jwt("", "bob", kIssued, seconds(60)));
}

TEST(Jwt, KeyFileMustBeOnesOwn) {
  const TestDirectory dir;
  const std::string path = dir / "jwt.key";
  EXPECT_FALSE(make_jwt_with(path, "alice", kIssued, seconds(60)));
  std::ofstream(path, std::ios::binary) << "key\n";
  ::chmod(path.c_str(), 0644);
  EXPECT_FALSE(make_jwt_with(path, "alice", kIssued, seconds(60)));
  ::chmod(path.c_str(), 0600);
  const auto token = make_jwt_with(path, "alice", kIssued, seconds(60));
  ASSERT_TRUE(token);
  EXPECT_EQ(*token, *make_jwt("key\n", "alice", kIssued, seconds(60)));
}

}  // namespace
}  // namespace spur::os
