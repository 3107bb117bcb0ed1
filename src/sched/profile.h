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
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"
#include "sched/feasibility.h"
#include "sched/node_ends.h"
#include "sched/node_groups.h"
#include "sched/request.h"
#include "sched/shared_cores.h"
#include "sched/timeline.h"

namespace spur::sched {

// A planned start and all it keeps for that time.
struct Hold {
  Time start, end;
  std::vector<Share> shares;
  std::vector<Amount> rows;      // one per share
  std::vector<Amount> licenses;  // one per licence of the cluster; empty: none
  std::string reservation = {};  // the one that the job will run in, or that closes this to others; empty: none
  bool closes = false;
  Uid user{};               // of the planned job
  bool user_alone = false;  // and whether it keeps other users off its nodes
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
  // An active job holds something of a node, or does no longer. One that changed has gone and come. refresh() of the
  // node has to follow.
  void job_came(const model::Job& job, const model::NodeGrant& grant);
  void job_went(const model::Job& job, const model::NodeGrant& grant);
  void set_license_holder(const model::Job& job);
  void remove_license_holder(JobId job) { license_holders_.erase(job); }
  // A call begins: starts of the last one that did not come true are forgotten.
  void begin(Time now);

  // From here on it is asked for a job that runs in this reservation (null: in none), which must be in the view: what
  // others have reserved may be open to it, and it may be confined to what the reservation has. While in one, nothing
  // but start() may change the profile.
  void enter(const model::Reservation* reservation);
  const model::Reservation* entered() const { return entry_; }
  bool confined() const { return confined_; }
  bool lets_use(NodeNumber n) const;

  // Some jobs keep those of other users off their nodes: who uses a node matters to all.
  void set_users_matter(bool matter) { users_matter_ = matter; }
  bool users_matter() const { return users_matter_; }
  bool heeds_users(const Request& request) const { return users_matter_ || request.user_alone; }
  // Whether somebody on the node during [from, to) does not get along with the request.
  bool taken_by_others(const Request& request, NodeNumber n, Time from, Time to) const;
  // What a run of the set until `to` finds on the node beside others. Where somebody was promised a part of the node
  // before then, it may only share with those who are there for as long.
  Beside beside(NodeNumber n, Time to, const CoreSet& set);
  const std::vector<SharedCore>& shared_cores(NodeNumber n, const CoreSet& set) {
    return shared_.of(n, set.partition, set.reservation);
  }
  bool has_jobs(NodeNumber n) const { return has_starts_[n] || !capacity_.node(n).jobs.empty(); }
  // What a running job holds, with those of its CPUs only that nobody else has.
  model::NodeGrant alone(const model::Job& job, const model::NodeGrant& grant);
  // A row with nothing in it.
  const Amount* nothing() const { return nothing_.data(); }

  // ---- what there is
  Time now() const { return now_; }
  void set_popular(std::vector<GpuShape> popular) { capacity_.set_popular(std::move(popular)); }
  const Capacity& capacity() const { return capacity_; }
  const NodeGroups& groups() const { return groups_; }
  // Changes whenever a node changes its sort or usability.
  std::uint64_t static_version() const { return static_version_; }
  const std::vector<NodeNumber>& held_nodes() const { return held_nodes_; }
  bool is_held(NodeNumber n) const { return held_at_[n] != kNotHeld; }
  std::int32_t free_cpus(NodeNumber n) const { return free_cpus_[n]; }
  Amount free_cpus_in_all() const { return free_cpus_in_all_; }
  // The least free on the node during [from, to). Valid until the next call.
  const Amount* least(NodeNumber node, Time from, Time to);
  // Whether the licences are there during all of that time.
  bool licenses_suffice(const Request& request, Time from, Time to);
  // Of a node with holds.
  const Timeline& timeline_of(NodeNumber node) { return timeline(node); }
  // The next moment after `at` at which least(node, t, t + run) of a node with holds may differ.
  Time next_change(const Request& request, NodeNumber node, Time at);
  Time next_license_change(const Request& request, Time at);
  // The next moment after `at` at which licences are taken or given back, whoever asks.
  Time next_license_step(Time at) { return licenses().next_step(at); }
  // When holds end, after `from`; ascending, each once.
  std::vector<Time> hold_ends(Time from) const;
  NodeEnds& ends() { return ends_; }
  NodeMarks& marks() { return marks_; }  // for whoever looks at nodes at the moment
  // Nodes with more free now, and those that offer more in spite of holds (which has all of the first, too).
  const GainLog& base_gains() const { return base_gains_; }
  const GainLog& gains() const { return gains_; }

  // Until when what a request that starts now takes (a row per share) is there for it; Time::max(): for ever.
  Time lasts(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows);

  // ---- what is decided
  // The request starts now, with these shares; `rows` is what each takes.
  void start(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows);
  // Of a run that begins now and shares its cores; and those that it has beside others, whom it may outlast.
  void share(const model::Allocation& allocation, Time until);
  void stay_on(NodeNumber n, const std::vector<SharedCore>& cores, Time until);
  // So much of the node is taken until then.
  void occupy(NodeNumber n, Time until, const Amount* row);
  std::vector<Amount> license_row(const Request& request) const;  // of a hold; empty: none
  // Makes the hold of a request that starts then.
  Hold make_hold(const Request& request, Time start, std::vector<Share> shares);
  // To be looked at only: of one that would start now beside others.
  Hold make_hold_beside(const Request& request, const CoreSet& set, std::vector<Share> shares);
  // The hold must stay where it is until it is removed.
  void add(const Hold& hold);
  void remove(const Hold& hold);
  // The same where nobody has concluded from it that there is no room.
  void forget(const Hold& hold);
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
    bool parted = false;  // a part of it is reserved: what is closed depends on who uses it
  };
  struct Use {  // by a job in a reservation
    Time from, to;
    std::vector<Amount> row;
  };
  struct ReservedStart {  // of this call
    NodeNumber node;
    std::string reservation;
    Use use;
  };
  struct LicenseHolder {
    Time until;  // raw
    std::vector<Amount> counts;
  };
  Timeline& timeline(NodeNumber node);
  Timeline& licenses();
  Timeline make_licenses() const;
  Timeline steps_of(NodeNumber node);
  void begin_steps(NodeNumber node, Timeline& timeline);
  Timeline part_by_part(NodeNumber node, const HeldNode& held);
  Timeline left_of_part(NodeNumber node, const HeldNode& held, const Hold& closure, std::vector<Amount> part);
  void confine(NodeNumber node, const HeldNode& held, Timeline& timeline);
  bool keeps_out(const Hold& closure) const;
  bool is_promised(NodeNumber n, Time to) const;
  void forget_shared(NodeNumber n);
  void take_on(HeldNode& held, const Hold& hold, std::size_t share, bool give_back);
  void take_off(const Hold& hold);
  void note_free_cpus(NodeNumber n);
  void drop_from(NodeNumber n, const Hold& hold);
  Time next_change(const Timeline& timeline, bool held, const Request& request, Time at) const;

  const model::View& view_;
  Time now_;
  Capacity capacity_;
  NodeGroups groups_;
  NodeEnds ends_;
  SharedCores shared_;
  std::uint64_t static_version_ = 1;
  std::vector<std::int32_t> free_cpus_;  // by node: a column of the capacity, close together
  Amount free_cpus_in_all_ = 0;          // their sum
  std::vector<std::uint32_t> held_at_;   // by node: position in held_nodes_ and held_
  std::vector<NodeNumber> held_nodes_;   // those with holds
  std::vector<HeldNode> held_;           // beside it
  std::vector<Timeline> spare_;          // of nodes that are held no more: memory for the next ones
  std::vector<NodeNumber> started_on_;   // by starts of this call
  std::vector<bool> has_starts_;         // by node: and not refreshed since
  std::map<JobId, LicenseHolder> license_holders_;
  std::vector<std::pair<Time, std::vector<Amount>>> license_starts_;  // of this call
  std::vector<const Hold*> license_holds_;
  Timeline licenses_;
  struct UserStart {  // of this call
    NodeNumber node;
    Uid user;
    bool alone;
    Time until;
  };
  bool keeps_others_off(const model::Job& job) const;
  Time others_come(const Request& request, NodeNumber n) const;
  bool users_matter_ = false;
  std::vector<UserStart> user_starts_;
  std::vector<Amount> nothing_;
  const model::Reservation* entry_ = nullptr;
  bool confined_ = false;
  std::unordered_map<NodeNumber, Timeline> entry_timelines_;  // look-up only; as seen from inside
  Timeline entry_licenses_;
  const Hold* lifted_ = nullptr;
  std::vector<ReservedStart> reserved_starts_;
  GainLog gains_, base_gains_;
  NodeMarks marks_;
  std::vector<Amount> scratch_, license_scratch_, before_;
};

// Inside a reservation for a while.
class Entered {
 public:
  Entered(Profile& profile, const model::Reservation* reservation) : profile_(profile) { profile.enter(reservation); }
  ~Entered() { profile_.enter(nullptr); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Profile& profile_;
};

}  // namespace spur::sched
