// SPDX-License-Identifier: Apache-2.0
// The logic of spurctld without threads or sockets: requests, agents' messages, journal completions and timers in; replies,
// messages to agents and journal entries out. One thread calls it (ctld/core_thread.cc, or sim/ in virtual time).
//
// A request becomes a command; commands wait in `queue_` while a batch is being made durable; when it is, they are applied,
// the waiting callers get their replies, effects are carried out, a new View is published and the next batch goes to the
// journal. Acknowledged therefore means durable.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "io/agent_port.h"
#include "io/clock.h"
#include "io/journal.h"
#include "model/caller.h"
#include "model/view.h"
#include "sched/plan.h"
#include "state/cluster.h"

namespace spur::ctld {

struct SubmitReply {
  JobId job;
  bool repeated = false;
};

class Controller {
 public:
  struct Doors {
    io::Clock& clock;
    io::Journal& journal;
    io::AgentPort& agents;
    // A new picture is out. Called on the core thread after each applied batch.
    std::function<void(std::shared_ptr<const model::View>)> publish;
    // Planning is wanted: call plan_done() later with sched::plan(view, ...) (another thread, or at once).
    std::function<void(std::shared_ptr<const model::View>, Time now)> request_plan;
    // The journal failed: nothing more can be acknowledged, the process must end. The message is for the log.
    std::function<void(const Error&)> fatal;
    std::function<void(std::string)> log;
  };
  using DoneReply = std::function<void(Status)>;

  explicit Controller(Doors doors);
  ~Controller();

  // Loads the journal, then makes `config` the current one if it differs. `ready` is called once requests may come.
  Status start(model::ClusterConfig config, std::function<void(Status)> ready);

  // ---- requests. `caller` comes from the verified credential; each checks the authorization table's rule itself where the
  // rule depends on the job's owner. Replies are called on the core thread, after commit.
  void submit(const model::Caller& caller, std::shared_ptr<const model::JobSpec> spec, std::string token,
              std::function<void(Result<SubmitReply>)> reply);
  void cancel(const model::Caller& caller, state::JobTarget target, int signal, bool batch_only, bool full, DoneReply reply);
  void hold(const model::Caller& caller, state::JobTarget target, model::Hold hold, DoneReply reply);
  void release(const model::Caller& caller, state::JobTarget target, DoneReply reply);
  void requeue(const model::Caller& caller, state::JobTarget target, model::AfterCompleting how, DoneReply reply);
  void suspend(const model::Caller& caller, state::JobTarget target, bool resume, DoneReply reply);
  void update_job(const model::Caller& caller, state::UpdateJob update, DoneReply reply);
  void update_node(const model::Caller& caller, state::UpdateNode update, DoneReply reply);
  void reconfigure(const model::Caller& caller, model::ClusterConfig config, DoneReply reply);
  // An interactive job's holder (srun) says that it is finished with it.
  void complete_allocation(const model::Caller& caller, JobId job, model::ExitStatus exit, DoneReply reply);
  // Calls back once the job is final (or gone), or has reached `started`; at once if it already is.
  enum class Until : std::uint8_t { Started, Final };
  void wait_job(JobId job, Until until, std::function<void(Result<model::JobPtr>)> reply);

  // ---- agents. The transport has verified that `node` is who it says.
  void on_agent_message(const std::string& node, model::AgentMessage message);
  void on_agent_connected(const std::string& node);
  void on_agent_disconnected(const std::string& node);

  void plan_done(sched::Plan plan);

  // Call when monotonic >= next_timer(): leases, time limits, kill sequence, repeats of unacknowledged messages, begin times,
  // purge of old jobs, snapshot when due.
  void on_timer();
  Duration next_timer() const;

  const state::Cluster& cluster() const { return *cluster_; }
  std::shared_ptr<const model::View> view() const { return published_; }
  bool idle() const;    // nothing queued, in flight or being planned; for tests

 private:
  struct Impl;          // queues, leases, timers: controller.cc and the on_*/rpc_* files beside it
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<state::Cluster> cluster_;
  std::shared_ptr<const model::View> published_;
};

}  // namespace spur::ctld
