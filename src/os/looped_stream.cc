// SPDX-License-Identifier: Apache-2.0
#include "os/looped_stream.h"

#include <utility>

namespace spur::os {

Result<std::unique_ptr<LoopedStream>> LoopedStream::open(EventLoop& loop, const wire::PeerAddress& peer,
                                                         std::string_view path, const wire::CallOptions& options,
                                                         Events events, wire::LeanStream::KeepAlive keep_alive) {
  std::unique_ptr<LoopedStream> out(new LoopedStream(loop, std::move(events)));
  auto* self = out.get();
  wire::LeanStream::Events inner{
      .on_message =
          [self](std::string_view message) {
            self->later([self, text = std::string(message)]() mutable {
              const auto call = self->events_.on_message;  // a copy: the call may destroy the stream, and with it the original
              call(std::move(text));
            });
          },
      .on_end = [self](const wire::CallEnd& end) {
        self->later([self, status = end.status()]() mutable {
          const auto call = self->events_.on_end;
          call(std::move(status));
        });
      }};
  SPUR_ASSIGN(out->stream_, wire::LeanStream::open(peer, path, options, std::move(inner), keep_alive));
  out->follow();
  return out;
}

LoopedStream::~LoopedStream() {
  *alive_ = false;
  if (watched_ >= 0) loop_.unwatch(watched_);
  if (timer_) loop_.cancel(timer_);
}

void LoopedStream::later(std::function<void()> f) {
  loop_.post([alive = alive_, f = std::move(f)] {
    if (*alive) f();
  });
}

void LoopedStream::send(std::string_view message) {
  stream_->send(message);
  follow();
}

void LoopedStream::finish_sending() {
  stream_->finish_sending();
  follow();
}

void LoopedStream::pause(bool paused) {
  paused_ = paused;
  follow();
}

void LoopedStream::on_ready(std::uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) stream_->on_readable();
  if (events & EPOLLOUT) stream_->on_writable();
  follow();
  if (!on_progress) return;
  later([this] {
    if (const auto call = on_progress) call();
  });
}

void LoopedStream::follow() {
  const int fd = stream_->fd();
  const std::uint32_t interest = (paused_ && !stream_->connecting() ? 0u : static_cast<std::uint32_t>(EPOLLIN)) |
                                 (stream_->wants_write() ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  if (fd != watched_) {
    if (watched_ >= 0) loop_.unwatch(watched_);
    watched_ = fd;
    interest_ = interest;
    if (fd >= 0) (void)loop_.watch(fd, interest, [this](std::uint32_t events) { on_ready(events); });
  } else if (fd >= 0 && interest != interest_) {
    interest_ = interest;
    loop_.change(fd, interest);
  }
  const Duration due = stream_->ended() ? Duration::max() : stream_->next_timer();
  if (timer_ && timer_.at == due) return;
  if (timer_) loop_.cancel(timer_);
  timer_ = {};
  if (due == Duration::max()) return;
  timer_ = loop_.call_at(due, [this] {
    timer_ = {};
    stream_->on_timer(EventLoop::now());
    follow();
  });
}

}  // namespace spur::os
