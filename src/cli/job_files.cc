// SPDX-License-Identifier: Apache-2.0
#include "cli/job_files.h"

#include <string_view>

#include "cli/users.h"
#include "text/file_pattern.h"

namespace spur::cli {
namespace {

std::string filled_in(const model::Job& job, std::string_view pattern) {
  const model::JobSpec& spec = *job.spec;
  text::PatternValues values;
  values.job_id = job.id.value;
  if (job.array_job) values.array_job = job.array_job.value;
  values.array_task = job.array_task;
  values.step = "batch";
  values.job_name = spec.name;
  values.user = user_name(spec.uid);
  values.node = job.batch_host;
  std::string path = text::expand_pattern(pattern, values).value_or(std::string(pattern));
  if (path.empty() || path.front() == '/') return path;
  return spec.work_dir + (spec.work_dir.ends_with('/') ? "" : "/") + path;
}

}  // namespace

std::string stdout_path(const model::Job& job) {
  const std::string& pattern = job.spec->std_out;
  if (!pattern.empty()) return filled_in(job, pattern);
  return filled_in(job, job.array_job ? text::kDefaultArrayOutput : text::kDefaultOutput);
}

std::string stderr_path(const model::Job& job) {
  return job.spec->std_err.empty() ? stdout_path(job) : filled_in(job, job.spec->std_err);
}

std::string stdin_path(const model::Job& job) {
  return job.spec->std_in.empty() ? "/dev/null" : filled_in(job, job.spec->std_in);
}

}  // namespace spur::cli
