// SPDX-License-Identifier: Apache-2.0
#include "cli/salloc_environment.h"

#include <fmt/format.h>

#include <functional>

#include "cli/container_options.h"
#include "cli/job_environment.h"
#include "model/distribution.h"
#include "model/told_tasks.h"
#include "text/hostlist.h"
#include "text/repeat.h"

namespace spur::cli {
namespace {

using Set = std::function<void(std::string_view name, const std::string& value)>;

// Names without "SLURM_", each by the name it had before, too.
void describe(const HeldJob& held, const Set& set) {
  const model::JobSpec& spec = held.request.spec;
  const std::string nodes = text::compress_hostlist(held.ticket.nodes);
  std::vector<std::uint32_t> cpus, tasks = held.ticket.tasks_per_node;
  if (held.job.allocation)
    for (const auto& grant : held.job.allocation->nodes)
      cpus.push_back(static_cast<std::uint32_t>(grant.cpus.size()));
  for (std::size_t i = 0; i < std::min(cpus.size(), tasks.size()); ++i)
    tasks[i] = model::told_tasks(spec, cpus[i], tasks[i]);
  for (const char* name : {"JOB_ID", "JOBID"}) set(name, std::to_string(held.job.id.value));
  set("JOB_NAME", spec.name);
  for (const char* name : {"JOB_NODELIST", "NODELIST"}) set(name, nodes);
  for (const char* name : {"JOB_NUM_NODES", "NNODES"}) set(name, std::to_string(held.ticket.nodes.size()));
  set("JOB_CPUS_PER_NODE", text::repeat_text(cpus));
  set("TASKS_PER_NODE", text::repeat_text(tasks));
  if (held.job.allocation) set("JOB_PARTITION", held.job.allocation->partition);
  if (!spec.account.empty()) set("JOB_ACCOUNT", spec.account);
  if (!spec.qos.empty()) set("JOB_QOS", spec.qos);
  if (spec.tasks || spec.tasks_per_node > 0)
    for (const char* name : {"NTASKS", "NPROCS"}) set(name, std::to_string(model::task_count(spec)));
  if (spec.tasks_per_node > 0) set("NTASKS_PER_NODE", std::to_string(spec.tasks_per_node));
  if (spec.cpus_per_task_given) set("CPUS_PER_TASK", std::to_string(spec.cpus_per_task));
  if (spec.memory_per_node_mib) set("MEM_PER_NODE", std::to_string(*spec.memory_per_node_mib));
  if (spec.memory_per_cpu_mib) set("MEM_PER_CPU", std::to_string(*spec.memory_per_cpu_mib));
  if (spec.overcommit) set("OVERCOMMIT", "1");
  constexpr std::size_t kPrefix = 6;  // "SLURM_"
  for (const auto& [name, value] : told_of_layout(spec)) set(std::string_view(name).substr(kPrefix), value);
  if (const std::string how = model::distribution_text(spec.distribution); !how.empty()) set("DISTRIBUTION", how);
}

}  // namespace

std::vector<std::string> allocation_environment(const Context& context, const std::vector<HeldJob>& held,
                                                std::string_view cluster) {
  std::vector<std::string> out;
  for (const char* const* entry = context.environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!describes_a_job(text.substr(0, text.find('=')))) out.emplace_back(text);
  }
  const auto put = [&](std::string_view name, std::string_view value) {
    out.push_back(fmt::format("SLURM_{}={}", name, value));
  };
  const HeldJob& first = held.front();
  if (held.size() == 1) {
    describe(first, put);
  } else {
    for (const char* kind : {"HET", "PACK"}) {
      put(fmt::format("{}_SIZE", kind), std::to_string(held.size()));
      for (std::size_t i = 0; i < held.size(); ++i)
        describe(held[i], [&](std::string_view name, const std::string& value) {
          put(fmt::format("{}_{}_GROUP_{}", name, kind, i), value);
        });
    }
    for (const char* name : {"JOB_ID", "JOBID"}) put(name, std::to_string(first.job.id.value));
    // Of the first component, as in a batch script: srun without --het-group runs there. (Slurm's salloc tells the
    // sum.)
    for (const char* name : {"NTASKS", "NPROCS"}) put(name, std::to_string(model::task_count(first.request.spec)));
  }
  if (!cluster.empty()) put("CLUSTER_NAME", cluster);
  put("SUBMIT_DIR", first.request.directory);
  put("SUBMIT_HOST", first.request.spec.submit_host);
  for (auto& entry : container_variables(first.request.spec.container)) out.push_back(std::move(entry));
  return out;
}

}  // namespace spur::cli
