// SPDX-License-Identifier: Apache-2.0
// PMIx for the tasks of a step on this node: spurpmix, a program beside ours, serves them (pmix/README.md). This is
// its supervisor: it starts it as the user, and carries its messages.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepd/frame_stream.h"
#include "stepd/mpi_server.h"

namespace spur::stepd {

class StepPmix : public MpiServer {
 public:
  StepPmix(os::EventLoop& loop, MpiStep step, Events events);

  Status begin(std::function<void()> ready) override;
  Result<os::UniqueFd> prepare(std::size_t local, TaskPlan& plan) override;
  Status pass_fence(std::string_view data) override;
  std::vector<std::string> directories() const override;
  void on_child(pid_t pid) override;
  bool end() override;

 private:
  void on_message(std::string_view bytes);
  void fail_with(std::string text);

  os::EventLoop& loop_;
  MpiStep step_;
  Events events_;
  std::function<void()> ready_;
  StartedTask program_;
  bool gone_ = true;
  std::unique_ptr<FrameStream> stream_;
  std::map<std::uint32_t, std::vector<std::string>> environments_;  // by rank
};

}  // namespace spur::stepd
