// SPDX-License-Identifier: Apache-2.0
#include "os/hook_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "os/cgroup.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

class HookRunnerTest : public testing::Test {
 protected:
  void SetUp() override { loop_ = std::move(*EventLoop::open()); }
  std::string script(const std::string& name, const std::string& body) {
    const std::string path = dir_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string text(const std::string& name) {
    std::stringstream out;
    out << std::ifstream(dir_ / name).rdbuf();
    return out.str();
  }
  Status run(HookRunner& runner, HookRequest request) {
    std::optional<Status> result;
    runner.run(std::move(request), [&](Status status) { result = std::move(status); });
    EXPECT_FALSE(result.has_value());
    while (!result) loop_->run_once(seconds(1));
    return *result;
  }
  TestDirectory dir_;
  std::unique_ptr<EventLoop> loop_;
};

TEST_F(HookRunnerTest, InOrderWithACleanEnvironment) {
  HookRunner runner(*loop_);
  ::setenv("SPUR_TEST_SECRET", "x", 1);
  script("d1", "echo first >> " + (dir_ / "log"));
  script("d2", "env >> " + (dir_ / "log"));
  EXPECT_TRUE(run(
      runner, {.name = "prolog", .programs = {dir_ / "none*", dir_ / "d*"}, .environment = {"A=1"}, .cgroup = {}}));
  EXPECT_TRUE(text("log").starts_with("first\n")) << text("log");
  EXPECT_NE(text("log").find("A=1\n"), std::string::npos);
  EXPECT_EQ(text("log").find("SECRET"), std::string::npos);
}

TEST_F(HookRunnerTest, TheFirstFailureIsTheLast) {
  HookRunner runner(*loop_);
  const auto bad = script("bad", "exit 3"), after = script("after", "touch " + (dir_ / "ran"));
  const auto status = run(runner, {.name = "prolog", .programs = {bad, after}, .environment = {}, .cgroup = {}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the prolog " + bad + " failed with status 3:0");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "ran"));
  const auto missing =
      run(runner, {.name = "epilog", .programs = {"/no/such/program"}, .environment = {}, .cgroup = {}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("/no/such/program"), std::string::npos);
}

TEST_F(HookRunnerTest, IsInItsCgroupFromTheStart) {
  const auto base = open_cgroup_base(fmt::format("spur-hook-test.{}", ::getpid()));
  if (base.path.empty()) GTEST_SKIP() << base.problem;
  const auto group = Cgroup::create(base.path + "/step_extern");
  ASSERT_TRUE(group);
  HookRunner runner(*loop_);
  const auto where = script("where", "cat /proc/self/cgroup > " + (dir_ / "log") + "; cat");
  EXPECT_TRUE(run(runner, {.name = "prolog", .programs = {where}, .environment = {}, .cgroup = group->path()}));
  EXPECT_NE(text("log").find("/step_extern\n"), std::string::npos) << text("log");
  Cgroup::open(base.path)->remove();
}

TEST_F(HookRunnerTest, TakesTooLong) {
  HookRunner runner(*loop_);
  const auto slow = script("slow", "sleep 1000 & sleep 1000");
  const auto status = run(
      runner, {.name = "epilog", .programs = {slow}, .environment = {}, .timeout = milliseconds(20), .cgroup = {}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::TimedOut);
}

TEST_F(HookRunnerTest, OneAtATime) {
  HookRunner runner(*loop_, true);
  const auto hook = script("one", "mkdir " + (dir_ / "lock") + " || exit 1; sleep 0.05; rmdir " + (dir_ / "lock"));
  int good = 0;
  for (int i = 0; i < 4; ++i)
    runner.run({.name = "prolog", .programs = {hook}, .environment = {}, .cgroup = {}}, [&](Status status) {
      EXPECT_TRUE(status) << status.error().message;
      ++good;
    });
  while (good < 4 && !HasFailure()) loop_->run_once(seconds(1));
}

TEST_F(HookRunnerTest, GoneWithTheDaemon) {
  auto runner = std::make_unique<HookRunner>(*loop_);
  const auto slow = script("slow", "sleep 1000");
  runner->run({.name = "prolog", .programs = {slow}, .environment = {}, .cgroup = {}},
              [](Status) { ADD_FAILURE() << "nobody asked"; });
  loop_->run_once(milliseconds(10));
  runner.reset();
  loop_->run_once(Duration{0});
}

}  // namespace
}  // namespace spur::os
