// SPDX-License-Identifier: Apache-2.0
// The real io::StepNotes: a file per run in the spool's directory "steps", made when the run's first step is noted.
#pragma once

#include <list>
#include <map>
#include <string>

#include "io/step_notes.h"
#include "os/unique_fd.h"

namespace spur::os {

class SpoolStepNotes final : public io::StepNotes {
 public:
  explicit SpoolStepNotes(const std::string& spool) : directory_(spool + "/steps") {}
  Status add(model::JobRun run, std::string_view record) override;
  std::vector<std::string> read(model::JobRun run) override;
  void forget(model::JobRun run) override;

 private:
  std::string path_of(model::JobRun run) const;
  Result<int> file_of(model::JobRun run);
  std::string directory_;
  std::map<model::JobRun, UniqueFd> open_;  // of jobs that start steps; a few, closed when there are many
};

}  // namespace spur::os
