// SPDX-License-Identifier: Apache-2.0
#include "os/step_processes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "os/cgroup.h"
#include "os/sysfs.h"

namespace spur::os {
namespace {

std::vector<std::uint32_t> pids_of(const std::string& path) {
  std::vector<std::uint32_t> out;
  const auto group = Cgroup::open(path);
  if (!group) return out;
  for (const auto pid : group->processes()) out.push_back(static_cast<std::uint32_t>(pid));
  return out;
}

// The oldest process of a task's group is the task: pids wrap, but seldom within one task.
void add_step(const std::string& path, const std::string& step, std::vector<StepProcess>& out) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_task;
  for (const auto& name : sysfs_list(path))
    if (name.starts_with("task_"))
      of_task[static_cast<std::uint32_t>(std::strtoul(name.c_str() + 5, nullptr, 10))] = pids_of(path + "/" + name);
  if (of_task.empty()) of_task[0] = pids_of(path);  // the batch script
  std::uint32_t local_id = 0;
  for (const auto& [rank, pids] : of_task) {
    const auto first = std::ranges::min_element(pids);
    for (auto pid = pids.begin(); pid != pids.end(); ++pid)
      out.push_back({step, *pid, pid == first ? std::optional(rank) : std::nullopt,
                     pid == first ? std::optional(local_id) : std::nullopt});
    ++local_id;
  }
}

}  // namespace

std::vector<StepProcess> processes_of_job(const std::string& cgroup) {
  std::vector<StepProcess> out;
  if (cgroup.empty()) return out;
  for (const auto& name : sysfs_list(cgroup))
    if (name.starts_with("step_")) add_step(cgroup + "/" + name, name.substr(5), out);
  const auto order = [](const StepProcess& p) {
    const bool numbered = !p.step.empty() && p.step[0] >= '0' && p.step[0] <= '9';
    return std::tuple(!numbered, numbered ? std::strtoul(p.step.c_str(), nullptr, 10) : 0, p.step, p.pid);
  };
  std::ranges::sort(out, {}, order);
  return out;
}

}  // namespace spur::os
