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
  if (!closed_) loop_.unwatch(socket_.get());
}

Status FrameStream::open(Events events) {
  events_ = std::move(events);
  watching_ = EPOLLIN;
  return loop_.watch(socket_.get(), watching_, [this](std::uint32_t ready) { on_ready(ready); });
}

void FrameStream::send(Frame frame) {
  if (closed_) return;
  queued_ += frame->size();
  queue_.push_back(std::move(frame));
  write_some();
}

void FrameStream::send(std::string_view message) {
  auto frame = std::make_shared<std::string>();
  wire::append_frame(message, frame.get());
  send(Frame(std::move(frame)));
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
  const std::size_t before = queued_;
  while (!closed_ && !queue_.empty()) {
    const std::string& frame = *queue_.front();
    const ssize_t put =
        ::send(socket_.get(), frame.data() + sent_, frame.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (put < 0) return close();
    sent_ += static_cast<std::size_t>(put);
    queued_ -= static_cast<std::size_t>(put);
    if (sent_ < frame.size()) continue;
    queue_.pop_front();
    sent_ = 0;
  }
  follow();
  if (queued_ < before && events_.on_drained) events_.on_drained();
}

void FrameStream::follow() {
  if (closed_) return;
  const std::uint32_t wanted = (paused_ ? 0u : static_cast<std::uint32_t>(EPOLLIN)) |
                               (queue_.empty() ? 0u : static_cast<std::uint32_t>(EPOLLOUT));
  if (wanted == watching_) return;
  watching_ = wanted;
  loop_.change(socket_.get(), wanted);
}

void FrameStream::close() {
  if (std::exchange(closed_, true)) return;
  loop_.unwatch(socket_.get());
  queue_.clear();
  sent_ = queued_ = 0;
  if (events_.on_closed) events_.on_closed();
}

}  // namespace spur::stepd
