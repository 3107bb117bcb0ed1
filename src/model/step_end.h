// SPDX-License-Identifier: Apache-2.0
// A step that is over, as accounting is to know it. Made by the step manager (agent/managed_step.cc), carried to the
// controller beside the end of the job's run or before it.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "model/job.h"
#include "model/job_state.h"
#include "model/usage.h"

namespace spur::model {

// Slurm's numbers of what is no srun's step.
inline constexpr std::uint32_t kBatchStep = 0xfffffffbu, kExternStep = 0xfffffffcu;

struct StepEnd {
  std::uint32_t step = 0;
  std::string name;
  JobState state = JobState::Completed;
  ExitStatus exit;  // of the task that fared worst
  Time started, ended;
  std::string nodes;  // a host list
  std::uint32_t node_count = 0, tasks = 0, cpus = 0;
  std::uint64_t memory_mib = 0;  // 0: not asked for
  Usage usage{};
  friend bool operator==(const StepEnd&, const StepEnd&) = default;
};

}  // namespace spur::model
