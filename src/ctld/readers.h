// SPDX-License-Identifier: Apache-2.0
// The few threads that put together what those get who look (lists of jobs, of nodes), piece by piece and in turn. They
// give way to everything else the controller does: a thousand who poll wait for each other, and nobody who submits
// waits for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace spur::ctld {

class Readers {
 public:
  // `prelude` is run first on each thread: it lowers its priority.
  explicit Readers(unsigned threads, const std::function<void()>& prelude = {});
  ~Readers() { stop(); }
  // Runs it later, in order; from any thread. Dropped after stop().
  void post(std::function<void()> work);
  // Ends the threads after what was handed in is done. Idempotent.
  void stop();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace spur::ctld
