// SPDX-License-Identifier: Apache-2.0
#include "stepd/frame_stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace spur::stepd {
namespace {

constexpr std::size_t kMaxInputBytes = std::size_t{64} << 20;  // a start with a large environment

}  // namespace

FrameStream::FrameStream(os::EventLoop& loop, os::UniqueFd socket)
    : loop_(loop), socket_(std::move(socket)), reader_(kMaxInputBytes) {}

FrameStream::~FrameStream() {
  loop_.unwatch(socket_.get());
}

Status FrameStream::open(Events events) {
  events_ = std::move(events);
  watching_ = EPOLLIN;
  return loop_.watch(socket_.get(), watching_, [this](std::uint32_t ready) { on_ready(ready); });
}

void FrameStream::send(std::string_view message) {
  if (closed_) return;
  if (sent_ == queue_.size()) queue_.clear(), sent_ = 0;
  wire::append_frame(message, &queue_);
  write_some();
}

void FrameStream::pause(bool paused) {
  paused_ = paused;
  follow();
}

void FrameStream::on_ready(std::uint32_t events) {
  if (events & EPOLLOUT) write_some();
  if (closed_) return;
  if (paused_ && (events & (EPOLLHUP | EPOLLERR))) return close();
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_some();
}

void FrameStream::read_some() {
  static std::array<char, std::size_t{512} << 10> buffer;  // one thread, and nobody keeps what is in there
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close();
  const auto taken = reader_.take({buffer.data(), static_cast<std::size_t>(got)}, events_.on_message);
  if (!taken) close();
}

void FrameStream::write_some() {
  const std::size_t before = queued_bytes();
  while (!closed_ && queued_bytes() > 0) {
    const ssize_t put = ::send(socket_.get(), queue_.data() + sent_, queued_bytes(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (put < 0) return close();
    sent_ += static_cast<std::size_t>(put);
  }
  if (sent_ > (std::size_t{1} << 20)) queue_.erase(0, std::exchange(sent_, 0));
  follow();
  if (queued_bytes() < before && events_.on_drained) events_.on_drained();
}

void FrameStream::follow() {
  if (closed_) return;
  const std::uint32_t wanted = (paused_ ? 0u : static_cast<std::uint32_t>(EPOLLIN)) |
                               (queued_bytes() == 0 ? 0u : static_cast<std::uint32_t>(EPOLLOUT));
  if (wanted == watching_) return;
  watching_ = wanted;
  loop_.change(socket_.get(), wanted);
}

void FrameStream::close() {
  if (std::exchange(closed_, true)) return;
  loop_.unwatch(socket_.get());
  queue_.clear();
  sent_ = 0;
  if (events_.on_closed) events_.on_closed();
}

}  // namespace spur::stepd
