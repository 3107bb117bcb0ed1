// SPDX-License-Identifier: Apache-2.0
// Where srun's -i, -o and -e lead: this process's own streams, one task's, a file here, or files on the nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/context.h"
#include "cli/job_options.h"
#include "cli/step_runner.h"

namespace spur::cli {

class StepStreams {
 public:
  // Opens what is to be opened here. `step` is known only later and shown as 0 in patterns until then.
  static Result<StepStreams> open(Context& context, const JobRequest& request, JobId job);
  ~StepStreams();
  StepStreams(StepStreams&& other) noexcept;
  StepStreams& operator=(StepStreams&&) = delete;

  Output& out() { return *out_; }
  Output& err() { return *err_; }
  std::optional<std::uint32_t> only_out, only_err;  // -o 3: that task's output alone
  std::optional<std::uint32_t> input_rank;          // -i 3: input goes to that task alone
  int input = -1;                                   // descriptor to read from; -1: none
  std::string remote_out, remote_err;               // patterns for the nodes; empty: none

 private:
  StepStreams() = default;
  Output* out_ = nullptr;
  Output* err_ = nullptr;
  std::unique_ptr<Output> own_out_, own_err_;  // files opened here
  int own_input_ = -1;
};

}  // namespace spur::cli
