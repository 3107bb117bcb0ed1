// SPDX-License-Identifier: Apache-2.0
#include "os/daemon_user.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "os/name_lookup.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

// Runs in a process of its own, since there is no way back.
bool in_child(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

uid_t owner(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_uid : static_cast<uid_t>(-1);
}

std::string refusal(const Status& status) {
  return status ? "none" : status.error().message;
}

TEST(DaemonUser, NobodyNamedNothingDone) {
  EXPECT_TRUE(become_daemon_user("", {{"/nonexistent/file", 0600}}));
  EXPECT_TRUE(check_agent_user(""));
}

TEST(DaemonUser, WhoDoesNotExist) {
  EXPECT_EQ(refusal(become_daemon_user("nosuchuser", {})), "Invalid user for SlurmUser nosuchuser");
  EXPECT_EQ(refusal(check_agent_user("nosuchuser")), "Invalid user for SlurmdUser nosuchuser");
  EXPECT_EQ(configured_user("SlurmUser", "0")->value, 0u);
}

TEST(DaemonUser, RootBecomesIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TestDirectory dir;
  ::chmod(dir.path().c_str(), 0755);
  const std::string log = dir.path() + "/log", old = dir.path() + "/old", secret = dir.path() + "/secret",
                    link = dir.path() + "/link", twice = dir.path() + "/twice", others = dir.path() + "/others";
  for (const std::string& file : {old, secret, others}) std::ofstream(file) << "text\n";
  std::filesystem::create_symlink(secret, link);
  std::filesystem::create_hard_link(secret, twice);
  ASSERT_EQ(::chown(others.c_str(), 1, 1), 0);
  EXPECT_TRUE(in_child([&] {
    if (!become_daemon_user("nobody", {{log, 0600}, {old, 0644}, {link, 0600}, {twice, 0600}, {others, 0600}, {"", 0}}))
      return false;
    return ::getuid() == 65534 && ::geteuid() == 65534 && ::getgid() == 65534 && ::setuid(0) != 0 &&
           ::prctl(PR_GET_DUMPABLE) == 1 && ::access("/etc/shadow", R_OK) != 0;
  }));
  EXPECT_EQ(owner(log), 65534u);
  EXPECT_EQ(owner(old), 65534u);
  EXPECT_EQ(std::filesystem::status(log).permissions(), std::filesystem::perms(0600));
  for (const std::string& file : {secret, link, twice}) EXPECT_EQ(owner(file), 0u) << file;
  EXPECT_EQ(owner(others), 1u);
  // A directory of the user's: what is in there, and where links in it lead, is not given away.
  const std::string theirs = dir.path() + "/theirs", mine = dir.path() + "/mine";
  for (const std::string& made : {theirs, mine}) std::filesystem::create_directory(made);
  std::filesystem::create_symlink(mine, theirs + "/way");
  std::ofstream(mine + "/log") << "text\n";
  std::ofstream(theirs + "/log") << "text\n";
  ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(in_child(
      [&] { return become_daemon_user("nobody", {{theirs + "/log", 0600}, {theirs + "/way/log", 0600}, {theirs + "/way/new", 0600}}).has_value(); }));
  EXPECT_EQ(owner(mine + "/log"), 0u);
  EXPECT_EQ(owner(theirs + "/log"), 0u);
  EXPECT_FALSE(std::filesystem::exists(mine + "/new"));
}

TEST(DaemonUser, OthersMustBeItAlready) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(in_child([] {
    return ::setgid(1) == 0 && ::setuid(1) == 0 && refusal(become_daemon_user("nobody", {})) == "Failed to set GID to 65534" &&
           refusal(check_agent_user("root")) == "You are running slurmd as something other than user root(0). If you want to "
                                                "run as this user add SlurmdUser=daemon to the slurm.conf file." &&
           check_agent_user("daemon") && become_daemon_user("daemon", {});
  }));
  EXPECT_TRUE(in_child([] {
    return ::setgid(65534) == 0 && ::setuid(1) == 0 &&
           refusal(become_daemon_user("nobody", {})) == "Can not set uid to SlurmUser(65534): Operation not permitted";
  }));
}

TEST(DaemonUser, Directories) {
  TestDirectory dir;
  const std::string fresh = dir.path() + "/fresh", file = dir.path() + "/file";
  std::ofstream(file) << "";
  EXPECT_EQ(refusal(check_state_location(file)), "State save loc: " + file + ": Not a directory!");
  EXPECT_TRUE(check_state_location(fresh));
  EXPECT_TRUE(std::filesystem::is_directory(fresh));
  if (::geteuid() != 0) return;
  ::chmod(dir.path().c_str(), 0755);
  const std::string given = dir.path() + "/given", kept = dir.path() + "/kept";
  std::filesystem::create_directory(kept);
  EXPECT_TRUE(make_directory_for("nobody", given));
  EXPECT_TRUE(make_directory_for("nobody", kept));
  EXPECT_EQ(owner(given), 65534u);
  EXPECT_EQ(owner(kept), 0u);
  EXPECT_TRUE(in_child([&] {
    return become_daemon_user("nobody", {}) &&
           refusal(check_state_location(kept + "/below")) == "mkdir(" + kept + "/below): Permission denied" &&
           refusal(check_state_location(kept)) == "Incorrect permissions on state save loc: " + kept &&
           check_state_location(given);
  }));
}

}  // namespace
}  // namespace spur::os
