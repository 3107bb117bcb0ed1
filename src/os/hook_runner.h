// SPDX-License-Identifier: Apache-2.0
// Runs programs of the site (prolog, epilog, health check) beside the daemon's own work: one after the other, with an
// environment of their own and nothing else of the daemon's, for a limited time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/process.h"

namespace spur::os {

struct HookRequest {
  std::string name;                      // "prolog", for messages
  std::vector<std::string> programs;     // paths, or patterns of them, which may fit none; in order
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  Duration timeout{0};                   // of each; 0: none
  std::string cgroup;                    // that it is put into; empty: none
  std::vector<std::string> arguments{};  // of each
};

class HookRunner {
 public:
  using Done = std::function<void(Status)>;
  // `one_at_a_time`: a request waits until those before it are through.
  explicit HookRunner(EventLoop& loop, bool one_at_a_time = false) : loop_(loop), serial_(one_at_a_time) {}
  ~HookRunner();  // what runs is killed; nobody is told
  HookRunner(const HookRunner&) = delete;
  HookRunner& operator=(const HookRunner&) = delete;

  void set_one_at_a_time(bool serial);
  // Calls `done` from the loop, never before this returns. The first program that fails is the last.
  void run(HookRequest request, Done done);

 private:
  struct Job {
    HookRequest request;
    Done done;
    std::deque<std::string> left;
    std::shared_ptr<const UniqueFd> pidfd;
    pid_t pid = -1;
    EventLoop::TimerId timer;
    bool timed_out = false;
    bool waits = false;  // for others to be through
  };
  void begin(std::uint64_t id);
  void begin_waiting();
  void next(std::uint64_t id);
  Status start(std::uint64_t id, Job& job, const std::string& program);
  void on_ended(std::uint64_t id, const std::string& program);
  void finish(std::uint64_t id, Status status);

  EventLoop& loop_;
  bool serial_;
  std::map<std::uint64_t, Job> jobs_;
  std::uint64_t next_id_ = 1;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Files that fit the patterns, each pattern's in alphabetical order. A name without wildcards stays as it is.
std::deque<std::string> expand_programs(const std::vector<std::string>& patterns);

}  // namespace spur::os
