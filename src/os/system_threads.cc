// SPDX-License-Identifier: Apache-2.0
#include "os/system_threads.h"

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

namespace spur::os {
namespace {

struct JoinedThread final : io::Threads::Thread {
  explicit JoinedThread(std::function<void()> body) : thread(std::move(body)) {}
  ~JoinedThread() override { thread.join(); }
  std::thread thread;
};

struct Condition final : io::Threads::Signal {
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most, const std::function<bool()>& until) override {
    // The library adds the time to the clock's, and that must not overflow.
    condition.wait_for(lock, std::clamp<Duration>(at_most, Duration{0}, std::chrono::hours(1000)), until);
  }
  void notify() override { condition.notify_all(); }
  std::condition_variable condition;
};

}  // namespace

std::unique_ptr<io::Threads::Thread> SystemThreads::start(std::function<void()> body) {
  return std::make_unique<JoinedThread>(std::move(body));
}
std::unique_ptr<io::Threads::Signal> SystemThreads::signal() {
  return std::make_unique<Condition>();
}
void SystemThreads::sleep(Duration time) {
  std::this_thread::sleep_for(time);
}

}  // namespace spur::os
