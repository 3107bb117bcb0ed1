// SPDX-License-Identifier: Apache-2.0
// A wire::LeanStream that an EventLoop drives. Events come from the loop, never from inside a call of the owner, so the owner
// may destroy the stream in any of them; after that none comes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/event_loop.h"
#include "wire/lean_stream.h"

namespace spur::os {

class LoopedStream {
 public:
  struct Events {
    std::function<void(std::string)> on_message;
    std::function<void(Status)> on_end;      // once
  };
  static Result<std::unique_ptr<LoopedStream>> open(EventLoop& loop, const wire::PeerAddress& peer, std::string_view path,
                                                    const wire::CallOptions& options, Events events,
                                                    wire::LeanStream::KeepAlive keep_alive);
  ~LoopedStream();
  LoopedStream(const LoopedStream&) = delete;
  LoopedStream& operator=(const LoopedStream&) = delete;

  void send(std::string_view message);
  void finish_sending();
  std::size_t queued_bytes() const { return stream_->queued_bytes(); }
  // Called each time something was written, while set.
  std::function<void()> on_progress;
  void pause(bool paused);

 private:
  LoopedStream(EventLoop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  void on_ready(std::uint32_t events);
  void follow();   // the descriptor, the interest in writing and the timer, as they are now
  void later(std::function<void()> f);

  EventLoop& loop_;
  Events events_;
  std::unique_ptr<wire::LeanStream> stream_;
  int watched_ = -1;
  std::uint32_t interest_ = 0;
  bool paused_ = false;
  EventLoop::TimerId timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spur::os
