// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_broadcast.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/broadcast.h"
#include "text/words.h"

namespace spur::cli {
namespace {

bool executable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// As the shell would find it here. Empty: nowhere.
std::string find_program(const Context& context, const std::string& directory, const std::string& name) {
  if (name.find('/') != std::string::npos) {
    const std::string path = name.starts_with('/') ? name : directory + "/" + name;
    return executable(path) ? path : std::string{};
  }
  for (const auto folder : text::split(context.env("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    const std::string path = fmt::format("{}/{}", folder.empty() ? std::string_view(directory) : folder, name);
    if (executable(path)) return path;
  }
  return {};
}

// A directory, named with a slash at its end, or none: a name of ours, which no other srun uses at the same time.
std::string destination(const JobRequest& request, JobId job) {
  std::string directory = request.spec.work_dir.empty() ? request.directory : request.spec.work_dir;
  if (!request.bcast_directory.empty()) directory = request.bcast_directory;
  std::string path = *request.bcast;
  if (!path.starts_with('/')) path = directory + "/" + path;
  if (path.ends_with('/')) path += fmt::format("slurm_bcast_{}.{}", job.value, ::getpid());
  return path;
}

}  // namespace

int broadcast_program(Context& context, Controller& controller, const JobRequest& request, JobId job,
                      const wire::FilePlace& place, std::vector<std::string>& program) {
  const std::string source = find_program(context, request.directory, program.front());
  if (source.empty()) {
    context.fatal("Can not execute {}", program.front());
    return 1;
  }
  Broadcast what{.source = source,
                 .destination = destination(request, job),
                 .compress = request.bcast_compress.value_or(false),
                 .replace = true,
                 .preserve = true,
                 .send_libs = request.send_libs.value_or(false)};
  if (request.bcast_exclude) what.exclude = *request.bcast_exclude;
  if (broadcast(context, controller, what, {place}) != 0) {
    context.fatal("Failed to broadcast '{}'. Step launch aborted.", source);
    return 1;
  }
  program.front() = what.destination;
  return 0;
}

}  // namespace spur::cli
