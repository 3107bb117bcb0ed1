// SPDX-License-Identifier: Apache-2.0
#include "os/privileges.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "os/user_lookup.h"

namespace spur::os {
namespace {

// Runs in a process of its own, since there is no way back; true if `body` says so there.
bool in_child(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const Identity kNobody{Uid{65534}, Gid{65534}, "nobody", {Gid{65534}, Gid{12}}};

TEST(Privileges, RootBecomesTheUserForGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(in_child([] {
    if (!become(kNobody)) return false;
    gid_t groups[8];
    const int count = ::getgroups(8, groups);
    return ::getuid() == 65534 && ::geteuid() == 65534 && ::getgid() == 65534 && count == 2 && groups[0] == 12 &&
           groups[1] == 65534 && ::setuid(0) != 0 && ::setgid(0) != 0 && ::setgroups(0, nullptr) != 0 &&
           ::access("/etc/shadow", R_OK) != 0;
  }));
}

TEST(Privileges, RootsOwnJobsStayRoots) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(in_child([] { return become({Uid{0}, Gid{0}, "root", {Gid{0}}}).has_value() && ::geteuid() == 0; }));
}

TEST(Privileges, AnyFailureIsAnError) {
  EXPECT_TRUE(in_child([] { return !become({Uid{0xffffffffu}, Gid{1}, "x", {}}); }));
  EXPECT_TRUE(in_child([] { return !become({Uid{1}, Gid{0xffffffffu}, "x", {}}); }));
  if (::geteuid() != 0) return;
  EXPECT_TRUE(in_child([] {  // more groups than the kernel takes
    Identity many = kNobody;
    many.groups.assign(70000, Gid{5});
    const auto became = become(many);
    return !became && became.error().message.find("cannot set the groups of nobody") == 0;
  }));
}

TEST(Privileges, OthersAreOnlyThemselves) {
  EXPECT_TRUE(in_child([] {
    if (::geteuid() == 0 && !become(kNobody)) return false;
    const Uid me{::getuid()};
    if (!become({me, Gid{::getgid()}, "me", {}})) return false;
    const auto other = become({Uid{me.value + 1}, Gid{100}, "other", {}});
    return !other && other.error().code == ErrorCode::InvalidUser && !become({Uid{0}, Gid{0}, "root", {}});
  }));
}

TEST(Privileges, IdentityAsText) {
  for (const Identity& identity : {kNobody, Identity{Uid{1000}, Gid{1000}, "alice", {}},
                                   Identity{Uid{4294967294u}, Gid{0}, "x-y.z", {Gid{1}}}}) {
    const auto back = decode_identity(encode_identity(identity));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, identity);
  }
  EXPECT_EQ(encode_identity(kNobody), "65534:65534:nobody:65534,12");
  for (const char* bad : {"", "1", "1:2", "1:2:name", "x:2:name:", "1:-2:name:", "1:2::", "1:2:name:3,",
                          "1:2:name:,3", "1:2:name:3x", "99999999999:2:name:"})
    EXPECT_FALSE(decode_identity(bad)) << bad;
}

TEST(UserLookup, KnowsTheSystemsUsers) {
  const auto root = look_up_user(Uid{0}, Gid{0});
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
  EXPECT_FALSE(root->groups.empty());
  const auto nobody = look_up_user(Uid{3999999999u}, Gid{0});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::InvalidUser);
  EXPECT_EQ(nobody.error().message, "uid 3999999999 is not known on this node");
}

TEST(UserLookup, AsksOnceAndRemembers) {
  auto loop = *EventLoop::open();
  UserLookup users(*loop, seconds(60));
  int answers = 0;
  for (int i = 0; i < 10; ++i)
    users.find(Uid{0}, Gid{0}, [&](const Result<Identity>& user) {
      EXPECT_TRUE(user && user->name == "root");
      if (++answers == 10) loop->stop();
    });
  EXPECT_EQ(answers, 0);
  loop->run();
  users.find(Uid{0}, Gid{0}, [&](const Result<Identity>&) { ++answers; });
  EXPECT_EQ(answers, 11) << "known answers come at once";
  users.find(Uid{3999999999u}, Gid{0}, [&](const Result<Identity>& user) {
    EXPECT_FALSE(user);
    loop->stop();
  });
  loop->run();
}

TEST(UserLookup, MayGoWhileSomebodyWaits) {
  auto loop = *EventLoop::open();
  {
    UserLookup users(*loop, seconds(60));
    users.find(Uid{0}, Gid{0}, [](const Result<Identity>&) { FAIL() << "nobody is left to tell"; });
  }
  loop->run_once(milliseconds(50));
}

}  // namespace
}  // namespace spur::os
