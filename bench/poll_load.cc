// SPDX-License-Identifier: Apache-2.0
// spur-poll-load: many who ask for jobs about once a second each, as loops of squeue do: every question is a new
// connection to the controller's local socket, the request that squeue sends, but for all fields of the jobs, and the
// answer read to its end. What a process of squeue costs besides (its start, its tables) is the client's business and left out: a thousand of
// them a second would be all that one machine can do, without a controller.
//   spur-poll-load --pollers N [--period MS] [--seconds S] [--users FIRST:COUNT | --job ID | --all]
// Poller k asks for the jobs of user FIRST + k mod COUNT; for one job; or for the whole queue. Prints, at the end,
// "polls=... late=... bytes=... p50_ms=... p99_ms=..."; late are turns without an
// answer: the last one was still awaited, or there was no room.
#include <fmt/format.h>
#include <getopt.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "config/load.h"
#include "spur/v1/controller.pb.h"
#include "wire/local_call.h"

namespace {

using namespace spur;
using Clock = std::chrono::steady_clock;

struct Wish {
  long pollers = 1000, period_ms = 1000, seconds = 10;
  std::uint32_t first_user = 0, users = 0, job = 0;
};

struct Poller {
  std::string request;
  int fd = -1;
  Clock::time_point due, asked;
  wire::LocalAnswer answer;
};

class Load {
 public:
  Load(const Wish& wish, const std::string& socket) : wish_(wish), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    address_.sun_family = AF_UNIX;
    std::strncpy(address_.sun_path, socket.c_str(), sizeof address_.sun_path - 1);
    const auto begin = Clock::now();
    for (long k = 0; k < wish.pollers; ++k) {
      v1::ListJobsRequest request;
      if (wish.users > 0) request.add_users(wish.first_user + static_cast<std::uint32_t>(k) % wish.users);
      if (wish.job > 0) request.add_jobs()->set_id(wish.job);
      Poller poller;
      poller.request = wire::local_request("ListJobs", request.SerializeAsString());
      poller.due = begin + period() * k / wish.pollers;  // spread over the period
      pollers_.push_back(std::move(poller));
    }
  }

  int run() {
    const auto end = Clock::now() + std::chrono::seconds(wish_.seconds);
    std::vector<epoll_event> events(256);
    std::size_t next = 0;  // all have the same period, so they come in turn
    while (Clock::now() < end) {
      while (pollers_[next].due <= Clock::now()) {
        Poller& poller = pollers_[next];
        poller.fd < 0 ? ask(next) : static_cast<void>(++late_);
        poller.due += period();
        next = (next + 1) % pollers_.size();
      }
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(pollers_[next].due - Clock::now()).count();
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                     static_cast<int>(std::clamp<long>(wait, 0, 100)));
      for (int i = 0; i < count; ++i) read(events[static_cast<std::size_t>(i)].data.u64);
      if (!error_.empty()) return std::fprintf(stderr, "poll: %s\n", error_.c_str()), 1;
    }
    std::ranges::sort(took_ms_);
    const auto at = [&](double share) {
      return took_ms_.empty() ? 0.0 : took_ms_[static_cast<std::size_t>(share * static_cast<double>(took_ms_.size() - 1))];
    };
    fmt::print("polls={} late={} bytes={} p50_ms={:.2f} p99_ms={:.2f}\n", took_ms_.size(), late_, bytes_, at(0.5), at(0.99));
    return 0;
  }

 private:
  Clock::duration period() const { return std::chrono::milliseconds(wish_.period_ms); }

  void ask(std::size_t number) {
    Poller& poller = pollers_[number];
    poller.asked = Clock::now();
    poller.answer = {};
    poller.fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::connect(poller.fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) {
      // The listener's queue is full: this turn is lost, as it would be late.
      if (errno != EAGAIN) error_ = fmt::format("connect: {}", std::strerror(errno));
      ++late_;
      ::close(std::exchange(poller.fd, -1));
      return;
    }
    if (::send(poller.fd, poller.request.data(), poller.request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(poller.request.size()))
      error_ = "a request was not taken at once";
    epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, poller.fd, &event);
  }

  void read(std::size_t number) {
    static char buffer[256 << 10];
    Poller& poller = pollers_[number];
    const ssize_t got = ::recv(poller.fd, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {  // more callers than a user may have at once: squeue would ask over gRPC
      ++late_;
      ::close(std::exchange(poller.fd, -1));
      return;
    }
    bytes_ += got;
    const auto taken = poller.answer.take({buffer, static_cast<std::size_t>(got)}, [](std::string_view) { return Status{}; });
    if (!taken) return static_cast<void>(error_ = taken.error().message);
    if (!poller.answer.ended()) return;
    if (!poller.answer.end()) return static_cast<void>(error_ = poller.answer.end().error().message);
    took_ms_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - poller.asked).count());
    ::close(std::exchange(poller.fd, -1));
  }

  const Wish wish_;
  const int epoll_;
  sockaddr_un address_{};
  std::vector<Poller> pollers_;
  std::vector<double> took_ms_;
  long late_ = 0, bytes_ = 0;
  std::string error_;
};

bool parse(int argc, char** argv, Wish& wish) {
  static const option kOptions[] = {{"pollers", required_argument, nullptr, 'n'}, {"period", required_argument, nullptr, 'p'},
                                    {"seconds", required_argument, nullptr, 's'}, {"users", required_argument, nullptr, 'u'},
                                    {"job", required_argument, nullptr, 'j'},     {"all", no_argument, nullptr, 'a'},
                                    {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 'n') wish.pollers = std::max(1L, std::atol(optarg));
    else if (c == 'p') wish.period_ms = std::max(1L, std::atol(optarg));
    else if (c == 's') wish.seconds = std::atol(optarg);
    else if (c == 'j') wish.job = static_cast<std::uint32_t>(std::strtoul(optarg, nullptr, 10));
    else if (c == 'u') {
      if (std::sscanf(optarg, "%u:%u", &wish.first_user, &wish.users) != 2 || wish.users == 0) return false;
    } else if (c != 'a') return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Wish wish;
  if (!parse(argc, argv, wish)) return 2;
  const auto endpoints = config::client_options();
  if (!endpoints) return std::fprintf(stderr, "%s\n", endpoints.error().message.c_str()), 1;
  return Load(wish, endpoints->local_socket).run();
}
