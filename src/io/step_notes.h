// SPDX-License-Identifier: Apache-2.0
// The step manager's door to what it must know of running steps when it is another process: records in the order they
// were written, for each run. They need to survive the agent, not the machine. Real: os/step_notes.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace spur::io {

class StepNotes {
 public:
  virtual ~StepNotes() = default;
  virtual Status add(model::JobRun run, std::string_view record) = 0;
  // Up to the first that is not whole.
  virtual std::vector<std::string> read(model::JobRun run) = 0;
  virtual void forget(model::JobRun run) = 0;
};

}  // namespace spur::io
