// SPDX-License-Identifier: Apache-2.0
// What nodes would offer a request if some running jobs were gone. The jobs that may go are told once, with all that
// they hold; then each can be taken away and put back, which costs the nodes that it is on.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/preempt.h"
#include "sched/engine_state.h"
#include "sched/lane.h"
#include "sched/offers.h"
#include "sched/profile.h"

namespace spur::sched {

// What is lost when jobs go: CPU time, then how many they are, then how long they have run. The least is best. With
// youngest_first the time that they have run stands in the place of CPU time, whatever they hold.
struct PreemptCost {
  std::int64_t cpu_milliseconds = 0;
  std::uint32_t jobs = 0;
  std::int64_t run_milliseconds = 0;
  friend auto operator<=>(const PreemptCost&, const PreemptCost&) = default;
  PreemptCost operator+(const PreemptCost& other) const {
    return {cpu_milliseconds + other.cpu_milliseconds, jobs + other.jobs, run_milliseconds + other.run_milliseconds};
  }
};

// A running job that may have to go.
struct PreemptCandidate {
  const model::Job* job = nullptr;
  model::PreemptHow how = model::PreemptHow::Cancel;
  seconds grace{0};
  PreemptCost cost;
  std::uint32_t tier = 0;                     // of its partition
  const model::Qos* qos = nullptr;            // null: it has none that exists
  const EngineState::Aside* aside = nullptr;  // it is suspended: only what is kept of its CPUs can be had
};

// Nothing else may use the profile's marks meanwhile (Offers).
class PreemptRoom {
 public:
  // The job would run from now until `end` at the latest. `closed`: nodes that are not to be used.
  PreemptRoom(const Lane& lane, Profile& profile, Time end, const std::vector<NodeNumber>& closed);

  // Whether the node is of any use to the request; add() ignores the others.
  bool in_reach(NodeNumber n) const { return offers_.in_reach(n); }
  // The number by which the candidate is known from now on. It is still there.
  std::uint32_t add(const PreemptCandidate& candidate);
  std::size_t size() const { return parts_of_.size(); }
  void set_gone(std::uint32_t candidate, bool gone);
  bool is_gone(std::uint32_t candidate) const { return gone_[candidate]; }
  std::vector<NodeNumber> nodes_of(std::uint32_t candidate) const;

  // Where the request would be placed now; empty: it does not fit.
  std::vector<Share> place();
  bool may_suffice();
  // Tasks that the node would take.
  std::uint32_t tasks_on(NodeNumber n);
  // What is free there for the whole time.
  const Amount* row(NodeNumber n);
  // All that those who are gone give back on the node.
  std::vector<Amount> given_back(NodeNumber n) const;
  // Of that, the CPUs that several of them had.
  model::NodeGrant left_by_all(NodeNumber n) const;

 private:
  struct Part {  // of a candidate on a node
    std::uint32_t node = 0, candidate = 0;
    Time end;
    std::vector<Amount> row;
  };
  struct Shared {  // a core of several jobs: free when all of them are gone
    SharedCore core;
    std::vector<std::uint32_t> candidates;
  };
  struct NodeHere {
    NodeNumber number = 0;
    std::vector<std::uint32_t> parts;
    std::vector<Shared> shared;
    bool changed = false;
  };
  std::span<Amount> add_part(std::uint32_t candidate, NodeNumber n, Time end);
  void add_shared(std::uint32_t candidate, const model::Job& job, const model::NodeGrant& grant);
  // Calls f(core, row) for cores that all who had them have left.
  template <class F>
  void for_each_left(const NodeHere& node, F&& f) const;
  void bring_up_to_date();

  const Request& request_;
  Profile& profile_;
  Time end_;
  Offers offers_;
  std::vector<Part> parts_;
  std::vector<std::vector<std::uint32_t>> parts_of_;  // by candidate
  std::vector<bool> gone_;
  std::vector<NodeHere> nodes_;
  std::unordered_map<NodeNumber, std::uint32_t> node_at_;  // look-up only
  std::vector<std::uint32_t> changed_;
  std::vector<Amount> row_;
};

}  // namespace spur::sched
