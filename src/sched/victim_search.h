// SPDX-License-Identifier: Apache-2.0
// Which running jobs have to go so that a request fits, with the least lost.
//
// Few candidates: all sets are searched, the dearest job first left out wherever it can be, and branches that cannot
// beat the best so far are cut off. Many: nodes are ordered by what a task there would cost, the shortest run of them
// that suffices is found by halving, and the search goes over the jobs there and on the next cheapest nodes. Whatever
// comes out has been tried: with exactly those jobs gone, the request was placed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/preempt_room.h"

namespace spur::sched {

class VictimSearch {
 public:
  // So many candidates are searched through, and at most so many sets are tried for one request.
  static constexpr std::size_t kExact = 24;
  static constexpr std::uint32_t kTries = 4'000, kTriesOfMany = 400;
  // Of more nodes than that, those with the cheapest jobs are looked at.
  static constexpr std::size_t kNodes = 4'096;

  VictimSearch(const Request& request, PreemptRoom& room, const std::vector<PreemptCandidate>& candidates)
      : request_(request), room_(room), candidates_(candidates) {}

  // Positions in `candidates`, ascending; none if it does not fit with all of them gone. The room is left with
  // exactly those gone. At most `most` of them.
  std::optional<std::vector<std::uint32_t>> find(std::size_t most);
  // Whether find() failed only because of `most`.
  bool too_many() const { return too_many_; }
  // How often the placement was asked.
  std::uint32_t tries() const { return tries_; }

 private:
  struct CheapNode {
    NodeNumber node = 0;
    std::vector<std::uint32_t> victims;  // numbers in the room: the cheapest that make it useful
    std::int64_t per_task = 0;
  };
  std::vector<CheapNode> cheap_nodes();
  bool choose_pool();
  bool fits();
  void set_all(const std::vector<std::uint32_t>& numbers, bool gone);
  void descend(std::size_t at, PreemptCost sure);
  PreemptCost cost(std::uint32_t number) const { return candidates_[number].cost; }

  const Request& request_;
  PreemptRoom& room_;
  const std::vector<PreemptCandidate>& candidates_;  // numbered alike in the room
  std::vector<std::uint32_t> pool_;                  // the dearest first
  std::optional<PreemptCost> best_cost_;
  std::vector<std::uint32_t> best_;
  std::uint32_t tries_ = 0, limit_ = kTries;
  bool too_many_ = false;
};

}  // namespace spur::sched
