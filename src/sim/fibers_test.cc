// SPDX-License-Identifier: Apache-2.0
#include "sim/fibers.h"

#include <gtest/gtest.h>

#include <string>

namespace spur::sim {
namespace {

struct FibersTest : testing::Test {
  void run() {
    while (events.step()) {
    }
  }
  EventQueue events;
  Process process{events};
  Fibers fibers{process};
  std::string said;
};

TEST_F(FibersTest, SleepersTakeTurnsInVirtualTime) {
  const auto one = fibers.start([&] {
    for (int i = 0; i < 3; ++i) fibers.sleep(seconds(2)), said += 'a';
  });
  const auto two = fibers.start([&] {
    for (int i = 0; i < 2; ++i) fibers.sleep(seconds(3)), said += 'b';
  });
  run();
  EXPECT_EQ(said, "ababa");
  EXPECT_EQ(events.now(), seconds(6) + Duration{1});
}

TEST_F(FibersTest, ASignalWakesOrTheTimeIsOver) {
  std::mutex mutex;
  const auto signal = fibers.signal();
  bool set = false;
  const auto waiter = fibers.start([&] {
    std::unique_lock lock(mutex);
    signal->wait(lock, seconds(1), [&] { return set; });
    said += set ? "set " : "late ";
    signal->wait(lock, seconds(10), [&] { return set; });
    said += set ? "set" : "late";
  });
  events.at(seconds(3), [&] {
    const std::lock_guard lock(mutex);
    set = true;
    signal->notify();
  });
  run();
  EXPECT_EQ(said, "late set");
}

TEST_F(FibersTest, AKilledFiberUnwindsWhatItHas) {
  struct Guard {
    std::string& said;
    ~Guard() { said += "gone"; }
  };
  const auto fiber = fibers.start([&] {
    const Guard guard{said};
    fibers.sleep(seconds(100));
    said += "never";
  });
  events.step();
  EXPECT_EQ(said, "");
  process.kill();
  fibers.kill_all();
  EXPECT_EQ(said, "gone");
  run();
  EXPECT_EQ(said, "gone");
}

TEST_F(FibersTest, AStoppedProcessFindsWhatCameWhenItGoesOn) {
  const auto fiber = fibers.start([&] {
    fibers.sleep(seconds(1));
    said += 'f';
  });
  events.at(seconds(2), process.in([&] { said += 'm'; }));
  process.pause();
  run();
  EXPECT_EQ(said, "");
  process.go_on();
  run();
  EXPECT_EQ(said, "mf") << "the fiber begins only now";
}

}  // namespace
}  // namespace spur::sim
