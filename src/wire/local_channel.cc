// SPDX-License-Identifier: Apache-2.0
#include "wire/local_channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>

#include "wire/error_map.h"
#include "wire/local_call.h"
#include "wire/unix_socket.h"

namespace spur::wire {
namespace {

using std::chrono::steady_clock;
constexpr std::size_t kReadFewBytes = 4096, kReadManyBytes = std::size_t{128} << 10;

std::unexpected<Error> unreachable(const std::string& path, const char* why) {
  return fail(ErrorCode::Unreachable, fmt::format("unix:{}: {}", path, why));
}

// Waits for `events`; TimedOut at the deadline or when the wait is given up.
Status wait_for(int fd, short events, steady_clock::time_point deadline, const std::function<bool()>& interrupted) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return fail(ErrorCode::TimedOut, "The server did not answer in time");
    pollfd watched{.fd = fd, .events = events, .revents = 0};
    // In slices: a signal that came just before the wait does not end it.
    const int ready = ::poll(
        &watched, 1, static_cast<int>(std::min<std::int64_t>(left.count(), interrupted ? 1000 : 1'000'000'000)));
    if (ready > 0) return {};
    if (ready <= 0 && interrupted && interrupted())
      return fail(ErrorCode::TimedOut, "Interrupted while waiting for the server");
  }
}

Status send_all(int fd, const std::string& path, std::string_view bytes, steady_clock::time_point deadline,
                const std::function<bool()>& interrupted) {
  while (!bytes.empty()) {
    const ssize_t now = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (now >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(now));
    } else if (errno == EAGAIN) {
      SPUR_TRY(wait_for(fd, POLLOUT, deadline, interrupted));
    } else if (errno != EINTR) {
      // A request that is refused half-way has its answer waiting for us.
      if (errno == EPIPE || errno == ECONNRESET) return {};
      return unreachable(path, std::strerror(errno));
    }
  }
  return {};
}

Status receive_answer(int fd, const std::string& path, steady_clock::time_point deadline,
                      const std::function<bool()>& interrupted, const LocalChannel::OnMessage& on_message,
                      Duration silence, LocalAnswer& answer) {
  // Most answers are short; only a long one is worth the pages of a large buffer.
  char few[kReadFewBytes];
  std::unique_ptr<char[]> many;
  std::span<char> buffer = few;
  bool more = false;  // there is probably more to read already
  while (!answer.ended()) {
    if (!more) {
      const auto limit = steady_clock::now() + silence;
      const bool hurry = silence.count() > 0 && limit < deadline;
      auto waited = wait_for(fd, POLLIN, hurry ? limit : deadline, interrupted);
      if (!waited && hurry && steady_clock::now() >= limit) return unreachable(path, "the controller says nothing");
      SPUR_TRY(waited);
    }
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    more = got == static_cast<ssize_t>(buffer.size());
    if (got > 0) {
      SPUR_TRY(answer.take({buffer.data(), static_cast<std::size_t>(got)}, on_message));
    } else if (got == 0) {
      return unreachable(path, "the controller hung up");
    } else if (errno != EINTR && errno != EAGAIN) {
      return unreachable(path, std::strerror(errno));
    }
    if (more && !many) {
      many = std::make_unique_for_overwrite<char[]>(kReadManyBytes);
      buffer = {many.get(), kReadManyBytes};
    }
  }
  return answer.end();
}

}  // namespace

LocalChannel::Outcome LocalChannel::call(std::string_view method, std::string_view request, Duration timeout,
                                         const OnMessage& on_message, Duration silence) {
  const auto deadline = steady_clock::now() + timeout;
  const UnixSocket socket;
  if (socket.fd() < 0) return {unreachable(path_, std::strerror(errno)), true};
  if (const int error = socket.connect_to(path_)) return {unreachable(path_, std::strerror(error)), true};
  if (trusted_only_ && !socket.peer_is_trusted()) return {unreachable(path_, "somebody else serves it"), true};
  LocalAnswer answer;
  Status status = send_all(socket.fd(), path_, local_request(method, request), deadline, interrupted);
  if (status) status = receive_answer(socket.fd(), path_, deadline, interrupted, on_message, silence, answer);
  const bool elsewhere = !status && !answer.answered() && grpc_status_of(status.error().code) == kGrpcUnavailable;
  return {std::move(status), elsewhere, answer.note()};
}

}  // namespace spur::wire
