// SPDX-License-Identifier: Apache-2.0
// The lines that the step daemon writes into a job's own error output, in Slurm's words: programs look for them
// there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "model/job_state.h"

namespace spur::stepd {

// "slurmstepd: error: " for batch scripts; tasks of steps on several nodes share one terminal, so there the node is
// named: "slurmstepd-n1: error: ".
std::string message_prefix(std::string_view node_of_step = {});

// "*** JOB 12 ON n1 CANCELLED AT 2026-11-15T18:19:46 DUE TO TIME LIMIT ***", without prefix and newline. `what` is
// "JOB 12" or "STEP 12.0"; the time is shown in the zone of the node.
std::string end_message(std::string_view what, std::string_view node, Time at, model::JobState why);

// What is said of a step ("12.0", "12.batch") of which the kernel killed processes for want of memory.
std::string oom_message(std::uint64_t kills, std::string_view step);

// What a program that could not be executed leaves in its error output: "execve(): /x: No such file or directory",
// or, where the script is there and its interpreter is not, "execve(): bad interpreter(/nonexistent/sh): No such file
// or directory".
std::string exec_message(const std::string& program, int error);

}  // namespace spur::stepd
