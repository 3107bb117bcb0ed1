// SPDX-License-Identifier: Apache-2.0
// The stream between a step daemon and its agent: protobuf messages in frames (wire/grpc_framing.h) over a socket,
// both ways, never blocking. Messages sent are queued; whoever makes them looks at queued_bytes() and waits.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "wire/grpc_framing.h"

namespace spur::stepd {

// A message with its frame, shared by those who send it and those who may have to send it again.
using Frame = std::shared_ptr<const std::string>;

class FrameStream {
 public:
  struct Events {
    std::function<void(std::string_view message)> on_message;
    std::function<void()> on_closed;   // the other side is gone, or sent what is no frame
    std::function<void()> on_drained;  // the queue has become shorter
  };
  FrameStream(os::EventLoop& loop, os::UniqueFd socket);
  ~FrameStream();

  Status open(Events events);
  void send(Frame frame);
  void send(std::string_view message);
  std::size_t queued_bytes() const { return queued_; }
  bool closed() const { return closed_; }
  // While paused nothing is read; a vanished peer is noticed all the same.
  void pause(bool paused);

 private:
  void on_ready(std::uint32_t events);
  void read_some();
  void write_some();
  void follow();
  void close();

  os::EventLoop& loop_;
  os::UniqueFd socket_;
  Events events_;
  wire::FrameReader reader_;
  std::deque<Frame> queue_;
  std::size_t sent_ = 0, queued_ = 0;  // of the first; of all
  std::uint32_t watching_ = 0;
  bool paused_ = false, closed_ = false;
};

}  // namespace spur::stepd
