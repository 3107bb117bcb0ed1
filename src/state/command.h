// SPDX-License-Identifier: Apache-2.0
// Everything that can happen to the cluster, as data. A command is journaled before it is applied, and applied alike
// on every replica and on every replay: so it carries all that apply needs (also the time), and apply never fails
// half-way. wire/command_codec.cc encodes them; add a new one following docs/checklists/journaled-command.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/account_book.h"
#include "model/allocation.h"
#include "model/cluster_config.h"
#include "model/crontab.h"
#include "model/fair_share.h"
#include "model/job.h"
#include "model/job_spec.h"
#include "model/node.h"
#include "model/qos.h"
#include "model/reservation.h"
#include "model/step_end.h"
#include "model/trigger.h"

namespace spur::state {

// Which jobs an action means. An id alone is a job, a whole array, or (the first component's) a whole heterogeneous
// job; with tasks only those of the array, with an offset only that component.
struct JobTarget {
  JobId id;
  std::optional<IndexSet> tasks;
  std::optional<std::uint32_t> het_offset = {};
  friend bool operator==(const JobTarget&, const JobTarget&) = default;
};

struct SetConfig {
  model::ClusterConfig config;
};

struct SubmitJob {
  std::shared_ptr<const model::JobSpec> spec;
  std::string token;  // empty: none. The same token of the same uid gives the same job id for ever.
  // Of a heterogeneous job: the components behind the first. All get records and ids in a row, or none does.
  std::vector<std::shared_ptr<const model::JobSpec>> more = {};
};

// The scheduler's proposal, already checked once; apply refuses it if the resources are no longer free, the job is no
// longer pending, or the node is not usable.
struct StartJob {
  JobId job;
  std::optional<std::uint32_t> array_task;  // for the rest of an array: which task starts
  std::shared_ptr<const model::Allocation> allocation;
  TimeLimit limit{};  // of this run, between --time-min and --time; not set: the job's
  // Of a heterogeneous job, whose first component is `job`: all others, which start with it or not at all.
  struct Component {
    JobId job;
    std::shared_ptr<const model::Allocation> allocation;
    TimeLimit limit{};
  };
  std::vector<Component> others = {};
};

// Why jobs wait, from one planning cycle. Only changes are sent.
struct SetReasons {
  struct Row {
    JobId job;
    model::Reason reason;
    Time expected_start;  // not set: not planned
  };
  std::vector<Row> rows;
};

// Ends jobs. Pending ones are final at once; active ones get TERM, then KILL after KillWait. An interactive
// allocation that its holder gives back ends the same way, with final_state Completed or Failed and the holder's exit
// status.
struct CancelJob {
  JobTarget target;
  model::JobState final_state = model::JobState::Cancelled;  // or Timeout, Deadline, Preempted, NodeFail, BootFail
  model::Reason reason = model::Reason::None;
  bool by_user = false;
  Uid by;
  std::optional<model::ExitStatus> exit;  // kept as the job's exit status
};

// An agent says that its part of (job, epoch) is over and cleaned up.
struct NodeJobDone {
  JobId job;
  Epoch epoch;
  std::string node;
  model::ExitStatus exit;
  bool is_batch_host = false;  // carries the batch script's own exit status
  bool out_of_memory = false;
  bool launch_failed = false;  // never ran, through the node: requeue (or hold after MaxBatchRequeue)
  std::string error;           // why it never ran; see model/launch_failure.h
  bool prolog_failed = false;  // and that is why
  bool node_blameless = false;
  std::string drain{};  // why the node must not be used any more
  model::Usage usage{};
  model::Usage batch_usage{};
  std::vector<model::StepEnd> steps{};
};

struct HoldJob {
  JobTarget target;
  model::Hold hold = model::Hold::User;
};
struct ReleaseJob {
  JobTarget target;
};
struct RequeueJob {
  JobTarget target;
  model::AfterCompleting how = model::AfterCompleting::Requeue;
};
struct SuspendJob {
  JobTarget target;
};
struct ResumeJob {
  JobTarget target;
};
// scontrol update: a whole new specification for a pending job, plus what may change while it runs.
struct UpdateJob {
  JobTarget target;
  std::shared_ptr<const model::JobSpec> spec;  // null: unchanged
  std::optional<TimeLimit> time_limit;
  std::optional<std::uint32_t> priority;
  std::optional<std::uint32_t> array_max_running;
  bool dependencies_changed = false;
};
// The kill sequence moved on: KILL was (or must be) sent.
struct MarkKillSent {
  JobId job;
  Epoch epoch;
};

struct RegisterNode {
  std::string name, address, hostname, version, os, arch, public_key;
  model::NodeHardware found;
  Time boot_time, agent_started;
  std::vector<model::JobRun> holding;  // what the node runs or has still to report
  std::string extra = {}, instance_id = {}, instance_type = {};  // empty: nothing is said of it
};
struct NodeLost {  // the lease, measured by the current leader, ran out
  std::string node;
};
struct NodeResponding {  // a flag only: shows '*' or takes it away
  std::string node;
  bool responding = true;
};
struct UpdateNode {  // scontrol update NodeName=
  enum class Action : std::uint8_t {
    None,
    Down,
    Drain,
    Undrain,
    Resume,
    Fail,
    Reboot,
    CancelReboot,
    PowerUp,
    PowerDown,
    PowerDownAsap,  // nothing more starts there before
    PowerDownForce,  // nor does anything end there
    Future,          // out of the cluster, until it is set IDLE or a host takes its place
  };
  std::vector<std::string> nodes;
  Action action = Action::None;
  std::optional<std::string> reason, comment, extra, features;
  std::optional<std::uint32_t> weight;
  Uid by;
  bool asap = false;  // Reboot: nothing more starts there before
  model::AfterReboot after_reboot = model::AfterReboot::AsBefore;
  std::optional<std::string> active_features = {};  // some of those that it has
  std::optional<std::string> instance_id = {}, instance_type = {};
};

// ---- nodes that come and go at run time (model/dynamic_nodes.h)
struct CreateNodes {  // all or none. By an agent for itself (slurmd -Z), or by an administrator.
  std::vector<model::NodeConfig> nodes;
  bool by_agent = false;  // one that was made so before is made anew
};
struct DeleteNodes {  // all or none
  std::vector<std::string> nodes;
};
// A host asks for a FUTURE node to be (slurmd -F). The same host gets the same one again. The outcome's name is the node's.
struct ClaimFutureNode {
  std::string hostname, feature;
  model::NodeHardware found;
};

// What is due for nodes that reboot, or are switched off and on; apply looks again, at the batch's stamp.
struct NodesDue {
  model::NodeDue what = model::NodeDue::RebootOverdue;
  std::vector<std::string> nodes;
};
// Forget finished jobs older than MinJobAge. The leader names them so that replay does the same.
struct PurgeJobs {
  std::vector<JobId> jobs;
};

// Whoever asks has chosen the nodes (sched/reservation_choice.h) and looked the users up; apply makes sure that the
// name is free and that nothing is promised twice.
struct CreateReservation {
  model::Reservation reservation;  // no name: one is made up from its first user or account
};
struct UpdateReservation {
  model::Reservation reservation;  // the whole record as it is to be
};
struct DeleteReservation {
  std::string name;
};
// A reservation begins, ends, recurs or has been idle for long enough: apply looks at the batch's stamp.
struct ReservationsDue {};

// The scheduler's proposal that running jobs make room for a pending one, which gets a claim on `allocation`. Refused
// unless the allocation is there once they are gone; victims that are over by now are passed over. Without allocation
// and victims: the job gives up its claim.
struct PreemptJobs {
  struct Victim {
    JobId job;
    Epoch epoch;
    model::PreemptHow how = model::PreemptHow::Cancel;  // or Requeue, Suspend
    seconds grace{0};                                   // TERM at once, the end after that time; not for Suspend
  };
  JobId beneficiary;
  std::shared_ptr<const model::Allocation> allocation;
  std::vector<Victim> victims;
};
// A victim's grace time is over: it goes now.
struct PreemptionDue {
  JobId job;
  Epoch epoch;
};

// From the accounting service.
struct SetQos {
  std::vector<model::Qos> qos;  // all there are
};
struct SetFairShares {
  std::vector<model::FairShare> shares;
  bool all = false;  // those that are not named go; else they stay
};

// Also from there: who may use the cluster, and how much. Names of users have their numbers already.
struct SetAccounts {
  model::AccountsUpdate update;
};
// Usage fades and shares are reckoned anew, by the batch's stamp.
struct DecayUsage {
  bool reset = false;  // all usage is forgotten
};
// The usage of one association, and of all below it, is forgotten (sacctmgr modify ... set RawUsage=0); or that of a QOS.
struct ResetUsage {
  std::uint32_t association = 0;
  std::string qos = {};  // instead
};

// Steps that ended while their job goes on. Nothing but a note for accounting.
struct StepsEnded {
  JobId job;
  Epoch epoch;
  std::vector<model::StepEnd> steps;
};
// The accounting database has all records up to this number.
struct OutboxAcked {
  std::uint64_t number = 0;
};

// scrontab: the whole table of a user, with a job per entry. Jobs of his former table go, or, where they run, end for good.
struct SetCrontab {
  model::Crontab crontab;  // entries without jobs
  std::vector<std::shared_ptr<const model::JobSpec>> specs;  // beside the entries; `begin` is the first time
};
struct RemoveCrontab {
  Uid user;
};
// A job of scrontab has ended a run: this is its next time. The leader knows the calendar.
struct ScheduleCron {
  JobId job;
  Time begin;
};

// strigger. The whole record; its id is given here.
struct SetTrigger {
  model::Trigger trigger;
};
// All that fit everything that is said; those of others only by an administrator.
struct ClearTriggers {
  std::uint32_t id = 0;  // 0: any
  JobId job;
  std::optional<Uid> user;
  Uid by;
  bool by_admin = false;
};
// What a trigger waits for has happened; its program is to run at `due`.
struct TriggerSeen {
  std::uint32_t id = 0;
  Time due;
  std::string argument;
};
// Their programs are about to run.
struct TriggersRan {
  std::vector<std::uint32_t> ids;
};

using Command =
    std::variant<SetConfig, SubmitJob, StartJob, SetReasons, CancelJob, NodeJobDone, HoldJob, ReleaseJob, RequeueJob,
                 SuspendJob, ResumeJob, UpdateJob, MarkKillSent, RegisterNode, NodeLost, NodeResponding, UpdateNode,
                 PurgeJobs, CreateReservation, UpdateReservation, DeleteReservation, ReservationsDue, SetQos,
                 SetFairShares, PreemptJobs, PreemptionDue, SetAccounts, DecayUsage, ResetUsage, StepsEnded,
                 OutboxAcked, SetCrontab, RemoveCrontab, ScheduleCron, SetTrigger, ClearTriggers, TriggerSeen,
                 TriggersRan, NodesDue, CreateNodes, DeleteNodes, ClaimFutureNode>;

// The unit of the journal: one stamp, some commands, applied in order. What stands behind the commands is for those
// who look back (ctld/history.h); apply does not see it.
struct Batch {
  Time at;  // by the leader; never before the previous batch's
  std::vector<Command> commands;
  std::vector<std::optional<Uid>> by{};  // who asked for each; none, or left out: nobody, the cluster itself
  Time shown_before{};  // when the leader showed its users the state with the batch before; not set: not known
};

}  // namespace spur::state
