// SPDX-License-Identifier: Apache-2.0
#include "os/local_socket_loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/check.h"
#include "os/files.h"
#include "wire/envelope.h"

namespace spur::os {
namespace {

constexpr std::size_t kLengthBytes = 4;

bool watch(int epoll, int fd, int operation, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

// ---- Line

void LocalSocket::Line::send(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (!fd_) return;
  out_ += bytes;
  push();
}

void LocalSocket::Line::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  if (fd_) push();
}

void LocalSocket::Line::stream(std::function<bool(std::string*)> more, Run run) {
  const std::lock_guard lock(mutex_);
  if (!fd_) return;
  more_ = std::move(more);
  run_ = std::move(run);
  push();
}

// Nobody waits for the lock while the next piece is put together.
void LocalSocket::Line::pull() {
  std::function<bool(std::string*)> more;
  {
    const std::lock_guard lock(mutex_);
    if (!more_) return;
    more = std::move(more_);
  }
  std::string piece;
  const bool go_on = more(&piece);
  const std::lock_guard lock(mutex_);
  pulling_ = false;
  if (!fd_) return;
  out_ += piece;
  if (go_on)
    more_ = std::move(more);
  else
    finished_ = true;
  push();
}

bool LocalSocket::Line::drained() const {
  const std::lock_guard lock(mutex_);
  return out_.empty();
}

bool LocalSocket::Line::gone() const {
  const std::lock_guard lock(mutex_);
  return !fd_;
}

void LocalSocket::Line::push() {
  for (bool pulled = false;; pulled = true) {
    while (sent_ < out_.size()) {
      const ssize_t n = ::send(fd_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        sent_ += static_cast<std::size_t>(n);
        stalled_until_ = Duration::max();
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN && wait_for_room()) {
        if (stalled_until_ == Duration::max()) stalled_until_ = clock_.monotonic() + stall_limit_;
        return;
      }
      more_ = nullptr;  // he is gone
      hang_up();
      return;
    }
    out_.clear();
    sent_ = 0;
    if (!more_) break;
    if (run_) {
      if (!std::exchange(pulling_, true)) run_([self = shared_from_this()] { self->pull(); });
      return;
    }
    // One piece at a time: a long answer must not hold up the other callers of this thread.
    if (pulled) {
      if (!wait_for_room()) hang_up();
      return;
    }
    if (!more_(&out_)) {
      more_ = nullptr;
      finished_ = true;
    }
  }
  if (finished_) hang_up();
}

bool LocalSocket::Line::wait_for_room() {
  if (at_hand_) return wants_room_ = true;
  return watch(epoll_, fd_.get(), EPOLL_CTL_MOD, EPOLLOUT);
}

// The loop closes the descriptor, which it knows by number.
void LocalSocket::Line::hang_up() {
  over_ = true;
  if (!at_hand_) ::shutdown(fd_.get(), SHUT_RDWR);
}

void LocalSocket::Line::drop() {
  const std::lock_guard lock(mutex_);
  more_ = nullptr;
  fd_.reset();
}

// ---- Loop

LocalSocket::Loop::~Loop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_.get(), &one, sizeof one));
    thread_.join();
  }
  while (!connections_.empty()) close_connection(connections_.begin()->first);
}

Status LocalSocket::Loop::start() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // Of several threads, one is woken for one caller.
  if (!epoll_ || !stop_ || !watch(epoll_.get(), stop_.get(), EPOLL_CTL_ADD, EPOLLIN) ||
      !watch(epoll_.get(), socket_.listener_.get(), EPOLL_CTL_ADD, EPOLLIN | EPOLLEXCLUSIVE))
    return fail_errno("cannot make an epoll descriptor", errno);
  thread_ = std::thread([this] { run(); });
  return {};
}

void LocalSocket::Loop::run() {
  std::vector<epoll_event> events(64);
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_milliseconds());
    SPUR_CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      const int fd = event.data.fd;
      if (fd == stop_.get()) return;
      if (fd == socket_.listener_.get()) {
        accept_some();
      } else if (const auto at = connections_.find(fd);
                 at != connections_.end() && !on_event(at->second, event.events)) {
        close_connection(fd);
      }
    }
    close_late();
    set_accepting(connections_.size() < socket_.options_.max_connections &&
                  socket_.clock_.monotonic() >= paused_until_);
  }
}

void LocalSocket::Loop::accept_some() {
  // A few at a time: those who are done make room for those who wait.
  for (int i = 0; i < 32 && connections_.size() < socket_.options_.max_connections; ++i) {
    UniqueFd fd(::accept4(socket_.listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      admit(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) paused_until_ = socket_.clock_.monotonic() + milliseconds(50);  // EMFILE and its like
    return;
  }
}

void LocalSocket::Loop::admit(UniqueFd fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  const int number = fd.get();
  const Uid uid(peer.uid);
  if (!socket_.shares_.enter(uid, socket_.options_.max_connections_per_user)) return;
  Connection& connection = connections_[number];
  connection.fd = number;
  connection.line = std::make_shared<Line>(std::move(fd), epoll_.get(), Peer{uid, Gid(peer.gid)}, socket_.clock_,
                                           socket_.options_.stall_limit);
  connection.deadline = socket_.clock_.monotonic() + socket_.options_.request_limit;
  look_at_ = std::min(look_at_, connection.deadline);
  // The request is usually there already.
  if (!read_request(connection)) close_connection(number);
}

// A listener that is watched exclusively cannot be modified, only taken out and put back.
void LocalSocket::Loop::set_accepting(bool accepting) {
  if (accepting == accepting_) return;
  SPUR_CHECK(watch(epoll_.get(), socket_.listener_.get(), accepting ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                   EPOLLIN | EPOLLEXCLUSIVE));
  accepting_ = accepting;
}

bool LocalSocket::Loop::watch_for(Connection& connection, std::uint32_t events) {
  const int operation = std::exchange(connection.watched, true) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  return watch(epoll_.get(), connection.fd, operation, events);
}

bool LocalSocket::Loop::on_event(Connection& connection, std::uint32_t events) {
  if (!connection.asked) return read_request(connection);
  if (events & (EPOLLHUP | EPOLLERR)) return false;
  if (events & EPOLLOUT) {
    const std::lock_guard lock(connection.line->mutex_);
    // Set before it is written: a line that stalls again asks for it again.
    if (!watch(epoll_.get(), connection.fd, EPOLL_CTL_MOD, 0)) return false;
    connection.line->push();
  }
  return true;
}

bool LocalSocket::Loop::read_request(Connection& connection) {
  char buffer[16384];
  const auto& options = socket_.options_;
  for (;;) {
    const ssize_t n = ::recv(connection.fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN && (connection.watched || watch_for(connection, EPOLLIN));
    if (n == 0) return false;
    const auto got = static_cast<std::size_t>(n);
    if (!socket_.shares_.grow(connection.line->peer().uid, got, options.max_user_request_bytes)) return false;
    connection.charged += got;
    connection.in.append(buffer, got);
    if (connection.in.size() < kLengthBytes) continue;
    const std::size_t length = wire::get_u32(connection.in.data());
    if (length > options.max_request_bytes) return false;
    if (connection.in.size() < kLengthBytes + length) continue;
    connection.asked = true;
    connection.deadline = Duration::max();
    return hand_over(connection, length);
  }
}

// Most are answered at once, and then there is nothing to watch, and nobody to be told of the end but the caller.
bool LocalSocket::Loop::hand_over(Connection& connection, std::size_t length) {
  Line& line = *connection.line;
  std::string request = connection.in.substr(kLengthBytes, length);
  connection.in = {};
  {
    const std::lock_guard lock(line.mutex_);
    line.at_hand_ = true;
  }
  socket_.handler_(std::move(request), connection.line);
  const std::lock_guard lock(line.mutex_);
  line.at_hand_ = false;
  if (line.over_) return false;
  // From here on only a hang-up wakes us, or an answer that did not fit.
  return watch_for(connection, line.wants_room_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0);
}

void LocalSocket::Loop::close_connection(int fd) {
  const auto at = connections_.find(fd);
  SPUR_CHECK(at != connections_.end());
  socket_.shares_.leave(at->second.line->peer().uid, at->second.charged);
  at->second.line->drop();
  connections_.erase(at);
}

// A line may begin to stall at any moment, so there is a look in time for that as well.
void LocalSocket::Loop::close_late() {
  if (connections_.empty()) return;
  const Duration now = socket_.clock_.monotonic();
  if (now < look_at_) return;
  look_at_ = now + std::min<Duration>(socket_.options_.stall_limit, seconds(10));
  std::vector<int> late;
  for (const auto& [fd, connection] : connections_) {
    const std::lock_guard lock(connection.line->mutex_);
    const Duration until = std::min(connection.deadline, connection.line->stalled_until_);
    until <= now ? late.push_back(fd) : static_cast<void>(look_at_ = std::min(look_at_, until));
  }
  for (const int fd : late) close_connection(fd);
}

int LocalSocket::Loop::wait_milliseconds() const {
  if (connections_.empty() && accepting_) return -1;
  const Duration now = socket_.clock_.monotonic();
  Duration next = connections_.empty() ? Duration::max() : look_at_;
  if (!accepting_ && paused_until_ > now) next = std::min(next, paused_until_);
  return static_cast<int>(std::clamp<std::int64_t>(std::chrono::ceil<milliseconds>(next - now).count(), 0, 10'000));
}

}  // namespace spur::os
