// SPDX-License-Identifier: Apache-2.0
// All pending jobs with the same wish in one partition: where they could run, whether one more fits now, and when the
// next one could start. Remembers what the nodes offered when it was last asked, and looks again only at those that
// changed.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/view.h"
#include "sched/capacity.h"
#include "sched/placement.h"
#include "sched/profile.h"
#include "sched/request.h"
#include "sched/start_search.h"

namespace spur::sched {

class Lane {
 public:
  Lane(const model::View& view, const Capacity& capacity, const model::JobSpec& spec, std::size_t partition,
       TimeLimit limit, Time now);

  const Request& request() const { return request_; }

  // Why its jobs cannot run whatever is free; None if they can.
  model::Reason reason();

  // Shares of one more job that starts now; empty: it does not fit.
  std::vector<Share> fit_now(Profile& profile);
  // The hold for one that starts later. `continue_search`: nothing was given back since the last call, so it cannot
  // start sooner than that one.
  std::optional<Hold> fit_later(Profile& profile, bool continue_search);
  // From that moment on.
  std::optional<Hold> fit_after(Profile& profile, Time from);

  // The planner's marks: in which generation of the profile a job of this lane last did not fit, or got a hold.
  static constexpr std::uint64_t kNotYet = ~std::uint64_t{0};
  std::uint64_t full_since = kNotYet, planned_in = kNotYet;

 private:
  void find_best_node(Profile& profile);
  void refresh_offers(Profile& profile);
  FitKey key_of(std::size_t i, Profile& profile, Time end) const;

  const model::Partition& partition_;
  const Capacity& capacity_;
  Request request_;
  model::Reason reason_ = model::Reason::None;
  bool know_nodes_ = false;
  std::vector<NodeNumber> nodes_;  // candidates, ascending

  // Jobs that one node takes: the best-fit key of each node that does, and the best of them.
  std::vector<FitKey> keys_;  // beside nodes_
  std::size_t best_ = 0, keys_seen_ = 0;
  // Other jobs.
  std::vector<Offer> offers_;  // beside nodes_
  std::size_t offers_seen_ = 0;
  std::optional<StartSearch> search_;
};

}  // namespace spur::sched
