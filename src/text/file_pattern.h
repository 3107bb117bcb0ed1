// SPDX-License-Identifier: Apache-2.0
// --output, --error and --input patterns: "%x-%A_%4a.out". One function for the batch script's files, for srun's
// per-task files and for what scontrol shows; the caller says what is known. Opening the file is not done here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::text {

inline constexpr std::string_view kDefaultOutput = "slurm-%j.out";
inline constexpr std::string_view kDefaultArrayOutput = "slurm-%A_%a.out";

// What the letters stand for. Slurm's NO_VAL (4294967294) is shown for %a outside an array.
struct PatternValues {
  std::uint32_t job_id = 0;                 // %j; also %A outside an array
  std::optional<std::uint32_t> array_job;   // %A
  std::optional<std::uint32_t> array_task;  // %a, %b (modulo 10)
  std::string step;                         // %s, second half of %J: "0"; for "batch" and "", %J is %j alone
  std::string job_name;                     // %x
  std::string user;                         // %u
  std::string node;                         // %N: short host name
  std::uint32_t node_id = 0;                // %n: position of the node in the job
  std::uint32_t task_id = 0;                // %t: rank
};

// The name with every %letter replaced. "%4j" pads numbers with zeros to the width (10 at most); a width before text
// is ignored. "%%" is "%"; an unknown letter stays as written. A backslash anywhere in the pattern switches
// replacement off and is itself removed ("\\" stays as one). InvalidArgument for a NUL byte or a result over 4095
// bytes. A job name with '/' in it does choose the directory, as in Slurm: files are opened with the user's own
// rights.
Result<std::string> expand_pattern(std::string_view pattern, const PatternValues& values);

// Whether the pattern names another file for each task or node of a step (%t, %n, %N): then nobody may share it.
bool differs_per_task(std::string_view pattern);
bool differs_per_node(std::string_view pattern);

}  // namespace spur::text
