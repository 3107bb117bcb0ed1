// SPDX-License-Identifier: Apache-2.0
// Availability from now on: what is free, what running jobs give back at their limits, what was started in this call,
// and the holds of jobs that are planned for later. A job may start only where, for the whole of its run, it leaves
// every hold what it needs; so whoever starts out of turn delays nobody who was promised a time.
//
// It lives as long as the engine and is told what changed. Nodes without holds only get more free with time and are
// looked at as groups; a node with holds has a timeline of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"
#include "sched/feasibility.h"
#include "sched/node_ends.h"
#include "sched/node_groups.h"
#include "sched/request.h"
#include "sched/timeline.h"

namespace spur::sched {

// A planned start and all it keeps for that time.
struct Hold {
  Time start, end;
  std::vector<Share> shares;
  std::vector<Amount> rows;      // one per share
  std::vector<Amount> licenses;  // one per licence of the cluster; empty: none
  friend bool operator==(const Hold&, const Hold&) = default;
};

// Nodes that may offer more than before, in order. Whoever knows that something did not fit needs to look at those
// that came since. Positions only grow.
class GainLog {
 public:
  std::uint64_t end() const { return first_ + nodes_.size(); }
  void add(NodeNumber n) { nodes_.push_back(n); }
  // None if that is so long ago that everything has to be looked at.
  std::optional<std::span<const NodeNumber>> since(std::uint64_t position) const;
  void trim(std::size_t keep);

 private:
  std::uint64_t first_ = 0;
  std::vector<NodeNumber> nodes_;
};

// A number for some of the nodes; forgetting them all costs nothing.
class NodeMarks {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  explicit NodeMarks(std::size_t nodes) : marks_(nodes) {}
  void clear() { ++round_; }
  void set(NodeNumber n, std::uint32_t mark) { marks_[n] = {round_, mark}; }
  std::uint32_t find(NodeNumber n) const { return marks_[n].first == round_ ? marks_[n].second : kNone; }

 private:
  std::uint64_t round_ = 1;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> marks_;
};

class Profile {
 public:
  // The view's address stays, its contents change; refresh() and the like are then told what did.
  explicit Profile(const model::View& view);

  // ---- what happened to the cluster
  void refresh(NodeNumber n);
  void set_license_holder(const model::Job& job);
  void remove_license_holder(JobId job) { license_holders_.erase(job); }
  // A call begins: starts of the last one that did not come true are forgotten.
  void begin(Time now);

  // ---- what there is
  Time now() const { return now_; }
  const Capacity& capacity() const { return capacity_; }
  const NodeGroups& groups() const { return groups_; }
  // Changes whenever a node changes its sort or usability.
  std::uint64_t static_version() const { return static_version_; }
  const std::vector<NodeNumber>& held_nodes() const { return held_nodes_; }
  bool is_held(NodeNumber n) const { return held_at_[n] != kNotHeld; }
  std::int32_t free_cpus(NodeNumber n) const { return free_cpus_[n]; }
  // The least free on the node during [from, to). Valid until the next call.
  const Amount* least(NodeNumber node, Time from, Time to);
  // Whether the licences are there during all of that time.
  bool licenses_suffice(const Request& request, Time from, Time to);
  // Of a node with holds.
  const Timeline& timeline_of(NodeNumber node) { return timeline(node); }
  // The next moment after `at` at which least(node, t, t + run) of a node with holds may differ.
  Time next_change(const Request& request, NodeNumber node, Time at);
  Time next_license_change(const Request& request, Time at);
  NodeEnds& ends() { return ends_; }
  NodeMarks& marks() { return marks_; }  // for whoever looks at nodes at the moment
  // Nodes with more free now, and those that offer more in spite of holds (which has all of the first, too).
  const GainLog& base_gains() const { return base_gains_; }
  const GainLog& gains() const { return gains_; }

  // ---- what is decided
  // The request starts now, with these shares; `rows` is what each takes.
  void start(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows);
  // So much of the node is taken until then.
  void occupy(NodeNumber n, Time until, const Amount* row);
  std::vector<Amount> license_row(const Request& request) const;  // of a hold; empty: none
  // Makes the hold of a request that starts then.
  Hold make_hold(const Request& request, Time start, std::vector<Share> shares);
  // The hold must stay where it is until it is removed.
  void add(const Hold& hold);
  void remove(const Hold& hold);
  // For those who choose CPUs and devices as if so much more (or, below 0, less) were free on the node. To be taken
  // back; nobody else is told.
  void pretend_free(NodeNumber n, std::span<const Amount> more);
  // For a look without it, to be followed by restore() or remove(). Its nodes stay out of the groups.
  void lift(const Hold& hold);
  void restore(const Hold& hold);

 private:
  static constexpr std::uint32_t kNotHeld = 0xffffffffu;
  struct HeldNode {
    std::vector<std::pair<const Hold*, std::size_t>> holds;  // and which share of it
    Timeline timeline;
    Time built;
    bool outdated = true;
  };
  struct LicenseHolder {
    Time until;  // raw
    std::vector<Amount> counts;
  };
  Timeline& timeline(NodeNumber node);
  Timeline& licenses();
  void take_on(HeldNode& held, const Hold& hold, std::size_t share, bool give_back);
  void drop_from(NodeNumber n, const Hold& hold);
  Time next_change(const Timeline& timeline, bool held, const Request& request, Time at) const;

  const model::View& view_;
  Time now_;
  Capacity capacity_;
  NodeGroups groups_;
  NodeEnds ends_;
  std::uint64_t static_version_ = 1;
  std::vector<std::int32_t> free_cpus_;  // by node: a column of the capacity, close together
  std::vector<std::uint32_t> held_at_;   // by node: position in held_nodes_ and held_
  std::vector<NodeNumber> held_nodes_;   // those with holds
  std::vector<HeldNode> held_;           // beside it
  std::vector<NodeNumber> started_on_;   // by starts of this call
  std::map<JobId, LicenseHolder> license_holders_;
  std::vector<std::pair<Time, std::vector<Amount>>> license_starts_;  // of this call
  std::vector<const Hold*> license_holds_;
  Timeline licenses_;
  GainLog gains_, base_gains_;
  NodeMarks marks_;
  std::vector<Amount> scratch_, license_scratch_, before_;
};

}  // namespace spur::sched
