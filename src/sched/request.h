// SPDX-License-Identifier: Apache-2.0
// A job's wish in the scheduler's terms: the specification resolved against one partition, the configuration and the
// columns of the call. One per class of equal jobs and partition.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"
#include "sched/features.h"
#include "sched/topology.h"

namespace spur::sched {

inline constexpr std::uint32_t kNoLimit = 0xffffffffu;

// Jobs without a time limit hold what they have until then; beyond any date, so nothing that ends waits for them, and
// still a point in time, so a job that needs their nodes can be planned behind them and other unlimited jobs may not
// overtake it.
inline constexpr Time kNever = from_micros(std::int64_t{1} << 60);

// -m arbitrary names a node for every task, and lists are made of it.
inline constexpr std::uint32_t kMaxListedTasks = 1u << 20;

struct GresNeed {
  std::vector<GresId> gres;  // any of them will do
  Amount count = 0;
  bool is_gpu = false;      // whole GPUs: --cpus-per-gpu and --mem-per-gpu count them
  Amount per_socket = 0;    // of `count`, that each of so many sockets gives; 0: wherever they are
  std::string shares_of{};  // `count` is of shares under this name ("shard"), and they come from one device
  bool is_shares() const { return !shares_of.empty(); }
};

// At most so many kinds asked for per job (not per node or task); bounds a small array in the placement code.
inline constexpr std::size_t kMaxJobGres = 4;
using JobGres = std::array<std::int32_t, kMaxJobGres>;

enum class MemoryNeed : std::uint8_t { None, PerNode, PerCpu, PerTask, PerGpu, WholeNode };

struct Request {
  std::size_t partition = 0;  // position in View::partitions

  std::uint32_t min_nodes = 1, max_nodes = kNoLimit;
  bool any_time = false;     // its QOS lets it run for longer than the partition does
  bool spread = false;       // a range of nodes was given: as many as there are
  bool tasks_fixed = false;  // -n: `tasks` in all; else every node gets `tasks_per_node`
  std::uint32_t tasks = 1;
  std::uint32_t lot = 1;                   // --ntasks-per-gpu: all counts of tasks here are of lots of so many tasks
  std::uint32_t tasks_per_node = 0;        // with tasks_fixed: at most so many on one node (0: no limit)
  Amount cpus_per_task = 1, min_cpus = 1;  // min_cpus: per node
  // Threads of a core that tasks may use, tasks on one core and on one socket; 0: as many as there are.
  Amount threads = 0, tasks_per_core = 0, tasks_per_socket = 0;
  std::uint32_t min_sockets = 0, min_cores = 0, min_threads = 0;  // that a node must have: per node, socket, core
  bool overcommit = false;                                        // CPUs as for one task per node
  bool exclusive = false;                                         // whole nodes
  std::optional<CoreSpec> core_spec;                              // -S, where the site allows it: of a whole node
  Uid user;                                                       // whose job it is, where that matters
  bool user_alone = false;                                        // no nodes with jobs of other users
  bool least_loaded = false;                                      // LLN: the emptiest node first

  MemoryNeed memory = MemoryNeed::None;
  Amount memory_mib = 0;
  Amount tmp_disk_mib = 0;
  std::vector<GresNeed> gres_per_node, gres_per_task, gres_per_job;
  Amount cpus_per_gpu = 0;           // only with GPUs per job; else it is settled in CPUs per task or node
  bool one_task_per_device = false;  // of shared devices: no two tasks on one
  bool shares_of_several = false;    // shares of one need may come from several devices
  bool spread_shares = false;        // from the device with most left; else with least that suffices
  bool bind_to_gres = false;         // --gres-flags=enforce-binding: CPUs only of sockets near the devices

  // CPUs are not simply the sum of what the tasks need.
  bool counts_cores() const { return threads > 0 || tasks_per_core > 0 || tasks_per_socket > 0; }
  bool wants_gres() const { return !gres_per_node.empty() || !gres_per_task.empty() || !gres_per_job.empty(); }
  // By the number of GPUs on the node, or by which they are.
  bool counts_gpus() const { return cpus_per_gpu > 0 || memory == MemoryNeed::PerGpu; }
  std::vector<std::pair<std::size_t, Amount>> licenses;  // position in ClusterConfig::licenses, count

  FeatureRequest features, prefer;
  bool contiguous = false;                   // nodes whose numbers follow each other
  bool even = false;                         // --spread-job: tasks dealt out evenly
  std::shared_ptr<const Topology> topology;  // null: near and far are the same
  // --switches: at most so many leaves (0: any), as long as the job has not waited longer than that. A request
  // without the limit is `without_leaf_limit`; who plans decides which of them is in force.
  std::uint32_t most_leaves = 0;
  Duration leaf_wait{0};
  std::uint32_t segment = 0;                   // nodes that must be in one block together
  std::vector<NodeNumber> required, excluded;  // ascending
  std::size_t limit_column = 0;                // of the partition's MaxCPUsPerNode; 0: none

  model::Distribution distribution;
  std::vector<NodeNumber> task_nodes;  // -m arbitrary: the node of every task (of every lot)
  bool sockets_in_turn = false;        // CPUs come from one socket after the other in turn; else as few as possible

  TimeLimit limit, least_limit;  // least_limit: --time-min, not set if the limit is not to be cut
  Time deadline;

  // Whether enough nodes that suit are enough, whichever they are.
  bool places_freely() const { return !contiguous && features.is_per_node() && most_leaves == 0 && segment == 0; }

  // When a run that starts then ends at the latest.
  Time end_of_run(Time start) const;
};

// The request of `spec` in a partition. An error tells why the wish makes no sense here (unknown GRES, node or
// licence, unsupported features); the plan then says BadConstraints, a submit is refused with it.
Result<Request> make_request(const model::View& view, const Columns& columns, const model::JobSpec& spec,
                             std::size_t partition, TimeLimit limit);

// How long a job with this wish waits for few switches.
Duration leaf_wait(const model::View& view, const model::JobSpec& spec);
// The request once its job has waited long enough for few switches.
Request without_leaf_limit(Request request);

// The request for the shortest run that will do; the same if its limit is not to be cut.
Request with_least_limit(Request request);

// The limit for a run that starts then and has to end by `until`: the request's own if that fits, else the longest
// whole number of minutes that is not below --time-min; not set if the job cannot run there.
TimeLimit limit_until(const Request& request, Time start, Time until);

// The limit in force in that partition: the job's, else the partition's default, else its maximum.
TimeLimit limit_in(const model::PartitionConfig& partition, TimeLimit of_job);

// How much of the partition a job of that kind takes from others: CPUs times minutes, where a GPU counts for as many
// CPUs as there are to one on the partition's first node. Without a limit, more than any.
std::int64_t size_in(const model::View& view, const model::Partition& partition, const Request& request);

// Node numbers of a hostlist as listed. InvalidNode names the first that does not exist.
Result<std::vector<NodeNumber>> listed_nodes(const model::View& view, const std::string& hostlist);
// Ascending, each once.
Result<std::vector<NodeNumber>> resolve_nodes(const model::View& view, const std::string& hostlist);

// Memory asked for in that partition, with the defaults of partition and cluster.
struct MemoryWish {
  MemoryNeed need = MemoryNeed::None;
  std::uint64_t mib = 0;
  std::uint32_t cpu_factor = 1;  // MaxMemPerCPU: more memory per CPU means more CPUs per task
};
MemoryWish memory_wish(const model::ClusterConfig& config, const model::PartitionConfig& partition,
                       const model::JobSpec& spec);

// Equal in everything that the scheduler looks at; such jobs are one class. (The time limit in force is kept in the
// job record and compared beside it.)
bool same_wish(const model::JobSpec& a, const model::JobSpec& b);
// Of the same user, account and QOS: what reservations ask about.
bool same_asker(const model::JobSpec& a, const model::JobSpec& b);
std::uint64_t wish_hash(const model::JobSpec& spec);

}  // namespace spur::sched
