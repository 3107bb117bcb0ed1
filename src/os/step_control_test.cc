// SPDX-License-Identifier: Apache-2.0
#include "os/step_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "os/test_directory.h"

namespace spur::os {
namespace {

using Kind = StepOrder::Kind;

TEST(StepControl, OrdersArriveInOrder) {
  // A directory whose name alone is longer than a socket's address.
  const TestDirectory dir;
  const std::string deep = dir / std::string(200, 'd');
  ASSERT_EQ(::mkdir(deep.c_str(), 0700), 0);
  const UniqueFd fd(::open(deep.c_str(), O_RDONLY | O_DIRECTORY));
  auto receiver = open_orders(fd.get(), "ctl");
  ASSERT_TRUE(receiver) << receiver.error().message;
  struct stat info{};
  ASSERT_EQ(::stat((deep + "/ctl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(receive_order(receiver->get()));
  ASSERT_TRUE(
      send_order_to(fd.get(), "ctl", {.kind = Kind::Terminate, .signal = 0, .why = model::JobState::Timeout}));
  ASSERT_TRUE(send_order_to(fd.get(), "ctl", {.kind = Kind::SignalShell, .signal = 10}));
  auto first = receive_order(receiver->get()), second = receive_order(receiver->get());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->kind, Kind::Terminate);
  EXPECT_EQ(first->why, model::JobState::Timeout);
  EXPECT_EQ(second->kind, Kind::SignalShell);
  EXPECT_EQ(second->signal, 10);
  EXPECT_FALSE(receive_order(receiver->get()));
  receiver->reset();
  const auto gone = send_order_to(fd.get(), "ctl", {.kind = Kind::Kill});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::NotFound);
}

TEST(StepControl, AFullQueueIsBusyNotLost) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd a(pair[0]), b(pair[1]);
  ASSERT_TRUE(expect_orders(b.get()));
  int sent = 0;
  Status status;
  while ((status = send_order(a.get(), {.kind = Kind::Signal, .signal = 1})) && sent < 100'000) ++sent;
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Busy);
  for (int i = 0; i < sent; ++i) ASSERT_TRUE(receive_order(b.get()));
  EXPECT_TRUE(send_order(a.get(), {.kind = Kind::Kill}));
}

TEST(StepControl, WhatIsNoOrderIsDropped) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd a(pair[0]), b(pair[1]);
  ASSERT_TRUE(expect_orders(b.get()));
  ASSERT_GT(::send(a.get(), "junk", 4, 0), 0);
  ASSERT_GT(::send(a.get(), "twelve bytes", 12, 0), 0);
  ASSERT_GT(::send(a.get(), "much more than twelve bytes", 27, 0), 0);
  ASSERT_TRUE(send_order(a.get(), {.kind = Kind::Signal, .signal = 65}));
  ASSERT_TRUE(send_order(a.get(), {.kind = Kind::Suspend}));
  const auto order = receive_order(b.get());
  ASSERT_TRUE(order);
  EXPECT_EQ(order->kind, Kind::Suspend);
}

// What `work` returns when run as nobody.
template <class Work>
int as_nobody(Work work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(StepControl, OtherUsersCannotOpenThePipe) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const TestDirectory dir;
  ::chmod(dir.path().c_str(), 0755);
  const UniqueFd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  const auto send = [&] { return send_order_to(fd.get(), "ctl", {.kind = Kind::Kill}).has_value(); };
  auto receiver = open_orders(fd.get(), "ctl");
  ASSERT_TRUE(receiver);
  EXPECT_EQ(as_nobody(send), 1);
  // One that others could open, or that is something else, is not used again.
  ::chmod((dir / "ctl").c_str(), 0666);
  receiver = open_orders(fd.get(), "ctl");
  ASSERT_TRUE(receiver);
  EXPECT_EQ(as_nobody(send), 1);
  ASSERT_EQ(::unlink((dir / "ctl").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", (dir / "ctl").c_str()), 0);
  receiver = open_orders(fd.get(), "ctl");
  ASSERT_TRUE(receiver);
  ASSERT_TRUE(send());
  EXPECT_TRUE(receive_order(receiver->get()));
}

TEST(StepControl, OtherUsersAreNotObeyedOnASocket) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd a(pair[0]), b(pair[1]);
  ASSERT_TRUE(expect_orders(b.get()));
  EXPECT_EQ(as_nobody([&] { return send_order(a.get(), {.kind = Kind::Kill}).has_value(); }), 0);
  EXPECT_FALSE(receive_order(b.get()));
}

TEST(StepControl, APipeIsUsedAgainAndForgetsWhatWasNotRead) {
  const TestDirectory dir;
  const UniqueFd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  const auto inode = [&] {
    struct stat info{};
    return ::stat((dir / "ctl").c_str(), &info) == 0 ? info.st_ino : 0;
  };
  auto receiver = open_orders(fd.get(), "ctl");
  const auto first = inode();
  ASSERT_TRUE(receiver && send_order_to(fd.get(), "ctl", {.kind = Kind::Kill}));
  receiver->reset();
  receiver = open_orders(fd.get(), "ctl");
  ASSERT_TRUE(receiver);
  EXPECT_EQ(inode(), first);
  EXPECT_FALSE(receive_order(receiver->get()));
  Status status;
  int sent = 0;
  while ((status = send_order_to(fd.get(), "ctl", {.kind = Kind::Signal, .signal = 1})) && sent < 100'000) ++sent;
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Busy);
  for (int i = 0; i < sent; ++i) ASSERT_TRUE(receive_order(receiver->get())) << i;
}

}  // namespace
}  // namespace spur::os
