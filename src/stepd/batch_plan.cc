// SPDX-License-Identifier: Apache-2.0
#include "stepd/batch_plan.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "stepd/job_message.h"

namespace spur::stepd {

std::string short_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  const std::string full = name;
  return full.substr(0, full.find('.'));
}

GpuVendor gpu_vendor() {
  if (::access("/proc/driver/nvidia", F_OK) == 0) return GpuVendor::Nvidia;
  if (::access("/dev/kfd", F_OK) == 0) return GpuVendor::Amd;
  return GpuVendor::Unknown;
}

Result<std::string> file_of(std::string_view pattern, std::string_view work_dir, const text::PatternValues& values) {
  auto name = text::expand_pattern(pattern, values);
  if (name && !name->starts_with('/')) name->insert(0, std::string(work_dir) + "/");
  return name;
}

Result<TaskPlan> plan_batch(const BatchSource& source) {
  const model::ControllerLaunch& launch = source.launch;
  const model::JobSpec& spec = *launch.spec;
  TaskPlan plan;
  plan.identity = source.identity;
  plan.program = source.script_path;
  plan.arguments = {source.script_path};
  plan.arguments.insert(plan.arguments.end(), spec.arguments.begin(), spec.arguments.end());
  plan.work_dir = spec.work_dir.empty() ? "/tmp" : spec.work_dir;
  plan.umask = spec.umask;
  plan.rlimits = spec.rlimits;
  plan.append = spec.open_append && !spec.open_truncate;
  plan.message_prefix = message_prefix();

  const auto& part = launch.parts.front();
  const bool has_gpu = std::ranges::any_of(part.devices, [](const auto& d) { return d.gres == "gpu"; });
  std::vector<std::string> of_node = source.of_node;
  of_node.push_back(source.token);  // there, it also replaces that of a job from which this one was submitted
  plan.environment = job_environment({.launch = launch,
                                      .user_name = source.identity.name,
                                      .vendor = has_gpu ? gpu_vendor() : GpuVendor::Unknown,
                                      .step = nullptr,
                                      .of_node = std::move(of_node)},
                                     split_environment(spec.environment ? *spec.environment : std::string_view{}));

  text::PatternValues values{.job_id = launch.run.job.value,
                             .array_job = {},
                             .array_task = launch.array_task,
                             .step = "batch",
                             .job_name = spec.name,
                             .user = source.identity.name,
                             .node = short_host_name(),
                             .node_id = launch.this_part,
                             .task_id = 0};
  if (launch.array_job) values.array_job = launch.array_job.value;
  const std::string_view fallback = launch.array_task ? text::kDefaultArrayOutput : text::kDefaultOutput;
  SPUR_ASSIGN(plan.out_path, file_of(spec.std_out.empty() ? fallback : spec.std_out, plan.work_dir, values));
  if (!spec.std_err.empty()) {
    SPUR_ASSIGN(plan.err_path, file_of(spec.std_err, plan.work_dir, values));
  }
  if (!spec.std_in.empty()) {
    SPUR_ASSIGN(plan.in_path, file_of(spec.std_in, plan.work_dir, values));
  }
  return plan;
}

}  // namespace spur::stepd
