// SPDX-License-Identifier: Apache-2.0
// What agents do to jobs and to their nodes besides running programs: confinement (cgroup.conf), devices that are
// looked for, prolog and epilog, health checks, sampling of usage. Part of DaemonConfig.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace spur::config {

struct CgroupConfig {
  bool disabled = false;  // CgroupPlugin=disabled
  // Unset: yes, apart from swap, with spur.conf; no with slurm.conf. With slurm.conf they count only where TaskPlugin
  // has task/cgroup, as in Slurm; resolve() sees to both.
  std::optional<bool> cores, ram, swap, devices;
  std::uint64_t allowed_ram = 100'000, allowed_swap = 0;  // percent x 1000
  std::uint64_t max_ram = 100'000, max_swap = 100'000;
  std::uint64_t min_ram_mib = 30;
  std::optional<std::uint64_t> max_processes;  // unset: half of what the kernel can have
  std::vector<std::string> io_max;
  friend bool operator==(const CgroupConfig&, const CgroupConfig&) = default;
};

enum class Detect : std::uint8_t { Off, Nvml, Rsmi, OneApi, All };

struct DetectRule {
  std::string nodes;  // hostlist; empty: all
  Detect how = Detect::Off;
  friend bool operator==(const DetectRule&, const DetectRule&) = default;
};

struct HookConfig {
  std::vector<std::string> prolog, epilog;  // paths or patterns of file names, run in order
  std::vector<std::string> prolog_slurmctld, epilog_slurmctld;
  std::string task_prolog, task_epilog;  // as the user, around each task; empty: none
  seconds timeout{0};    // 0: none
  std::optional<seconds> prolog_timeout, epilog_timeout;  // instead of `timeout`
  bool alloc = false;    // the prolog runs when the node gets the job, not when something is started there
  bool contain = false;  // it runs in the job's cgroup
  bool serial = false;   // one prolog or epilog at a time
  friend bool operator==(const HookConfig&, const HookConfig&) = default;
};

struct StepConfig {
  std::uint32_t propagate_nice = 0;  // PropagatePrioProcess
  seconds unkillable_after{60};      // UnkillableStepTimeout
  std::string unkillable_program;    // UnkillableStepProgram; empty: none
  // MaxTasksPerNode, MaxStepCount; always set once the configuration is resolved.
  std::optional<std::uint32_t> max_tasks_per_node, max_count;
  friend bool operator==(const StepConfig&, const StepConfig&) = default;
};

struct HealthConfig {
  std::string program;
  seconds interval{0};  // 0: never
  // On nodes in these states; none of them: on all.
  bool idle = false, mixed = false, allocated = false;
  friend bool operator==(const HealthConfig&, const HealthConfig&) = default;
};

}  // namespace spur::config
