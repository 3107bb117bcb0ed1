// SPDX-License-Identifier: Apache-2.0
// PMI-1 and PMI-2 for the tasks of a step on this node: a socket to each of them. They are served here; the library
// is told of them by PMI_FD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stepd/mpi_server.h"
#include "stepd/pmi_server.h"

namespace spur::stepd {

class StepPmi : public MpiServer {
 public:
  StepPmi(os::EventLoop& loop, MpiStep step, Events events);
  ~StepPmi() override;
  StepPmi(const StepPmi&) = delete;
  StepPmi& operator=(const StepPmi&) = delete;

  Status begin(std::function<void()> ready) override;
  Result<os::UniqueFd> prepare(std::size_t local, TaskPlan& plan) override;
  Status pass_fence(std::string_view data) override;

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
  MpiStep step_;
  PmiServer server_;
  Events events_;
  std::vector<Line> lines_;
  bool aborted_ = false;
};

}  // namespace spur::stepd
