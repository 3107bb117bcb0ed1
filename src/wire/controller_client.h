// SPDX-License-Identifier: Apache-2.0
// What a command (sbatch, squeue, ...) can ask of the controller, in the model's own types; the lean gRPC channel is
// underneath. Tries the configured controllers in turn; every call has a deadline. Errors carry the ErrorCode the
// controller answered with, so that a command prints Slurm's words for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/association.h"
#include "model/cluster_config.h"
#include "model/job.h"
#include "model/node.h"
#include "model/reservation_change.h"
#include "model/view.h"
#include "state/command.h"
#include "wire/controller_statistics.h"
#include "wire/follower_note.h"
#include "wire/job_fields.h"

namespace spur::wire {

struct ClientOptions {
  std::vector<std::string> controllers;  // "unix:/path", "host:port", "http://host:port"; tried in order
  std::string local_socket = {};         // of a controller on this host: tried before all others; empty: none
  std::string auth_socket;               // where a credential is had; empty: none (anonymous)
  std::string ticket_socket = {};        // where step tickets are had without the controller; empty: nowhere
  Duration timeout{std::chrono::seconds(60)};
  bool consistent = false;  // questions go to the leader, too
  // An answer is from a controller that has not heard of a leader for long: it may be old. At most once.
  std::function<void(const FollowerNote&)> on_stale = {};
  // Asked when a signal arrives while a call waits: true gives the call up (TimedOut). Empty: calls go on waiting.
  std::function<bool()> interrupted = {};
};

struct JobFilter {                     // empty: all
  std::vector<state::JobTarget> jobs;  // -j
  std::vector<Uid> users;
  std::vector<std::string> partitions, accounts, names, nodes;
  std::vector<model::StateFilter>
      states;  // empty: squeue's default (pending, running, suspended, completing, configuring)
  bool all_states = false;
  bool hide = false;                  // jobs of partitions that are hidden from the caller are left out
  std::vector<std::string> hidden{};  // ... these; the controller fills it in
  std::function<bool(const model::Job&)> may_see{};  // likewise: of which jobs the caller may know; empty: of all
  bool with_script = false;           // also scripts and environments; only of own jobs, or as admin
  JobFields fields = JobFields::everything();  // that are looked at; the others may have their defaults
};
struct JobTable {
  Time as_of;
  std::string cluster_name;
  std::vector<model::JobPtr> jobs;  // ascending id
  // What a job's allocation and nodes_left index into; names by NodeIndex. Empty names where not needed by the rows.
  std::vector<std::string> node_names;
  bool unknown_job = false;                  // jobs were asked for by id and none of them exists
  std::vector<Time> expected_starts;         // parallel to jobs
  std::vector<Time> preemptable;             // likewise: from when on a running job may be preempted
  std::vector<std::string> planned_nodes{};  // likewise: where a waiting job is expected to start; empty: not known
};
using OnJobs = std::function<Status(const JobTable& piece)>;
// What a watcher of jobs is told; proto/spur/v1/controller.proto has the meaning of each.
struct JobChanges {
  bool resync = false;   // what was told before is void
  bool current = false;  // all is told that was known at table.as_of
  JobTable table;        // jobs that are new or changed
  std::vector<JobId> gone;
};
struct JobWatch {
  JobFilter filter;
  bool expected_starts = false;
  std::optional<Duration> timeout = {};  // TimedOut after so long
  // False: enough.
  std::function<bool(JobChanges&)> on_changes;
  // The controller is away; it is looked for until one is found, which begins with a resync.
  std::function<void(const Error&)> on_lost = {};
};
struct NodeLoad {
  std::uint32_t hundredths = 0;       // load average of the last minute, times 100
  std::uint64_t free_memory_mib = 0;  // 0: nothing is known of the node
};
struct ClusterTable {  // nodes and partitions together: what sinfo and scontrol show need
  Time as_of;
  std::string cluster_name;
  std::vector<model::NodePtr> nodes;
  std::vector<model::Partition> partitions;
  // The site keeps them to itself: of nodes only names and hardware are told, of partitions nothing.
  bool nodes_denied = false, partitions_denied = false;
  std::vector<NodeLoad> loads{};  // beside `nodes`; empty: nothing is known of any
  // Of a node of the table; null: nothing is known.
  const NodeLoad* load_of(const model::Node& node) const {
    if (node.index.value >= loads.size() || nodes[node.index.value].get() != &node) return nullptr;
    const NodeLoad& load = loads[node.index.value];
    return load.free_memory_mib == 0 ? nullptr : &load;
  }
};
struct PingReply {
  std::string host, version, cluster_name;
  bool is_leader = true;
  Time started;
  std::uint64_t entry = 0;  // of the journal, up to which it has followed
  Duration silence{0};      // of one that follows: since it last heard of a leader
};
struct ControllerMember {
  std::string name, address;
  std::string peer;  // of its etcd member, if it runs one
  bool started = false, learner = false;
};
struct ControllerMembers {
  std::string cluster_name, cluster_id;
  std::vector<ControllerMember> members;
};
struct Forecast {
  JobId job;
  Time start;
  std::uint32_t cpus = 0;
  std::string nodes, partition;
};

// Why a job waits, and what would help (sched/explain.h has the meaning of each).
struct JobExplanation {
  struct Blocker {
    enum class Kind : std::uint8_t {
      Hold,
      Dependency,
      BeginTime,
      PartitionState,
      PartitionLimit,
      Node,
      RunningJob,
      Queue,
      Reservation  // its name is where that of a partition would be
    };
    Kind kind = Kind::Hold;
    std::vector<JobId> jobs;
    std::string node, partition;
    Time ends;
  };
  enum class Certainty : std::uint8_t { Expected, ByLimits, Promised };
  struct Change {
    std::string option, now, instead;
    Time start;
    Certainty certainty = Certainty::Expected;
  };
  JobId job;
  model::Reason reason = model::Reason::None;
  Time start, as_of;
  Certainty certainty = Certainty::Expected;
  bool starts_now = false, impossible = false;
  std::vector<Blocker> blockers;
  std::vector<Change> changes;
};

struct ReservationRow {
  model::Reservation reservation;
  std::string nodes;  // hostlist
  std::uint32_t node_count = 0, core_count = 0, cpu_count = 0;
  std::vector<std::pair<std::string, std::string>> partial{};  // nodes of which only cores are reserved, and which
};
struct ReservationTable {
  Time as_of;
  std::vector<ReservationRow> rows;
};

// A waiting job in one of its partitions. Factors in billionths.
struct PriorityRow {
  JobId job;
  Uid user;
  std::string partition, account, qos;
  std::uint32_t priority = 0;
  std::int32_t nice = 0;
  std::int64_t site = 0, age = 0, assoc = 0, fairshare = 0, job_size = 0, partition_factor = 0, qos_factor = 0;
  std::vector<std::int64_t> tres;  // beside PriorityTable::tres; empty: the priority was set by hand
};
struct PriorityTable {
  std::string cluster_name;
  bool multifactor = true;
  std::uint32_t age_weight = 0, assoc_weight = 0, fairshare_weight = 0, job_size_weight = 0, partition_weight = 0,
                qos_weight = 0;
  std::vector<model::TresWeight> tres;
  std::vector<PriorityRow> rows;
};

// What sshare shows; an account before what is below it.
struct ShareRow {
  model::Association association;
  std::uint32_t depth = 0;
  std::uint64_t raw_usage = 0;
  double norm_shares = 0, norm_usage = 0, effective_usage = 0, level_fs = 0, factor = 0;
  std::vector<std::uint64_t> run_seconds, used_seconds;  // by TRES
};
struct ShareTable {
  std::string cluster;
  bool multifactor = true, fair_tree = true;
  std::vector<std::string> tres;
  std::vector<ShareRow> rows;
};

// Accounts, users and QOS as the controller has them, with what their jobs hold.
struct Holding {
  std::uint32_t running = 0, submitted = 0, accruing = 0;
  std::vector<std::uint64_t> tres, used_seconds, run_seconds;  // by TRES
  std::uint64_t wall_seconds = 0, billed = 0;
};
struct QosHolding {
  model::Qos qos;
  Holding holding;
  std::vector<std::pair<std::string, Holding>> accounts;  // with jobs in it
  std::vector<std::pair<Uid, Holding>> users;
};
struct AccountBookTable {
  ShareTable shares;
  std::vector<Holding> holdings;  // beside shares.rows
  std::vector<model::AccountUser> users;
  std::vector<QosHolding> qos;
};

// What was done to a job, the oldest first.
struct JobEvent {
  JobId job;          // the record
  std::string shown;  // "8_3", "8+1" or "8"
  std::uint64_t entry = 0;
  Time at;
  std::optional<Uid> by;  // the user who asked for it; else
  std::string source;     // where it came from
  std::string what, details;
};
struct JobEventTable {
  std::vector<JobEvent> events;
  bool more = false;  // than are told
  Time since;         // from when on there is history
};

// What became of a table of scrontab: its jobs, or why it was refused and which lines are to blame.
struct CrontabOutcome {
  std::vector<JobId> jobs;  // beside its entries
  std::string error;        // empty: it is in force
  std::uint32_t first_line = 0, last_line = 0;
};
struct TriggerFilter {  // all that is said has to fit
  std::uint32_t id = 0;
  JobId job;
  std::optional<Uid> user;
};

enum class PartitionEdit : std::uint8_t { Create, Update, Remove };

class ControllerClient {
 public:
  explicit ControllerClient(ClientOptions options);
  ~ControllerClient();
  ControllerClient(const ControllerClient&) = delete;
  ControllerClient& operator=(const ControllerClient&) = delete;

  // With several components: a heterogeneous job; the id of the first.
  Result<JobId> submit(const std::vector<model::JobSpec>& components, const std::string& token);
  Result<JobId> submit(const model::JobSpec& spec, const std::string& token);
  Result<Forecast> will_run(const std::vector<model::JobSpec>& components);
  Result<JobExplanation> explain(JobId job, std::optional<std::uint32_t> array_task);
  // From now on jobs(), cluster() and reservations() are asked for as they were then.
  void look_at(Time then) { then_ = then; }
  Result<JobEventTable> job_events(const state::JobTarget& target);
  Result<JobTable> jobs(const JobFilter& filter);
  // The same as it comes: each piece has some of the jobs, and may not be kept. There is always a first one.
  Status jobs_in_pieces(const JobFilter& filter, const OnJobs& on_jobs);
  // Returns when on_changes has enough, or with the error of the first attempt to begin.
  Status watch_jobs(const JobWatch& watch);
  Result<ClusterTable> cluster();
  // From now on cluster() has FUTURE nodes, too, behind all others.
  void see_future_nodes() { future_ = true; }
  Result<model::ClusterConfig> config();
  Result<PingReply> ping(std::size_t controller_number);
  std::size_t controller_count() const;
  Result<ControllerMembers> controllers();
  Status add_controller(const std::string& name, const std::string& address);
  Status remove_controller(const std::string& name);

  // signal 0: cancel (TERM, wait, KILL).
  // `cron`: also jobs of scrontab, where that has to be said.
  Status cancel(const state::JobTarget& target, int signal, bool batch_only, bool full, bool cron = false);
  // As cancel() for each of them, and what came of it, in their order. At most 10,000.
  Result<std::vector<Status>> cancel_all(const std::vector<state::JobTarget>& targets, int signal, bool batch_only,
                                         bool full, bool cron);
  Status hold(const state::JobTarget& target, model::Hold hold);
  Status release(const state::JobTarget& target);
  Status requeue(const state::JobTarget& target, model::AfterCompleting how);
  Status suspend(const state::JobTarget& target, bool resume);
  // `changed` names the fields of `spec` that are to change (names of the proto's JobSpec fields); the controller
  // merges them.
  Status update_job(const state::JobTarget& target, const model::JobSpec& spec,
                    const std::vector<std::string>& changed);
  Status update_node(const state::UpdateNode& update);
  // Rows as a file would have them.
  Status create_nodes(const std::vector<model::NodeConfig>& nodes);
  Status delete_nodes(const std::vector<std::string>& nodes);
  Result<ReservationTable> reservations();
  Result<std::string> create_reservation(const model::ReservationChange& change);
  Status update_reservation(const model::ReservationChange& change);
  Status delete_reservation(const std::string& name);
  Result<PriorityTable> priorities();
  Result<ShareTable> shares();
  Result<AccountBookTable> account_book();
  // A JWT; no user: the caller's own. 0: for half an hour.
  Result<std::string> token(const std::string& user, seconds lifespan);
  // `changed` names the fields of `partition` that count.
  Status edit_partition(PartitionEdit how, const model::PartitionConfig& partition,
                        const std::vector<std::string>& changed);
  Status reconfigure();
  // `agents`: those of all nodes too.
  Status shutdown(bool agents = false);
  // With `reset` the controller counts anew from now on.
  Result<ControllerStatistics> statistics(bool reset);
  Status abort();
  Status takeover(const std::string& successor);
  // `nodes`: of their agents; empty: of the controller.
  Status set_debug(const std::string& level, const std::string& nodes = {});
  Status set_debug_flags(const std::string& on, const std::string& off, const std::string& nodes = {});  // with commas
  Status log_scheduling(bool on);
  Status reset_usage(const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos);
  Status top_jobs(const std::vector<JobId>& jobs);
  // `specs` beside the entries.
  Result<CrontabOutcome> set_crontab(const model::Crontab& crontab, const std::vector<model::JobSpec>& specs);
  Result<std::optional<model::Crontab>> crontab(Uid user);
  Status remove_crontab(Uid user);
  Result<std::vector<model::CronEntry>> cron_jobs();  // of all users, ascending by job
  Status set_trigger(const model::Trigger& trigger);
  Status clear_triggers(const TriggerFilter& which);
  Result<std::vector<model::Trigger>> triggers();
  // Blocks (past `timeout`, reconnecting) until the job has started or is final. With `on_notice`, lines that somebody
  // has for who looks at the job come meanwhile.
  using OnNotice = std::function<void(const std::string& text)>;
  Result<model::JobPtr> wait_job(JobId job, bool until_final, const OnNotice& on_notice = {});
  Status notify_job(JobId job, const std::string& text);
  Status complete_allocation(JobId job, model::ExitStatus exit);
  // A credential, signed by the controller, that lets the caller run steps in his job; opaque, for the agent.
  struct StepTicket {
    std::string ticket;
    std::vector<std::string> nodes, addresses;  // of the job's allocation, in order
    std::vector<std::uint32_t> tasks_per_node;
  };
  // From `ticket_socket` where it has one.
  Result<StepTicket> step_ticket(JobId job);

 private:
  Status list_jobs(const JobFilter& filter, JobTable* table, const OnJobs& on_chunk);
  struct Channel;
  std::unique_ptr<Channel> channel_;
  Time then_;  // not set: now
  bool future_ = false;
};

}  // namespace spur::wire
