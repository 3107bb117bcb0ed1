// SPDX-License-Identifier: Apache-2.0
// What must hold whatever happens, checked against what really happened on the machines. The first violation is kept.
//
//   acked      an acknowledged submit is in every later state
//   token      one submit token, one job
//   once       a run (job, epoch) starts at most once on each of its nodes; an older run never beside a newer one
//   capacity   no CPU of a machine runs two jobs at once; the controller's own sums agree with its allocations
//   lease      a node is lost only after the controller that says so has not heard from it for a whole lease
//   replay     replaying the journal gives the state that was served
//   exit       what a job is said to have exited with is what it exited with
//   preempted  nobody has to go but for a job that has a claim then, or has started
//   together   the components of a heterogeneous job start at one moment; none waits while another one runs
//   progress   without faults every job comes to an end
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "model/agent_message.h"
#include "model/view.h"
#include "sim/machine.h"
#include "sim/trace.h"
#include "state/cluster.h"

namespace spur::sim {

struct Disk;

class Checker final : public Witness {
 public:
  explicit Checker(Trace& trace) : trace_(trace) {}

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
  const std::map<std::string, JobId>& acked() const { return acked_; }

  // ---- from the world
  // `inherited`: the last entry on its disk. It is recovered from entries up to there, which others decided.
  void on_leader_started(Duration now, std::uint64_t inherited);
  void on_heard(const std::string& node, Duration now) { leader_.heard[node].push_back(now); }
  // A batch goes to the journal: what is in it was decided since the one before did, or, when the disk was full and
  // the queue is written in two parts, since the one before that.
  void on_append(Duration now) {
    leader_.decided_since = std::exchange(leader_.last_append, std::exchange(leader_.decided_until, now));
  }
  void on_published(const state::Cluster& cluster);
  // Independent replay of the disk up to the index that was applied.
  void on_crash(const state::Cluster& cluster, const Disk& disk);
  void at_end(const state::Cluster& cluster);

 private:
  void check_acked(const model::View& view);
  void check_preempted(const model::View& view);
  void check_together(const model::View& view);
  // What a leader can know of its nodes' silence.
  struct Leader {
    std::map<std::string, std::vector<Duration>> heard;  // by node
    Duration since{0}, decided_since{0}, last_append{0}, decided_until{0};
    Duration longest_silence(const std::string& node) const;
  };
  void check_lost_nodes(const state::Cluster& cluster);

  Trace& trace_;
  std::string violation_;
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
  Leader leader_, former_leader_;
  std::uint64_t inherited_ = 0;
  std::uint64_t published_ = 0;
};

}  // namespace spur::sim
