// SPDX-License-Identifier: Apache-2.0
// What a user asked for: everything sbatch, srun, salloc, REST or the C library can say about a job, parsed and
// normalised, before anything happened to it. Shared and immutable; an update makes a new one. All tasks of an array
// share one. Defaults here are Slurm's meaning of "not given".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/index_set.h"
#include "base/time.h"
#include "model/container_request.h"

namespace spur::model {

// Large texts that many jobs have in common (environment, script): shared, never copied. Null means empty.
using Blob = std::shared_ptr<const std::string>;

enum class Exclusive : std::uint8_t { No, Node, User, Mcs };
enum class JobKind : std::uint8_t { Batch, Interactive };  // Interactive: an allocation that srun or salloc holds

struct GresRequest {
  enum class Per : std::uint8_t { Node, Job, Task, Socket };
  std::string name;  // "gpu"
  std::string type;  // "mi300x" or empty for any
  std::uint64_t count = 1;
  Per per = Per::Node;
  friend bool operator==(const GresRequest&, const GresRequest&) = default;
};

struct LicenseRequest {
  std::string name;
  std::uint32_t count = 1;
  friend bool operator==(const LicenseRequest&, const LicenseRequest&) = default;
};

// One term of --dependency. Terms are joined all by `,` (and) or all by `?` (or).
struct Dependency {
  enum class Kind : std::uint8_t {
    After,
    AfterAny,
    AfterOk,
    AfterNotOk,
    AfterCorr,
    AfterBurstBuffer,
    Expand,
    Singleton
  };
  Kind kind = Kind::AfterAny;
  JobId job;                                // none for Singleton
  std::optional<std::uint32_t> array_task;  // "123_4"
  bool whole_array = false;                 // "123_*" or the id of an array
  std::uint32_t delay_minutes = 0;          // after:123+5
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct SignalBeforeEnd {  // --signal=[{R|B}:]<sig>[@seconds]
  int signal = 0;         // 0: not asked for
  std::uint32_t seconds_before = 60;
  bool batch_only = false;
  friend bool operator==(const SignalBeforeEnd&, const SignalBeforeEnd&) = default;
};

struct ResourceLimit {  // one of the submitter's rlimits, propagated (RLIMIT_* number of Linux)
  int resource = 0;
  std::uint64_t soft = 0, hard = 0;
  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

// -m: how task numbers are dealt out over nodes, and tasks over the sockets and cores of a node. Unset: the site's
// way.
struct Distribution {
  enum class Nodes : std::uint8_t { Unset, Block, Cyclic, Plane, Arbitrary };
  enum class Within : std::uint8_t { Unset, Block, Cyclic, FullCyclic };
  Nodes nodes = Nodes::Unset;
  Within sockets = Within::Unset, cores = Within::Unset;
  std::uint32_t plane_size = 0;
  std::optional<bool> pack;  // Pack, NoPack
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

enum class Hint : std::uint8_t { None, ComputeBound, MemoryBound, Multithread, NoMultithread };

// --gres-flags
enum GresFlag : std::uint32_t {
  kGresEnforceBinding = 1u << 0,
  kGresDisableBinding = 1u << 1,
  kGresOneTaskPerSharing = 1u << 2,
  kGresManyTasksPerSharing = 1u << 3,
  kGresAllowTaskSharing = 1u << 4,
};

struct ArrayRequest {
  IndexSet tasks;
  std::uint32_t max_running = 0;  // %limit; 0: none
  friend bool operator==(const ArrayRequest&, const ArrayRequest&) = default;
};

struct JobSpec {
  // who and what
  std::string name;
  JobKind kind = JobKind::Batch;
  Uid uid;  // from the credential, never from the request
  Gid gid;
  std::string account, qos, wckey, comment, admin_comment, extra;
  std::vector<std::string> partitions;  // in the order given; empty: the default one
  std::string reservation;

  // the program
  Blob script;                         // whole batch script
  Blob environment;                    // NAME=VALUE entries, each ended by a NUL byte
  std::vector<std::string> arguments;  // of the script
  ContainerRequest container;
  std::string command;  // path shown as Command= (empty for --wrap and stdin)
  std::string work_dir;
  std::string std_in, std_out, std_err;  // patterns; empty: Slurm's default (err joins out)
  bool open_append = false, open_truncate = false;
  std::uint32_t umask = 022;
  std::vector<ResourceLimit> rlimits;
  std::string submit_line, submit_host;  // AllocNode
  std::uint32_t session_id = 0;          // AllocNode:Sid

  // size
  std::uint32_t min_nodes = 1;
  std::optional<std::uint32_t> max_nodes;                                     // unset: as many as needed
  bool nodes_given = false;                                                   // -N was given
  std::optional<std::uint32_t> tasks;                                         // -n
  std::uint32_t tasks_per_node = 0;                                           // 0: not given
  std::uint32_t tasks_per_socket = 0, tasks_per_core = 0, tasks_per_gpu = 0;  // 0: not given
  std::uint32_t cpus_per_gpu = 0;                                             // 0: not given
  std::uint32_t cpus_per_task = 1;
  bool cpus_per_task_given = false;
  std::optional<std::uint32_t> min_cpus_per_node;    // --mincpus
  std::optional<std::uint64_t> memory_per_node_mib;  // 0 means all of the node's memory
  std::optional<std::uint64_t> memory_per_cpu_mib;
  std::optional<std::uint64_t> memory_per_gpu_mib;
  std::uint64_t tmp_disk_mib = 0;
  std::vector<GresRequest> gres;
  std::uint32_t gres_flags = 0;    // GresFlag bits
  std::string gpu_bind, gpu_freq;  // --gpu-bind and --gpu-freq, as written
  std::vector<LicenseRequest> licenses;
  Exclusive exclusive = Exclusive::No;
  bool oversubscribe = false, overcommit = false, contiguous = false;
  bool spread_nodes = false, fewest_nodes = false;                                 // --spread-job, --use-min-nodes
  std::uint32_t sockets_per_node = 0, cores_per_socket = 0, threads_per_core = 0;  // -B and its parts; 0: any
  Hint hint = Hint::None;
  std::optional<std::uint32_t> core_spec;  // -S: cores (or threads) per node kept for the system
  bool core_spec_is_threads = false;       // --thread-spec
  Distribution distribution;
  std::uint32_t switches = 0;  // --switches=COUNT[@WAIT]; 0: any number
  std::optional<std::uint32_t> switch_wait_seconds;
  std::uint32_t segment = 0;                   // --segment: nodes that must be in one block together; 0: not given
  std::string features;                        // -C, as written
  std::string prefer, batch_features;          // --prefer, --batch
  std::string burst_buffer;                    // --bb, as written
  std::string required_nodes, excluded_nodes;  // hostlists as written; validated at submit

  // when
  TimeLimit time_limit, time_min;
  Time begin, deadline;  // not set: none
  std::vector<Dependency> dependencies;
  bool dependencies_any = false;  // joined by '?'
  std::optional<bool> kill_on_invalid_dependency;
  std::int32_t nice = 0;
  std::optional<std::uint32_t> priority;  // set by hand
  bool hold = false;
  std::optional<bool> requeue;  // unset: the site's JobRequeue
  bool no_kill = false;         // --no-kill: when a node fails it goes on with the others
  SignalBeforeEnd signal;
  std::optional<ArrayRequest> array;
  std::uint32_t immediate_seconds = 0;  // --immediate: give up when not started by then; 0: wait

  // who is told
  std::uint32_t mail_types = 0;  // text/mail_type.h
  std::string mail_user;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Tasks the job will run: -n, or what -N and --ntasks-per-node make, at least one.
std::uint32_t task_count(const JobSpec& spec);
// CPUs the whole job needs at least.
std::uint32_t min_cpus(const JobSpec& spec);
std::string dependency_text(
    const JobSpec& spec);  // "afterok:12(unfulfilled)" is made by the caller; this is the plain list

}  // namespace spur::model
