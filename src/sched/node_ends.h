// SPDX-License-Identifier: Apache-2.0
// What each node gets back, and when, as far as running jobs go: steps of growing rows. Worked out when asked for the
// first time; from then on a job that comes or goes changes the steps that it has to do with. Whoever searches
// through time walks the index over all of them.
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
// for another; never (kNever) without one or while suspended; not set for one that is over but for the cleaning up.
// What is past means: in a moment.
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
    std::vector<Time> at;             // raw ends, ascending, each once
    std::vector<std::uint32_t> jobs;  // beside it: how many end then
    std::vector<Amount> rows;         // beside it: what has come back by then, besides what is free now
  };
  const Steps& steps(NodeNumber n);
  // What is free at that moment, which is not before now + 1 s. Valid until the next call.
  const Amount* row_at(NodeNumber n, Time at);

  // A job on the node is there, or no longer: it gives back that much then.
  void add(NodeNumber n, Time until, const Amount* row);
  void remove(NodeNumber n, Time until, const Amount* row);
  // All jobs on the node are to be looked at anew: some share cores, and what one gives back depends on the others.
  void forget(NodeNumber n);
  // The node's free row, or whether it can be used, changed.
  void outdate(NodeNumber n);
  // A job that was started just now and is in no record yet. Below 0: so much comes back no longer then.
  void add_start(NodeNumber n, Time until, const Amount* row);
  void forget_starts(NodeNumber n);

  // Of all usable nodes.
  const EndIndex& index();

 private:
  struct Start {
    Time until;
    std::vector<Amount> row;
  };
  void work_out(NodeNumber n);
  void bring_into_index(NodeNumber n);
  std::int32_t cpus_of(NodeNumber n, std::size_t step) const;

  const model::View& view_;
  const Capacity& capacity_;
  std::vector<Steps> steps_;  // by node
  struct State {
    bool known = false;
    bool indexed = false;
    bool outdated = false;  // numbers of CPUs in the index, or whether it belongs there
  };
  std::vector<State> state_;          // by node
  std::vector<NodeNumber> outdated_;  // all of them, once there is an index
  bool index_built_ = false;
  EndIndex index_;
  std::unordered_map<NodeNumber, std::vector<Start>> starts_;  // look-up only
  std::vector<Amount> scratch_;
};

}  // namespace spur::sched
