// SPDX-License-Identifier: Apache-2.0
// Against the kernel's own cgroups, where this process may make some; skipped elsewhere.
#include "os/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "os/device_filter.h"
#include "os/process.h"
#include "os/test_directory.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = open_cgroup_base(fmt::format("spur-test.{}", ::getpid()));
    if (base_.path.empty()) GTEST_SKIP() << base_.problem;
  }
  void TearDown() override {
    for (const pid_t pid : children_) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    if (auto base = Cgroup::open(base_.path); base && !base_.path.empty()) base->remove();
  }
  pid_t sleeper_in(const Cgroup& group) {
    auto child = spawn({.path = "/bin/sleep", .arguments = {"sleep", "100"}, .environment = {}, .fds = {}});
    EXPECT_TRUE(child);
    std::ofstream(group.path() + "/cgroup.procs") << child->pid;
    children_.push_back(child->pid);
    return child->pid;
  }
  static void wait_until_frozen(const Cgroup& group) {
    for (int i = 0; i < 6000; ++i, ::usleep(10'000)) {
      std::stringstream events;
      events << std::ifstream(group.path() + "/cgroup.events").rdbuf();
      if (events.str().find("frozen 1\n") != std::string::npos) return;
    }
    FAIL() << "it does not freeze";
  }
  static std::string read_line(int fd) {
    std::string line;
    pollfd more{.fd = fd, .events = POLLIN, .revents = 0};
    for (char c; ::poll(&more, 1, 60'000) == 1 && ::read(fd, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  CgroupBase base_;
  std::vector<pid_t> children_;
};

TEST_F(CgroupTest, WhatAgentsThatAreGoneLeftIsRemoved) {
  const std::string mine = base_.path.substr(base_.path.rfind('/') + 1) + ".left.";
  const auto path = [&](const char* name) { return base_.path.substr(0, base_.path.rfind('/') + 1) + mine + name; };
  auto gone = Cgroup::create(path("gone"));
  auto busy = Cgroup::create(path("busy"));
  ASSERT_TRUE(gone && busy && Cgroup::create(path("gone") + "/job_1") &&
              Cgroup::create(path("gone") + "/job_1/step_0"));
  sleeper_in(*busy);
  const CgroupBase living = open_cgroup_base(mine + "living");
  ASSERT_EQ(living.path, path("living"));
  EXPECT_EQ(remove_left_groups(base_, mine, seconds(3600)), 0u) << "not at once";
  EXPECT_EQ(remove_left_groups(base_, mine, seconds(0)), 1u);
  EXPECT_FALSE(Cgroup::open(path("gone")));
  EXPECT_TRUE(Cgroup::open(path("busy")));
  EXPECT_TRUE(Cgroup::open(path("living"))) << "its agent holds the lock";
  EXPECT_EQ(remove_left_groups(base_, "", seconds(0)), 0u);
  ASSERT_TRUE(busy->kill());
  for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  children_.clear();
  EXPECT_TRUE(busy->remove());
  EXPECT_TRUE(Cgroup::open(living.path)->remove());
}

TEST_F(CgroupTest, FindsAndKillsAllBelow) {
  auto job = Cgroup::create(base_.path + "/job_1");
  ASSERT_TRUE(job) << job.error().message;
  auto a = Cgroup::create(job->path() + "/step_batch"), b = Cgroup::create(job->path() + "/step_0");
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(job->populated());
  const pid_t one = sleeper_in(*a), two = sleeper_in(*b);
  EXPECT_EQ(a->processes(), std::vector<pid_t>{one});
  EXPECT_EQ(job->processes().size(), 2u);
  EXPECT_TRUE(job->populated());
  EXPECT_FALSE(job->remove()) << "not while processes are in it";
  ASSERT_TRUE(a->kill());
  int status = 0;
  EXPECT_EQ(::waitpid(one, &status, 0), one);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(::waitpid(two, nullptr, WNOHANG), 0) << "the other step lives on";
  ASSERT_TRUE(job->kill());
  EXPECT_EQ(::waitpid(two, nullptr, 0), two);
  children_.clear();
  EXPECT_FALSE(job->populated());
  EXPECT_TRUE(job->remove());
  EXPECT_FALSE(std::filesystem::exists(job->path()));
  EXPECT_TRUE(job->remove()) << "gone already";
}

// The kernel freezes after the write has returned. Only then does a signal tell anything: one whose default is death
// kills a frozen process at once but waits with one that is about to freeze, so what is looked at is a handler.
TEST_F(CgroupTest, FrozenProcessesStandStillAndCanBeKilled) {
  auto job = Cgroup::create(base_.path + "/job_2");
  ASSERT_TRUE(job);
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd says(pipe[0]), said(pipe[1]);
  const char* script = "trap 'echo got; exit 4' TERM; echo ready; while :; do :; done";
  auto child =
      spawn({.path = "/bin/sh", .arguments = {"sh", "-c", script}, .environment = {}, .fds = {0, said.get()}});
  ASSERT_TRUE(child);
  children_.push_back(child->pid);
  std::ofstream(job->path() + "/cgroup.procs") << child->pid;
  EXPECT_EQ(read_line(says.get()), "ready");

  ASSERT_TRUE(job->freeze(true));
  wait_until_frozen(*job);
  ::kill(child->pid, SIGTERM);
  pollfd anything{.fd = says.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&anything, 1, 100), 0) << "it ran although frozen";
  ASSERT_TRUE(job->freeze(false));
  EXPECT_EQ(read_line(says.get()), "got");
  int status = 0;
  EXPECT_EQ(::waitpid(child->pid, &status, 0), child->pid);
  EXPECT_EQ(WEXITSTATUS(status), 4);
  children_.clear();

  for (const bool wait : {true, false}) {  // frozen, and on the way there
    ASSERT_TRUE(job->freeze(false));
    const pid_t pid = sleeper_in(*job);
    ASSERT_TRUE(job->freeze(true));
    if (wait) wait_until_frozen(*job);
    ASSERT_TRUE(job->kill());
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    children_.clear();
  }
}

TEST_F(CgroupTest, LimitsOnlyWhereThereIsAController) {
  auto job = Cgroup::create(base_.path + "/job_3");
  ASSERT_TRUE(job);
  CgroupLimits limits;
  limits.memory_max = 64u << 20;
  limits.processes_max = 77;
  const auto limited = job->limit(limits);
  ASSERT_TRUE(limited) << limited.error().message;
  const struct {
    const char *controller, *file, *value;
  } rows[] = {{"memory", "memory.max", "67108864"}, {"pids", "pids.max", "77"}};
  for (const auto& row : rows) {
    std::string text;
    std::ifstream(fmt::format("{}/{}", job->path(), row.file)) >> text;
    const bool missing = base_.problem.find(row.controller) != std::string::npos;
    EXPECT_EQ(text, missing ? "" : row.value) << row.file << ": " << base_.problem;
  }
  EXPECT_EQ(job->oom_kills(), 0u);
}

// The one thing that can be confined without controllers, and only by root.
TEST_F(CgroupTest, DeniedDevicesCannotBeOpened) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may load device filters";
  auto job = Cgroup::create(base_.path + "/job_4");
  ASSERT_TRUE(job);
  const auto zero = device_number("/dev/zero");
  ASSERT_TRUE(zero);
  EXPECT_EQ(*zero, (DeviceNumber{'c', 1, 5}));
  if (const auto denied = deny_devices(job->fd(), {{'c', 195, 0}, *zero}); !denied) {
    if (denied.error().code == ErrorCode::NotSupported) GTEST_SKIP() << denied.error().message;
    FAIL() << denied.error().message;
  }
  auto child = spawn(
      {.path = "/bin/sh",
       .arguments = {"sh", "-c",
                     fmt::format("echo $$ > {}/cgroup.procs && : < /dev/null && ! (: < /dev/zero)", job->path())},
       .environment = {},
       .fds = {}});
  ASSERT_TRUE(child);
  int status = 0;
  ::waitpid(child->pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Cgroup, OrdinaryDirectoriesAreRefused) {
  const TestDirectory dir;
  EXPECT_FALSE(Cgroup::create(dir / "job_1"));
  EXPECT_FALSE(Cgroup::create(dir / "missing/job_1"));
  const auto missing = Cgroup::open(dir / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST(Cgroup, NamesOfJobs) {
  EXPECT_EQ(job_cgroup_path("/b", {JobId{7}, Epoch{1}}), "/b/job_7");
  EXPECT_EQ(job_cgroup_path("/b", {JobId{7}, Epoch{2}}), "/b/job_7.2");
}

}  // namespace
}  // namespace spur::os
