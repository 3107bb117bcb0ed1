// SPDX-License-Identifier: Apache-2.0
// PMI-1 and PMI-2 for the tasks of a step on this node: a socket to each of them, and the fence that the step's nodes
// pass together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "stepd/pmi_server.h"

namespace spur::stepd {

class StepPmi {
 public:
  struct Events {
    std::function<void(std::string pairs)> fence;        // all tasks here stand at it
    std::function<void(const PmiServer::Abort&)> abort;  // once: a task wants the step to end
    std::function<void(const Error&)> failed;            // a task speaks something else
  };
  StepPmi(os::EventLoop& loop, PmiStep step, std::vector<std::uint32_t> ranks, Events events);
  ~StepPmi();
  StepPmi(const StepPmi&) = delete;
  StepPmi& operator=(const StepPmi&) = delete;

  // The end of a task that is to be started next; the caller closes it once the task has it.
  Result<os::UniqueFd> connect(std::size_t task);
  // What the task is told, without PMI_FD.
  std::vector<std::string> environment(std::size_t task) const;
  // The pairs of all nodes have come.
  Status pass_fence(std::string_view pairs);

 private:
  struct Line {
    os::UniqueFd fd;
    std::string queue;
    bool writes = false;
  };
  void on_ready(std::size_t task, std::uint32_t events);
  bool read_some(std::size_t task);
  void write_some(std::size_t task);
  void answer();
  void close(std::size_t task);

  os::EventLoop& loop_;
  std::string name_;
  std::uint32_t size_;
  std::vector<std::uint32_t> ranks_;
  PmiServer server_;
  Events events_;
  std::vector<Line> lines_;
  bool aborted_ = false;
};

}  // namespace spur::stepd
