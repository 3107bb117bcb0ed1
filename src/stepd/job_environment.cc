// SPDX-License-Identifier: Apache-2.0
#include "stepd/job_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/check.h"
#include "model/distribution.h"
#include "model/told_tasks.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/repeat.h"
#include "text/words.h"

namespace spur::stepd {
namespace {

using Value = std::optional<std::string>;
using Source = EnvironmentSource;
using Gres = model::GresRequest;

const model::JobSpec& spec(const Source& s) {
  return *s.launch.spec;
}
const model::LaunchPart& part(const Source& s) {
  return s.launch.parts.front();
}

template <class Number>
Value number(Number n) {
  return std::to_string(n);
}
Value text_if(std::string text) {
  return text.empty() ? Value{} : Value(std::move(text));
}

Value job_id(const Source& s) {
  return number((s.step && s.step->het_job ? s.step->het_job : s.launch.run.job).value);
}

// The first node knows all parts, the others what is said of them. Steps of a heterogeneous job that run as one have
// all their nodes for the job's.
bool knows_all(const Source& s) {
  return s.launch.this_part == 0;
}
Value job_nodes(const Source& s) {
  if (s.step && s.step->het_job) return text::compress_hostlist(s.step->nodes);
  if (!knows_all(s)) return s.launch.whole.nodes;
  std::vector<std::string> names;
  for (const auto& p : s.launch.parts) names.push_back(p.node);
  return text::compress_hostlist(names);
}
Value job_node_count(const Source& s) {
  if (s.step && s.step->het_job) return number(s.step->nodes.size());
  return knows_all(s) ? number(s.launch.parts.size()) : number(s.launch.whole.node_count);
}

Value cpus_per_node(const Source& s) {
  if (!knows_all(s)) return s.launch.whole.cpus_per_node;
  std::vector<std::uint32_t> counts;
  for (const auto& p : s.launch.parts)
    counts.push_back(model::told_cpus(spec(s), p.cpus.size(), p.threads_per_core));
  return text::repeat_text(counts);
}
// As Slurm: a batch script is told what its tasks may use, a step all that it has.
Value cpus_on_node(const Source& s) {
  if (s.step) return number(s.step->cpus.size());
  return number(model::told_cpus(spec(s), part(s).cpus.size(), part(s).threads_per_core));
}
Value tasks_per_node(const Source& s) {
  if (s.step) return text::repeat_text(s.step->tasks_per_node);
  std::vector<std::uint32_t> cpus, tasks;
  for (const auto& p : s.launch.parts) {
    cpus.push_back(model::told_cpus(spec(s), p.cpus.size(), p.threads_per_core));
    tasks.push_back(p.tasks);
  }
  return text::repeat_text(model::told_tasks(spec(s), cpus, std::move(tasks)));
}
// As measured: only with -n or --ntasks-per-node, because srun inside takes it for its own -n.
Value task_count(const Source& s) {
  if (s.step) return number(s.step->task_count);
  if (!spec(s).tasks && spec(s).tasks_per_node == 0) return {};
  return number(model::task_count(spec(s)));
}
Value cpus_per_task(const Source& s) {
  if (s.step && s.step->cpus_per_task != 0) return number(s.step->cpus_per_task);
  return spec(s).cpus_per_task_given ? number(spec(s).cpus_per_task) : Value{};
}
Value array_value(const Source& s, std::uint32_t n) {
  return s.launch.array_task ? number(n) : Value{};
}

// GPUs, whole ones or shares of them.
bool are_gpus(const model::DeviceGrant& devices) {
  return devices.gres == "gpu" || !devices.shares.empty();
}
// Device numbers of the gpu grants, "0,2,3".
Value gpu_numbers(const std::vector<model::DeviceGrant>& devices) {
  std::vector<std::uint32_t> all;
  for (const auto& d : devices)
    if (are_gpus(d)) all.insert(all.end(), d.indices.begin(), d.indices.end());
  std::ranges::sort(all);
  return text_if(fmt::format("{}", fmt::join(all, ",")));
}
const std::vector<model::DeviceGrant>& devices_of(const Source& s) {
  return s.step ? s.step->devices : part(s).devices;
}
Value gpu_indices(const Source& s) {
  return gpu_numbers(devices_of(s));
}
Value gpu_count(const Source& s) {
  std::size_t count = 0;
  for (const auto& d : devices_of(s))
    if (are_gpus(d)) count += d.indices.size();
  return count == 0 ? Value{} : number(count);
}
// What CUDA's MPS lets the job have of its GPU: its part, as the agent tells how many there are, in percent.
Value mps_percentage(const Source& s) {
  constexpr std::string_view kByGpu = "SPUR_NODE_MPS=";
  for (const auto& d : devices_of(s)) {
    if (d.gres != "mps" || d.indices.empty() || d.shares.empty()) continue;
    for (const std::string& entry : s.of_node) {
      if (!entry.starts_with(kByGpu)) continue;
      const auto parts = text::split(std::string_view(entry).substr(kByGpu.size()), ',');
      const auto all = d.indices[0] < parts.size() ? text::parse_decimal(parts[d.indices[0]]) : std::nullopt;
      if (all && *all > 0) return number(std::uint64_t{d.shares[0]} * 100 / *all);
    }
  }
  return {};
}
Value shard_count(const Source& s) {
  std::uint64_t count = 0;
  for (const auto& d : devices_of(s))
    if (d.gres == "shard") count = std::accumulate(d.shares.begin(), d.shares.end(), count);
  return count == 0 ? Value{} : number(count);
}
Value gpus_asked(const Source& s, Gres::Per per) {
  std::string out;
  for (const auto& g : spec(s).gres) {
    if (g.name != "gpu" || g.per != per) continue;
    out += fmt::format("{}{}{}{}", out.empty() ? "" : ",", g.type, g.type.empty() ? "" : ":", g.count);
  }
  return text_if(out);
}
Value visible_to(const Source& s, GpuVendor vendor) {
  return s.vendor == vendor || s.vendor == GpuVendor::Unknown ? gpu_indices(s) : Value{};
}

Value end_time(const Source& s) {
  if (!s.launch.time_limit.is_finite()) return {};
  return number(to_unix_seconds(s.launch.started + s.launch.time_limit.duration()));
}
Value licenses(const Source& s) {
  std::string out;
  for (const auto& l : spec(s).licenses) out += fmt::format("{}{}:{}", out.empty() ? "" : ",", l.name, l.count);
  return text_if(out);
}
Value rank_list(const Source& s) {
  if (!s.step) return "0";
  std::string out;
  for (std::uint32_t i = 0; i < s.step->tasks_per_node[s.step->node_id]; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", s.step->rank(i));
  return out;
}
const model::Distribution& distribution_of(const Source& s) {
  return s.step ? s.step->distribution : spec(s).distribution;
}
// A step is told, too, of what nobody said.
Value distribution(const Source& s) {
  model::Distribution told = distribution_of(s);
  using Nodes = model::Distribution::Nodes;
  if (s.step && told.nodes == Nodes::Unset)  // a task for each node is both; Slurm's word for it is this one
    told.nodes = s.step->task_count <= s.step->nodes.size() ? Nodes::Cyclic : Nodes::Block;
  if (told.nodes == Nodes::Unset) told.pack.reset();  // the site's
  return text_if(model::distribution_text(told));
}
Value plane_size(const Source& s) {
  return distribution_of(s).plane_size > 0 ? number(distribution_of(s).plane_size) : Value{};
}
Value step_number(const Source& s) {
  return s.step ? number(s.step->step) : Value{};
}
Value batch_only(const Source& s, std::string value) {
  return s.step ? Value{} : Value(std::move(value));
}

bool is_distributed(const Source& s) {
  return s.step && !s.step->master.empty();
}
// The same on all nodes of a step, hardly the same for two steps; below the ports that kernels hand out.
std::uint32_t master_port(const Source& s) {
  return 20000 + (s.launch.run.job.value * 97 + s.step->step) % 12000;
}

// What becomes of the user's own entry when the row has no value.
enum class Otherwise : std::uint8_t { Drop, Keep };
enum Marks : std::uint8_t {
  kPlain = 0,
  kTwin = 1,     // also as SPUR_...
  kDefault = 2,  // the user's own entry wins
  kSize = 4,     // the user's own entry wins with srun -E
  kStep = 8,     // the user's own entry wins in a step: srun knows better than the job
};
struct Row {
  std::string_view name;
  Value (*value)(const Source&);
  Otherwise otherwise = Otherwise::Drop;
  std::uint8_t marks = kPlain;
};
constexpr auto Drop = Otherwise::Drop;
constexpr auto Keep = Otherwise::Keep;

constexpr Row kTable[] = {
    // the job
    {"SLURM_JOB_ID", job_id, Drop, kTwin},
    {"SLURM_JOBID", job_id, Drop, kTwin},
    {"SLURM_JOB_NAME", [](const Source& s) { return Value(spec(s).name); }, Drop, kTwin | kStep},
    {"SLURM_JOB_USER", [](const Source& s) { return Value(std::string(s.user_name)); }, Drop, kTwin},
    {"SLURM_JOB_UID", [](const Source& s) { return number(spec(s).uid.value); }, Drop, kTwin},
    {"SLURM_JOB_GID", [](const Source& s) { return number(spec(s).gid.value); }},
    {"SLURM_JOB_ACCOUNT", [](const Source& s) { return text_if(spec(s).account); }, Drop, kTwin},
    {"SLURM_JOB_QOS", [](const Source& s) { return text_if(spec(s).qos); }},
    {"SLURM_JOB_PARTITION", [](const Source& s) { return Value(s.launch.partition); }, Drop, kTwin},
    {"SLURM_JOB_RESERVATION", [](const Source& s) { return text_if(spec(s).reservation); }},
    {"SLURM_JOB_DEPENDENCY", [](const Source& s) { return text_if(model::dependency_text(spec(s))); }},
    {"SLURM_JOB_LICENSES", licenses},
    {"SLURM_JOB_START_TIME", [](const Source& s) { return number(to_unix_seconds(s.launch.started)); }},
    {"SLURM_JOB_END_TIME", end_time},
    {"SLURM_RESTART_COUNT", [](const Source& s) { return s.launch.restarts ? number(s.launch.restarts) : Value{}; },
     Drop, kTwin},
    {"SLURM_CLUSTER_NAME", [](const Source& s) { return Value(s.launch.cluster_name); }, Drop, kTwin},
    {"SLURM_CONTAINER", [](const Source& s) { return text_if(spec(s).container.bundle); }, Otherwise::Keep},
    {"SPUR_JOB_EPOCH", [](const Source& s) { return number(s.launch.run.epoch.value); }},
    // its array
    {"SLURM_ARRAY_JOB_ID", [](const Source& s) { return array_value(s, s.launch.array_job.value); }, Drop, kTwin},
    {"SLURM_ARRAY_TASK_ID", [](const Source& s) { return array_value(s, s.launch.array_task.value_or(0)); }, Drop,
     kTwin},
    {"SLURM_ARRAY_TASK_COUNT", [](const Source& s) { return array_value(s, s.launch.array_count); }, Drop, kTwin},
    {"SLURM_ARRAY_TASK_MIN", [](const Source& s) { return array_value(s, s.launch.array_min); }, Drop, kTwin},
    {"SLURM_ARRAY_TASK_MAX", [](const Source& s) { return array_value(s, s.launch.array_max); }, Drop, kTwin},
    {"SLURM_ARRAY_TASK_STEP", [](const Source& s) { return array_value(s, s.launch.array_step); }, Drop, kTwin},
    // its size
    {"SLURM_JOB_NODELIST", job_nodes, Drop, kTwin},
    {"SLURM_NODELIST", job_nodes, Drop, kTwin},
    {"SLURM_JOB_NUM_NODES", job_node_count, Drop, kTwin | kSize},
    {"SLURM_NNODES", job_node_count, Drop, kTwin | kSize},
    {"SLURM_JOB_CPUS_PER_NODE", cpus_per_node, Drop, kTwin},
    {"SLURM_TASKS_PER_NODE", tasks_per_node, Drop, kTwin},
    {"SLURM_NTASKS", task_count, Drop, kTwin | kSize},
    {"SLURM_NPROCS", task_count, Drop, kSize},
    {"SLURM_NTASKS_PER_NODE",
     [](const Source& s) { return spec(s).tasks_per_node ? number(spec(s).tasks_per_node) : Value{}; }, Drop,
     kTwin | kStep},
    {"SLURM_CPUS_PER_TASK", cpus_per_task, Drop, kTwin},
    {"SLURM_CPUS_ON_NODE", cpus_on_node, Drop, kTwin},
    {"SLURM_MEM_PER_NODE",
     [](const Source& s) { return spec(s).memory_per_node_mib ? number(*spec(s).memory_per_node_mib) : Value{}; },
     Drop, kTwin},
    {"SLURM_MEM_PER_CPU",
     [](const Source& s) { return spec(s).memory_per_cpu_mib ? number(*spec(s).memory_per_cpu_mib) : Value{}; }, Drop,
     kTwin},
    {"SLURM_OVERCOMMIT", [](const Source& s) { return spec(s).overcommit ? Value("1") : Value{}; }},
    // its devices
    {"SLURM_GPUS", [](const Source& s) { return gpus_asked(s, Gres::Per::Job); }},
    {"SLURM_GPUS_PER_NODE", [](const Source&) { return Value{}; }, Keep},  // sbatch tells it; not of --gres=gpu
    {"SLURM_GPUS_PER_TASK", [](const Source& s) { return gpus_asked(s, Gres::Per::Task); }},
    {"SLURM_GPUS_PER_SOCKET", [](const Source& s) { return gpus_asked(s, Gres::Per::Socket); }},
    {"SLURM_GPUS_ON_NODE", gpu_count, Drop, kTwin},
    {"SLURM_SHARDS_ON_NODE", shard_count},
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", mps_percentage, Keep},
    {"SLURM_JOB_GPUS", [](const Source& s) { return gpu_numbers(part(s).devices); }, Drop, kTwin},
    {"SLURM_STEP_GPUS", [](const Source& s) { return s.step ? gpu_indices(s) : Value{}; }},
    {"CUDA_VISIBLE_DEVICES", [](const Source& s) { return visible_to(s, GpuVendor::Nvidia); }, Keep},
    {"ROCR_VISIBLE_DEVICES", [](const Source& s) { return visible_to(s, GpuVendor::Amd); }, Keep},
    {"ZE_AFFINITY_MASK", [](const Source& s) { return visible_to(s, GpuVendor::Intel); }, Keep},
    {"GPU_DEVICE_ORDINAL", [](const Source& s) { return gpu_indices(s); }, Keep},
    // where it was submitted; sbatch knows better than the agent, which knows only where the job works
    {"SLURM_SUBMIT_DIR", [](const Source& s) { return Value(spec(s).work_dir); }, Keep, kTwin | kDefault},
    {"SLURM_SUBMIT_HOST", [](const Source& s) { return text_if(spec(s).submit_host); }, Keep, kTwin},
    {"SLURM_PRIO_PROCESS", [](const Source&) { return Value("0"); }, Keep, kDefault},
    // this node and process
    {"SLURMD_NODENAME", [](const Source& s) { return Value(part(s).node); }},
    {"SLURM_NODEID", [](const Source& s) { return number(s.step ? s.step->node_id : s.launch.this_part); }, Drop,
     kTwin},
    {"SLURM_GTIDS", rank_list},
    {"SLURM_TOPOLOGY_ADDR",
     [](const Source& s) { return Value(part(s).topology_address.empty() ? part(s).node : part(s).topology_address); }},
    {"SLURM_TOPOLOGY_ADDR_PATTERN",
     [](const Source& s) { return Value(part(s).topology_pattern.empty() ? "node" : part(s).topology_pattern); }},
    {"ENVIRONMENT", [](const Source& s) { return batch_only(s, "BATCH"); }, Keep},
    {"HOSTNAME", [](const Source& s) { return batch_only(s, part(s).node); }, Keep},
    {"TMPDIR", [](const Source&) { return Value("/tmp"); }, Keep, kDefault},
    // the step
    {"SLURM_STEP_ID", step_number, Drop, kTwin},
    {"SLURM_STEPID", step_number},
    {"SLURM_STEP_NODELIST",
     [](const Source& s) { return s.step ? Value(text::compress_hostlist(s.step->nodes)) : Value{}; }},
    {"SLURM_STEP_NUM_NODES", [](const Source& s) { return s.step ? number(s.step->nodes.size()) : Value{}; }},
    {"SLURM_STEP_NUM_TASKS", [](const Source& s) { return s.step ? number(s.step->task_count) : Value{}; }},
    {"SLURM_STEP_TASKS_PER_NODE",
     [](const Source& s) { return s.step ? Value(text::repeat_text(s.step->tasks_per_node)) : Value{}; }},
    {"SLURM_DISTRIBUTION", distribution},
    {"SLURM_DIST_PLANESIZE", plane_size},
    {"SLURM_UMASK", [](const Source& s) { return s.step ? Value(fmt::format("{:04o}", s.step->umask)) : Value{}; }},
    // for PyTorch and its like, where asked for
    {"MASTER_ADDR", [](const Source& s) { return is_distributed(s) ? Value(s.step->master) : Value{}; }, Keep},
    {"MASTER_PORT", [](const Source& s) { return is_distributed(s) ? number(master_port(s)) : Value{}; }, Keep},
    {"WORLD_SIZE", [](const Source& s) { return is_distributed(s) ? number(s.step->task_count) : Value{}; }, Keep},
    {"LOCAL_WORLD_SIZE",
     [](const Source& s) { return is_distributed(s) ? number(s.step->tasks_per_node[s.step->node_id]) : Value{}; },
     Keep},
    {"NODE_RANK", [](const Source& s) { return is_distributed(s) ? number(s.step->node_id) : Value{}; }, Keep},
    // set per task; named here so that an outer job's are dropped
    {"SLURM_PROCID", [](const Source&) { return Value{}; }, Drop, kTwin},
    {"SLURM_LOCALID", [](const Source&) { return Value{}; }, Drop, kTwin},
    {"SLURM_TASK_PID", [](const Source&) { return Value{}; }, Drop},
};

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}
// A heterogeneous job's variables, those of an outer one included.
bool is_of_component(std::string_view name) {
  if (!name.starts_with("SLURM_")) return false;
  return name == "SLURM_HET_SIZE" || name == "SLURM_PACK_SIZE" ||
         name.find("_HET_GROUP_") != std::string_view::npos || name.find("_PACK_GROUP_") != std::string_view::npos;
}

// Each component's values under names of their own, by today's name and by the one before Slurm 20.02.
template <class Put>
void add_components(const model::ControllerLaunch& launch, const Put& put) {
  if (launch.het.empty()) return;
  for (const std::string_view kind : {"HET", "PACK"}) {
    put(fmt::format("SLURM_{}_SIZE", kind), std::to_string(launch.het.size()));
    for (std::size_t i = 0; i < launch.het.size(); ++i) {
      const model::HetComponent& one = launch.het[i];
      const auto set = [&](std::string_view name, const std::string& value) {
        put(fmt::format("SLURM_{}_{}_GROUP_{}", name, kind, i), value);
      };
      const auto set_if = [&](std::string_view name, const auto& value) {
        if (value) set(name, std::to_string(*value));
      };
      set("JOB_ID", std::to_string(one.job.value));
      set("JOB_NAME", one.name);
      set("JOB_PARTITION", one.partition);
      set("JOB_NODELIST", one.nodes);
      set("JOB_NUM_NODES", std::to_string(one.node_count));
      set("JOB_CPUS_PER_NODE", one.cpus_per_node);
      set("TASKS_PER_NODE", one.tasks_per_node);
      set_if("NTASKS", one.tasks);
      set_if("NPROCS", one.tasks);
      set_if("CPUS_PER_TASK", one.cpus_per_task);
      set_if("MEM_PER_NODE", one.memory_per_node_mib);
      set_if("MEM_PER_CPU", one.memory_per_cpu_mib);
    }
  }
}

std::string twin_of(std::string_view name) {
  return "SPUR_" + std::string(name.substr(6));
}

}  // namespace

std::vector<std::string> split_environment(std::string_view block) {
  std::vector<std::string> out;
  while (!block.empty()) {
    const auto entry = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(entry.size() + 1, block.size()));
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos && equals != 0) out.emplace_back(entry);
  }
  return out;
}

const char* find_entry(const std::vector<std::string>& entries, std::string_view name) {
  for (const auto& entry : entries)
    if (name_of(entry) == name && entry.size() > name.size()) return entry.c_str() + name.size() + 1;
  return nullptr;
}

void set_entry(std::vector<std::string>& entries, std::string_view name, std::string_view value) {
  std::string text = fmt::format("{}={}", name, value);
  const auto it = std::ranges::find_if(entries, [&](const std::string& e) { return name_of(e) == name; });
  if (it == entries.end())
    entries.push_back(std::move(text));
  else
    *it = std::move(text);
}

std::vector<std::string> job_environment(const EnvironmentSource& source, const std::vector<std::string>& entries) {
  SPUR_CHECK(source.launch.spec && !source.launch.parts.empty());
  SPUR_CHECK(source.step || source.launch.this_part == 0);  // only the first node runs the script
  std::unordered_set<std::string> taken;                    // names that the user's entries may not set any more
  std::unordered_set<std::string_view> users;
  for (const auto& entry : entries) users.insert(name_of(entry));
  std::vector<std::string> ours;
  const auto put = [&](std::string name, const std::string& value) {
    ours.push_back(name + "=" + value);
    taken.insert(std::move(name));
  };
  for (const auto& entry : source.of_node) {
    ours.push_back(entry);
    taken.emplace(name_of(entry));
  }
  const unsigned users_win = kDefault | (source.preserve_size ? kSize : kPlain) | (source.step ? kStep : kPlain);
  for (const Row& row : kTable) {
    if (row.marks & users_win && users.contains(row.name)) {
      if (row.marks & kTwin) put(twin_of(row.name), find_entry(entries, row.name));
      continue;
    }
    const Value value = row.value(source);
    if (value) put(std::string(row.name), *value);
    if (value && row.marks & kTwin) put(twin_of(row.name), *value);
    if (value || row.otherwise == Keep) continue;
    taken.emplace(row.name);
    if (row.marks & kTwin) taken.insert(twin_of(row.name));
  }
  if (!source.step) add_components(source.launch, put);
  std::vector<std::string> out;
  out.reserve(entries.size() + ours.size() + 8);
  for (const auto& entry : entries)
    if ((source.step || !is_of_component(name_of(entry))) && taken.emplace(name_of(entry)).second)
      out.push_back(entry);  // the first of several wins, as for getenv
  out.insert(out.end(), std::make_move_iterator(ours.begin()), std::make_move_iterator(ours.end()));
  return out;
}

std::vector<std::string> gpu_entries(GpuVendor vendor, const std::vector<std::uint32_t>& numbers) {
  const std::string list = fmt::format("{}", fmt::join(numbers, ","));
  std::vector<std::string> out{"GPU_DEVICE_ORDINAL=" + list};
  if (vendor == GpuVendor::Nvidia || vendor == GpuVendor::Unknown) out.push_back("CUDA_VISIBLE_DEVICES=" + list);
  if (vendor == GpuVendor::Amd || vendor == GpuVendor::Unknown) out.push_back("ROCR_VISIBLE_DEVICES=" + list);
  if (vendor == GpuVendor::Intel || vendor == GpuVendor::Unknown) out.push_back("ZE_AFFINITY_MASK=" + list);
  out.push_back("SLURM_STEP_GPUS=" + list);
  return out;
}

std::vector<std::string> task_entries(std::uint32_t rank, std::uint32_t local_id, int pid) {
  return {fmt::format("SLURM_PROCID={}", rank), fmt::format("SPUR_PROCID={}", rank),
          fmt::format("SLURM_LOCALID={}", local_id), fmt::format("SPUR_LOCALID={}", local_id),
          fmt::format("SLURM_TASK_PID={}", pid)};
}

}  // namespace spur::stepd
