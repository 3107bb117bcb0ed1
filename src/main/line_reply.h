// SPDX-License-Identifier: Apache-2.0
// Answers of the controller to callers on its local socket: ctld's way back over os's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ctld/local_calls.h"
#include "ctld/readers.h"
#include "os/local_socket.h"

namespace spur::main {

class LineReply final : public ctld::LocalReply {
 public:
  LineReply(std::shared_ptr<os::LocalSocket::Line> line, ctld::Readers& readers)
      : line_(std::move(line)), readers_(readers) {}
  void send_last(std::string_view bytes) override {
    line_->send(bytes);
    line_->finish();
  }
  void send(std::string_view bytes) override { line_->send(bytes); }
  bool drained() const override { return line_->drained(); }
  bool gone() const override { return line_->gone(); }
  void stream(std::function<bool(std::string*)> more) override {
    line_->stream(std::move(more),
                  [&readers = readers_](std::function<void()> pull) { readers.post(std::move(pull)); });
  }

 private:
  std::shared_ptr<os::LocalSocket::Line> line_;
  ctld::Readers& readers_;
};

}  // namespace spur::main
