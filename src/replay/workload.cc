// SPDX-License-Identifier: Apache-2.0
#include "replay/workload.h"

#include <algorithm>
#include <limits>

namespace spur::replay {
namespace {

constexpr std::uint32_t kMostCpus = 65'535, kMostOfPool = 1u << 22;
constexpr std::uint32_t kMostNodes = 1'000'000;

Machine pool_of(std::uint32_t processors) {
  Machine machine;
  machine.processors = processors;
  machine.nodes = (processors + kMostOfPool - 1) / kMostOfPool;
  machine.cpus_per_node = (processors + machine.nodes - 1) / machine.nodes;
  return machine;
}

}  // namespace

Result<Machine> make_machine(const SwfTrace& trace, const WorkloadOptions& options) {
  if (options.nodes.has_value() != options.cpus_per_node.has_value())
    return fail(ErrorCode::InvalidArgument, "--nodes and --cpus-per-node go together");
  if (options.nodes) {
    if (*options.nodes == 0 || *options.nodes > kMostNodes)
      return fail(ErrorCode::InvalidArgument, "--nodes must be between 1 and 1000000");
    if (*options.cpus_per_node == 0 || *options.cpus_per_node > kMostCpus)
      return fail(ErrorCode::InvalidArgument, "--cpus-per-node must be between 1 and 65535");
    const std::uint64_t all = std::uint64_t{*options.nodes} * *options.cpus_per_node;
    if (all > std::numeric_limits<std::uint32_t>::max() / 2)
      return fail(ErrorCode::InvalidArgument, "more processors than can be counted");
    return Machine{*options.nodes, *options.cpus_per_node, static_cast<std::uint32_t>(all), false};
  }
  const std::int64_t processors = options.processors ? *options.processors : trace.max_processors.value_or(0);
  if (processors <= 0)
    return fail(ErrorCode::InvalidArgument, "the trace does not say how large the machine is; --procs does");
  if (processors > std::int64_t{kMostCpus} * kMostNodes / 100)
    return fail(ErrorCode::InvalidArgument, "more processors than can be counted");
  return pool_of(static_cast<std::uint32_t>(processors));
}

Result<Workload> make_workload(const SwfTrace& trace, const WorkloadOptions& options) {
  Workload workload;
  SPUR_ASSIGN(workload.machine, make_machine(trace, options));
  workload.name = trace.computer;
  workload.broken_lines = trace.broken_lines;
  workload.first_broken = trace.first_broken;
  // A Time of zero would read as "not set"; nobody minds a trace that begins a day into 1970.
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t begin = std::max(trace.unix_start.value_or(0), kDay);
  for (const SwfJob& job : trace.jobs) {
    const std::int64_t limit = job.requested > 0 ? job.requested : job.run;
    const std::int64_t run = std::min(job.run, limit);
    if (run <= 0 || job.processors <= 0) {
      ++workload.without_run;
    } else if (job.processors > workload.machine.processors) {
      ++workload.too_wide;
    } else {
      workload.jobs.push_back({job.id, from_unix_seconds(begin + job.submit), seconds(run), seconds(limit),
                               static_cast<std::uint32_t>(job.processors), job.user, job.partition});
    }
  }
  std::ranges::stable_sort(workload.jobs, {}, &ReplayJob::submit);
  if (options.limit && workload.jobs.size() > *options.limit) workload.jobs.resize(*options.limit);
  return workload;
}

}  // namespace spur::replay
