// SPDX-License-Identifier: Apache-2.0
// How often each call was made, by whom, and how long it took: what `sacctmgr show stats` prints. Any thread may note.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/ids.h"
#include "base/time.h"

namespace spur::acct {

class CallStatistics {
 public:
  struct Calls {
    std::uint64_t count = 0, total_us = 0;
  };
  struct Counts {
    Time since;
    std::map<std::string, Calls> by_method;
    std::map<std::uint32_t, Calls> by_user;
  };
  explicit CallStatistics(Time now) { counts_.since = now; }

  void note(const std::string& method, Uid who, std::uint64_t us) {
    const std::lock_guard lock(mutex_);
    for (Calls* calls : {&counts_.by_method[method], &counts_.by_user[who.value]}) {
      ++calls->count;
      calls->total_us += us;
    }
  }
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  void reset(Time now) {
    const std::lock_guard lock(mutex_);
    counts_ = {};
    counts_.since = now;
  }

  // Notes a call when it ends.
  class Timer {
   public:
    Timer(CallStatistics* to, std::string method, Uid who) : to_(to), method_(std::move(method)), who_(who) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
      using namespace std::chrono;
      if (to_) to_->note(method_, who_, static_cast<std::uint64_t>(duration_cast<microseconds>(steady_clock::now() - began_).count()));
    }

   private:
    CallStatistics* to_;
    std::string method_;
    Uid who_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  };

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace spur::acct
