// SPDX-License-Identifier: Apache-2.0
// The agent's real door to its controller: one gRPC stream at a time, to one controller after the other, dialled again for as
// long as the agent lives. Knows nothing of what is said.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/agent_port.h"
#include "os/event_loop.h"
#include "os/looped_stream.h"

namespace spur::os {

class ControllerLink final : public io::ControllerPort {
 public:
  struct Options {
    std::function<std::vector<std::string>()> addresses;    // asked before every dial
    std::function<Result<wire::Metadata>()> metadata;       // credentials; asked before every dial
    std::function<void()> on_connected;                     // the stream is open: say hello
    std::function<void()> on_disconnected;
    std::function<void(const model::ControllerMessage&)> on_message;
    std::function<void(const std::string&)> log;
  };
  ControllerLink(EventLoop& loop, Options options);
  ~ControllerLink() override;

  void start() { dial(); }
  void send(model::AgentMessage message) override;

 private:
  void dial();
  void dial_later();
  void on_end(const Status& status);

  EventLoop& loop_;
  Options options_;
  std::unique_ptr<LoopedStream> stream_;
  std::size_t next_ = 0;            // which address
  std::size_t addresses_ = 0;       // how many there are
  std::size_t refused_ = 0;         // of them, one after the other
  Duration pause_{0};               // before the next dial
  EventLoop::TimerId timer_;
  std::string last_complaint_;      // said once, not at every attempt
};

}  // namespace spur::os
