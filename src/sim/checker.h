// SPDX-License-Identifier: Apache-2.0
// What must hold whatever happens. The first violation is kept. What controllers say is held against what really
// happened on the machines, and against the truth: a state of the checker's own, to which each journal entry is
// applied when it becomes durable.
//
//   acked      an acknowledged submit is in the truth at that moment and in every later one; nobody serves more
//   fresh      who looks finds what a leader had shown or acknowledged before, unless he is told that it is old
//   token      one submit token, one job
//   log        entries become durable one by one, without gaps, and stay as they are
//   once       a run (job, epoch) starts at most once on each of its nodes; an older run never beside a newer one
//   capacity   no CPU of a machine runs two jobs at once; the state's own sums agree with its allocations
//   lease      a node is lost only after who says so has, awake and leading, not heard from it for a lease
//   replica    every controller's state equals the truth at the same index, however it got there
//   replay     replaying one controller's disk gives the state that was served
//   final      a job that is over stays over, the same way, unless it is requeued, as another epoch
//   time       no time that users see goes back
//   outbox     records for accounting have no gap, and the same number is the same record at every controller
//   reason     the scheduler leaves every job that waits with one reason
//   exit       what a job is said to have exited with is what it exited with
//   preempted  nobody has to go but for a job that has a claim then, or has started
//   together   the components of a heterogeneous job start at one moment; none waits while another one runs
//   progress   without faults every job comes to an end, one controller leads, and the others have what it has
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/agent_message.h"
#include "model/view.h"
#include "sched/plan.h"
#include "sim/machine.h"
#include "sim/trace.h"
#include "state/cluster.h"

namespace spur::sim {

struct Disk;

class Checker final : public Witness {
 public:
  Checker(Trace& trace, std::size_t controllers) : trace_(trace), leaders_(controllers), spools_(controllers) {}

  void violate(std::string what);
  const std::string& violation() const { return violation_; }

  // ---- from the machines
  void on_started(const std::string& node, const model::ControllerLaunch& launch) override;
  void on_stopped(const std::string& node, model::JobRun run, model::ExitStatus exit) override;

  // ---- from clients
  void on_acked(const std::string& token, JobId job);
  // A suspended job gives its CPUs to others, as in Slurm; when it is resumed, or on its way out, it shares them for
  // a while.
  void on_suspend(JobId job) { shares_.insert(job); }

  // ---- from the journal: an entry is durable from now on; `author` wrote it.
  void on_durable(std::size_t author, std::uint64_t index, const std::string& entry, Duration now);

  // ---- from controllers
  void on_lead(std::size_t controller, Duration now);
  void on_heard(std::size_t controller, const std::string& node, Duration now);
  // It does not run from `from` to `to`: what it did not hear then says nothing.
  void on_slept(std::size_t controller, Duration from, Duration to);
  // A batch goes to the journal: what is in it was decided since the one before did, or, when the disk was full and
  // the queue is written in two parts, since the one before that.
  void on_append(std::size_t controller, Duration now);
  void on_published(std::size_t controller, const state::Cluster& cluster, bool leads);
  // The last entry of which a leader may have told; and what somebody is shown who asked when that was `known`.
  std::uint64_t known() const { return known_; }
  void on_looked(std::size_t controller, std::uint64_t known, const state::Cluster& shown);
  void on_account(std::size_t controller, const std::vector<state::OutboxRecord>& records);
  // It got its state from another one, and with it no records.
  void on_fetched(std::size_t controller) { spools_[controller].last = 0; }
  void on_plan(const model::View& view, const sched::Plan& plan);
  // Independent replay of a lone controller's disk up to the index that was applied.
  void on_crash(const state::Cluster& cluster, const Disk& disk);
  bool anything_runs() const;  // on any node
  void at_end(std::size_t controller, const state::Cluster& cluster);

  const state::Cluster& truth() const { return truth_; }

 private:
  bool may_share(JobId a, JobId b) const;
  void check_acked(const model::View& view);
  void check_preempted(const model::View& view);
  void check_together(const model::View& view);
  void check_changes(const state::Cluster::Changes& changes);
  void check_ends(const model::View& view);
  // What a leader can know of its nodes' silence.
  struct Leader {
    std::map<std::string, std::vector<Duration>> heard;  // by node
    std::vector<std::pair<Duration, Duration>> slept;
    Duration since{0}, decided_since{0}, last_append{0}, decided_until{0};
    Duration longest_silence(const std::string& node) const;
    Duration awake(Duration from, Duration to) const;
  };
  void check_lost_nodes(const Leader& leader, Duration now);
  static std::uint64_t digest(const state::OutboxRecord& record);
  static constexpr std::uint64_t kHashEvery = 8;

  Trace& trace_;
  std::string violation_;
  state::Cluster truth_;
  std::uint64_t known_ = 0;
  std::vector<std::uint64_t> hashes_;  // of every kHashEvery-th state of the truth
  std::map<std::string, JobId> acked_;
  struct Running {
    model::JobRun run;
    std::vector<model::CpuNumber> cpus;
    JobId array;
    bool given_up = false;  // its node was lost: another run of the job may be beside it until the node is back
  };
  std::map<std::string, std::vector<Running>> running_;  // by node
  std::map<std::pair<std::string, model::JobRun>, int> starts_;
  std::map<model::JobRun, model::ExitStatus> exits_;  // of batch parts
  std::map<model::JobRun, std::string> batch_host_;
  std::set<std::string> down_;
  std::set<JobId> shares_;
  std::set<model::JobRun> preempted_;
  std::map<JobId, model::JobPtr> last_seen_;
  Time as_of_;
  std::vector<std::pair<Duration, Duration>> leases_;  // since when, and how long
  std::vector<Leader> leaders_;
  struct Spool {
    std::uint64_t last = 0;  // 0: begins with whatever comes
    std::uint64_t compared = 0;
  };
  std::vector<Spool> spools_;
  std::vector<std::uint64_t> records_;  // a digest of each that the truth made
};

}  // namespace spur::sim
