// SPDX-License-Identifier: Apache-2.0
// The end of a full cycle: who of those that are left waiting may push out running jobs, and whether that lets him
// start. A preemption is proposed only with the allocation that the beneficiary gets once the others are gone, and it
// leaves alone what is planned for jobs before him in the queue, for others who have a claim, and for reservations:
// also if the others take their whole grace time and the kill after it. Planned starts behind him give way.
//
// Nodes that one proposal touches are not touched by another of the same cycle: the next one sees the outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sched/engine_state.h"
#include "sched/grants.h"
#include "sched/plan.h"
#include "sched/preempt_room.h"
#include "sched/turn.h"

namespace spur::sched {

class Preemptor {
 public:
  // What one cycle may cost: jobs looked at, and sets of victims tried for them.
  static constexpr std::uint32_t kJobs = 64, kTries = 8'000;
  // Of one lane, jobs that are passed over because of their QOS.
  static constexpr std::uint32_t kPassed = 256;
  // Nodes that are looked at first, unless the job needs more.
  static constexpr std::size_t kNodes = 64;

  // `waits`: whether the job of a slot is still without a start.
  Preemptor(EngineState& state, Grants& grants, std::function<bool(std::uint32_t)> waits);

  std::vector<Preemption> run();

 private:
  struct Place {  // in the queue
    Position position;
    std::uint32_t lane = 0, slot = 0;
  };
  Position position_of(const Turn& turn, const LaneRecord& record) const;
  void gather();
  bool is_exempt(const model::Job& running) const;
  std::vector<Place> queue() const;
  bool may_preempt(const LaneRecord& record, const model::Job& job, const PreemptCandidate& candidate) const;
  bool may_preempt_anybody(const LaneRecord& record, const model::Job& job) const;
  bool attempt(const Place& place);
  std::vector<const Hold*> holds_behind(const Place& place) const;
  Preemption make(const Place& place, PreemptRoom& room, const std::vector<PreemptCandidate>& victims,
                  const std::vector<Share>& shares);
  std::vector<NodeNumber> cheapest_nodes(const Lane& lane, const PreemptRoom& room,
                                         const std::vector<std::uint8_t>& allowed) const;
  std::optional<Preemption> search(const Place& place, PreemptRoom& room, const std::vector<std::uint8_t>& allowed);
  void touch(const model::Allocation& allocation);

  EngineState& s_;
  Grants& grants_;
  std::function<bool(std::uint32_t)> waits_;
  Time now_;
  std::vector<PreemptCandidate> all_;  // the cheapest first
  std::vector<std::uint8_t> closed_;   // beside it: on a node that is touched
  struct OnNode {
    std::uint32_t candidate, cpus;
  };
  std::span<const OnNode> on_node(NodeNumber n) const;
  std::vector<OnNode> on_nodes_;         // node after node, the cheapest first
  std::vector<std::uint32_t> first_on_;  // by node: where in it
  std::vector<NodeNumber> touched_;      // ascending
  std::vector<Preemption> made_;
  std::uint32_t jobs_ = 0, tries_ = 0;
  std::size_t victims_ = 0;
};

}  // namespace spur::sched
