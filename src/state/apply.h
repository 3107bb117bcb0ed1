// SPDX-License-Identifier: Apache-2.0
// Inside of state/: what the apply_<command>.cc files share. An Applier lives for one batch.
//
// Rules: a command is checked first and changes afterwards, so that an error means no change; every change of a
// record goes through put(), which keeps the maps, the indexes and the list of changes right and refuses what the
// drawing in model/job_state.h does not allow; who waits for a job is told after the command, by settle(), from a
// list (a chain of a million dependent jobs must not become a recursion a million deep).
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "state/cluster.h"
#include "state/node_books.h"

namespace spur::state {

struct Applier {
  Applier(Cluster& c, model::View& v, std::vector<Effect>* e, std::vector<OutboxRecord>* r)
      : cluster(c), view(v), now(v.as_of), effects(e), records(r) {}

  Cluster& cluster;
  model::View& view;
  const Time now;
  std::vector<Effect>* const effects;  // null: nobody carries them out (replay)
  std::vector<OutboxRecord>* const records;  // null: nobody keeps them
  bool others_may_age = false;               // somebody ages no more, or a limit may have gone

  // ---- one per command
  Outcome apply(const SetConfig& command);
  Outcome apply(const SubmitJob& command);
  Outcome apply(const StartJob& command);
  Outcome apply(const SetReasons& command);
  Outcome apply(const CancelJob& command);
  Outcome apply(const NodeJobDone& command);
  Outcome apply(const HoldJob& command);
  Outcome apply(const ReleaseJob& command);
  Outcome apply(const RequeueJob& command);
  Outcome apply(const SuspendJob& command);
  Outcome apply(const ResumeJob& command);
  Outcome apply(const UpdateJob& command);
  Outcome apply(const MarkKillSent& command);
  Outcome apply(const RegisterNode& command);
  Outcome apply(const NodeLost& command);
  Outcome apply(const NodeResponding& command);
  Outcome apply(const UpdateNode& command);
  Outcome apply(const PurgeJobs& command);
  Outcome apply(const CreateReservation& command);
  Outcome apply(const UpdateReservation& command);
  Outcome apply(const DeleteReservation& command);
  Outcome apply(const ReservationsDue& command);
  Outcome apply(const SetQos& command);
  Outcome apply(const SetFairShares& command);
  Outcome apply(const PreemptJobs& command);
  Outcome apply(const PreemptionDue& command);
  Outcome apply(const SetAccounts& command);
  Outcome apply(const DecayUsage& command);
  Outcome apply(const ResetUsage& command);
  Outcome reset_qos_usage(const std::string& name);
  Outcome apply(const StepsEnded& command);
  Outcome apply(const OutboxAcked& command);
  Outcome apply(const SetCrontab& command);
  Outcome apply(const RemoveCrontab& command);
  Outcome apply(const ScheduleCron& command);
  Outcome apply(const SetTrigger& command);
  Outcome apply(const ClearTriggers& command);
  Outcome apply(const TriggerSeen& command);
  Outcome apply(const TriggersRan& command);
  Outcome apply(const NodesDue& command);
  Outcome apply(const CreateNodes& command);
  Outcome apply(const DeleteNodes& command);
  Outcome apply(const ClaimFutureNode& command);

  // ---- records (records.cc)
  const model::ClusterConfig& config() const { return *view.config; }
  JobIndex& index() { return cluster.index_; }
  void emit(Effect effect) {
    if (effects) effects->push_back(std::move(effect));
  }
  // Stores the record. `quiet`: nothing that anybody waits for changed (a reason).
  void put(model::Job job, bool quiet = false);
  void forget(const model::Job& job);
  void put_node(model::Node node);
  // A copy to change, of a node that exists.
  model::Node node_copy(NodeIndex index) const;
  // The next id that no job or array has; none if all are taken. claim() makes it the caller's.
  std::optional<JobId> free_id() const;
  void claim(JobId id);
  // Takes `task` out of the pending rest of an array: its own record, not stored yet; the rest is stored without it.
  // The last task keeps the rest's id. None: no id is free.
  std::optional<model::Job> split_task(JobId rest, std::uint32_t task);
  void list_task(JobId array, std::uint32_t task, JobId record);
  void unlist_task(JobId array, std::uint32_t task);

  // ---- who gains priority by age (aging.cc)
  // Whether a job that waits may, before it is stored; and those who may once others do no more.
  void settle_aging(const model::Job* before, model::Job& job);
  void let_others_age();

  // ---- starts (apply_start.cc)
  Status check_start(const StartJob& command) const;
  Status check_het_start(const StartJob& command) const;
  Outcome start_checked(const StartJob& command);

  // ---- heterogeneous jobs (het_jobs.cc)
  // The records there are of the components of the job's heterogeneous job, the first one first; none if it has none.
  std::vector<JobId> components_of(const model::Job& job) const;
  // The target means one component, and not the first, which stands for all.
  bool means_component(const JobTarget& target) const;
  // The run of a component has ended: whoever cannot go on without it ends, too, in the same way.
  void end_with(const model::Job& component);
  // A component that waited is over: the others, which could never start without it, are, too.
  void cancel_with(const model::Job& component);
  // Whether none of the job's heterogeneous job has anything left to do.
  bool all_components_over(const model::Job& job) const;
  std::optional<JobId> free_ids(std::uint32_t count) const;
  Outcome submit(const SubmitJob& command, JobId id, std::uint32_t offset);
  Status check_submit_limits(const SubmitJob& command) const;
  Status check_move(const model::Job& job, const model::JobSpec& to) const;

  // ---- which records a target means (targets.cc)
  struct Targets {
    std::vector<JobId> records;  // the rest of an array too, if all of it is meant
    JobId rest;                  // else: the rest of which `tasks` are meant
    IndexSet tasks;
  };
  Result<Targets> resolve(const JobTarget& target) const;
  // Checks all records, then acts on those that pass; tasks of a rest get records of their own first. The first error
  // if none passes. `act` must store what it is given.
  template <class Check, class Act>
  Outcome on_targets(const JobTarget& target, Check&& check, Act&& act);
  Status can_split(const Targets& targets) const;

  // ---- the life of a job (life.cc). They change `job` and the nodes' books; the caller ends with close() or put().
  // Reason and eligible time of a pending job, from its hold, its dependencies and its begin time.
  void settle_pending(model::Job& job) const;
  // The run is over with this state; what is left on nodes must be cleaned up.
  void end_run(model::Job& job, model::JobState final_state, model::Reason reason);
  void end_run_to_requeue(model::Job& job, model::AfterCompleting how);
  void leave_node(model::Job& job, NodeIndex node);
  // Stores a job whose run has ended: final, back in the queue, or still waiting for nodes, which are told to end it.
  void close(model::Job job);
  void back_to_queue(model::Job& job);
  bool may_requeue(const model::Job& job) const;
  // The job's own limit, else its partition's default, else its partition's maximum.
  TimeLimit limit_in_force(const model::JobSpec& spec) const;
  // The node can no longer run the job. `gone`: it will not report the end of its part either.
  void fail_on_node(JobId id, NodeIndex node, bool gone);
  // Whether it goes on without a node that is gone, and how.
  bool outlives(const model::Job& job, NodeIndex node) const;
  void go_on_without(model::Job job, NodeIndex node);
  // `node` with its jobs failed as above.
  void fail_jobs_of(NodeIndex node, bool gone);
  void release(model::Job& job) const;
  static Status check_running(const model::Job& job);
  static bool holds(const model::Job& job, NodeIndex node);  // it has not reported the end of its part
  Status can_resume(const model::Job& job) const;
  void cancel_record(model::Job job, const CancelJob& command);
  Status cancel_tasks(const Targets& targets, const CancelJob& command, std::vector<JobId>& touched);
  // ---- preemption (apply_preempt.cc)
  Result<std::vector<PreemptJobs::Victim>> check_victims(const PreemptJobs& command) const;
  Status check_claim(const model::Job& job, const model::Allocation& allocation,
                     const std::vector<PreemptJobs::Victim>& victims) const;
  void go(model::Job job, model::PreemptHow how);
  void drop_claims();
  static void forget_preemption(model::Job& job) {
    job.preempt_at = {};
    job.preempt_how = model::PreemptHow::Unset;
    job.preempted_for = {};
  }
  // What a report of the end of a run says of the node (apply_done.cc).
  void judge_node(NodeIndex at, const NodeJobDone& report);
  void launch_failed(model::Job& job, const NodeJobDone& report);
  static void forget_claim(model::Job& job) {
    job.claim = nullptr;
    job.claimed_from = {};
  }
  void suspend(model::Job job);  // stores it; it runs, or is suspended already
  // How a job shares its nodes.
  enum class Sharing : std::uint8_t { WithAll, SameUser, Alone };
  Sharing sharing_of(const model::Job& job, std::string_view partition) const;
  // CPUs that others have, and that the job may have as well if it runs there by that allocation (core_sharing.cc).
  CpuBits shareable_cpus(const model::Node& node, const model::Job& job, const model::Allocation& allocation) const;
  // Of those that the job has, all that others who share with it have, too.
  static CpuBits cpus_of_others(const model::View& view, const model::Node& node, const model::Job& job);
  // Whether the others on the node let the job in.
  Status can_join(const model::Node& node, const model::Job& job, Sharing sharing) const;

  // ---- dependencies (dependencies.cc)
  enum class Met : std::uint8_t { No, Yes, Never };
  // Fills dependencies_left and dependency_never anew from the specification.
  void resolve_dependencies(model::Job& job);
  Status check_dependencies(const model::Job& job, const model::JobSpec& spec) const;
  // Drops what is met of `job`'s dependencies. True if anything changed.
  bool review_dependencies(model::Job& job);
  Met judge(const model::Dependency& term, const model::Job& job, Time* not_before) const;
  // Gives records of their own to those tasks of the rest whose counterpart (aftercorr) is over already.
  void split_corresponding(JobId rest);
  void started(const model::Job& job);
  void ended(const model::Job& job);
  // Tells whoever waits for jobs that started or ended in this command, and whoever waits for those then.
  void settle();

  // ---- reservations (reservations.cc)
  Status check_reservation(const model::Reservation& reservation) const;
  void put_reservation(model::Reservation reservation);
  void erase_reservation(const std::string& name);
  // The flags of all nodes, from the reservations that have begun.
  void mark_reserved_nodes();
  // Jobs that wait for the reservation, or run in it.
  struct ReservationJobs {
    std::vector<JobId> waiting, running;
  };
  ReservationJobs jobs_of(const model::Reservation& reservation) const;
  // The reservation is no more: its waiting jobs are held, or go on without it.
  void leave_reservation(const model::Reservation& reservation, const std::vector<JobId>& waiting);
  bool end_occurrence(model::Reservation reservation, std::vector<JobId>& ended_jobs);
  // After a change of the nodes or partitions: `moved` (by old index) tells where nodes went; null: nowhere.
  void refit_reservations(const std::vector<std::optional<NodeIndex>>* moved, std::vector<std::string>& notes);
  // A job that had asked for reservations is over: they may have become idle.
  void note_idle_reservations(const model::Job& job);

  // ---- tables of scrontab (crontabs.cc)
  model::CronEntry* cron_entry_of(const model::Job& job);  // null: none
  // The job is over for good: its lines are disabled.
  void disable_cron(const model::Job& job);
  // The job of an entry is over: it waits for its next time.
  void wait_for_next_time(JobId id);
  void drop_cron_jobs(const model::Crontab& crontab);
  Status check_cron_jobs(const SetCrontab& command) const;

  // ---- accounts (accounts.cc)
  void recount_all(const model::TresTable& columns);
  void fade_usage(bool forget);
  void reckon_shares();
  std::uint32_t association_of(const model::JobSpec& spec) const;  // 0: none
  // ---- accounting (outbox.cc). Each numbers a record if the cluster has accounting.
  void note(decltype(OutboxRecord::what) what);
  bool is_noted(const model::Job* before, const model::Job& after) const;
  bool is_noted(const model::Node* before, const model::Node& after) const;
  void note_requeue(const model::Job& job);  // as its run ended
  // Also keeps the worst exit status of them in `job`.
  void note_steps(model::Job& job, const std::vector<model::StepEnd>& steps);
  void note_batch_step(const model::Job& job, const NodeJobDone& report);
  void note_cluster();  // what it has
  void note_reservation(const model::Reservation& reservation, bool over);
  void note_everything();

  // ---- reboots (reboot.cc)
  // A node that is to reboot and has nothing left to do is told to.
  bool issue_reboot(model::Node& node) const;

  // ---- nodes that are switched off and on (power.cc)
  // A job that waits for its nodes, none of which is away any more, goes to them; the caller stores it.
  void end_configuring(model::Job& job);
  bool waits_for_nodes(const model::Job& job) const;
  // The node is there: jobs that waited for it, and for no other.
  void end_configuring_on(NodeIndex node);

  // ---- nodes (node_config.cc)
  const model::NodeConfig* configured(const std::string& name) const;
  // The whole configuration is another one: nodes and partitions are resolved anew (apply_set_config.cc). `gone`: nodes
  // without a row that go, too.
  Outcome take_config(model::ClusterConfig config, const std::vector<std::string>& gone = {});
  // ---- nodes that come and go (dynamic_nodes.cc)
  // The row, if it is of a node that is FUTURE.
  const model::NodeConfig* future(const std::string& name) const;
  // Nodes are there from now on, or are FUTURE.
  Outcome set_presence(const std::vector<std::string>& names, model::NodePresence presence);
  Status check_put_off(const model::Node& node) const;
  void add_dynamic_node(const model::Node& node);

 private:
  struct Event {
    JobId job, array;
    std::optional<std::uint32_t> task;
    bool over;
  };
  void tell(const Event& event);
  bool has_news(const model::Job& job) const;
  bool turns_into_any(const model::Dependency& term) const;
  void review(JobId id);
  void review_singleton(JobId id);
  Met judge_record(const model::Dependency& term, const model::Job& other, Time* not_before) const;
  Met judge_array(const model::Dependency& term, const model::Job& job, Time* not_before) const;
  std::deque<Event> events_;
};

inline Outcome refused(Error error) {
  Outcome outcome;
  outcome.status = std::unexpected(std::move(error));
  return outcome;
}
inline Outcome refused(ErrorCode code, std::string message) {
  return refused(Error{code, std::move(message)});
}

template <class Check, class Act>
Outcome Applier::on_targets(const JobTarget& target, Check&& check, Act&& act) {
  auto targets = resolve(target);
  if (!targets) return refused(std::move(targets).error());
  Status first_error;
  const auto passes = [&](JobId id, bool split) {
    Status status = check(*model::find_job(view, id));
    if (status && split) status = can_split(*targets);
    const bool ok = status.has_value();
    if (!ok && first_error) first_error = std::move(status);
    return ok;
  };
  const bool split = targets->rest && passes(targets->rest, true);
  std::erase_if(targets->records, [&](JobId id) { return !passes(id, false); });
  if (targets->records.empty() && !split) return refused(std::move(first_error).error());

  Outcome outcome;
  const auto touch = [&](model::Job job) {
    outcome.jobs.push_back(job.id);
    act(std::move(job));
  };
  for (const JobId id : targets->records) touch(*model::find_job(view, id));
  if (!split) return outcome;
  for (const auto& range : targets->tasks.ranges())
    for (std::uint64_t task = range.first; task <= range.last; ++task)
      if (auto job = split_task(targets->rest, static_cast<std::uint32_t>(task))) touch(*std::move(job));
  return outcome;
}

}  // namespace spur::state
