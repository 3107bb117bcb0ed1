// SPDX-License-Identifier: Apache-2.0
#include "cli/job_environment.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "base/check.h"
#include "cli/job_option_values.h"
#include "cli/login_environment.h"
#include "cli/read_file.h"
#include "text/decimal.h"
#include "text/export_spec.h"

namespace spur::cli {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string_view full(name.data());
  return std::string(full.substr(0, full.find('.')));
}

std::string_view name_of_entry(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// Replaces the variable or adds it.
void set_variable(std::vector<std::string>& entries, std::string_view name, std::string_view value) {
  std::string entry = fmt::format("{}={}", name, value);
  const auto found =
      std::ranges::find_if(entries, [&](const std::string& known) { return name_of_entry(known) == name; });
  if (found != entries.end()) {
    *found = std::move(entry);
  } else {
    entries.push_back(std::move(entry));
  }
}

// --export-file: entries ended by NUL bytes, from a file or an open descriptor (a number above 2).
OptionStatus merge_file(std::vector<std::string>& entries, const std::string& source) {
  const auto descriptor = text::parse_decimal32(source);
  const auto content =
      descriptor && *descriptor > 2 ? read_descriptor(static_cast<int>(*descriptor)) : read_file(source);
  if (!content) return bad_option(fmt::format("Could not open user environment file {}", source), 1);
  for (const std::string& entry : text::split_environment(*content)) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    set_variable(entries, std::string_view(entry).substr(0, equals), std::string_view(entry).substr(equals + 1));
  }
  return {};
}

}  // namespace

bool describes_a_job(std::string_view name) {
  if (name.starts_with("SLURMD_") || name.starts_with("SPUR_JOB_") || name.starts_with("SPUR_STEP_") ||
      name.starts_with("SPUR_ARRAY_") || name == "SPUR_TICKET_SOCKET" || name == "SPUR_NODE_AUTH_SOCKET")
    return true;
  if (!name.starts_with("SLURM_")) return false;
  name.remove_prefix(6);
  // SLURM_JOB_NAME and its like also steer srun; inside a new job they are set anew.
  static constexpr std::string_view kExact[] = {"JOBID",
                                                "NODELIST",
                                                "NNODES",
                                                "NTASKS",
                                                "NPROCS",
                                                "TASKS_PER_NODE",
                                                "PROCID",
                                                "LOCALID",
                                                "NODEID",
                                                "GTIDS",
                                                "TASK_PID",
                                                "LAUNCH_NODE_IPADDR",
                                                "SRUN_COMM_HOST",
                                                "SRUN_COMM_PORT",
                                                "UMASK",
                                                "PRIO_PROCESS",
                                                "RESTART_COUNT",
                                                "NODE_ALIASES",
                                                "CLUSTER_NAME",
                                                "WORKING_CLUSTER",
                                                "SUBMIT_DIR",
                                                "SUBMIT_HOST",
                                                "DISTRIBUTION",
                                                "TOPOLOGY_ADDR",
                                                "TOPOLOGY_ADDR_PATTERN",
                                                "CPUS_PER_TASK",
                                                "TRES_PER_TASK",
                                                "GPUS",
                                                "OVERCOMMIT",
                                                "HINT",
                                                "GET_USER_ENV",
                                                "EXPORT_ENV",
                                                "THREADS_PER_CORE",
                                                "NPROCS_PER_NODE",
                                                "SCRIPT_CONTEXT",
                                                "DIST_PLANESIZE",
                                                "DIST_LLLP",
                                                "OOM_KILL_STEP"};
  if (std::ranges::find(kExact, name) != std::end(kExact)) return true;
  static constexpr std::string_view kPrefixes[] = {"JOB_",     "ARRAY_",   "STEP",      "NTASKS_PER_",
                                                   "CPUS_ON_", "MEM_PER_", "GPUS_",     "CPU_BIND",
                                                   "MEM_BIND", "HET_",     "CPUS_PER_", "SHARDS_"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

namespace {

void set_entry(std::vector<std::string>& entries, const std::string& entry) {
  const std::string_view name = name_of_entry(entry);
  std::erase_if(entries, [&](const std::string& old) { return name_of_entry(old) == name; });
  entries.push_back(entry);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> wish_variables(const JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  std::vector<std::pair<std::string, std::string>> out;
  const auto number = [&](const char* name, std::uint64_t value) {
    if (value > 0) out.emplace_back(name, fmt::format("{}", value));
  };
  const auto words = [&](const char* name, std::string_view value) {
    if (!value.empty()) out.emplace_back(name, std::string(value));
  };
  const auto gpus = [&](const char* name, const std::vector<model::GresRequest>& wishes) {
    std::string text;
    for (const auto& wish : wishes)
      text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", wish.type, wish.type.empty() ? "" : ":", wish.count);
    words(name, text);
  };
  static constexpr std::string_view kHints[] = {"", "compute_bound", "memory_bound", "multithread", "nomultithread"};
  const bool one_thread = spec.hint != model::Hint::None && spec.hint != model::Hint::Multithread;
  number("SLURM_NTASKS_PER_CORE", spec.tasks_per_core);
  number("SLURM_NTASKS_PER_SOCKET", spec.tasks_per_socket);
  number("SLURM_NTASKS_PER_GPU", spec.tasks_per_gpu);
  words("SLURM_HINT", kHints[static_cast<std::size_t>(spec.hint)]);
  number("SLURM_THREADS_PER_CORE", one_thread ? 1 : spec.threads_per_core);
  number("SLURM_CPUS_PER_GPU", spec.cpus_per_gpu);
  if (spec.memory_per_gpu_mib) out.emplace_back("SLURM_MEM_PER_GPU", fmt::format("{}", *spec.memory_per_gpu_mib));
  gpus("SLURM_GPUS", request.gpus);
  gpus("SLURM_GPUS_PER_NODE", request.gpus_per_node);
  gpus("SLURM_GPUS_PER_TASK", request.gpus_per_task);
  gpus("SLURM_GPUS_PER_SOCKET", request.gpus_per_socket);
  words("SLURM_GPU_BIND", spec.gpu_bind);
  words("SLURM_GPU_FREQ", spec.gpu_freq);
  return out;
}

OptionStatus capture_environment(Context& context, JobRequest& request) {
  std::vector<std::string> own;
  for (const char* const* entry = context.environment; entry != nullptr && *entry != nullptr; ++entry)
    if (!describes_a_job(name_of_entry(*entry))) own.emplace_back(*entry);

  // A file takes the place of what is around us, unless something is asked for beside it.
  auto wanted = text::parse_export(request.exported.value_or(request.export_file ? "NIL" : "ALL"));
  if (!wanted) return bad_option(wanted.error().message, 1);
  std::vector<std::string> entries = text::apply_export(*wanted, own);
  const bool by_export = wanted->wants_login_environment && !wanted->all && !request.export_file;
  if (request.login_environment || by_export) {
    constexpr seconds kUsual{8};
    seconds limit = request.login_environment.value_or(seconds(0));
    if (limit == seconds(0)) limit = context.defaults().login_environment;
    const Uid user = request.run_as.value_or(Uid(::geteuid()));
    auto login = login_environment(user, limit > seconds(0) ? limit : kUsual);
    if (!login && request.login_environment) return bad_option(login.error().message, 1);
    if (!login) login = bare_environment(user);  // whose shell lets nobody log in
    // What the login does not set stays, as far as it is the job's own: Slurm's variables and what --export names.
    for (const std::string& entry : entries)
      if (request.exported || name_of_entry(entry).starts_with("SLURM_") ||
          name_of_entry(entry).starts_with("SBATCH_"))
        set_entry(*login, entry);
    entries = *std::move(login);
    set_variable(entries, "SLURM_GET_USER_ENV", "1");
  }
  if (request.export_file) {
    if (auto merged = merge_file(entries, *request.export_file); !merged) return merged;
  }
  // As sbatch of Slurm does: the node completes the environment with the user's own.
  for (const auto& [name, value] : wish_variables(request)) set_variable(entries, name, value);
  if (request.mem_bind) set_variable(entries, "SLURM_MEM_BIND", *request.mem_bind);
  if (wanted->wants_login_environment) set_variable(entries, "SLURM_GET_USER_ENV", "1");
  if (request.exported) set_variable(entries, "SLURM_EXPORT_ENV", *request.exported);
  set_variable(entries, "SLURM_SUBMIT_DIR", request.directory);
  set_variable(entries, "SLURM_SUBMIT_HOST", host_name());
  set_variable(entries, "SLURM_PRIO_PROCESS", fmt::format("{}", ::getpriority(PRIO_PROCESS, 0)));
  set_variable(entries, "SLURM_UMASK", fmt::format("{:04o}", request.spec.umask));
  request.spec.environment = std::make_shared<const std::string>(text::join_environment(entries));
  return {};
}

OptionStatus capture_process(Context& context, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  const mode_t mask = ::umask(022);  // can only be read by setting it
  ::umask(mask);
  spec.umask = mask;
  if (request.propagate) {
    auto limits = resource_limits(*request.propagate);
    if (!limits) return std::unexpected(limits.error());
    spec.rlimits = *std::move(limits);
  } else {
    spec.rlimits = resource_limits(context.defaults());
  }
  spec.submit_host = host_name();
  spec.session_id = static_cast<std::uint32_t>(std::max(::getsid(0), 0));
  spec.uid = request.run_as.value_or(Uid(::geteuid()));
  spec.gid = request.run_as_group.value_or(Gid(::getegid()));
  spec.submit_line = context.program;
  for (const std::string& argument : context.arguments) spec.submit_line.append(" ").append(argument);
  return {};
}

std::string make_token() {
  std::array<unsigned char, 16> bytes;
  SPUR_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string token;
  for (const unsigned char byte : bytes) token.append(fmt::format("{:02x}", byte));
  return token;
}

std::string current_directory() {
  std::array<char, PATH_MAX> path;
  return ::getcwd(path.data(), path.size()) != nullptr ? std::string(path.data()) : "/";
}

}  // namespace spur::cli
