// SPDX-License-Identifier: Apache-2.0
// What is refused at submit, as Slurm does it: names that do not exist and wishes that no nodes of the partition
// satisfy. A job that is merely too large, too long or in a partition that is down is accepted and waits with the
// reason, unless the site enforces partition limits.
//
// Groups and accounts of partitions are the caller's business: they need the user database.
#include "sched/submit_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sched/capacity.h"
#include "sched/eligibility.h"
#include "sched/plan.h"
#include "sched/request.h"
#include "sched/reservations.h"

namespace spur::sched {
namespace {

using model::JobSpec;
using model::Partition;
using model::Reason;
using model::View;

// Slurm's limits, so that a job's record stays small whatever a user writes into it.
constexpr std::size_t kMaxText = 1024, kMaxPath = 4096, kMaxList = 64 * 1024, kMaxExtra = 128 * 1024;
constexpr struct {
  const char* what;
  std::string JobSpec::* field;
  std::size_t max;
} kTexts[] = {
    {"job name", &JobSpec::name, kMaxText},
    {"account", &JobSpec::account, kMaxText},
    {"qos", &JobSpec::qos, kMaxText},
    {"wckey", &JobSpec::wckey, kMaxText},
    {"comment", &JobSpec::comment, kMaxText},
    {"admin comment", &JobSpec::admin_comment, kMaxText},
    {"extra", &JobSpec::extra, kMaxExtra},
    {"reservation", &JobSpec::reservation, kMaxText},
    {"features", &JobSpec::features, kMaxText},
    {"mail user", &JobSpec::mail_user, kMaxText},
    {"node list", &JobSpec::required_nodes, kMaxList},
    {"list of excluded nodes", &JobSpec::excluded_nodes, kMaxList},
    {"path of the command", &JobSpec::command, kMaxPath},
    {"working directory", &JobSpec::work_dir, kMaxPath},
    {"name of the input file", &JobSpec::std_in, kMaxPath},
    {"name of the output file", &JobSpec::std_out, kMaxPath},
    {"name of the error file", &JobSpec::std_err, kMaxPath},
};

Status check_lengths(const JobSpec& spec) {
  const auto check = [](const char* what, std::size_t size, std::size_t max) -> Status {
    if (size <= max) return {};
    return fail(ErrorCode::JobScriptTooLarge, fmt::format("the {} has {} bytes, {} are allowed", what, size, max));
  };
  for (const auto& text : kTexts) SPUR_TRY(check(text.what, (spec.*text.field).size(), text.max));
  std::size_t partitions = 0;
  for (const auto& name : spec.partitions) partitions += name.size() + 1;
  return check("list of partitions", partitions, kMaxText + 1);
}

Result<std::vector<const Partition*>> partitions_of(const View& view, const JobSpec& spec) {
  std::vector<const Partition*> found;
  for (const auto& name : spec.partitions) {
    const Partition* partition = model::find_partition(view, name);
    if (!partition) return fail(ErrorCode::InvalidPartition, fmt::format("invalid partition specified: {}", name));
    found.push_back(partition);
  }
  if (spec.partitions.empty()) {
    const Partition* partition = model::default_partition(view);
    if (!partition)
      return fail(ErrorCode::DefaultPartitionMissing, "no partition given and the cluster has no default one");
    found.push_back(partition);
  }
  return found;
}

Status check_partition_access(const View& view, const JobSpec& spec,
                              const std::vector<const Partition*>& partitions) {
  const auto& config = *view.config;
  if (config.no_root_jobs && spec.uid == kRootUid) return fail(ErrorCode::InvalidUser, "root may not run jobs");
  std::size_t open = 0;
  const Partition* closed = nullptr;
  for (const Partition* partition : partitions) {
    const bool is_admin =
        spec.uid == kRootUid || std::ranges::find(config.admin_uids, spec.uid.value) != config.admin_uids.end();
    if (partition->config.root_only && !is_admin)
      return fail(ErrorCode::PermissionDenied, fmt::format("partition {} is for root only", partition->config.name));
    if (partition->config.no_root_jobs && spec.uid == kRootUid)
      return fail(ErrorCode::InvalidUser, fmt::format("partition {} is not for root", partition->config.name));
    if (partition->config.requires_reservation && spec.reservation.empty())
      return fail(ErrorCode::PermissionDenied,
                  fmt::format("partition {} is for jobs with a reservation only", partition->config.name));
    const auto state = partition->config.state;
    if (state == model::PartitionState::Drain || state == model::PartitionState::Inactive)
      closed = partition;
    else
      ++open;
  }
  const bool all = config.enforce_partition_limits == model::EnforcePartitionLimits::All;
  if (closed && (open == 0 || all))
    return fail(ErrorCode::PartitionUnavailable,
                fmt::format("partition {} takes no jobs (drain or inactive)", closed->config.name));
  return {};
}

Status check_times(const View& view, const JobSpec& spec) {
  if (spec.time_min.is_finite() && spec.time_limit.is_finite() &&
      spec.time_min.minutes_value() > spec.time_limit.minutes_value())
    return fail(ErrorCode::InvalidTimeMin, "the minimum time is longer than the time limit");
  // A limit longer than the time left is no error: Slurm takes the job and ends it with DEADLINE.
  if (is_set(spec.deadline) && spec.deadline <= std::max(view.as_of, spec.begin))
    return fail(ErrorCode::InvalidTimeLimit, "the deadline is in the past or before the begin time");
  return {};
}

Status check_form(const View& view, const JobSpec& spec) {
  const auto& config = *view.config;
  if (spec.script && spec.script->size() > config.max_script_bytes)
    return fail(ErrorCode::JobScriptTooLarge,
                fmt::format("the script has {} bytes, {} are allowed", spec.script->size(), config.max_script_bytes));
  if (spec.array) {
    const auto highest = spec.array->tasks.highest();
    if (!highest || *highest >= config.max_array_size)
      return fail(ErrorCode::InvalidArray, fmt::format("array indices must be below {}", config.max_array_size));
  }
  if (spec.tasks && *spec.tasks == 0) return fail(ErrorCode::TooManyTasks, "the number of tasks is zero");
  if (spec.max_nodes && *spec.max_nodes < spec.min_nodes)
    return fail(ErrorCode::InvalidNodeCount,
                fmt::format("at least {} and at most {} nodes", spec.min_nodes, *spec.max_nodes));
  return check_times(view, spec);
}

Status check_max_memory(const model::ClusterConfig& config, const Partition& partition, const JobSpec& spec) {
  const auto limit = partition.config.max_memory_per_node_mib ? partition.config.max_memory_per_node_mib
                                                              : config.max_memory_per_node_mib;
  const MemoryWish wish = memory_wish(config, partition.config, spec);
  if (limit && *limit > 0 && wish.need == MemoryNeed::PerNode && wish.mib > *limit)
    return fail(ErrorCode::InvalidMemory, fmt::format("{} MiB of memory asked for, partition {} allows {} per node",
                                                      wish.mib, partition.config.name, *limit));
  return {};
}

// Nothing that only some nodes may have.
bool any_node_will_do(const JobSpec& spec) {
  return spec.gres.empty() && spec.tasks_per_gpu == 0 && spec.features.empty() && spec.required_nodes.empty() &&
         spec.excluded_nodes.empty() && spec.tmp_disk_mib == 0 && spec.exclusive != model::Exclusive::Node &&
         spec.exclusive != model::Exclusive::Mcs && spec.licenses.empty() && !spec.contiguous &&
         spec.prefer.empty() && spec.segment == 0;
}

// Most submits end here: plain jobs that a node of the partition can run, seen without looking at all nodes.
bool is_plainly_possible(const View& view, const Partition& partition, const JobSpec& spec) {
  const bool shaped = spec.tasks_per_core || spec.tasks_per_socket || spec.threads_per_core ||
                      spec.sockets_per_node || spec.cores_per_socket || spec.hint != model::Hint::None;
  if (!any_node_will_do(spec) || shaped || spec.min_nodes > 1) return false;
  const MemoryWish memory = memory_wish(*view.config, partition.config, spec);
  const std::uint64_t tasks = spec.overcommit ? 1 : std::max(1u, spec.tasks.value_or(spec.tasks_per_node));
  const std::uint64_t cpus =
      std::max<std::uint64_t>(tasks * spec.cpus_per_task * memory.cpu_factor, spec.min_cpus_per_node.value_or(1));
  // The last thread of a core may have to come along.
  constexpr std::uint64_t kMostThreads = 8;
  for (const NodeIndex index : partition.nodes) {
    const auto& hardware = (*view.nodes.find(index.value))->hardware;
    if (hardware.cpus < cpus) continue;
    if (memory.need == MemoryNeed::PerNode && hardware.memory_mib < memory.mib) continue;
    if (memory.need == MemoryNeed::PerCpu && hardware.memory_mib / memory.mib < cpus + kMostThreads) continue;
    return true;
  }
  return false;
}

Error impossible(const Capacity& capacity, const Partition& partition, Request request,
                 const std::vector<NodeNumber>& nodes) {
  std::string message = fmt::format("no nodes of partition {} satisfy the request", partition.config.name);
  if (request.memory != MemoryNeed::None) {
    request.memory = MemoryNeed::None;
    if (fits_when_empty(request, capacity, nodes)) message = "Memory specification can not be satisfied";
  }
  // What Slurm tells first: no node has so many CPUs, or such sockets, cores and threads.
  const Amount on_each = request.tasks_fixed ? 1 : Amount{request.tasks_per_node};
  const Amount least = std::max(request.min_cpus, on_each * request.cpus_per_task);
  const auto none = [&](auto suits) {
    return std::ranges::none_of(nodes, [&](NodeNumber n) { return suits(capacity.node(n).hardware); });
  };
  if (none([&](const model::NodeHardware& hardware) { return static_cast<Amount>(hardware.cpus) >= least; }))
    message = "CPU count per node can not be satisfied";
  else if (none([&](const model::NodeHardware& hardware) {
             return hardware.sockets >= request.min_sockets && hardware.cores_per_socket >= request.min_cores &&
                    hardware.threads_per_core >= request.min_threads;
           }))
    message = "Socket, core and/or thread specification can not be satisfied";
  if (request.tmp_disk_mib > 0) {
    request.tmp_disk_mib = 0;
    if (fits_when_empty(request, capacity, nodes)) message = "Temporary disk specification can not be satisfied";
  }
  return {ErrorCode::NodeConfigUnavailable, std::move(message)};
}

// More nodes or CPUs than the partition has in all: such a job waits, as in Slurm, until the partition grows.
bool is_larger_than(const Request& request, const Capacity& capacity, const std::vector<NodeNumber>& nodes) {
  if (request.min_nodes > nodes.size() || request.limit_column != 0) return true;
  Amount cpus = 0;
  for (const NodeNumber node : nodes) cpus += static_cast<Amount>(capacity.node(node).hardware.cpus);
  const Amount tasks = request.tasks_fixed ? request.tasks : Amount{request.min_nodes} * request.tasks_per_node;
  return !request.overcommit && tasks * request.cpus_per_task > cpus;
}

// Whether the partition's nodes, all up and empty, could run it. Merely too large is no error here unless limits are
// enforced.
Status check_nodes(const View& view, const Capacity& capacity, const Partition& partition, const JobSpec& spec,
                   bool enforce) {
  const auto number = static_cast<std::size_t>(&partition - view.partitions->data());
  SPUR_ASSIGN(const Request request, make_request(view, capacity.columns(), spec, number, spec.time_limit));
  for (const NodeNumber node : request.required)
    if (std::ranges::binary_search(request.excluded, node))
      return fail(ErrorCode::InvalidNode,
                  fmt::format("node {} is both required and excluded", capacity.node(node).name));
  if (spec.max_nodes && request.required.size() > *spec.max_nodes)
    return fail(ErrorCode::InvalidNodeCount, fmt::format("{} nodes required by name, at most {} allowed",
                                                         request.required.size(), *spec.max_nodes));
  if (enforce) {
    const Reason reason = limit_reason(partition.config, request);
    if (reason == Reason::PartitionNodeLimit)
      return fail(ErrorCode::InvalidNodeCount, fmt::format("{} nodes asked for, more than partition {} allows",
                                                           request.min_nodes, partition.config.name));
    if (reason == Reason::PartitionTimeLimit)
      return fail(ErrorCode::InvalidTimeLimit,
                  fmt::format("the time limit is longer than partition {} allows", partition.config.name));
  }
  // Who does not want to wait is told at once what he would wait for.
  const auto waits = [&]() -> Status {
    if (spec.immediate_seconds == 0) return {};
    return fail(ErrorCode::PartitionConfigUnavailable, "the partition's limits do not allow it");
  };
  const Reason limit = limit_reason(partition.config, request);
  if (limit == Reason::PartitionNodeLimit || limit == Reason::PartitionTimeLimit) SPUR_TRY(waits());
  if (request.min_nodes > request.max_nodes) return {};  // waits with PartitionNodeLimit
  std::vector<NodeNumber> nodes;
  for (const NodeIndex node : partition.nodes) nodes.push_back(node.value);
  if (fits_when_empty(request, capacity, nodes)) return {};
  if (!enforce && is_larger_than(request, capacity, nodes)) return waits();  // waits with PartitionConfig
  return std::unexpected(impossible(capacity, partition, request, nodes));
}

// Names are checked against the whole cluster, before any node is looked at for what it has.
Status check_names(const View& view, const JobSpec& spec) {
  SPUR_ASSIGN(FeatureRequest features, parse_features(spec.features));
  SPUR_ASSIGN(const FeatureRequest prefer, parse_features(spec.prefer));
  features.terms.insert(features.terms.end(), prefer.terms.begin(), prefer.terms.end());
  for (const auto& term : features.terms) {
    if (term.op != FeatureTerm::Op::Name) continue;
    const std::string& feature = term.name;
    bool known = false;
    view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
      known = std::ranges::find(node->features, feature) != node->features.end() ||
              std::ranges::find(node->active_features, feature) != node->active_features.end();
      return !known;
    });
    if (!known) return fail(ErrorCode::InvalidFeature, fmt::format("no node has feature {}", feature));
  }
  return {};
}

}  // namespace

Status check_submit(const View& view, const JobSpec& spec) {
  return SubmitChecker().check(view, spec);
}

Status SubmitChecker::check(const View& view, const JobSpec& spec) {
  SPUR_TRY(check_lengths(spec));
  SPUR_ASSIGN(const auto partitions, partitions_of(view, spec));
  SPUR_TRY(check_partition_access(view, spec, partitions));
  SPUR_TRY(check_form(view, spec));
  SPUR_TRY(check_names(view, spec));
  SPUR_TRY(check_reservation_access(view, spec));
  // Whether anything can run a held job is looked at when it is released, as in Slurm: until then it may be changed.
  const bool held = spec.hold || spec.priority == 0;
  if (!held) SPUR_TRY(check_reservation_room(view, spec, partitions));
  for (const Partition* partition : partitions) SPUR_TRY(check_max_memory(*view.config, *partition, spec));

  // One partition that can run it is enough, unless all have to.
  const auto enforced = view.config->enforce_partition_limits;
  const bool enforce = enforced != model::EnforcePartitionLimits::No;
  const bool all = enforced == model::EnforcePartitionLimits::All;
  if (!enforce)
    for (const Partition* partition : partitions)
      if (spec.immediate_seconds == 0 && is_plainly_possible(view, *partition, spec)) return {};
  see(view);
  const model::Qos* qos = model::find_qos(view, spec.qos);
  const bool bent = qos && (qos->flags & (model::kQosPartitionMinNodes | model::kQosPartitionMaxNodes |
                                          model::kQosPartitionTimeLimit));
  if (!bent && has_passed(spec)) return {};
  Status first_error;
  for (const Partition* partition : partitions) {
    Status status = check_nodes(view, *capacity_, *partition, spec, enforce);
    if (status && !all) {
      first_error = {};
      break;
    }
    if (!status && first_error) first_error = std::move(status);
    if (!first_error && all) break;
  }
  if (!first_error && held && first_error.error().code == ErrorCode::NodeConfigUnavailable) return {};
  if (first_error) remember(spec);
  return first_error;
}

// Jobs come and go on the nodes all the time; what counts here is what the nodes have.
void SubmitChecker::see(const View& view) {
  bool same = capacity_ && config_ == view.config && partitions_ == view.partitions;
  if (same)
    CowMap<model::NodePtr>::diff(
        nodes_, view.nodes, [&](std::uint32_t, const model::NodePtr* a, const model::NodePtr* b) {
          same = same && a && b && (*a)->hardware == (*b)->hardware && (*a)->active_features == (*b)->active_features;
        });
  nodes_ = view.nodes;
  if (same) return;
  config_ = view.config;
  partitions_ = view.partitions;
  built_from_ = view.nodes;
  capacity_.emplace(view);
  passed_.clear();
}

// Reservations come and go without a word here.
bool SubmitChecker::has_passed(const JobSpec& spec) const {
  if (!spec.reservation.empty()) return false;
  const bool any_limit = config_->enforce_partition_limits == model::EnforcePartitionLimits::No;
  const auto [first, last] = passed_.equal_range(wish_hash(spec));
  for (auto at = first; at != last; ++at)
    if ((any_limit || at->second->time_limit == spec.time_limit) && same_wish(*at->second, spec)) return true;
  return false;
}

void SubmitChecker::remember(const JobSpec& spec) {
  constexpr std::size_t kMost = 10'000;
  if (!spec.reservation.empty()) return;
  if (passed_.size() >= kMost) passed_.clear();
  auto kept = std::make_unique<JobSpec>(spec);
  kept->script = kept->environment = nullptr;
  const std::uint64_t hash = wish_hash(spec);
  passed_.emplace(hash, std::move(kept));
}

}  // namespace spur::sched
