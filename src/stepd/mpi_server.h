// SPDX-License-Identifier: Apache-2.0
// What the MPI library of a step's tasks on this node talks to: PMI-1 and PMI-2 (step_pmi), PMIx (step_pmix). What it
// has for the tasks of other nodes goes up as a fence and comes back when all have sent theirs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "stepd/task.h"

namespace spur::stepd {

struct MpiStep {
  std::string name;                // unique in the cluster
  std::uint32_t size = 0;          // tasks of the whole step
  std::vector<std::string> nodes;  // of the step
  std::uint32_t node = 0;          // this one
  std::string process_mapping;
  std::vector<std::uint32_t> ranks;  // of this node's tasks
  os::Identity identity;
};

class MpiServer {
 public:
  struct Events {
    std::function<void(std::string data)> fence;                                // all tasks here stand at it
    std::function<void(std::uint32_t rank, int code, std::string text)> abort;  // a task wants the step to end
    std::function<void(const Error&)> failed;                                   // the step cannot go on
  };
  virtual ~MpiServer() = default;

  // Calls `ready` when tasks may be started: at once, or later.
  virtual Status begin(std::function<void()> ready) = 0;
  // Adds to the plan what the task needs. The descriptor is to be closed when the task has been started.
  virtual Result<os::UniqueFd> prepare(std::size_t local, TaskPlan& plan) = 0;
  // What the tasks of all nodes had to tell.
  virtual Status pass_fence(std::string_view data) = 0;
  // Directories of the node that its clients must be able to see.
  virtual std::vector<std::string> directories() const { return {}; }
  // A child of the daemon has ended.
  virtual void on_child(pid_t) {}
  // Nobody needs it any more. False while something of it is still there; to be called again.
  virtual bool end() { return true; }
};

// `kind` is what --mpi says; NotSupported if there is no such.
Result<std::unique_ptr<MpiServer>> make_mpi_server(std::string_view kind, os::EventLoop& loop, MpiStep step,
                                                   MpiServer::Events events);

}  // namespace spur::stepd
