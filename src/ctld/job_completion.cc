// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_completion.h"

#include <fmt/format.h>

#include <map>

#include "model/shown_config.h"
#include "text/date.h"
#include "text/memory_size.h"
#include "text/words.h"

namespace spur::ctld {
namespace {

constexpr std::string_view kUsualFile = "/var/log/slurm_jobcomp.log";  // Slurm's

bool is_through(const model::Job& job) {
  return model::is_final(job.state) && !(job.flags & model::kCompleting);
}

std::string minutes_text(TimeLimit limit) {
  if (!limit.is_set()) return "Partition_Limit";
  return limit.is_unlimited() ? "UNLIMITED" : fmt::format("{}", limit.minutes_value());
}

// "cpu=4,mem=1G,node=2,billing=4,gres/gpu=2".
std::string held_tres(const model::Job& job) {
  if (!job.allocation) return "";
  std::uint64_t memory_mib = 0;
  std::map<std::string, std::size_t> devices;
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    memory_mib += grant.memory_mib;
    for (const model::DeviceGrant& device : grant.devices) devices["gres/" + device.gres] += device.indices.size();
  }
  std::string out = fmt::format("cpu={}", job.cpus_allocated);
  if (memory_mib > 0) out += ",mem=" + text::format_mib(memory_mib);
  out += fmt::format(",node={},billing={}", job.allocation->nodes.size(), job.cpus_allocated);
  for (const auto& [name, count] : devices) out += fmt::format(",{}={}", name, count);
  return out;
}

std::string place_text(const model::Job& job) {
  if (job.het_job) return fmt::format(" HetJobId={} HetJobOffset={}", job.het_job.value, job.het_offset);
  if (job.array_task) return fmt::format(" ArrayJobId={} ArrayTaskId={}", job.array_job.value, *job.array_task);
  return "";
}

std::string exit_text(const model::ExitStatus& exit) {
  return fmt::format("{}:{}", exit.code, exit.signal);
}

}  // namespace

std::string_view completion_file(const model::ClusterConfig& config) {
  if (!text::equal_ignoring_case(model::given_value(config, "JobCompType"), "jobcomp/filetxt")) return {};
  const std::string_view file = model::given_value(config, "JobCompLoc");
  return file.empty() ? kUsualFile : file;
}

bool has_completed(const model::Job* before, const model::Job& job) {
  return is_through(job) && !(before && is_through(*before));
}

io::ControllerHooks::Completion completion_of(const model::View& view, const model::Job& job) {
  const model::JobSpec& spec = *job.spec;
  const std::string partition = job.allocation            ? job.allocation->partition
                                : !spec.partitions.empty() ? spec.partitions.front()
                                                           : std::string();
  const std::size_t nodes = job.allocation ? job.allocation->nodes.size() : 0;
  io::ControllerHooks::Completion out{.file = std::string(completion_file(*view.config)),
                                      .job = job.id.value,
                                      .user = spec.uid,
                                      .group = spec.gid,
                                      .rest = {},
                                      .unless_there = false};
  out.rest = fmt::format(
      "Name={} JobState={} Partition={} TimeLimit={} StartTime={} EndTime={} NodeList={} NodeCnt={} ProcCnt={} "
      "WorkDir={} ReservationName={} Tres={} Account={} QOS={} WcKey={} Cluster={} SubmitTime={} EligibleTime={}{} "
      "DerivedExitCode={} ExitCode={} ",
      spec.name, model::base_name(job.state), partition, minutes_text(job.time_limit), text::format_date(job.started),
      text::format_date(job.ended), job.last_nodes.empty() ? "(null)" : job.last_nodes, nodes, job.cpus_allocated,
      spec.work_dir, spec.reservation, held_tres(job), spec.account, spec.qos, spec.wckey,
      job.association != 0 ? view.config->cluster_name : "unknown",
      text::format_date(job.submitted), text::format_date(job.eligible), place_text(job), exit_text(job.derived_exit),
      exit_text(job.exit));
  return out;
}

std::vector<io::ControllerHooks::Completion> all_completions(const model::View& view) {
  std::vector<io::ControllerHooks::Completion> out;
  if (completion_file(*view.config).empty()) return out;
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (!is_through(*job)) return;
    out.push_back(completion_of(view, *job));
    out.back().unless_there = true;
  });
  return out;
}

}  // namespace spur::ctld
