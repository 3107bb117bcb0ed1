// SPDX-License-Identifier: Apache-2.0
#include "cli/job_option_setters.h"

#include <algorithm>
#include <csignal>
#include <limits>

#include "cli/job_option_values.h"
#include "cli/job_target.h"
#include "cli/users.h"
#include "model/distribution.h"
#include "text/array_spec.h"
#include "text/bind_spec.h"
#include "text/decimal.h"
#include "text/mail_type.h"
#include "text/memory_size.h"
#include "text/signal_name.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli::job_setters {
namespace {

using Request = JobRequest;
using Value = std::string_view;
using Per = model::GresRequest::Per;

// Assigns a parsed value, or hands the refusal on.
template <class To, class From>
OptionStatus take(To& to, OptionValue<From> value) {
  if (!value) return std::unexpected(std::move(value).error());
  to = *std::move(value);
  return {};
}

OptionStatus unsupported(Value option) {
  return bad_option(fmt::format("{} is not supported yet", option), 1);
}

OptionStatus exclusive_memory(Request& r) {
  if (r.mem_given + r.mem_per_cpu_given + r.mem_per_gpu_given < 2) return {};
  return std::unexpected(BadOption{"--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.", 1, {}, true});
}

OptionStatus specialize(Request& r, std::uint32_t count, bool threads) {
  if (r.core_spec_given && r.thread_spec_given)
    return std::unexpected(BadOption{
        "-S/--core-spec and --thred-spec options are mutually exclusive", 1, {}, true});  // Slurm's spelling
  r.spec.core_spec = count;
  r.spec.core_spec_is_threads = threads;
  return {};
}

OptionStatus set_limit(TimeLimit& limit, Value v, Value option) {
  const auto parsed = text::parse_time_limit(v);
  if (!parsed) return invalid_specification(option);
  // A limit of zero asks for none at all.
  limit = parsed->is_finite() && parsed->minutes_value() == 0 ? TimeLimit::unlimited() : *parsed;
  return {};
}

std::string file_name(Value v) {
  return text::equal_ignoring_case(v, "none") ? "/dev/null" : std::string(v);
}

}  // namespace

OptionStatus set_array(Request& r, Value v) {
  return take(r.spec.array, array_request(v));
}
OptionStatus set_begin(Request& r, Value v) {
  return take(r.spec.begin, point_in_time(v, "begin", r.now));
}
OptionStatus set_deadline(Request& r, Value v) {
  return take(r.spec.deadline, point_in_time(v, "deadline", r.now));
}
OptionStatus set_dependency(Request& r, Value v) {
  return set_dependencies(r.spec, v);
}
OptionStatus set_gres(Request& r, Value v) {
  r.gres_given = true;
  r.gres_help = v == "help" || v == "list";
  if (r.gres_help) return {};
  return take(r.gres, gres_request(v));
}
OptionStatus set_gpus(Request& r, Value v) {
  r.gres_given = true;
  return take(r.gpus, gpu_request(v, Per::Job));
}
OptionStatus set_gpus_per_node(Request& r, Value v) {
  r.gres_given = true;
  return take(r.gpus_per_node, gpu_request(v, Per::Node));
}
OptionStatus set_gpus_per_task(Request& r, Value v) {
  r.gres_given = true;
  return take(r.gpus_per_task, gpu_request(v, Per::Task));
}
OptionStatus set_gpus_per_socket(Request& r, Value v) {
  r.gres_given = true;
  return take(r.gpus_per_socket, gpu_request(v, Per::Socket));
}
OptionStatus set_licenses(Request& r, Value v) {
  return take(r.spec.licenses, license_request(v));
}
OptionStatus set_nodelist(Request& r, Value v) {
  return take(r.spec.required_nodes, host_list(v));
}
OptionStatus set_nodefile(Request& r, Value v) {
  auto hosts = host_file(v);
  if (!hosts) {
    BadOption bad = hosts.error();
    bad.message += "\nInvalid --nodefile node file";
    bad.exit_status = 255;
    return std::unexpected(std::move(bad));
  }
  r.spec.required_nodes = *std::move(hosts);
  return {};
}
OptionStatus set_exclude(Request& r, Value v) {
  return take(r.spec.excluded_nodes, host_list(v));
}
OptionStatus set_signal(Request& r, Value v) {
  return take(r.spec.signal, signal_request(v));
}
OptionStatus set_mincpus(Request& r, Value v) {
  return take(r.spec.min_cpus_per_node, positive_number(v, "mincpus"));
}
OptionStatus set_ntasks_per_node(Request& r, Value v) {
  return take(r.spec.tasks_per_node, positive_number(v, "ntasks-per-node"));
}

OptionStatus set_chdir(Request& r, Value v) {
  r.spec.work_dir = v.starts_with('/') ? std::string(v) : r.directory + "/" + std::string(v);
  return {};
}

OptionStatus set_job_name(Request& r, Value v) {
  r.spec.name = std::string(v);
  r.name_given = true;
  return {};
}

OptionStatus set_partition(Request& r, Value v) {
  r.spec.partitions.clear();
  for (const std::string_view name : text::split(v, ',')) {
    if (name.empty()) {
      return bad_option(fmt::format("invalid partition specified: {}\nBatch job submission failed: {}",
                                    v.empty() ? "(null)" : v, slurm_message(ErrorCode::InvalidPartition)),
                        1);
    }
    r.spec.partitions.emplace_back(name);
  }
  return {};
}

OptionStatus set_nodes(Request& r, Value v) {
  const auto count = node_count(v);
  if (!count) return std::unexpected(count.error());
  r.spec.min_nodes = count->min;
  r.spec.max_nodes = count->max;
  r.spec.nodes_given = r.nodes_given = true;
  return {};
}

OptionStatus set_ntasks(Request& r, Value v) {
  r.tasks_given = true;
  return take(r.spec.tasks, positive_number(v, "ntasks"));
}

OptionStatus set_cpus_per_task(Request& r, Value v) {
  r.spec.cpus_per_task_given = true;
  return take(r.spec.cpus_per_task, positive_number(v, "cpus-per-task"));
}

OptionStatus set_mem(Request& r, Value v) {
  const auto mib = text::parse_memory_mib(v);
  if (!mib) return invalid_specification("mem");
  r.spec.memory_per_node_mib = *mib;
  r.spec.memory_per_cpu_mib.reset();
  r.spec.memory_per_gpu_mib.reset();
  r.mem_given = true;
  return exclusive_memory(r);
}

OptionStatus set_mem_per_cpu(Request& r, Value v) {
  const auto mib = text::parse_memory_mib(v);
  if (!mib) return invalid_specification("mem-per-cpu");
  r.spec.memory_per_cpu_mib = *mib;
  r.spec.memory_per_node_mib.reset();
  r.spec.memory_per_gpu_mib.reset();
  r.mem_per_cpu_given = true;
  return exclusive_memory(r);
}

OptionStatus set_mem_per_gpu(Request& r, Value v) {
  const auto mib = text::parse_memory_mib(v);
  if (!mib) return invalid_specification("mem-per-gpu");
  r.spec.memory_per_gpu_mib = *mib;
  r.spec.memory_per_node_mib.reset();
  r.spec.memory_per_cpu_mib.reset();
  r.mem_per_gpu_given = true;
  return exclusive_memory(r);
}

OptionStatus set_cpus_per_gpu(Request& r, Value v) {
  return take(r.spec.cpus_per_gpu, positive_number(v, "cpus-per-gpu"));
}
OptionStatus set_ntasks_per_core(Request& r, Value v) {
  return take(r.spec.tasks_per_core, positive_number(v, "ntasks-per-core"));
}
OptionStatus set_ntasks_per_gpu(Request& r, Value v) {
  return take(r.spec.tasks_per_gpu, positive_number(v, "ntasks-per-gpu"));
}
OptionStatus set_ntasks_per_socket(Request& r, Value v) {
  return take(r.spec.tasks_per_socket, positive_number(v, "ntasks-per-socket"));
}
OptionStatus set_sockets_per_node(Request& r, Value v) {
  return take(r.spec.sockets_per_node, positive_number(v, "sockets-per-node"));
}
OptionStatus set_cores_per_socket(Request& r, Value v) {
  return take(r.spec.cores_per_socket, positive_number(v, "cores-per-socket"));
}
OptionStatus set_threads_per_core(Request& r, Value v) {
  return take(r.spec.threads_per_core, positive_number(v, "threads-per-core"));
}
OptionStatus set_segment(Request& r, Value v) {
  return take(r.spec.segment, positive_number(v, "segment"));
}

// "2", "2:4", "2:4:1"; '*' for any.
OptionStatus set_extra_node_info(Request& r, Value v) {
  const auto parts = text::split(v, ':');
  if (parts.empty() || parts.size() > 3) return invalid_specification("extra-node-info");
  std::uint32_t* const fields[] = {&r.spec.sockets_per_node, &r.spec.cores_per_socket, &r.spec.threads_per_core};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parts[i] == "*" ? std::optional<std::uint32_t>(0) : text::parse_decimal32(parts[i]);
    static constexpr std::string_view kNames[] = {"first", "second", "third"};
    if (!number || (*number == 0 && parts[i] != "*"))
      return bad_option(fmt::format("Invalid numeric value \"{}\" for {} arg of -B.", parts[i], kNames[i]), 1);
    *fields[i] = *number;
  }
  r.shape_given = true;
  return {};
}

// "2" or "2@10:00".
OptionStatus set_switches(Request& r, Value v) {
  const auto at = v.find('@');
  if (auto ok = take(r.spec.switches, positive_number(v.substr(0, at), "switches")); !ok) return ok;
  r.spec.switch_wait_seconds.reset();
  if (at == Value::npos) return {};
  const auto wait = text::parse_time_seconds(v.substr(at + 1));
  if (!wait || !*wait || (*wait)->count() < 0 || (*wait)->count() > std::numeric_limits<std::int32_t>::max())
    return invalid_specification("switches");
  r.spec.switch_wait_seconds = static_cast<std::uint32_t>((*wait)->count());
  return {};
}

namespace {

constexpr std::string_view kHintHelp =
    "Application hint options:\n"
    "    --hint=             Bind tasks according to application hints\n"
    "        compute_bound   use all cores in each socket\n"
    "        memory_bound    use only one core in each socket\n"
    "        [no]multithread [don't] use extra threads with in-core multi-threading\n"
    "        help            show this help message\n";
constexpr std::string_view kMemBindHelp =
    "Memory bind options:\n"
    "    --mem-bind=         Bind memory to locality domains (ldom)\n"
    "        nosort          avoid sorting pages at startup\n"
    "        sort            sort pages at startup\n"
    "        q[uiet]         quietly bind before task runs (default)\n"
    "        v[erbose]       verbosely report binding before task runs\n"
    "        no[ne]          don't bind tasks to memory (default)\n"
    "        rank            bind by task rank\n"
    "        local           bind to memory local to processor\n"
    "        map_mem:<list>  specify a memory binding for each task\n"
    "                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>\n"
    "        mask_mem:<list> specify a memory binding mask for each tasks\n"
    "                        where <list> is <mask1>,<mask2>,...<maskN>\n"
    "        help            show this help message\n";

std::unexpected<BadOption> show(std::string_view text, int exit_status) {
  return std::unexpected(
      BadOption{.message = {}, .exit_status = exit_status, .before = {}, .shown = std::string(text)});
}

}  // namespace

OptionStatus set_hint(Request& r, Value v) {
  if (v == "help") return show(kHintHelp, 1);
  if (v == "compute_bound")
    r.spec.hint = model::Hint::ComputeBound;
  else if (v == "multithread")
    r.spec.hint = model::Hint::Multithread;
  else if (v == "nomultithread")
    r.spec.hint = model::Hint::NoMultithread;
  else if (v == "memory_bound")
    r.spec.hint = model::Hint::MemoryBound;
  else
    return bad_option(fmt::format("unrecognized --hint argument \"{}\", see --hint=help", v), 1);
  return {};
}

OptionStatus set_gres_flags(Request& r, Value v) {
  r.spec.gres_flags = 0;
  for (const Value flag : text::split(v, ',')) {
    if (text::equal_ignoring_case(flag, "disable-binding"))
      r.spec.gres_flags |= model::kGresDisableBinding;
    else if (text::equal_ignoring_case(flag, "one-task-per-sharing"))
      r.spec.gres_flags |= model::kGresOneTaskPerSharing;
    else if (text::equal_ignoring_case(flag, "multiple-tasks-per-sharing"))
      r.spec.gres_flags |= model::kGresManyTasksPerSharing;
    else if (text::equal_ignoring_case(flag, "enforce-binding"))
      r.spec.gres_flags |= model::kGresEnforceBinding;
    else if (text::equal_ignoring_case(flag, "allow-task-sharing"))
      r.spec.gres_flags |= model::kGresAllowTaskSharing;
    else
      return invalid_specification("gres-flags");
  }
  const auto both = [&](std::uint32_t a, std::uint32_t b) { return (r.spec.gres_flags & (a | b)) == (a | b); };
  constexpr const char* kExclusive = "Invalid --gres-flags combo: {} and {} are mutually exclusive.";
  if (both(model::kGresEnforceBinding, model::kGresDisableBinding))
    return bad_option(fmt::format(kExclusive, "disable-binding", "enforce-binding"), 255);
  if (both(model::kGresOneTaskPerSharing, model::kGresManyTasksPerSharing))
    return bad_option(fmt::format(kExclusive, "one-task-per-sharing", "multiple-tasks-per-sharing"), 255);
  return {};
}

OptionStatus set_tmp(Request& r, Value v) {
  const auto mib = text::parse_memory_mib(v);
  if (!mib) return invalid_specification("tmp");
  r.spec.tmp_disk_mib = *mib;
  return {};
}

OptionStatus set_time(Request& r, Value v) {
  r.time_given = true;
  return set_limit(r.spec.time_limit, v, "time");
}
OptionStatus set_time_min(Request& r, Value v) {
  return set_limit(r.spec.time_min, v, "time-min");
}

OptionStatus set_output(Request& r, Value v) {
  r.spec.std_out = file_name(v);
  return {};
}
OptionStatus set_error(Request& r, Value v) {
  r.spec.std_err = file_name(v);
  return {};
}
OptionStatus set_input(Request& r, Value v) {
  r.spec.std_in = file_name(v);
  return {};
}

OptionStatus set_open_mode(Request& r, Value v) {
  const char first = v.empty() ? '\0' : text::to_lower(v.front());
  if (first != 'a' && first != 't') return invalid_specification("open-mode");
  r.spec.open_append = first == 'a';
  r.spec.open_truncate = first == 't';
  return {};
}

OptionStatus set_requeue(Request& r, Value) {
  r.spec.requeue = true;
  return {};
}
OptionStatus set_no_requeue(Request& r, Value) {
  r.spec.requeue = false;
  return {};
}

OptionStatus set_exclusive(Request& r, Value v) {
  if (text::equal_ignoring_case(v, "topo")) return unsupported("--exclusive=topo");
  if (text::equal_ignoring_case(v, "mcs")) return unsupported("--exclusive=mcs");
  const bool user = text::equal_ignoring_case(v, "user");
  if (!user && !v.empty() && !text::equal_ignoring_case(v, "exclusive")) return invalid_specification("exclusive");
  r.spec.exclusive = user ? model::Exclusive::User : model::Exclusive::Node;
  r.spec.oversubscribe = false;
  return {};
}

OptionStatus set_oversubscribe(Request& r, Value) {
  r.spec.oversubscribe = true;
  r.spec.exclusive = model::Exclusive::No;
  return {};
}

OptionStatus set_nice(Request& r, Value v) {
  if (v.empty()) {
    r.spec.nice = 100;
    return {};
  }
  return take(r.spec.nice, nice_value(v));
}

OptionStatus set_priority(Request& r, Value v) {
  constexpr std::uint64_t kHighest = 4294967293;  // below Slurm's NO_VAL
  if (text::equal_ignoring_case(v, "TOP")) {
    r.spec.priority = static_cast<std::uint32_t>(kHighest);
    return {};
  }
  const auto value = text::parse_decimal(v);
  if (!value) return invalid_specification("priority");
  if (*value > kHighest) return bad_option(fmt::format("Priority too high, max value is {}", kHighest));
  r.spec.priority = static_cast<std::uint32_t>(*value);
  return {};
}

OptionStatus set_kill_on_invalid_dep(Request& r, Value v) {
  if (v != "yes" && v != "no") return invalid_specification("kill-on-invalid-dep");
  r.spec.kill_on_invalid_dependency = v == "yes";
  return {};
}

OptionStatus set_mail_type(Request& r, Value v) {
  const auto types = text::parse_mail_types(v);
  if (!types) return invalid_specification("mail-type");
  r.spec.mail_types = *types;
  return {};
}

OptionStatus set_uid(Request& r, Value v) {
  if (!r.is_root) return bad_option("--uid only permitted by root user");
  const auto uid = find_user(v);
  if (!uid) return invalid_specification("uid");
  r.run_as = *uid;
  return {};
}

OptionStatus set_gid(Request& r, Value v) {
  if (!r.is_root) return bad_option("--gid only permitted by root user");
  const auto gid = find_group(v);
  if (!gid) return invalid_specification("gid");
  r.run_as_group = *gid;
  return {};
}

OptionStatus set_verbose(Request& r, Value v) {
  if (v.empty()) {
    ++r.verbose;
  } else if (const auto level = text::parse_decimal32(v)) {  // SBATCH_DEBUG, SLURM_DEBUG
    r.verbose = static_cast<int>(std::min(*level, 9u));
  }
  return {};
}

OptionStatus set_propagate(Request& r, Value v) {
  if (auto checked = resource_limits(v); !checked) return std::unexpected(checked.error());
  r.propagate = std::string(v);
  return {};
}

OptionStatus set_distribution(Request& r, Value v) {
  const auto read = model::parse_distribution(v, r.plane_size);
  if (read) {
    r.spec.distribution = *read;
    return {};
  }
  constexpr Value kInvalid = "Invalid --distribution specification";
  if (read.error() == model::DistributionFault::Unknown) return bad_option(std::string(kInvalid));
  return bad_option(fmt::format("Invalid plane size or size not specified\n{}", kInvalid));
}

OptionStatus set_core_spec(Request& r, Value v) {
  const auto cores = text::parse_decimal32(v);
  if (!cores) return bad_option(fmt::format("Invalid numeric value \"{}\" for --core-spec.", v), 1);
  r.core_spec_given = true;
  return specialize(r, *cores, false);
}
OptionStatus set_thread_spec(Request& r, Value v) {
  const auto threads = positive_number(v, "thread-spec");
  if (!threads) return std::unexpected(threads.error());
  r.thread_spec_given = true;
  return specialize(r, *threads, true);
}

OptionStatus set_cpu_bind(Request& r, Value v) {
  if (v.empty()) return bad_option("unrecognized --cpu-bind argument \"\"", 1);
  if (const auto parsed = text::parse_cpu_bind(v); !parsed) return bad_option(parsed.error(), 1);
  r.cpu_bind = std::string(v);
  return {};
}
OptionStatus set_mem_bind(Request& r, Value v) {
  if (text::equal_ignoring_case(v, "help")) return show(kMemBindHelp, 255);
  if (const auto parsed = text::parse_mem_bind(v); !parsed) return bad_option(parsed.error(), 255);
  r.mem_bind = std::string(v);
  return {};
}
// g: GPUs near each task's CPUs, as --gpu-bind=closest; n and m: network cards and MICs, which are bound by nobody.
OptionStatus set_accel_bind(Request& r, Value v) {
  if (v.empty() || v.find_first_not_of("gmnv") != std::string_view::npos) return invalid_specification("accel-bind");
  if (v.find('g') == std::string_view::npos || r.gpu_bind) return {};
  return set_gpu_bind(r, v.find('v') == std::string_view::npos ? "closest" : "verbose,closest");
}
OptionStatus set_gpu_bind(Request& r, Value v) {
  const auto parsed = text::parse_gpu_bind(v);
  if (!parsed) return bad_option(parsed.error(), 255);
  r.gpu_bind = r.spec.gpu_bind = std::string(v);
  return {};
}
OptionStatus set_bcast(Request& r, Value v) {
  r.bcast = v.empty() ? "./" : std::string(v);
  return {};
}
OptionStatus set_bcast_exclude(Request& r, Value v) {
  if (v != "NONE")
    for (const auto path : text::split(v, ','))
      if (!path.starts_with('/'))
        return bad_option(fmt::format("Invalid path for --bcast-exclude: '{}' is not a full path", path), 1);
  r.bcast_exclude = std::string(v);
  return {};
}
OptionStatus set_compress(Request& r, Value v) {
  if (!v.empty() && v != "lz4" && v != "none")
    return bad_option(fmt::format("Compression type '{}' unknown: lz4 or none", v), 1);
  r.bcast_compress = v != "none";
  return {};
}
OptionStatus set_send_libs(Request& r, Value v) {
  if (!v.empty() && v != "yes" && v != "no")
    return bad_option(fmt::format("Invalid value '{}' for --send-libs: yes or no", v), 1);
  r.send_libs = v != "no";
  return {};
}
OptionStatus set_mpi(Request& r, Value v) {
  r.mpi_given = true;
  if (v == "none")
    r.mpi.clear();
  else if (v == "pmi2" || v == "pmix" || v == "list")
    r.mpi = v;
  else if (v == "pmix_v4")
    r.mpi = "pmix";
  else
    return bad_option(fmt::format("Invalid MPI type '{}', --mpi=list for acceptable types", v), 1);
  return {};
}

OptionStatus set_job_id(Request& r, Value v) {
  const auto target = parse_job_target(v);
  if (!target || target->tasks) return bad_option(fmt::format("Invalid numeric value \"{}\" for --jobid.", v), 1);
  r.job_id = target->id;
  return {};
}

OptionStatus set_bell(Request& r, Value) {
  r.bell = Request::Bell::Always;
  return {};
}
OptionStatus set_no_bell(Request& r, Value) {
  r.bell = Request::Bell::Never;
  return {};
}
OptionStatus set_kill_command(Request& r, Value v) {
  const auto signal = v.empty() ? Result<int>(SIGTERM) : text::parse_signal(v);
  if (!signal) return bad_option("Invalid --kill-command specification");
  r.kill_signal = *signal;
  return {};
}

OptionStatus set_relative(Request& r, Value v) {
  const auto value = text::parse_decimal32(v);
  if (!value) return bad_option(fmt::format("Invalid numeric value \"{}\" for --relative.", v), 1);
  r.relative = *value;
  return {};
}

OptionStatus set_exact(Request& r, Value) {
  r.exact = true;
  r.whole = false;
  return {};
}
OptionStatus set_whole(Request& r, Value) {
  r.whole = true;
  r.exact = false;
  return {};
}

OptionStatus set_het_groups(Request& r, Value v) {
  const auto groups = text::parse_array_spec(v);
  if (!groups || groups->max_running != 0 || groups->tasks.empty())
    return bad_option(fmt::format("Invalid --het-group value: {}", v), 1);
  r.het_groups = groups->tasks;
  return {};
}

// A batch job begins when all of its nodes are ready, whatever is asked for.
OptionStatus set_wait_all_nodes(Request&, Value v) {
  return v == "0" || v == "1" ? OptionStatus{} : invalid_specification("wait-all-nodes");
}

OptionStatus set_threads(Request&, Value v) {
  std::uint32_t threads = 0;
  return take(threads, positive_number(v, "threads"));
}

OptionStatus set_immediate(Request& r, Value v) {
  if (v.empty()) {
    r.spec.immediate_seconds = 1;
    return {};
  }
  if (!text::parse_decimal32(v)) return bad_option(fmt::format("Invalid numeric value \"{}\" for immediate.", v), 1);
  return take(r.spec.immediate_seconds, positive_number(v, "immediate"));
}

OptionStatus set_kill_on_bad_exit(Request& r, Value v) {
  if (!v.empty() && v != "0" && v != "1")
    return bad_option(fmt::format("Invalid numeric value \"{}\" for --kill-on-bad-exit.", v), 1);
  r.kill_on_bad_exit = v != "0";
  return {};
}

OptionStatus set_wait_seconds(Request& r, Value v) {
  const auto value = text::parse_decimal32(v);
  if (!value) return bad_option(fmt::format("Invalid numeric value \"{}\" for --wait.", v), 1);
  r.wait_seconds = *value;
  return {};
}

}  // namespace spur::cli::job_setters
