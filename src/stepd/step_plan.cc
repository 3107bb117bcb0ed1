// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "os/gpu_places.h"
#include "spur/v1/agent.pb.h"
#include "stepd/batch_plan.h"
#include "stepd/job_message.h"
#include "stepd/task_binding.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
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
  if (start.distributed() && start.addresses_size() > 0) {
    out.master = start.addresses(0).substr(0, start.addresses(0).rfind(':'));
    if (out.master.starts_with('[') && out.master.ends_with(']'))
      out.master = out.master.substr(1, out.master.size() - 2);
  }
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

// The share that the step manager gave the step here. It is another node's word: what the job does not have here, the
// step cannot get.
Status take_share(const v1::StepStart& start, const model::LaunchPart& part, StepLayout& layout) {
  layout.cpus = part.cpus;
  layout.devices = part.devices;
  if (!start.has_grant()) return {};
  layout.cpus.clear();
  layout.devices.clear();
  SPUR_TRY(wire::runs_from_proto(start.grant().cpus(), &layout.cpus));
  for (const auto& message : start.grant().devices())
    SPUR_TRY(wire::from_proto(message, &layout.devices.emplace_back()));
  const auto has = [&](const model::DeviceGrant& wanted, std::uint32_t index) {
    return std::ranges::any_of(part.devices, [&](const model::DeviceGrant& d) {
      return d.gres == wanted.gres && d.type == wanted.type && std::ranges::find(d.indices, index) != d.indices.end();
    });
  };
  bool ours = std::ranges::includes(part.cpus, layout.cpus);
  for (const auto& grant : layout.devices)
    for (const auto index : grant.indices) ours = ours && has(grant, index);
  if (!ours)
    return fail(ErrorCode::PermissionDenied,
                fmt::format("the step was given what the job does not have on {}", part.node));
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

// The program of a task: the step's, or, of several, the one that its rank is listed for.
Status choose_program(const v1::StepStart& start, TaskPlan& task) {
  task.arguments.assign(start.argv().begin(), start.argv().end());
  for (const auto& message : start.programs()) {
    IndexSet ranks;
    SPUR_TRY(wire::from_proto(message.ranks(), &ranks));
    if (!ranks.contains(task.rank)) continue;
    std::uint64_t place = 0;
    for (auto rank = ranks.lowest(); rank && *rank < task.rank; rank = ranks.next_after(*rank)) ++place;
    task.arguments.clear();
    for (std::string text : message.argv()) {
      for (const auto& [mark, value] : {std::pair("%t", std::uint64_t{task.rank}), std::pair("%o", place)})
        for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
          text.replace(at, 2, std::to_string(value));
      task.arguments.push_back(std::move(text));
    }
    break;
  }
  if (task.arguments.empty())
    return fail(ErrorCode::InvalidArgument, fmt::format("no program for task {}", task.rank));
  task.program = task.arguments.front();
  return {};
}

std::vector<std::uint32_t> gpus_of(const std::vector<model::DeviceGrant>& devices) {
  std::vector<std::uint32_t> out;
  for (const auto& grant : devices)
    if (grant.gres == "gpu") out.insert(out.end(), grant.indices.begin(), grant.indices.end());
  std::ranges::sort(out);
  return out;
}

// CPUs, memory and GPUs of each task.
Status bind(const v1::StepStart& start, const os::CpuMap& map, std::string_view gpu_cores, GpuVendor vendor,
            StepPlan& plan) {
  const auto cpu = text::parse_cpu_bind(start.cpu_bind());
  const auto mem = text::parse_mem_bind(start.mem_bind());
  const auto gpu = text::parse_gpu_bind(start.gpu_bind());
  if (!cpu || !mem || !gpu)
    return fail(ErrorCode::InvalidArgument, !cpu ? cpu.error() : !mem ? mem.error() : gpu.error());
  const auto tasks = static_cast<std::uint32_t>(plan.tasks.size());
  SPUR_ASSIGN(const auto bound, bind_tasks({.map = map,
                                            .cpus = plan.layout.cpus,
                                            .tasks = tasks,
                                            .cpus_per_task = std::max(1u, plan.layout.cpus_per_task),
                                            .distribution = plan.layout.distribution,
                                            .cpu = *cpu,
                                            .mem = *mem}));
  std::uint32_t per_task = 0;
  for (const auto& message : start.gres()) {
    model::GresRequest wish;
    SPUR_TRY(wire::from_proto(message, &wish));
    if (wish.name == "gpu" && wish.per == model::GresRequest::Per::Task)
      per_task += static_cast<std::uint32_t>(wish.count);
  }
  const std::vector<std::uint32_t> ours = gpus_of(plan.layout.devices);
  const auto all_near = os::decode_gpu_cpus(gpu_cores, map);
  std::vector<std::vector<std::uint32_t>> near;  // of ours
  for (const std::uint32_t index : ours)
    near.push_back(index < all_near.size() ? all_near[index] : std::vector<std::uint32_t>{});
  SPUR_ASSIGN(const auto gpus, bind_gpus(*gpu, per_task, ours, tasks, near, bound.tasks));
  for (std::uint32_t i = 0; i < tasks; ++i) {
    TaskPlan& task = plan.tasks[i];
    task.cpus = bound.tasks[i].cpus;
    task.memory_nodes = bound.tasks[i].memory_nodes;
    task.memory_preferred = mem->prefer;
    task.cpu_bind_word = bound.cpu_word;
    task.mem_bind_word = bound.mem_word;
    task.own_environment = bound.environment;
    if (!gpus.empty())
      for (auto& entry : gpu_entries(vendor, gpus[i])) task.own_environment.push_back(std::move(entry));
    if (!start.distributed()) continue;
    task.own_environment.push_back(fmt::format("RANK={}", task.told_rank));
    task.own_environment.push_back(fmt::format("LOCAL_RANK={}", task.local_id));
  }
  return {};
}

}  // namespace

Result<StepPlan> plan_step(const StepSource& source) {
  const v1::StepStart& start = source.start;
  if (start.argv_size() == 0 && start.programs_size() == 0)
    return fail(ErrorCode::InvalidArgument, "No command given to execute.");
  if (start.label() && !(start.std_out().empty() && start.std_err().empty()))
    return fail(ErrorCode::NotSupported, "labels in output files that are written on the nodes are not supported");
  StepPlan plan;
  const model::ControllerLaunch& launch = source.launch;
  plan.node = launch.parts.front().node;
  SPUR_ASSIGN(plan.layout, layout_of(start, plan.node));
  SPUR_TRY(take_share(start, launch.parts.front(), plan.layout));
  const auto& devices = plan.layout.devices;
  plan.devices = devices;
  const bool has_gpu = std::ranges::any_of(devices, [](const auto& d) { return d.gres == "gpu"; });

  const GpuVendor vendor = has_gpu ? gpu_vendor() : GpuVendor::Unknown;

  TaskPlan common;
  common.identity = source.identity;
  common.node = plan.node;
  if (!source.hooks.prolog.empty()) common.task_prologs.emplace_back(HookOf::Site, source.hooks.prolog);
  if (!start.task_prolog().empty()) common.task_prologs.emplace_back(HookOf::User, start.task_prolog());
  common.propagate_nice = source.hooks.propagate_nice;
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
                                        .vendor = vendor,
                                        .step = &told,
                                        .of_node = std::move(of_node),
                                        .preserve_size = start.preserve_environment()},
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
    SPUR_TRY(choose_program(start, task));
    SPUR_TRY(name_files(start, values, task));
    // Several tasks may share a file: the first to open it empties it.
    task.append = start.open_append() || std::ranges::any_of(plan.tasks, [&](const TaskPlan& t) {
                    return !task.out_path.empty() && t.out_path == task.out_path;
                  });
    plan.tasks.push_back(std::move(task));
  }
  SPUR_TRY(bind(start, source.cpus, source.gpu_cores, vendor, plan));
  return plan;
}

}  // namespace spur::stepd
