// SPDX-License-Identifier: Apache-2.0
// The environment of batch scripts and step tasks: the user's own entries with Slurm's variables on top. One table
// (job_environment.cc) says for each variable when it is set and to what; pure, so that it can be tested as text.
//
// A variable of the table that does not apply to this job is also taken out of what the user brought along: a job
// submitted from inside another job must not see the outer one's array task or memory limit. Rows of things the user
// may choose himself (TMPDIR, CUDA_VISIBLE_DEVICES, ...) are kept instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/agent_message.h"

namespace spur::stepd {

// Whose devices the granted GPUs are: each vendor's runtime reads another variable, and they disturb each other.
enum class GpuVendor : std::uint8_t { Unknown, Nvidia, Amd, Intel };

struct StepLayout {
  std::uint32_t step = 0;
  std::uint32_t task_count = 1;
  std::vector<std::string> nodes;             // of the step
  std::vector<std::uint32_t> tasks_per_node;  // parallel
  std::uint32_t node_id = 0;                  // which of them this is
  std::uint32_t first_rank = 0;               // of the tasks here
  std::vector<std::uint32_t> ranks{};         // of each, ascending; empty: those from first_rank on
  model::Distribution distribution{};
  std::uint32_t rank(std::uint32_t local_id) const { return ranks.empty() ? first_rank + local_id : ranks[local_id]; }
  std::uint32_t cpus_per_task = 0;  // 0: as the job
  std::uint32_t umask = 022;
  // What the step has of this node's part of the job.
  std::vector<model::CpuNumber> cpus{};
  std::vector<model::DeviceGrant> devices{};
  std::string master{};  // --distributed: where the tasks find each other; empty: they are not told
  JobId het_job = {};    // of a heterogeneous job: its first component, which all of its steps go by
};

struct EnvironmentSource {
  const model::ControllerLaunch& launch;
  std::string_view user_name;
  GpuVendor vendor = GpuVendor::Unknown;
  const StepLayout* step = nullptr;  // null: the batch script
  std::vector<std::string> of_node;  // NAME=VALUE entries that the agent gives every job
  bool preserve_size = false;        // srun -E: the numbers of nodes and tasks are the user's own
};

// The user's `entries` and the table's, the latter winning; order: the user's as they came, then the table's. What is
// set per task (ranks, pid) is not in it; see task_entries.
std::vector<std::string> job_environment(const EnvironmentSource& source, const std::vector<std::string>& entries);
// What names the GPUs to programs, for these alone.
std::vector<std::string> gpu_entries(GpuVendor vendor, const std::vector<std::uint32_t>& numbers);
// SLURM_PROCID, SLURM_LOCALID, SLURM_TASK_PID and their SPUR_ twins.
std::vector<std::string> task_entries(std::uint32_t rank, std::uint32_t local_id, int pid);

// NAME=VALUE texts, each ended by a NUL byte. What is no such text is left out.
std::vector<std::string> split_environment(std::string_view block);
// Sets or replaces.
void set_entry(std::vector<std::string>& entries, std::string_view name, std::string_view value);
// Null if it is not there; valid until `entries` changes.
const char* find_entry(const std::vector<std::string>& entries, std::string_view name);

}  // namespace spur::stepd
