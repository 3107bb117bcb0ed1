// SPDX-License-Identifier: Apache-2.0
// What is replayed: jobs with the time they come, what they ask for and how long they really run; and the machine
// they run on. Made from a trace by make_workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "replay/swf.h"

namespace spur::replay {

struct ReplayJob {
  std::int64_t trace_id = 0;
  Time submit;
  seconds run{0};    // as long as it runs; never longer than its limit
  seconds limit{0};  // what it asked for
  std::uint32_t processors = 1;
  std::int32_t user = -1, partition = -1;  // the trace's numbers; -1: not known
};

// Equal nodes. A pool of processors that nothing else is known of is as few nodes as can hold it (`pool`); jobs may
// spread over them as they like.
struct Machine {
  std::uint32_t nodes = 1, cpus_per_node = 1;
  std::uint32_t processors = 1;  // in all; the last node of a pool may have fewer than the others
  bool pool = true;
};

struct WorkloadOptions {
  std::optional<std::uint32_t> processors;            // --procs: instead of the trace's MaxProcs
  std::optional<std::uint32_t> nodes, cpus_per_node;  // real nodes
  std::optional<std::size_t> limit;                   // only the first jobs
};

struct Workload {
  std::string name;
  Machine machine;
  std::vector<ReplayJob> jobs;  // in order of submission
  // Left out: jobs that never ran or have no size, and those wider than the machine.
  std::size_t without_run = 0, too_wide = 0;
  std::size_t broken_lines = 0, first_broken = 0;
};

Result<Workload> make_workload(const SwfTrace& trace, const WorkloadOptions& options);

// The machine of these options, for --add-nodes too.
Result<Machine> make_machine(const SwfTrace& trace, const WorkloadOptions& options);

}  // namespace spur::replay
