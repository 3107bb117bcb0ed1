// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "spur/v1/agent.pb.h"
#include "stepd/batch_plan.h"
#include "stepd/job_message.h"
#include "wire/spec_codec.h"

namespace spur::stepd {
namespace {

constexpr std::uint32_t kMaxTasksHere = 65536;

Result<StepLayout> layout_of(const v1::StepStart& start, const std::string& node) {
  StepLayout out;
  out.step = start.step();
  out.task_count = start.ntasks();
  out.nodes.assign(start.nodes().begin(), start.nodes().end());
  out.tasks_per_node.assign(start.tasks_per_node().begin(), start.tasks_per_node().end());
  const auto it = std::ranges::find(out.nodes, node);
  if (it == out.nodes.end() || out.nodes.size() != out.tasks_per_node.size())
    return fail(ErrorCode::InvalidNode, fmt::format("the step has no task on node {}", node));
  out.node_id = static_cast<std::uint32_t>(it - out.nodes.begin());
  out.first_rank = start.first_rank();
  out.ranks.assign(start.ranks().begin(), start.ranks().end());
  SPUR_TRY(wire::from_proto(start.distribution(), &out.distribution));
  out.cpus_per_task = start.cpus_per_task();
  const std::uint32_t here = out.tasks_per_node[out.node_id];
  if (here == 0 || here > kMaxTasksHere || out.first_rank > out.task_count || here > out.task_count - out.first_rank)
    return fail(ErrorCode::TooManyTasks,
                fmt::format("{} tasks from rank {} of {} cannot be", here, out.first_rank, out.task_count));
  if (!out.ranks.empty() &&
      (out.ranks.size() != here || !std::ranges::is_sorted(out.ranks) || out.ranks.back() >= out.task_count))
    return fail(ErrorCode::InvalidArgument, fmt::format("the ranks of {} tasks cannot be", here));
  return out;
}

// What the tasks are told: of steps of a heterogeneous job that run as one, the whole.
Result<StepLayout> told_layout(const v1::StepStart& start, const StepLayout& own) {
  if (!start.has_het()) return own;
  const v1::HetStep& het = start.het();
  StepLayout out = own;
  out.het_job = JobId(het.job());
  out.task_count = het.ntasks();
  out.nodes.assign(het.nodes().begin(), het.nodes().end());
  out.tasks_per_node.assign(het.tasks_per_node().begin(), het.tasks_per_node().end());
  out.node_id = own.node_id + het.first_node();
  out.first_rank = own.first_rank + het.first_rank();
  const bool fits = out.nodes.size() == out.tasks_per_node.size() && out.node_id < out.nodes.size() &&
                    out.nodes[out.node_id] == own.nodes[own.node_id] &&
                    out.tasks_per_node[out.node_id] == own.tasks_per_node[own.node_id];
  if (!fits) return fail(ErrorCode::InvalidArgument, "a step does not fit into the heterogeneous one it is part of");
  return out;
}

// A step may ask for fewer GPUs than the job has here: it sees the first ones.
Status narrow_devices(const v1::StepStart& start, model::LaunchPart& part) {
  for (const auto& message : start.gres()) {
    model::GresRequest wanted;
    SPUR_TRY(wire::from_proto(message, &wanted));
    if (wanted.per != model::GresRequest::Per::Node) continue;  // counted over the step by whoever laid it out
    std::uint64_t left = wanted.count;
    for (auto& grant : part.devices) {
      if (grant.gres != wanted.name || (!wanted.type.empty() && grant.type != wanted.type)) continue;
      const auto take = std::min<std::uint64_t>(left, grant.indices.size());
      grant.indices.resize(static_cast<std::size_t>(take));
      left -= take;
    }
    if (left > 0)
      return fail(ErrorCode::InvalidGres,
                  fmt::format("the job has fewer than {} {} on node {}", wanted.count, wanted.name, part.node));
  }
  return {};
}

Status name_files(const v1::StepStart& start, const text::PatternValues& values, TaskPlan& task) {
  if (!start.std_in().empty()) {
    SPUR_ASSIGN(task.in_path, file_of(start.std_in(), task.work_dir, values));
  } else {
    task.in_path.clear();
  }
  if (!start.std_out().empty()) {
    SPUR_ASSIGN(task.out_path, file_of(start.std_out(), task.work_dir, values));
  }
  if (!start.std_err().empty()) {
    SPUR_ASSIGN(task.err_path, file_of(start.std_err(), task.work_dir, values));
  }
  return {};
}

}  // namespace

Result<StepPlan> plan_step(const StepSource& source) {
  const v1::StepStart& start = source.start;
  if (start.argv_size() == 0) return fail(ErrorCode::InvalidArgument, "No command given to execute.");
  if (start.label() && !(start.std_out().empty() && start.std_err().empty()))
    return fail(ErrorCode::NotSupported, "labels in output files that are written on the nodes are not supported");
  StepPlan plan;
  model::ControllerLaunch launch = source.launch;
  plan.node = launch.parts.front().node;
  SPUR_ASSIGN(plan.layout, layout_of(start, plan.node));
  SPUR_TRY(narrow_devices(start, launch.parts.front()));
  const auto& devices = launch.parts.front().devices;
  plan.devices = devices;
  const bool has_gpu = std::ranges::any_of(devices, [](const auto& d) { return d.gres == "gpu"; });

  TaskPlan common;
  common.identity = source.identity;
  common.program = start.argv(0);
  common.arguments.assign(start.argv().begin(), start.argv().end());
  common.work_dir = start.cwd().empty() ? launch.spec->work_dir : start.cwd();
  common.umask = start.umask() >= 0 ? static_cast<std::uint32_t>(start.umask()) : launch.spec->umask;
  common.message_prefix = message_prefix(plan.node);
  plan.layout.umask = common.umask;
  for (const auto& message : start.rlimits()) SPUR_TRY(wire::from_proto(message, &common.rlimits.emplace_back()));
  SPUR_ASSIGN(const StepLayout told, told_layout(start, plan.layout));
  std::vector<std::string> of_node = source.of_node;
  of_node.push_back(source.token);
  common.environment = job_environment({.launch = launch,
                                        .user_name = source.identity.name,
                                        .vendor = has_gpu ? gpu_vendor() : GpuVendor::Unknown,
                                        .step = &told,
                                        .of_node = std::move(of_node)},
                                       {start.env().begin(), start.env().end()});

  text::PatternValues values{.job_id = launch.run.job.value,
                             .array_job = {},
                             .array_task = launch.array_task,
                             .step = std::to_string(start.step()),
                             .job_name = launch.spec->name,
                             .user = source.identity.name,
                             .node = short_host_name(),
                             .node_id = plan.layout.node_id,
                             .task_id = 0};
  if (launch.array_job) values.array_job = launch.array_job.value;
  for (std::uint32_t i = 0; i < plan.layout.tasks_per_node[plan.layout.node_id]; ++i) {
    TaskPlan task = common;
    task.local_id = i;
    task.rank = plan.layout.rank(i);
    task.told_rank = values.task_id = told.first_rank - plan.layout.first_rank + task.rank;
    SPUR_TRY(name_files(start, values, task));
    // Several tasks may share a file: the first to open it empties it.
    task.append = std::ranges::any_of(
        plan.tasks, [&](const TaskPlan& t) { return !task.out_path.empty() && t.out_path == task.out_path; });
    plan.tasks.push_back(std::move(task));
  }
  return plan;
}

}  // namespace spur::stepd
