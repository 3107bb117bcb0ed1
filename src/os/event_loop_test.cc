// SPDX-License-Identifier: Apache-2.0
#include "os/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "os/process.h"

namespace spur::os {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  UniqueFd read, write;
};

TEST(EventLoop, DescriptorsAreLevelTriggered) {
  auto loop = *EventLoop::open();
  Pipe pipe;
  int calls = 0;
  ASSERT_TRUE(loop->watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_TRUE(events & EPOLLIN);
    ++calls;
  }));
  loop->run_once(Duration{0});
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(::write(pipe.write.get(), "x", 1), 1);
  loop->run_once(milliseconds(100));
  loop->run_once(milliseconds(100));
  EXPECT_EQ(calls, 2);
  loop->change(pipe.read.get(), 0);
  loop->run_once(Duration{0});
  EXPECT_EQ(calls, 2);
  loop->unwatch(pipe.read.get());
  loop->unwatch(pipe.read.get());  // once more is harmless
}

TEST(EventLoop, CallbacksMayUnwatchThemselvesAndOthers) {
  auto loop = *EventLoop::open();
  Pipe a, b;
  int calls = 0;
  const auto both = [&](std::uint32_t) {
    ++calls;
    loop->unwatch(a.read.get());
    loop->unwatch(b.read.get());
  };
  ASSERT_TRUE(loop->watch(a.read.get(), EPOLLIN, both));
  ASSERT_TRUE(loop->watch(b.read.get(), EPOLLIN, both));
  ASSERT_EQ(::write(a.write.get(), "x", 1), 1);
  ASSERT_EQ(::write(b.write.get(), "x", 1), 1);
  loop->run_once(milliseconds(100));
  EXPECT_EQ(calls, 1);  // the other's event was already there, and is dropped
}

TEST(EventLoop, EventsOfAClosedDescriptorDoNotReachItsSuccessor) {
  auto loop = *EventLoop::open();
  Pipe a, b;
  int wrong = 0;
  ASSERT_TRUE(loop->watch(a.read.get(), EPOLLIN, [&](std::uint32_t) {
    const int number = b.read.get();
    loop->unwatch(number);
    b.read.reset();
    UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Pipe fresh;
    EXPECT_EQ(::dup3(fresh.read.get(), number, O_CLOEXEC), number);
    ASSERT_TRUE(loop->watch(number, EPOLLIN, [&](std::uint32_t) { ++wrong; }));
    loop->post([&loop, number] { loop->unwatch(number), ::close(number); });
  }));
  ASSERT_TRUE(loop->watch(b.read.get(), EPOLLIN, [&](std::uint32_t) {}));
  ASSERT_EQ(::write(a.write.get(), "x", 1), 1);
  ASSERT_EQ(::write(b.write.get(), "x", 1), 1);
  loop->run_once(milliseconds(100));
  EXPECT_EQ(wrong, 0);
}

TEST(EventLoop, TimersRunInOrderAndCanBeCancelled) {
  auto loop = *EventLoop::open();
  std::string order;
  const Duration now = EventLoop::now();
  loop->call_at(now + milliseconds(3), [&] { order += 'c'; });
  loop->call_at(now + milliseconds(1), [&] { order += 'a'; });
  loop->call_at(now + milliseconds(1), [&] { order += 'b'; });  // same time: in order of setting
  const auto never = loop->call_at(now + milliseconds(2), [&] { order += 'x'; });
  loop->cancel(never);
  loop->cancel(never);
  loop->cancel({});
  loop->call_after(milliseconds(4), [&] {
    order += 'd';
    loop->call_after(Duration{0}, [&] { loop->stop(); });
  });
  loop->run();
  EXPECT_EQ(order, "abcd");
}

TEST(EventLoop, PostsFromManyThreadsAllArriveInEachOnesOrder) {
  auto loop = *EventLoop::open();
  constexpr int kThreads = 4, kEach = 5000;
  std::vector<int> last(kThreads, -1);
  int total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i)
        loop->post([&, t, i] {
          EXPECT_EQ(last[static_cast<std::size_t>(t)] + 1, i);
          last[static_cast<std::size_t>(t)] = i;
          if (++total == kThreads * kEach) loop->stop();
        });
    });
  loop->run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(total, kThreads * kEach);
}

TEST(EventLoop, StopFromAnotherThread) {
  auto loop = *EventLoop::open();
  std::thread other([&] { loop->stop(); });
  loop->run();
  other.join();
  loop->stop();  // before run(): does not get lost
  loop->run();
}

TEST(EventLoop, EndedProcesses) {
  auto loop = *EventLoop::open();
  auto child = spawn({.path = "/bin/sh", .arguments = {"sh", "-c", "exit 7"}, .environment = {}, .fds = {0, 1, 2}});
  ASSERT_TRUE(child);
  auto pidfd = std::make_shared<const UniqueFd>(std::move(child->pidfd));
  int ended = 0;
  ASSERT_TRUE(loop->watch_process(pidfd, [&] {
    ++ended;
    const auto status = reap(*pidfd);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 7);
    loop->stop();
  }));
  loop->run();
  loop->run_once(Duration{0});
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace spur::os
