// SPDX-License-Identifier: Apache-2.0
// sacct -c and -f: jobs from the log of completed jobs (JobCompType=jobcomp/filetxt), which the controller's host has. What the
// log does not tell is empty; a job's name may have blanks (Slurm stumbles over them).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::cli {

inline constexpr std::string_view kCompletionDefault = "jobid,uid,jobname,partition,nnodes,nodelist,state,end",
                                  kCompletionLong = "jobid,uid,jobname,partition,nnodes,nodelist,state,start,end,timelimit",
                                  kCompletionBrief = "jobid,uid,state";

using CompletedJob = std::map<std::string, std::string, std::less<>>;  // "JobState" to "FAILED"

// A line of the log; empty if it is none.
CompletedJob parse_completion(std::string_view line);
// What sacct shows of it under the name of a field.
std::string completion_field(const CompletedJob& job, std::string_view field);
// All lines of the file, or of those jobs and those partitions.
Result<std::vector<CompletedJob>> read_completions(const std::string& path, const std::vector<std::uint32_t>& jobs,
                                                   const std::vector<std::string>& partitions);
// The file of slurm.conf, or nothing: no such log is kept.
Result<std::string> completion_log();

}  // namespace spur::cli
