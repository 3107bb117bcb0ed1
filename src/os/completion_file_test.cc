// SPDX-License-Identifier: Apache-2.0
#include "os/completion_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "os/files.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

TEST(CompletionFile, EachLineIsThereOnce) {
  TestDirectory dir;
  const std::string path = dir / "jobs.log";
  const auto job = [&](std::uint32_t id, bool unless_there, const char* rest = "Name=x ") {
    return io::ControllerHooks::Completion{path, id, kRootUid, Gid{0}, rest, unless_there};
  };
  const auto content = [&] { return read_file(path, 1 << 20).value_or("?"); };
  ASSERT_TRUE(append_completions({job(1, false), job(2, false)}));
  const std::string both =
      "JobId=1 UserId=root(0) GroupId=root(0) Name=x \nJobId=2 UserId=root(0) GroupId=root(0) Name=x \n";
  EXPECT_EQ(content(), both);
  // The next controller knows of three: one line is missing.
  ASSERT_TRUE(append_completions({job(1, true), job(2, true), job(3, true)}));
  const std::string three = both + "JobId=3 UserId=root(0) GroupId=root(0) Name=x \n";
  EXPECT_EQ(content(), three);
  // A line that was cut off stays, and is written again.
  std::ofstream(path, std::ios::app) << "JobId=4 UserId=ro";
  ASSERT_TRUE(append_completions({job(4, true, "Name=a\nJobId=9 ")}));
  EXPECT_TRUE(content().starts_with(three + "JobId=4 UserId=ro\nJobId=4 UserId=root(0) GroupId=root(0) Name=a"));
  EXPECT_EQ(content().find("\nJobId=9"), std::string::npos) << "nobody can forge a line";
  EXPECT_FALSE(append_completions({{"/nonexistent/x", 1, kRootUid, Gid{0}, "", false}}));
}

}  // namespace
}  // namespace spur::os
