// SPDX-License-Identifier: Apache-2.0
// The door to threads, for logic that reads best as a thread that waits (os/etcd_journal). Real: os/system_threads.
// Fake: sim/fibers, where a thread that waits lets virtual time pass.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/time.h"

namespace spur::io {

class Threads {
 public:
  // Whoever destroys it waits for its end.
  struct Thread {
    virtual ~Thread() = default;
  };
  struct Signal {
    virtual ~Signal() = default;
    // From one of these threads: until `until` holds, looked at under the lock after every notify(), or the time is
    // over.
    virtual void wait(std::unique_lock<std::mutex>& lock, Duration at_most, const std::function<bool()>& until) = 0;
    virtual void notify() = 0;  // from anywhere
  };
  virtual ~Threads() = default;
  virtual std::unique_ptr<Thread> start(std::function<void()> body) = 0;
  virtual std::unique_ptr<Signal> signal() = 0;
  virtual void sleep(Duration time) = 0;  // from one of these threads
};

}  // namespace spur::io
