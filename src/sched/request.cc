// SPDX-License-Identifier: Apache-2.0
#include "sched/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/topology.h"
#include "sched/gres_wishes.h"
#include "text/hostlist.h"

namespace spur::sched {
namespace {

Status add_licenses(const model::View& view, const model::JobSpec& spec, Request& request) {
  const auto& known = view.config->licenses;
  for (const auto& wish : spec.licenses) {
    const auto at = std::ranges::find(known, wish.name, &model::LicenseConfig::name);
    if (at == known.end()) return fail(ErrorCode::InvalidLicense, fmt::format("unknown license {}", wish.name));
    const auto column = static_cast<std::size_t>(at - known.begin());
    const auto same = std::ranges::find(request.licenses, column, &std::pair<std::size_t, Amount>::first);
    if (same != request.licenses.end())
      same->second += wish.count;
    else
      request.licenses.emplace_back(column, wish.count);
  }
  for (const auto& [column, count] : request.licenses)
    if (count > static_cast<Amount>(known[column].count))
      return fail(ErrorCode::InvalidLicense, fmt::format("license {}: {} asked for, the cluster has {}",
                                                         known[column].name, count, known[column].count));
  return {};
}

void add_size(const model::ClusterConfig& config, const model::PartitionConfig& partition, const model::JobSpec& spec,
              std::uint32_t bends, Request& request) {
  const std::uint32_t least = bends & model::kQosPartitionMinNodes ? 1 : partition.min_nodes;
  request.min_nodes = std::max({1u, spec.min_nodes, least, static_cast<std::uint32_t>(request.required.size())});
  if (spec.max_nodes) request.max_nodes = std::max(*spec.max_nodes, spec.min_nodes);
  request.spread = spec.max_nodes && *spec.max_nodes > spec.min_nodes && !spec.fewest_nodes;
  // Over as many nodes as there are tasks or as -N allows.
  if (spec.spread_nodes) request.spread = request.even = spec.tasks || spec.max_nodes;
  if (partition.max_nodes && !(bends & model::kQosPartitionMaxNodes))
    request.max_nodes = std::min(request.max_nodes, *partition.max_nodes);
  request.tasks_fixed = spec.tasks.has_value();
  request.tasks_per_node = spec.tasks_per_node;
  if (request.tasks_fixed)
    request.tasks = std::max(1u, *spec.tasks);
  else
    request.tasks = request.tasks_per_node = std::max(1u, spec.tasks_per_node);
  request.cpus_per_task = std::max(1u, spec.cpus_per_task);
  request.min_cpus = std::max(1u, spec.min_cpus_per_node.value_or(1));
  const bool one_thread = spec.hint == model::Hint::NoMultithread || spec.hint == model::Hint::ComputeBound ||
                          spec.hint == model::Hint::MemoryBound;
  request.threads = spec.threads_per_core > 0 ? spec.threads_per_core : one_thread ? 1 : 0;
  request.tasks_per_core = spec.tasks_per_core;  // CR_ONE_TASK_PER_CORE is settled at submit
  request.tasks_per_socket = spec.tasks_per_socket;
  request.min_sockets = spec.sockets_per_node;
  request.min_cores = spec.cores_per_socket;
  request.min_threads = spec.threads_per_core;
  request.overcommit = spec.overcommit;
  request.exclusive =
      spec.exclusive == model::Exclusive::Node || partition.oversubscribe == model::OverSubscribe::Exclusive;
  if (config.jobs_use_spec_cores && spec.core_spec) {
    request.exclusive = true;
    request.core_spec = CoreSpec{*spec.core_spec, spec.core_spec_is_threads};
  }
  request.user = spec.uid;
  request.user_alone = !request.exclusive && (spec.exclusive == model::Exclusive::User || partition.exclusive_user);
  request.least_loaded = partition.lln || config.least_loaded_nodes;
}

// Which nodes go together.
Status add_places(const model::View& view, const Columns& columns, const model::JobSpec& spec, Request& request) {
  request.contiguous = spec.contiguous;
  request.min_nodes = std::max(request.min_nodes, request.features.least_nodes());
  const auto& topology = model::topology_of(*view.config, (*view.partitions)[request.partition].config);
  if (!topology.optional || spec.switches > 0 || spec.segment > 0)
    request.topology = columns.topology(request.partition);
  if (request.topology && topology.kind == model::TopologyKind::Tree) {
    request.most_leaves = spec.switches;
    request.leaf_wait = leaf_wait(view, spec);
  }
  if (spec.segment == 0) return {};
  if (topology.kind != model::TopologyKind::Block)
    return fail(ErrorCode::InvalidArgument, "--segment needs a cluster with blocks");
  if (request.min_nodes % spec.segment != 0)
    return fail(ErrorCode::InvalidNodeCount,
                fmt::format("{} nodes are no multiple of segments of {}", request.min_nodes, spec.segment));
  request.segment = spec.segment;
  return {};
}

// A limit that may be cut is cut to what the partition allows.
void add_least_limit(const model::PartitionConfig& partition, const model::JobSpec& spec, Request& request) {
  if (!spec.time_min.is_finite()) return;
  const auto least = spec.time_min.minutes_value();
  const auto longer_than = [](TimeLimit limit, std::uint32_t minutes) {
    return !limit.is_finite() || limit.minutes_value() > minutes;
  };
  if (!request.any_time && partition.max_time.is_finite() && partition.max_time.minutes_value() >= least &&
      longer_than(request.limit, partition.max_time.minutes_value()))
    request.limit = partition.max_time;
  request.least_limit = longer_than(request.limit, least) ? spec.time_min : request.limit;
}

// -m. The number of tasks is settled.
Status add_distribution(const model::View& view, const model::JobSpec& spec, Request& request) {
  using Nodes = model::Distribution::Nodes;
  using Within = model::Distribution::Within;
  request.distribution = spec.distribution;
  request.sockets_in_turn = spec.distribution.sockets == Within::Unset
                                ? !view.config->block_sockets && spec.distribution.nodes != Nodes::Plane
                                : spec.distribution.sockets != Within::Block;
  if (spec.distribution.nodes != Nodes::Arbitrary) return {};
  if (request.required.empty())
    return fail(ErrorCode::InvalidNode, "an arbitrary distribution needs a list of nodes");
  SPUR_ASSIGN(std::vector<NodeNumber> listed, listed_nodes(view, spec.required_nodes));
  if (!request.tasks_fixed) {  // the same number for each, those that are named first first
    std::vector<NodeNumber> first;
    for (const NodeNumber node : listed)
      if (std::ranges::find(first, node) == first.end()) first.push_back(node);
    for (const NodeNumber node : first)
      request.task_nodes.insert(request.task_nodes.end(), request.tasks_per_node, node);
    return {};
  }
  if (request.tasks > kMaxListedTasks)
    return fail(ErrorCode::TooManyTasks, fmt::format("an arbitrary distribution of {} tasks", request.tasks));
  for (std::uint32_t task = 0; task < request.tasks; ++task)
    request.task_nodes.push_back(listed[task % listed.size()]);
  for (const NodeNumber node : request.required)
    if (std::ranges::find(request.task_nodes, node) == request.task_nodes.end())
      return fail(ErrorCode::InvalidNodeCount, fmt::format("{} tasks for {} nodes", request.tasks, listed.size()));
  return {};
}

bool wants_gpus(const model::JobSpec& spec) {
  if (spec.tasks_per_gpu > 0) return true;
  return std::ranges::any_of(spec.gres,
                             [](const model::GresRequest& wish) { return wish.name == "gpu" && wish.count > 0; });
}

}  // namespace

Time Request::end_of_run(Time start) const {
  if (!limit.is_finite()) return std::max(start, kNever) + seconds(1);
  return start + std::max<Duration>(minutes(1), limit.duration());
}

Duration leaf_wait(const model::View& view, const model::JobSpec& spec) {
  const Duration most = view.config->max_switch_wait;
  return spec.switch_wait_seconds ? std::min<Duration>(seconds(*spec.switch_wait_seconds), most) : most;
}

Request without_leaf_limit(Request request) {
  request.most_leaves = 0;
  return request;
}

Request with_least_limit(Request request) {
  if (request.least_limit.is_finite())
    request.limit = TimeLimit::of_minutes(std::max(1u, request.least_limit.minutes_value()));
  return request;
}

TimeLimit limit_until(const Request& request, Time start, Time until) {
  if (request.end_of_run(start) <= until) return request.limit;
  if (!request.least_limit.is_finite() || until <= start) return {};
  const auto most = std::chrono::duration_cast<minutes>(until - start).count();
  const auto least = std::max<std::int64_t>(1, request.least_limit.minutes_value());
  if (most < least) return {};
  return TimeLimit::of_minutes(static_cast<std::uint32_t>(most));
}

namespace {

std::int64_t gpus_of(const std::vector<GresNeed>& needs) {
  std::int64_t count = 0;
  for (const auto& need : needs) count += need.is_gpu ? need.count : 0;
  return count;
}

std::int64_t gpus_of(const model::Node& node) {
  std::int64_t count = 0;
  for (const auto& gres : node.hardware.gres)
    if (gres.name == "gpu") count += gres.count;
  return count;
}

}  // namespace

std::int64_t size_in(const model::View& view, const model::Partition& partition, const Request& request) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60, kMostCpus = std::int64_t{1} << 34;
  if (!request.limit.is_finite()) return kUnlimited;
  const model::NodePtr* first = partition.nodes.empty() ? nullptr : view.nodes.find(partition.nodes.front().value);
  const std::int64_t node_cpus = first ? (*first)->hardware.cpus : 1, node_gpus = first ? gpus_of(**first) : 0;
  const std::int64_t nodes = request.min_nodes;
  const std::int64_t tasks = request.tasks_fixed ? request.tasks : nodes * std::max(request.tasks_per_node, 1u);
  std::int64_t cpus = std::max<std::int64_t>(nodes * request.min_cpus, tasks * request.cpus_per_task);
  if (request.exclusive) cpus = std::max(cpus, nodes * node_cpus);
  const std::int64_t gpus =
      nodes * gpus_of(request.gres_per_node) + tasks * gpus_of(request.gres_per_task) + gpus_of(request.gres_per_job);
  if (node_gpus > 0) cpus = std::max(cpus, gpus * node_cpus / node_gpus);
  return std::min(cpus, kMostCpus) * std::max<std::int64_t>(request.limit.minutes_value(), 1);
}

TimeLimit limit_in(const model::PartitionConfig& partition, TimeLimit of_job) {
  if (of_job.is_set()) return of_job;
  return partition.default_time.is_set() ? partition.default_time : partition.max_time;
}

Result<std::vector<NodeNumber>> listed_nodes(const model::View& view, const std::string& hostlist) {
  std::vector<NodeNumber> numbers;
  if (hostlist.empty()) return numbers;
  auto names = text::expand_hostlist(hostlist);
  if (!names) return fail(ErrorCode::InvalidNode, names.error().message);
  for (const auto& name : *names) {
    const auto at = view.node_by_name->find(name);
    if (at == view.node_by_name->end())
      return fail(ErrorCode::InvalidNode, fmt::format("invalid node name specified: {}", name));
    numbers.push_back(at->second.value);
  }
  return numbers;
}

Result<std::vector<NodeNumber>> resolve_nodes(const model::View& view, const std::string& hostlist) {
  SPUR_ASSIGN(std::vector<NodeNumber> numbers, listed_nodes(view, hostlist));
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

MemoryWish memory_wish(const model::ClusterConfig& config, const model::PartitionConfig& partition,
                       const model::JobSpec& spec) {
  const auto per_node = [](std::uint64_t mib) {
    return MemoryWish{mib == 0 ? MemoryNeed::WholeNode : MemoryNeed::PerNode, mib, 1};
  };
  const auto per_gpu = [&](std::uint64_t mib) {
    return mib == 0 ? per_node(0) : MemoryWish{MemoryNeed::PerGpu, mib, 1};
  };
  const auto per_cpu = [&](std::uint64_t mib) {
    if (mib == 0) return per_node(0);
    MemoryWish wish{MemoryNeed::PerCpu, mib, 1};
    const auto limit =
        partition.max_memory_per_cpu_mib ? partition.max_memory_per_cpu_mib : config.max_memory_per_cpu_mib;
    if (limit && *limit > 0 && mib > *limit) {
      wish.cpu_factor = static_cast<std::uint32_t>(std::min<std::uint64_t>((mib + *limit - 1) / *limit, 65'535));
      wish.mib = (mib + wish.cpu_factor - 1) / wish.cpu_factor;
    }
    return wish;
  };
  if (spec.memory_per_node_mib) return per_node(*spec.memory_per_node_mib);
  if (spec.memory_per_cpu_mib) return per_cpu(*spec.memory_per_cpu_mib);
  const bool has_gpus = wants_gpus(spec);
  if (has_gpus && spec.memory_per_gpu_mib) return per_gpu(*spec.memory_per_gpu_mib);
  // Without a wish memory matters only where it is handed out; then Slurm's default is all of it.
  if (config.memory_as != model::MemoryAs::Consumable) return {};
  if (has_gpus && partition.default_memory_per_gpu_mib) return per_gpu(*partition.default_memory_per_gpu_mib);
  if (has_gpus && config.default_memory_per_gpu_mib) return per_gpu(*config.default_memory_per_gpu_mib);
  if (partition.default_memory_per_node_mib) return per_node(*partition.default_memory_per_node_mib);
  if (partition.default_memory_per_cpu_mib) return per_cpu(*partition.default_memory_per_cpu_mib);
  if (config.default_memory_per_node_mib) return per_node(*config.default_memory_per_node_mib);
  if (config.default_memory_per_cpu_mib) return per_cpu(*config.default_memory_per_cpu_mib);
  return per_node(0);
}

Result<Request> make_request(const model::View& view, const Columns& columns, const model::JobSpec& spec,
                             std::size_t partition, TimeLimit limit) {
  const auto& config = (*view.partitions)[partition].config;
  Request request;
  request.partition = partition;
  if (spec.exclusive == model::Exclusive::Mcs)
    return fail(ErrorCode::NotSupported, "--exclusive=mcs is not supported yet");
  SPUR_ASSIGN(request.required, resolve_nodes(view, spec.required_nodes));
  SPUR_ASSIGN(request.excluded, resolve_nodes(view, spec.excluded_nodes));
  SPUR_ASSIGN(request.features, parse_features(spec.features));
  SPUR_ASSIGN(request.prefer, parse_features(spec.prefer));
  if (!request.prefer.is_per_node())
    return fail(ErrorCode::InvalidFeature, fmt::format("--prefer takes no counts or brackets: \"{}\"", spec.prefer));
  SPUR_TRY(add_licenses(view, spec, request));
  const model::Qos* qos = model::find_qos(view, spec.qos);
  const std::uint32_t bends = qos ? qos->flags : 0;
  request.any_time = bends & model::kQosPartitionTimeLimit;
  add_size(*view.config, config, spec, bends, request);
  SPUR_TRY(add_places(view, columns, spec, request));

  const MemoryWish memory = memory_wish(*view.config, config, spec);
  request.memory = memory.need;
  request.memory_mib = static_cast<Amount>(std::min<std::uint64_t>(memory.mib, std::uint64_t{1} << 50));
  request.cpus_per_task *= memory.cpu_factor;
  SPUR_TRY(add_gres(view, columns, spec, request));
  request.tmp_disk_mib = static_cast<Amount>(std::min<std::uint64_t>(spec.tmp_disk_mib, std::uint64_t{1} << 50));
  request.limit_column = columns.partition_limit(partition);
  request.limit = limit_in(config, limit);
  add_least_limit(config, spec, request);
  request.deadline = spec.deadline;
  SPUR_TRY(add_distribution(view, spec, request));
  return request;
}

bool same_wish(const model::JobSpec& a, const model::JobSpec& b) {
  return a.partitions == b.partitions && a.reservation == b.reservation && a.min_nodes == b.min_nodes &&
         a.max_nodes == b.max_nodes && a.tasks == b.tasks && a.tasks_per_node == b.tasks_per_node &&
         a.cpus_per_task == b.cpus_per_task && a.min_cpus_per_node == b.min_cpus_per_node &&
         a.memory_per_node_mib == b.memory_per_node_mib && a.memory_per_cpu_mib == b.memory_per_cpu_mib &&
         a.tmp_disk_mib == b.tmp_disk_mib && a.gres == b.gres && a.tasks_per_gpu == b.tasks_per_gpu &&
         a.cpus_per_gpu == b.cpus_per_gpu && a.memory_per_gpu_mib == b.memory_per_gpu_mib &&
         a.cpus_per_task_given == b.cpus_per_task_given && a.gres_flags == b.gres_flags && a.licenses == b.licenses &&
         a.exclusive == b.exclusive && a.oversubscribe == b.oversubscribe && a.core_spec == b.core_spec &&
         a.core_spec_is_threads == b.core_spec_is_threads && a.overcommit == b.overcommit &&
         a.contiguous == b.contiguous && a.tasks_per_core == b.tasks_per_core &&
         a.tasks_per_socket == b.tasks_per_socket && a.hint == b.hint && a.sockets_per_node == b.sockets_per_node &&
         a.cores_per_socket == b.cores_per_socket && a.threads_per_core == b.threads_per_core &&
         a.spread_nodes == b.spread_nodes && a.fewest_nodes == b.fewest_nodes && a.switches == b.switches &&
         a.switch_wait_seconds == b.switch_wait_seconds && a.segment == b.segment && a.prefer == b.prefer &&
         a.features == b.features && a.required_nodes == b.required_nodes && a.excluded_nodes == b.excluded_nodes &&
         a.deadline == b.deadline && a.time_min == b.time_min && a.distribution == b.distribution &&
         (a.reservation.empty() || same_asker(a, b));
}

bool same_asker(const model::JobSpec& a, const model::JobSpec& b) {
  return a.uid == b.uid && a.account == b.account && a.qos == b.qos;
}

std::uint64_t wish_hash(const model::JobSpec& spec) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  const auto number = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  const auto text = [&](std::string_view value) {
    number(value.size());
    for (const char c : value) number(static_cast<unsigned char>(c));
  };
  for (const auto& partition : spec.partitions) text(partition);
  number(spec.min_nodes);
  number(spec.max_nodes.value_or(0));
  number(spec.tasks.value_or(0));
  number(std::uint64_t{spec.tasks_per_node} << 32 | spec.cpus_per_task);
  number(spec.min_cpus_per_node.value_or(0));
  number(spec.memory_per_node_mib.value_or(~std::uint64_t{0}));
  number(spec.memory_per_cpu_mib.value_or(~std::uint64_t{0}));
  number(static_cast<std::uint64_t>(spec.exclusive) << 2 | std::uint64_t{spec.oversubscribe} << 1 | spec.overcommit);
  number(std::uint64_t{spec.tasks_per_gpu} << 32 | spec.cpus_per_gpu);
  number(spec.memory_per_gpu_mib.value_or(~std::uint64_t{0}) ^ spec.gres_flags);
  for (const auto& gres : spec.gres) {
    text(gres.name);
    text(gres.type);
    number(gres.count << 2 | static_cast<std::uint64_t>(gres.per));
  }
  for (const auto& license : spec.licenses) {
    text(license.name);
    number(license.count);
  }
  number(std::uint64_t{spec.switches} << 34 | std::uint64_t{spec.segment} << 3 | spec.contiguous << 2 |
         spec.spread_nodes << 1 | spec.fewest_nodes);
  number(std::uint64_t{spec.tasks_per_core} << 40 | std::uint64_t{spec.tasks_per_socket} << 20 |
         static_cast<std::uint64_t>(spec.hint));
  number(std::uint64_t{spec.sockets_per_node} << 40 | std::uint64_t{spec.cores_per_socket} << 20 |
         spec.threads_per_core);
  text(spec.features);
  text(spec.prefer);
  text(spec.required_nodes);
  text(spec.excluded_nodes);
  return hash;
}

}  // namespace spur::sched
