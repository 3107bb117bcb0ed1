// SPDX-License-Identifier: Apache-2.0
// Running a step through the agents, as srun sees it: start it, turn the crank, get events. The real one (wire_step_runner.cc)
// talks to the agent of the job's first node; tests put a script of events in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/job_spec.h"
#include "wire/controller_client.h"

namespace spur::cli {

struct StepRequest {
  std::string ticket;
  std::string name;
  std::vector<std::string> arguments, environment;   // argv; NAME=VALUE
  std::string directory;
  std::vector<std::string> nodes, addresses;         // of the step, in order
  std::vector<std::uint32_t> tasks_per_node;         // parallel to nodes
  std::uint32_t tasks = 1, cpus_per_task = 0;        // 0: as the job
  bool label = false, overlap = false, exclusive = false, kill_on_bad_exit = false, unbuffered = false;
  std::uint32_t umask = 022;
  std::vector<model::ResourceLimit> rlimits;
  TimeLimit time_limit;
  std::vector<model::GresRequest> gres;              // empty: as the job
  std::uint64_t memory_mib_per_node = 0;             // 0: as the job
  std::string std_out, std_err;                      // patterns opened on the nodes; empty: comes back as output
};

struct StepEvents {
  std::function<void(const std::string& node, std::uint32_t step)> started;
  std::function<void(std::uint32_t rank, std::string_view data, bool is_stderr)> output;
  struct Exit {
    std::uint32_t rank = 0;
    std::string node;
    std::uint32_t code = 0, signal = 0;
    bool core_dumped = false, out_of_memory = false;
  };
  std::function<void(const Exit& exit)> exited;
  std::function<void(const std::string& node, const Error& error)> failed;
};

class StepRunner {
 public:
  virtual ~StepRunner() = default;

  virtual Status start(const StepRequest& request, StepEvents events) = 0;
  // Waits until the step, `input` (a descriptor, or -1) or a signal has something, at most for `longest`; hands out the step's
  // events. True: `input` can be read.
  virtual bool turn(int input, Duration longest) = 0;
  virtual bool ended() const = 0;
  // Everything went well up to the end, or what broke the stream.
  virtual Status result() const = 0;

  virtual void send_input(std::string_view data, std::optional<std::uint32_t> rank) = 0;
  virtual void end_input() = 0;
  virtual bool input_is_full() const = 0;            // hold further input back
  virtual void send_signal(int signal) = 0;
};

std::unique_ptr<StepRunner> make_wire_step_runner();

}  // namespace spur::cli
