// SPDX-License-Identifier: Apache-2.0
// What the nodes offer one request at one moment: groups of like nodes as a whole, single nodes one by one where they
// differ from their group. Counts on the way, so that most failures are known without laying anything out; and hands
// the placement no more nodes of a group than a job could take.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sched/placement.h"
#include "sched/profile.h"
#include "sched/request.h"

namespace spur::sched {

// Which nodes a request can use at all, by sort: the least CPUs that must be free there, or kNoUse.
inline constexpr std::int32_t kNoUse = 0x7fffffff;
struct Reach {
  std::vector<std::int32_t> cpus;  // by sort
  std::int32_t least = kNoUse;     // of all of them
};

// Whether it matters to the choice of nodes what stays of their GPUs; and how much the offer of a node as it is now
// would cost there.
inline bool heeds_fragments(const Request& request, const Capacity& capacity) {
  return !request.exclusive && !capacity.popular().empty();
}
void judge_growth(const Request& request, const Capacity& capacity, const std::optional<GpuNode>& gpus, Offer& offer);

// One at a time: they share the profile's marks.
class Offers {
 public:
  Offers(const Request& request, const Reach& reach, Profile& profile)
      : request_(request),
        reach_(reach),
        profile_(profile),
        marks_(profile.marks()),
        heeds_fragments_(heeds_fragments(request, profile.capacity())) {
    marks_.clear();
  }

  // What is free now on all nodes without holds.
  void add_groups();
  // One node's offer, out of `row`; in place of its group's or an earlier one. True if it is more than that.
  bool set(NodeNumber n, const Amount* row);
  bool in_reach(NodeNumber n) const;
  // Leaves out nodes without holds that others have during that time.
  void leave_to_others(Time from, Time to);

  // Cheap, and right whenever it says no.
  bool may_suffice() const;
  std::vector<Share> place();
  // Whether any of the single nodes offers anything.
  bool any_single() const { return singles_useful_ > 0; }

 private:
  struct GroupOffer {
    const NodeSet* members;
    Offer offer;
    const Amount* row;
  };
  void judge_all();
  Offer offer_of(NodeNumber n, const Amount* row) const;
  void count(const Offer& offer, std::int64_t times);
  std::uint64_t most_tasks(std::uint32_t nodes) const;
  template <class F>
  void for_each_member(const GroupOffer& group, std::uint32_t at_most, F f) const;
  FitKey best_alone() const;

  const Request& request_;
  const Reach& reach_;
  Profile& profile_;
  NodeMarks& marks_;  // where in singles_ a node is
  bool with_groups_ = false;
  std::vector<GroupOffer> groups_;
  std::vector<Offer> singles_;
  std::vector<std::optional<GpuNode>> single_gpus_;  // beside singles_, where fragments decide
  bool heeds_fragments_;
  std::int64_t useful_ = 0, tasks_ = 0, enough_alone_ = 0, singles_useful_ = 0, required_ = 0;
  std::array<std::int64_t, kMaxJobGres> gres_{};
  std::map<std::uint32_t, std::int64_t, std::greater<>> by_tasks_;  // how many nodes offer so many
};

// No placement looks at more nodes of a group than that.
std::uint32_t most_nodes(const Request& request);

}  // namespace spur::sched
