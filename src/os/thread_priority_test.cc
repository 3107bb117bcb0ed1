// SPDX-License-Identifier: Apache-2.0
#include "os/thread_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace spur::os {
namespace {

int nice_now() {
  return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
}

TEST(ThreadPriority, OneThreadGivesWayAndNoOther) {
  const int before = nice_now();
  int lowered = 0;
  std::thread([&] {
    give_way();
    lowered = nice_now();
  }).join();
  EXPECT_EQ(lowered, std::min(before + 10, 19));
  EXPECT_EQ(nice_now(), before);
}

}  // namespace
}  // namespace spur::os
