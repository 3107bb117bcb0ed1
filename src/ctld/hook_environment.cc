// SPDX-License-Identifier: Apache-2.0
#include "ctld/hook_environment.h"

#include <fmt/format.h>

#include <optional>

#include "text/file_pattern.h"
#include "text/hostlist.h"
#include "text/repeat.h"

namespace spur::ctld {
namespace {

constexpr std::string_view kNone = "(null)";  // as Slurm writes what is not there

class Variables {
 public:
  void set(std::string_view name, const auto& value) { out.push_back(fmt::format("{}={}", name, value)); }
  std::vector<std::string> out;
};

void set_nodes(Variables& to, const model::View& view, const model::Job& job) {
  std::string nodes = job.last_nodes;
  std::vector<std::uint32_t> cpus;
  if (job.allocation) {
    std::vector<std::string> names;
    for (const auto& grant : job.allocation->nodes) {
      cpus.push_back(static_cast<std::uint32_t>(grant.cpus.size()));
      if (const auto* node = view.nodes.find(grant.node.value)) names.push_back((*node)->name);
    }
    if (nodes.empty()) nodes = text::compress_hostlist(names);
  }
  to.set("SLURM_JOB_PARTITION", job.allocation                  ? job.allocation->partition
                                : job.spec->partitions.empty() ? std::string()
                                                               : job.spec->partitions.front());
  to.set("SLURM_JOB_NODELIST", nodes.empty() ? kNone : nodes);
  if (cpus.empty()) return;
  to.set("SLURM_JOB_CPUS_PER_NODE", text::repeat_text(cpus));
  to.set("SLURM_JOB_NUM_NODES", cpus.size());
}

void set_files(Variables& to, const model::Job& job) {
  const model::JobSpec& spec = *job.spec;
  to.set("SLURM_JOB_WORK_DIR", spec.work_dir);
  if (spec.kind != model::JobKind::Batch) return;
  text::PatternValues values{.job_id = job.id.value,
                             .array_job = {},
                             .array_task = job.array_task,
                             .step = "batch",
                             .job_name = spec.name,
                             .user = "%u",  // whose name is not known here
                             .node = "%N",
                             .node_id = 0,
                             .task_id = 0};
  if (job.array_job) values.array_job = job.array_job.value;
  const auto path = [&](std::string_view pattern) {
    std::string name = text::expand_pattern(pattern, values).value_or(std::string(pattern));
    return name.starts_with('/') ? name : spec.work_dir + "/" + name;
  };
  to.set("SLURM_JOB_STDIN", spec.std_in.empty() ? "/dev/null" : path(spec.std_in));
  const auto fallback = job.array_job ? text::kDefaultArrayOutput : text::kDefaultOutput;
  to.set("SLURM_JOB_STDOUT", path(spec.std_out.empty() ? fallback : spec.std_out));
  if (!spec.std_err.empty()) to.set("SLURM_JOB_STDERR", path(spec.std_err));
}

void set_array(Variables& to, const model::Job& job) {
  if (!job.array_job) return;
  to.set("SLURM_ARRAY_JOB_ID", job.array_job.value);
  if (job.array_task) to.set("SLURM_ARRAY_TASK_ID", *job.array_task);
  if (!job.spec->array || job.spec->array->tasks.empty()) return;
  const IndexSet& tasks = job.spec->array->tasks;
  const std::uint32_t first = *tasks.lowest();
  const auto second = tasks.next_after(first);
  to.set("SLURM_ARRAY_TASK_COUNT", tasks.size());
  to.set("SLURM_ARRAY_TASK_MAX", *tasks.highest());
  to.set("SLURM_ARRAY_TASK_MIN", first);
  to.set("SLURM_ARRAY_TASK_STEP", second ? *second - first : 1);
}

}  // namespace

std::vector<std::string> job_variables(const model::View& view, const model::Job& job, bool ended) {
  Variables to;
  const model::JobSpec& spec = *job.spec;
  to.set("SLURM_CLUSTER_NAME", view.config->cluster_name);
  to.set("SLURM_JOB_ID", job.id.value);
  to.set("SLURM_JOBID", job.id.value);
  to.set("SLURM_JOB_NAME", spec.name);
  to.set("SLURM_JOB_UID", spec.uid.value);
  to.set("SLURM_JOB_GID", spec.gid.value);
  to.set("SLURM_JOB_ACCOUNT", spec.account.empty() ? kNone : spec.account);
  if (!spec.comment.empty()) to.set("SLURM_JOB_COMMENT", spec.comment);
  if (!spec.features.empty()) to.set("SLURM_JOB_CONSTRAINTS", spec.features);
  to.set("SLURM_JOB_RESTART_COUNT", job.restarts);
  set_nodes(to, view, job);
  set_files(to, job);
  set_array(to, job);
  if (ended) {
    to.set("SLURM_JOB_EXIT_CODE", job.exit.code << 8 | job.exit.signal);
    to.set("SLURM_JOB_EXIT_CODE2", fmt::format("{}:{}", job.exit.code, job.exit.signal));
    to.set("SLURM_JOB_DERIVED_EC", job.derived_exit.code << 8 | job.derived_exit.signal);
  }
  return std::move(to.out);
}

std::vector<std::string> hook_environment(const model::View& view, const model::Job& job, bool epilog) {
  auto out = job_variables(view, job, epilog);
  out.push_back(epilog ? "SLURM_SCRIPT_CONTEXT=epilog_slurmctld" : "SLURM_SCRIPT_CONTEXT=prolog_slurmctld");
  out.push_back(fmt::format("SLURM_RESTART_COUNT={}", job.restarts));
  return out;
}

}  // namespace spur::ctld
