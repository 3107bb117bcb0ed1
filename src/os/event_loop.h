// SPDX-License-Identifier: Apache-2.0
// One thread's loop over file descriptors, timers, ended processes and work handed over by other threads. Callbacks
// run on the thread that calls run(), one at a time; each may add and remove watches and timers, its own included.
//
// Only post() and stop() may be called from other threads. Timers are on the clock of io::Clock::monotonic()
// (CLOCK_BOOTTIME), so that a deadline computed there can be used here.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/unique_fd.h"

namespace spur::os {

class EventLoop {
 public:
  struct TimerId {
    Duration at{0};
    std::uint64_t number = 0;  // 0: no timer
    explicit operator bool() const { return number != 0; }
    friend auto operator<=>(const TimerId&, const TimerId&) = default;
  };
  using Task = std::function<void()>;
  using Ready = std::function<void(std::uint32_t events)>;

  static Result<std::unique_ptr<EventLoop>> open();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `ready` whenever `fd` has one of `events` (EPOLLIN ...; errors and hang-ups always). The descriptor stays
  // the caller's, who unwatches it before closing it.
  Status watch(int fd, std::uint32_t events, Ready ready);
  void change(int fd, std::uint32_t events);
  void unwatch(int fd);  // not watched: no-op

  // Calls `ended` once, when the process has ended. The descriptor is kept until then, or until unwatch(pidfd.get()).
  Status watch_process(std::shared_ptr<const UniqueFd> pidfd, Task ended);

  TimerId call_at(Duration monotonic, Task task);
  TimerId call_after(Duration delay, Task task) { return call_at(now() + delay, std::move(task)); }
  void cancel(TimerId timer);  // gone or never set: no-op

  // From any thread: runs `task` on the loop's thread, in order of posting.
  void post(Task task);
  // From any thread: run() returns after the callback at hand.
  void stop();

  void run();
  // Waits at most `limit` for something to do, and does all that is ready then.
  void run_once(Duration limit);

  static Duration now();

 private:
  struct Watch {
    std::uint32_t generation;
    Ready ready;
  };
  EventLoop(UniqueFd epoll, UniqueFd wake);
  void run_posted();
  void run_timers();
  int wait_for(Duration limit, epoll_event* events, int capacity);

  UniqueFd epoll_, wake_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  std::map<TimerId, Task> timers_;
  std::uint32_t generation_ = 0;
  std::uint64_t timer_number_ = 0;
  std::mutex mutex_;  // guards the two below
  std::vector<Task> posted_;
  bool stopping_ = false;
};

}  // namespace spur::os
