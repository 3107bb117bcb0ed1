// SPDX-License-Identifier: Apache-2.0
// Which CPUs, memory and GPUs each task of a step on this node is bound to: --cpu-bind, --mem-bind, --gpu-bind and
// what goes without saying. Pure.
//
// Without --cpu-bind tasks are bound to what there are just as many of as they need: sockets, else cores, else
// threads; else to all CPUs of the step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "os/cpu_map.h"
#include "text/bind_spec.h"

namespace spur::stepd {

struct BindingSource {
  const os::CpuMap& map;
  std::vector<model::CpuNumber> cpus;  // of the step, as jobs number them
  std::uint32_t tasks = 1, cpus_per_task = 1;
  model::Distribution distribution{};
  text::CpuBind cpu{};
  text::MemBind mem{};
};

struct TaskBinding {
  std::vector<std::uint32_t> cpus;          // the kernel's numbers, ascending; empty: as the daemon
  std::vector<std::uint32_t> memory_nodes;  // empty: no policy
  friend bool operator==(const TaskBinding&, const TaskBinding&) = default;
};
struct StepBinding {
  std::vector<TaskBinding> tasks;        // by local id
  std::vector<std::string> environment;  // SLURM_CPU_BIND and SLURM_MEM_BIND with their parts
  std::string_view cpu_word, mem_word;   // as verbose lines have it: "MASK"; empty: nothing is said
};
// StepTooLarge: a task would be bound to a CPU that the step does not have. Of a node that is declared to have CPUs
// that this machine does not have, all that it has count as the step's.
Result<StepBinding> bind_tasks(const BindingSource& source);

// The GPUs of each task out of the step's here, by local id; empty: all of them see all. `per_task`: GPUs that the
// step asked for each task, 0: it did not. `near`: beside gpus, the kernel's CPUs that each is close to, none: all;
// `bound`: what each task is bound to. A task of which no GPU is near has them all to choose from.
Result<std::vector<std::vector<std::uint32_t>>> bind_gpus(const text::GpuBind& bind, std::uint32_t per_task,
                                                          const std::vector<std::uint32_t>& gpus, std::uint32_t tasks,
                                                          const std::vector<std::vector<std::uint32_t>>& near = {},
                                                          const std::vector<TaskBinding>& bound = {});

}  // namespace spur::stepd
