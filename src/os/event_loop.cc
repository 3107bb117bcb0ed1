// SPDX-License-Identifier: Apache-2.0
#include "os/event_loop.h"

#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "os/files.h"

namespace spur::os {
namespace {

// The generation tells an event of a watch that is gone from one of a new watch on the same descriptor number.
std::uint64_t key_of(int fd, std::uint32_t generation) {
  return static_cast<std::uint64_t>(generation) << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::open() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("cannot make an epoll descriptor", errno);
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno("cannot make an event descriptor", errno);
  std::unique_ptr<EventLoop> loop(new EventLoop(std::move(epoll), std::move(wake)));
  SPUR_TRY(loop->watch(loop->wake_.get(), EPOLLIN, [raw = loop.get()](std::uint32_t) {
    std::uint64_t count;
    while (::read(raw->wake_.get(), &count, sizeof count) > 0) {
    }
    raw->run_posted();
  }));
  return loop;
}

EventLoop::EventLoop(UniqueFd epoll, UniqueFd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

Status EventLoop::watch(int fd, std::uint32_t events, Ready ready) {
  SPUR_CHECK(!watches_.contains(fd));
  auto entry = std::make_shared<Watch>(Watch{++generation_, std::move(ready)});
  epoll_event event{.events = events, .data = {.u64 = key_of(fd, entry->generation)}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return fail_errno("cannot watch a descriptor", errno);
  watches_.emplace(fd, std::move(entry));
  return {};
}

void EventLoop::change(int fd, std::uint32_t events) {
  const auto it = watches_.find(fd);
  SPUR_CHECK(it != watches_.end());
  epoll_event event{.events = events, .data = {.u64 = key_of(fd, it->second->generation)}};
  SPUR_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::unwatch(int fd) {
  if (watches_.erase(fd) == 0) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Status EventLoop::watch_process(std::shared_ptr<const UniqueFd> pidfd, Task ended) {
  const int fd = pidfd->get();
  return watch(fd, EPOLLIN, [this, fd, keep = std::move(pidfd), ended = std::move(ended)](std::uint32_t) {
    unwatch(fd);
    ended();
  });
}

EventLoop::TimerId EventLoop::call_at(Duration monotonic, Task task) {
  const TimerId id{monotonic, ++timer_number_};
  timers_.emplace(id, std::move(task));
  return id;
}

void EventLoop::cancel(TimerId timer) {
  timers_.erase(timer);
}

void EventLoop::post(Task task) {
  bool first;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  // A full counter also wakes the loop, so a failed write is no loss.
  if (first) [[maybe_unused]]
    const auto written = ::write(wake_.get(), &one, sizeof one);
}

void EventLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void EventLoop::run_posted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (auto& task : tasks) task();
}

void EventLoop::run_timers() {
  const Duration until = now();
  while (!timers_.empty() && timers_.begin()->first.at <= until) {
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

int EventLoop::wait_for(Duration limit, epoll_event* events, int capacity) {
  if (!timers_.empty()) limit = std::min(limit, timers_.begin()->first.at - now());
  limit = std::clamp(limit, Duration{0}, std::chrono::duration_cast<Duration>(hours(24)));
  const auto micros = limit.count();
  const timespec timeout{.tv_sec = micros / 1'000'000, .tv_nsec = micros % 1'000'000 * 1000};
  int count = ::epoll_pwait2(epoll_.get(), events, capacity, &timeout, nullptr);
  if (count < 0 && errno == ENOSYS)
    count = ::epoll_wait(epoll_.get(), events, capacity, static_cast<int>((micros + 999) / 1000));
  SPUR_CHECK(count >= 0 || errno == EINTR);
  return std::max(count, 0);
}

void EventLoop::run_once(Duration limit) {
  epoll_event events[64];
  const int count = wait_for(limit, events, 64);
  for (int i = 0; i < count; ++i) {
    const auto fd = static_cast<int>(events[i].data.u64 & 0xffffffffu);
    const auto it = watches_.find(fd);
    if (it == watches_.end() || key_of(fd, it->second->generation) != events[i].data.u64) continue;
    const auto keep = it->second;  // the callback may unwatch itself
    keep->ready(events[i].events);
  }
  run_timers();
}

void EventLoop::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(stopping_, false)) return;
    }
    run_once(hours(1));
  }
}

Duration EventLoop::now() {
  timespec t;
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace spur::os
