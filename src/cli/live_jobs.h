// SPDX-License-Identifier: Apache-2.0
// Jobs that are watched on a thread of their own, for commands with a screen to keep and keys to read meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/controller.h"
#include "cli/watched_jobs.h"

namespace spur::cli {

class LiveJobs {
 public:
  // `controller` is this object's alone until it is destroyed.
  LiveJobs(Controller& controller, wire::JobFilter filter, bool expected_starts);
  ~LiveJobs();
  LiveJobs(const LiveJobs&) = delete;
  LiveJobs& operator=(const LiveJobs&) = delete;

  // Becomes readable when there is news; look() makes it unreadable again.
  int fd() const { return ready_; }
  struct Look {
    wire::JobTable table;
    bool known = false;                // the whole list has been told at least once
    std::optional<std::string> lost;   // the controller is away, and why
    std::optional<Error> failed;       // watching has ended
  };
  Look look();

 private:
  void run(wire::JobFilter filter, bool expected_starts);
  void tell();
  Controller& controller_;
  int ready_ = -1, tell_ = -1;
  std::mutex mutex_;
  WatchedJobs jobs_;
  bool known_ = false, stopping_ = false;
  std::optional<std::string> lost_;
  std::optional<Error> failed_;
  std::thread thread_;
};

// Waits until one of the descriptors is readable or so long has passed; whether the first is, and the second. Either may
// be -1. A signal ends the wait.
struct Readable {
  bool first = false, second = false;
};
Readable wait_readable(int first, int second, int milliseconds);

}  // namespace spur::cli
