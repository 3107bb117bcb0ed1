// SPDX-License-Identifier: Apache-2.0
// Plays a scenario on the real state::Cluster and sched::plan, one directive at a time, and tells in text what came
// of it. After every directive the cluster's invariants are checked; every plan is also made by the naive scheduler
// and must agree.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "line.h"
#include "sched/plan.h"
#include "state/cluster.h"

namespace spur::scenario {

class Scenario {
 public:
  Scenario();

  // What the directive has to say, each line ended; mostly nothing. An error is one of the scenario's text, or a
  // broken invariant; what the cluster refuses is output.
  Result<std::string> play(const std::string& text);

 private:
  using Handler = Status (Scenario::*)(const Line&);
  static const std::map<std::string, Handler>& handlers();

  // ---- the cluster's shape (shape.cc)
  Status nodes(const Line& line);
  Status partition(const Line& line);
  Status add_switch(const Line& line);
  model::TopologyConfig& topology_of(const Line& line);
  Status add_block(const Line& line);
  Status config(const Line& line);
  Status reconfigure(const Line& line);
  Status set_up();  // before the first directive that needs a cluster
  Status register_node(const Line& line);
  Status lost(const Line& line);
  Status silent(const Line& line);
  Status responding(const Line& line);
  Status drain(const Line& line);
  Status down(const Line& line);
  Status undrain(const Line& line);
  Status resume_node(const Line& line);
  Status put_off(const Line& line);
  Status create_nodes(const Line& line);
  Status delete_nodes(const Line& line);
  Status claim(const Line& line);

  // ---- jobs (jobs.cc)
  Status submit(const Line& line);
  Status run(const Line& line);
  Status will_run(const Line& line);
  Status done(const Line& line);
  Status cancel(const Line& line);
  Status timeout(const Line& line);
  Status hold(const Line& line);
  Status release(const Line& line);
  Status requeue(const Line& line);
  Status suspend(const Line& line);
  Status resume(const Line& line);
  Status update(const Line& line);
  Status purge(const Line& line);

  // ---- reservations (reservations.cc)
  Status reserve(const Line& line);
  Status unreserve(const Line& line);
  Status show_reservations(const Line& line);
  void let_reservations_be();

  // ---- time, planning and looking (scenario.cc)
  Status at(const Line& line);
  Status plan(const Line& line);
  Status show(const Line& line);
  Status show_nodes(const Line& line);
  Status allocation(const Line& line);

  // Applies one command; tells a refusal as "refused: ...".
  state::Outcome apply(state::Command command);
  state::Outcome try_apply(state::Command command);
  Status move_to(const Line& line);  // option at=
  Result<sched::Plan> make_plan();
  Status check_reasons(const sched::Plan& plan) const;
  Status update_nodes(const Line& line, state::UpdateNode::Action action);
  Status on_job(const Line& line, const std::function<state::Command(state::JobTarget)>& make);

  // ---- names
  Result<JobId> id_of(const std::string& name) const;
  Result<state::JobTarget> target_of(const std::string& word) const;
  // Records the word means, in order of tasks.
  Result<std::vector<const model::Job*>> records_of(const std::string& word) const;
  std::string name_of(const model::Job& job) const;
  std::string describe(const model::Job& job) const;
  void say(const std::string& line) { out_ += line + '\n'; }
  std::string show_time(Time time) const;

  state::Cluster cluster_;
  model::ClusterConfig config_;
  // Everybody is promised a start, and passes in the order of the queue.
  sched::Params params_{.promises = 100, .patience = Duration{0}, .backfill = model::BackfillOrder::Priority};
  bool is_set_up_ = false;
  Time zero_, now_;
  std::map<std::string, JobId> ids_;
  std::map<JobId, std::string> names_;
  std::string out_;
};

}  // namespace spur::scenario
