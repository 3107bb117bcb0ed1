// SPDX-License-Identifier: Apache-2.0
// One call: walks the queue from the front. Each job starts, or is promised a start later (Params::promises), or is
// passed over; whichever, it leaves with a reason.
//
// Once somebody of a partition has a promise, those who cannot get one are put off until all who can have been looked
// at; then all who are left come in the order of backfill (docs/decisions/0006).
//
// The walk goes from lane to lane, not from job to job. What is free only shrinks on the way, so once a job of a lane
// neither fits nor gets a hold, no job behind it will: the lane leaves the walk. Only those with something to lose
// come by themselves then: jobs that have a hold and may start in another partition. When a hold is given back, whose
// nodes may be of use to others, all lanes join again at that place of the queue.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/engine_state.h"
#include "sched/grants.h"
#include "sched/plan.h"

namespace spur::sched {

// A claim is given up if its time came so long ago, and the kill after that is over: by then whoever used the nodes
// in between has gone, too.
inline constexpr seconds kClaimPatience{120};

// The grants with these cores besides, node by node.
std::vector<model::NodeGrant> with_cores(const Capacity& capacity, std::vector<model::NodeGrant> grants,
                                         const std::vector<std::vector<SharedCore>>& cores);

class Walk {
 public:
  enum class Mode : std::uint8_t {
    Full,   // everyone may get a hold
    Quick,  // holds stay; only a job that was never told anything may get one
  };
  Walk(EngineState& state, Mode mode);

  // Who starts, who is promised what.
  void decide();
  // What there is to say about it.
  Plan tell();

 private:
  using Cursor = LaneCursor;
  using Item = QueueItem;
  // What this call did to a job.
  struct Done {
    bool started = false;               // wholly
    std::optional<std::uint32_t> task;  // next one of an array's rest
  };

  // ---- the queue (walk.cc)
  Position position_of(const Turn& turn, const Backlog::Group& group, const LaneRecord& lane) const;
  const Backlog::JobClass& class_of(const LaneRecord& lane) const;
  const Backlog::Group& group_of(std::uint32_t slot) const;  // the priority group of a job in the queue
  bool may_matter(std::uint32_t lane) const;
  bool has_newcomers(const LaneRecord& lane) const;
  void join(std::uint32_t lane, const Position* after);
  void push_next(std::uint32_t lane);
  void push_alone(std::uint32_t lane, std::uint32_t slot);
  void leave(std::uint32_t lane);
  bool comes_later(const Item& item) const;
  void put_off(const Item& item);
  void put_off_all(std::size_t partition);
  bool is_put_off(const Item& item, std::size_t partition);
  void join_behind();
  void all_join_again();
  std::optional<Item> pop();

  // ---- those for whom others had to go (claims.cc)
  bool visit_claims();  // false: enough starts, stop
  std::optional<std::uint32_t> lane_of_claim(std::uint32_t slot) const;
  bool start_claim(const Item& item, bool& stop);
  void give_up_claim(std::uint32_t slot);
  std::vector<Share> fit_claim(const model::Allocation& claim, Lane& lane);
  void keep_claim(const Item& item, Time soonest);
  void visit_aside();
  void visit_aside(const model::Job& job);
  void propose_preemptions();

  // ---- deciding (walk.cc)
  bool visit(const Item& item);  // false: enough starts, stop
  // TooMuch: what it would get (whole nodes, whole cores) is over a limit, though what it asks for is not.
  enum class Try : std::uint8_t { Started, NoRoom, Limited, TooMuch, Enough };
  Try try_to_start(const Item& item, PlannedStart*& planned);
  void plan_later(const Item& item, PlannedStart* planned);
  std::vector<Share> fit_without_hold(const Item& item, PlannedStart& planned);
  bool may_get_hold(const Item& item) const;
  bool is_old(std::int64_t order) const;
  void keep(const Item& item, Hold hold);
  void give_back(PlannedStart*& planned);
  bool at_cap(const model::Job& job) const;
  bool started(std::uint32_t slot) const;
  // False: what it would get is more than its account or QOS allows.
  bool start(const Item& item, const std::vector<Share>& shares);

  // Grants of the shares, and in rows_ what they take. Beside others (walk_beside.cc): with the cores that it shares.
  std::vector<model::NodeGrant> grant_all(const Request& request, const std::vector<Share>& shares);
  std::vector<std::vector<SharedCore>> grant_beside(const Request& request, const CoreSet& set,
                                                    const std::vector<Share>& shares,
                                                    std::vector<model::NodeGrant>& grants);
  void share_cores(const model::Allocation& allocation, const std::vector<std::vector<SharedCore>>& beside, Time end);

  // ---- limits of accounts and QOS (limits.cc)
  // `in_vain`: it has been tried, and waits on.
  model::Reason limit_of(std::uint32_t lane, const model::Tallies& tallies, bool in_vain = false) const;
  bool count_start(const model::Job& job, const std::shared_ptr<const model::Allocation>& allocation, TimeLimit limit);
  bool may_be_planned(const Item& item) const;
  bool group_is_limited(const Backlog::HetGroup& group) const;
  model::Reason limit_of(const Backlog::HetGroup& group) const;

  // ---- looking further (foretell.cc)
  void foretell();
  void foretell(const Item& item);

  // ---- heterogeneous jobs (het_walk.cc)
  struct GroupLanes {  // by component
    std::vector<std::vector<std::uint32_t>> numbers;
    std::vector<std::vector<Lane*>> lanes;
  };
  using Consider = std::function<void(const LaneRecord&, const Backlog::Group&, const Turn&)>;
  bool is_group(const Item& item) const;
  bool may_run(const Backlog::HetGroup& group) const;
  void push_groups();
  GroupLanes lanes_of(const Backlog::HetGroup& group, std::uint32_t first) const;
  bool visit_group(const Item& item);  // false: enough starts, stop
  void start_part(std::uint32_t slot, std::uint32_t lane, const Lane::Fit& fit);
  void keep_part(std::uint32_t slot, std::uint32_t lane, Hold hold);
  void foretell_group(const Item& item);
  bool lacks_licenses(const Backlog::HetGroup& group) const;
  void find_first_groups(bool told, const std::vector<std::uint32_t>& firsts, const Consider& consider);
  model::Reason reason_in_group(std::uint32_t slot) const;

  // ---- telling (waits.cc)
  void write_waits();
  void find_firsts();
  model::Reason reason_of_class(std::uint32_t number, std::uint32_t* speaks) const;
  model::Reason reason_of(std::uint32_t slot) const;
  void tell(std::uint32_t slot, model::Reason reason);

  EngineState& s_;
  Mode mode_;
  Time now_;
  std::vector<Cursor>& cursors_;         // by lane
  bool behind_ = false;                  // the second part of the walk
  std::vector<std::uint32_t> holds_in_;  // by partition
  std::vector<Item>& heap_;
  std::optional<Position> last_;
  std::unordered_map<std::uint32_t, Done> done_;                                 // by slot; look-up only
  std::map<JobId, std::uint32_t> array_starts_;                                  // of arrays with a limit
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> held_of_class_;  // slots that have or had a hold
  std::optional<Grants> grants_;
  std::vector<Amount> rows_;                  // scratch
  std::vector<std::uint8_t> lacks_licenses_;  // by lane, at the end
  std::vector<model::Reason> limited_;        // by lane, at the end
  bool limits_;
  model::Tallies tallies_;                                        // with what this call starts
  std::vector<std::uint32_t> first_of_partition_;                 // slot, or kNone
  std::unordered_map<std::uint32_t, const Hold*> foretold_;       // by slot; look-up only
  std::unordered_map<std::uint32_t, model::Reason> own_reasons_;  // by slot: those that differ from their class
  Plan plan_;
};

}  // namespace spur::sched
