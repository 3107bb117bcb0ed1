// SPDX-License-Identifier: Apache-2.0
// The logic of spurctld without threads or sockets: requests, agents' messages, journal completions and timers in;
// replies, messages to agents and journal entries out. One thread calls it (ctld/core_thread.cc, or sim/ in virtual
// time).
//
// A request becomes a command; commands wait while a batch is being made durable; when it is, they are applied, the
// waiting callers get their replies, effects are carried out, a new View is published and the next batch goes to the
// journal (commit_queue.h). Acknowledged therefore means durable.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ctld/allocation_holders.h"
#include "ctld/arrived_entries.h"
#include "ctld/commit_queue.h"
#include "ctld/dispatch.h"
#include "ctld/job_clocks.h"
#include "ctld/mail_watch.h"
#include "ctld/node_loads.h"
#include "ctld/node_watch.h"
#include "ctld/plan_pace.h"
#include "ctld/reservation_request.h"
#include "ctld/statistics.h"
#include "ctld/submit_burst.h"
#include "ctld/trigger_watch.h"
#include "io/agent_port.h"
#include "io/clock.h"
#include "io/controller_hooks.h"
#include "io/journal.h"
#include "model/caller.h"
#include "model/view.h"
#include "sched/plan.h"
#include "sched/submit_check.h"
#include "state/cluster.h"

namespace spur::ctld {

class History;

struct SubmitReply {
  JobId job;
  bool repeated = false;
};

// The jobs of a table of scrontab, beside its entries; or why there are none, and which lines are to blame.
struct CrontabReply {
  std::vector<JobId> jobs;
  Error error;
  std::uint32_t first_line = 0, last_line = 0;  // 0: there is nothing to blame
};
// A word of ScronParameters.
bool has_scron_parameter(const model::ClusterConfig& config, std::string_view word);

// What the planner expects of a waiting job.
struct Expected {
  Time start;
  std::shared_ptr<const std::vector<NodeIndex>> nodes;  // ascending
};
using ExpectedStarts = std::unordered_map<JobId, Expected>;

// What queries read: the replicated state and the leader's own expectations beside it.
struct Picture {
  model::View view;
  std::shared_ptr<const ExpectedStarts> expected_starts;
  bool leading = true;  // requests are taken here; else only what was asked for by looking
  std::shared_ptr<const NodeLoads> loads{};  // as they are, not as they were; null: of a past moment
};

class Controller {
 public:
  struct Doors {
    io::Clock& clock;
    io::Journal& journal;
    io::AgentPort& agents;
    // Runs a function on the core thread, later. Called from the journal's thread.
    std::function<void(std::function<void()>)> post;
    // Runs a function somewhere else, later (snapshot encoding).
    std::function<void(std::function<void()>)> in_background;
    // A new picture is out. Called on the core thread after each applied batch.
    std::function<void(std::shared_ptr<const Picture>)> publish;
    // Planning is wanted: show an engine the view and call plan_done() on the core thread later with what it answers.
    std::function<void(std::shared_ptr<const Picture>, Time now, PlanKind)> request_plan;
    // The journal failed: nothing more can be acknowledged, the process must end.
    std::function<void(const Error&)> fatal;
    std::function<void(std::string)> log;
    io::ControllerHooks* programs = nullptr;  // of the site; null: none
    std::function<bool()> traces_jobs = {};   // whether every change of a job's state goes to the log; empty: never
    std::function<bool()> logs_scheduling = {};  // whether lines "sched: ..." are wanted; empty: never
    // What accounting must know (AcctOutbox::add), and when it is on disk up to a number (when_spooled); empty:
    // nobody asks.
    std::function<void(Time born, std::vector<state::OutboxRecord>)> account = {};
    std::function<void(std::uint64_t number, std::function<void()> then)> when_accounted = {};
    // The outbox of the image that was loaded, before anything is replayed; and how far the database is, as the journal
    // has it, to those who follow.
    std::function<void(const state::Outbox&)> outbox_begins = {};
    std::function<void(std::uint64_t number)> outbox_acked = {};
    std::uint64_t max_backlog = ~std::uint64_t{0};  // records that accounting may be behind before jobs are refused
    History* history = nullptr;  // what was applied, to look back; null: none is kept
    std::function<void(const state::Cluster&)> on_lead = {};  // before the first request is taken
    std::function<void()> on_step_down = {};
    Statistics* statistics = nullptr;         // null: nothing is counted
    std::string host = {};  // this one's name: what runs on a node of it has no other CPUs than the commands of its users
    Duration batch_sched_delay = seconds(3);  // see submit_burst.h
    // A snapshot is due after this much journal; replaying that much takes a fraction of a second.
    std::uint64_t snapshot_bytes = std::uint64_t{64} << 20;
  };
  using DoneReply = std::function<void(Status)>;

  explicit Controller(Doors doors);

  // Loads the journal, then makes `config` the current one if it differs. `ready` is called once requests may come. With
  // a journal that others share that is at once, and Picture::leading says which.
  Status start(model::ClusterConfig config, std::function<void(Status)> ready);

  // ---- requests. `caller` comes from the verified credential. Replies are called on the core thread, after commit.
  // `more`: the components behind the first of a heterogeneous job.
  using Specs = std::vector<std::shared_ptr<const model::JobSpec>>;
  void submit(const model::Caller& caller, std::shared_ptr<const model::JobSpec> spec, std::string token,
              std::function<void(Result<SubmitReply>)> reply, Specs more = {});
  // signal 0 or KILL: ends the job. Any other is passed on to the running job.
  void cancel(const model::Caller& caller, state::JobTarget target, int signal, bool batch_only, bool full,
              DoneReply reply);
  void hold(const model::Caller& caller, state::JobTarget target, model::Hold hold, DoneReply reply);
  void release(const model::Caller& caller, state::JobTarget target, DoneReply reply);
  void requeue(const model::Caller& caller, state::JobTarget target, model::AfterCompleting how, DoneReply reply);
  void suspend(const model::Caller& caller, state::JobTarget target, bool resume, DoneReply reply);
  void update_job(const model::Caller& caller, state::UpdateJob update, DoneReply reply);
  // Of a heterogeneous job every component by itself; all are checked before the first is changed.
  void update_jobs(const model::Caller& caller, std::vector<state::UpdateJob> updates, DoneReply reply);
  void update_node(const model::Caller& caller, state::UpdateNode update, DoneReply reply);
  // ---- nodes that come and go
  void create_nodes(const model::Caller& caller, std::vector<model::NodeConfig> nodes, DoneReply reply);
  void delete_nodes(const model::Caller& caller, std::vector<std::string> nodes, DoneReply reply);
  // A host that is to be a node: one of its own (slurmd -Z), or a FUTURE one (slurmd -F). The name of the node. Whoever calls
  // has made sure that the host may.
  using JoinReply = std::function<void(Result<std::string>)>;
  void join_node(model::NodeConfig node, JoinReply reply);
  void claim_node(state::ClaimFutureNode claim, JoinReply reply);
  void reconfigure(const model::Caller& caller, model::ClusterConfig config, DoneReply reply);
  // The name that the reservation got.
  void create_reservation(const model::Caller& caller, const model::ReservationChange& change, const KnownIds& ids,
                          std::function<void(Result<std::string>)> reply);
  void update_reservation(const model::Caller& caller, const model::ReservationChange& change, const KnownIds& ids,
                          DoneReply reply);
  void delete_reservation(const model::Caller& caller, const std::string& name, DoneReply reply);
  // What the accounting service says of accounts, users and QOS; users have their numbers already.
  void set_accounts(model::AccountsUpdate update, DoneReply reply);
  // What was used in these associations, and below them, and in these QOS is forgotten.
  void reset_usage(const model::Caller& caller, const std::vector<std::uint32_t>& associations,
                   const std::vector<std::string>& qos, DoneReply reply);
  // A partition by administrators' word: `changed` names the fields that are taken from `partition`.
  enum class PartitionEdit : std::uint8_t { Create, Update, Remove };
  void edit_partition(const model::Caller& caller, PartitionEdit how, const model::PartitionConfig& partition,
                      const std::vector<std::string>& changed, DoneReply reply);
  // ---- tables of scrontab (controller_crontabs.cc)
  Status check_crontab_access(const model::Caller& caller, Uid user) const;
  void set_crontab(const model::Caller& caller, model::Crontab crontab, const Specs& specs,
                   std::function<void(Result<CrontabReply>)> reply);
  void remove_crontab(const model::Caller& caller, Uid user, DoneReply reply);
  // Whether who cancels has to say that he means jobs of scrontab.
  Status check_cron_cancel(const model::Caller& caller, const state::JobTarget& target) const;
  // ---- triggers (controller_triggers.cc)
  void set_trigger(const model::Caller& caller, model::Trigger trigger, DoneReply reply);
  void clear_triggers(const model::Caller& caller, state::ClearTriggers which, DoneReply reply);
  // An interactive job's holder (srun, salloc) is finished with it.
  void complete_allocation(const model::Caller& caller, JobId job, model::ExitStatus exit, DoneReply reply);
  enum class Until : std::uint8_t { Started, Final };
  // Calls back once the job is final, or has reached `until`; at once if it already is. InvalidJobId if there is
  // none.
  void wait_job(JobId job, Until until, std::function<void(Result<model::JobPtr>)> reply);

  // ---- lines for who looks at a job (controller_notices.cc)
  struct Notice {
    std::uint64_t number = 0;  // rises with time, also from one leader to the next
    std::string text;
  };
  struct Heard {
    model::JobPtr job;
    std::vector<Notice> notices;
    bool waiting = false;  // there are only notices
  };
  // As wait_job(), but notices after this number are an answer, too. Who waits so for the end of an interactive job
  // is who holds it, and gets what notify_job() has for it.
  // `gone`: whether he has hung up; empty: nobody can say.
  void attend_job(JobId job, Until until, std::uint64_t after, std::function<void(Result<Heard>)> reply,
                  std::function<bool()> gone = {});
  void notify_job(const model::Caller& caller, JobId job, std::string text, DoneReply reply);

  // ---- agents. The transport has verified that `node` is who it says.
  void on_agent_message(const std::string& node, const model::AgentMessage& message);
  void on_agent_connected(const std::string& node);
  void on_agent_disconnected(const std::string& node);
  // Tells every agent that has a link to end; jobs go on.
  void shut_agents_down();
  // Tells the agents of the nodes that have a link what to log from now on.
  Status debug_agents(const std::string& nodes, const model::ControllerDebug& debug);
  void set_public_key(std::string key) { dispatcher_.controller_public_key = std::move(key); }

  // The accounting database has all records up to this number.
  void on_accounted(std::uint64_t number);
  // The link to the accounting service is lost, or there again.
  void on_accounting_link(bool up);
  // Records that the database has not confirmed.
  std::uint64_t accounting_backlog() const { return cluster_->outbox().next - 1 - cluster_->outbox().acked; }

  void plan_done(sched::Plan plan);

  // Around several calls in a row: what they propose goes to the journal together.
  void begin_events() { commits_.gather(); }
  void end_events() { commits_.gathered(); }

  // Call when monotonic >= next_timer(): leases, time limits, the kill sequence, repeats of unconfirmed messages,
  // begin times, the purge of old jobs, snapshots.
  void on_timer();
  Duration next_timer() const;

  const state::Cluster& cluster() const { return *cluster_; }
  std::shared_ptr<const Picture> picture() const { return picture_; }
  bool idle() const { return ready_ && commits_.idle() && !planning_ && pace_.idle(); }

 private:
  // ---- roles (controller_roles.cc)
  void follow();
  void take_entries();
  void lead(bool with_own_config, const std::function<void(Status)>& ready);
  void step_down(const Error& why);
  void on_applied(const std::vector<state::Effect>& effects);
  void publish();
  void want_plan();
  Duration held_until() const;  // monotonic: no plan before
  void note_submit(const model::JobSpec& spec);
  void maybe_plan();
  void note_changes();
  void replace_reserved_nodes();
  void propose_preemption(sched::Preemption preemption);
  state::JobTarget record_target(JobId id) const;
  void set_config(model::ClusterConfig config, DoneReply reply, std::optional<Uid> by = {});
  Result<std::shared_ptr<const model::JobSpec>> cron_job(const model::CronEntry& entry,
                                                         std::shared_ptr<const model::JobSpec> given);
  void schedule_cron(const model::Job& job);
  void schedule_all_crons();
  void watch_triggers(bool anew);
  void trace_job(const model::Job* before, const model::Job* job);
  bool logs_scheduling() const { return doors_.logs_scheduling && doors_.logs_scheduling(); }
  void log_scheduling(const model::Job* before, const model::Job* job);
  // controller_site_programs.cc
  void know_reservations();  // those that have begun by now are not told of
  void run_reservation_programs();
  void run_site_program(const char* key, const std::string& argument);
  void note_completions(std::vector<io::ControllerHooks::Completion> lines);
  void note_hits(std::vector<TriggerHit> hits);
  void note_daemon_event(std::uint32_t events);
  void note_backlog();
  void note_new_leader();
  void run_due_triggers(Time now);
  void run_program(const model::Trigger& trigger);
  void send_mail(MailWatch::Mails mails);
  // ---- nodes that reboot, or are switched off and on (controller_power.cc)
  struct PowerOrder {
    state::RunPowerProgram::Which which;
    std::vector<std::string> nodes;
  };
  static constexpr Duration kNodeLook = std::chrono::seconds(1);
  void watch_nodes();
  void queue_power_program(const state::RunPowerProgram& order);
  void start_power_programs();
  void run_power_program(const PowerOrder& order);
  void answer_waiters(JobId job);
  bool is_over(JobId job) const;
  void replay(std::uint64_t index, const std::string& entry, const state::Batch& batch);
  std::uint64_t longest_log() const;
  void maybe_snapshot();
  using IfFull = CommitQueue::IfFull;
  void propose(state::Command command, CommitQueue::Then then = {}, IfFull if_full = IfFull::Wait,
               std::optional<Uid> by = {});
  // The jobs that a target means, each of which the caller may touch; else the error of the first that he may not.
  Result<std::vector<const model::Job*>> resolve(const model::Caller& caller, const state::JobTarget& target) const;
  Status check_update(const model::Caller& caller, state::UpdateJob& update);
  template <class C>
  void change_job(const model::Caller& caller, C command, DoneReply reply);
  model::ClusterConfig const& config() const { return *cluster_->view().config; }

  Doors doors_;
  std::unique_ptr<state::Cluster> cluster_;
  CommitQueue commits_;
  std::shared_ptr<NodeLoads> loads_ = std::make_shared<NodeLoads>();
  Dispatcher dispatcher_;
  JobClocks clocks_;
  AllocationHolders holders_;
  MailWatch mails_;
  sched::SubmitChecker submit_check_;
  std::shared_ptr<const Picture> picture_;
  std::shared_ptr<const Picture> before_;  // the one that changes are counted against
  std::shared_ptr<const ExpectedStarts> expected_starts_;
  struct Waiter {
    Until until;
    std::function<void(Result<model::JobPtr>)> reply;
    std::optional<std::uint64_t> after{};  // wants notices behind this one
    std::function<void(Heard)> on_notices{};
  };
  std::multimap<JobId, Waiter> waiters_;
  // Kept until the job ends: whoever asks a moment too late still gets them.
  struct Notices {
    std::vector<Notice> kept;
    bool attended = false;  // by its holder
  };
  std::map<JobId, Notices> notices_;
  std::vector<Notice> notices_after(JobId job, std::uint64_t after) const;

  model::ClusterConfig own_config_;  // of this controller's files
  bool ready_ = false;               // leads, and has begun to act
  bool backlog_full_ = false;        // triggers were told so
  bool plan_asked_ = false;          // the planner has not answered yet
  std::uint32_t void_plans_ = 0;     // answers to come that were asked for before another led
  std::uint64_t followed_bytes_ = 0; // of log since the last snapshot, while another leads
  std::atomic<std::uint64_t> image_bytes_{0};  // of the last snapshot
  ArrivedEntries arrived_;
  PlanPace pace_;
  SubmitBurst burst_;
  std::set<std::string> nodes_of_host_;  // agents on this host that have a link
  bool planning_ = false;  // a plan is being made or its starts are not applied yet
  std::size_t starts_open_ = 0;
  Time plan_wake_at_;
  void fade_usage(Time now);
  Time usage_due_;  // not set: no accounts
  Duration tick_at_{0};
  std::shared_ptr<const model::View> trigger_view_;  // the state when triggers were looked at last
  Time triggers_due_;                                // when to do so though nothing changes; not set: never
  Time reservations_due_;  // not set: no reservation has anything to come
  std::set<std::string> active_reservations_;  // of which the site's programs know
  bool snapshotting_ = false;
  NodeWatch node_watch_;
  Duration nodes_looked_at_{-std::chrono::hours(1)};
  std::size_t nodes_due_open_ = 0;
  std::vector<PowerOrder> power_orders_;  // not begun: it was not sure that this controller leads
};

}  // namespace spur::ctld
