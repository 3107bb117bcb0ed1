// SPDX-License-Identifier: Apache-2.0
// What each node gets back, and when, as far as running jobs go: steps of growing rows. Worked out when asked for,
// and anew for nodes that changed. Whoever searches through time walks the index over all of them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"
#include "sched/end_index.h"

namespace spur::sched {

// When an active job gives its resources back, as far as one can know: at its time limit, or when it has to make room
// for another; never (kNever) without one or while suspended; not set for one that is over but for the cleaning up. What is past means: in a moment.
Time raw_end(const model::Job& job);
// The same, seen from `now`.
Time expected_end(const model::Job& job, Time now);
inline Time not_before_soon(Time end, Time now) {
  return std::max(end, now + seconds(1));
}

class NodeEnds {
 public:
  // Both must outlive it.
  NodeEnds(const model::View& view, const Capacity& capacity);

  struct Steps {
    std::vector<Time> at;      // raw ends, ascending, each once
    std::vector<Amount> rows;  // beside it: free from then on
  };
  const Steps& steps(NodeNumber n);
  // What is free at that moment, which is not before now + 1 s.
  const Amount* row_at(NodeNumber n, Time at);

  // The node's free row, or the jobs on it, changed.
  void outdate(NodeNumber n);
  // A job that was started just now and is in no record yet.
  void add_start(NodeNumber n, Time until, const Amount* row);
  void forget_starts(NodeNumber n) { starts_.erase(n); }

  // Of all usable nodes.
  const EndIndex& index();

 private:
  struct Start {
    Time until;
    std::vector<Amount> row;
  };
  void work_out(NodeNumber n);
  template <class F>
  void for_each_end(NodeNumber n, F f) const;

  const model::View& view_;
  const Capacity& capacity_;
  std::vector<Steps> steps_;  // by node
  enum class State : std::uint8_t { Unknown, Outdated, Known };
  std::vector<State> state_;   // by node; Unknown: not in the index either
  std::vector<bool> indexed_;  // by node
  std::vector<NodeNumber> outdated_;
  bool index_built_ = false;
  EndIndex index_;
  std::unordered_map<NodeNumber, std::vector<Start>> starts_;  // look-up only
  std::vector<std::pair<Time, std::size_t>> order_;            // scratch
  std::vector<Amount> rows_;                                   // scratch
};

}  // namespace spur::sched
