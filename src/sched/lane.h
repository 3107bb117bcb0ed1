// SPDX-License-Identifier: Apache-2.0
// All pending jobs with the same wish in one partition: where they could run, whether one more fits now, and when the
// next one could start. Lives as long as the class; remembers that nothing fitted, and until a node gains something
// it need not look again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/view.h"
#include "sched/offers.h"
#include "sched/profile.h"
#include "sched/request.h"
#include "sched/reservations.h"
#include "sched/start_search.h"

namespace spur::sched {

class Lane {
 public:
  // `relaxed`: its jobs have waited long enough for few switches.
  Lane(const model::View& view, const Capacity& capacity, const model::JobSpec& spec, std::size_t partition,
       TimeLimit limit, bool relaxed);

  const Request& request() const { return request_; }
  const Reach& reach() const { return reach_; }
  // With which the last job that fitted now did: the same, or for the shortest run that will do.
  void choose_whole() { chosen_short_ = false, entry_ = nullptr, beside_.reset(); }
  const Request& chosen() const { return chosen_short_ ? *short_ : request_; }
  // The limit of that run, which has to be over by `until`.
  TimeLimit limit_of_run(Time now, Time until) const;

  // The reservation that the last job which fitted now would run in; null: none.
  const model::Reservation* entry() const { return entry_; }
  // Whether its jobs may use reservations, or are bound to them.
  bool has_entries() const { return asker_ != nullptr; }
  // Whether they may start in that one (empty: in none) at that time.
  bool may_use(const Profile& profile, const std::string& reservation, Time start);
  // Whether there are licences for one that starts now.
  bool licensed_now(Profile& profile);

  // Why its jobs cannot run whatever is free; None if they can.
  model::Reason reason(const Profile& profile);

  // The following need reason() to be None.
  // Shares of one more job that starts now; empty: it does not fit.
  std::vector<Share> fit_now(Profile& profile);
  // The same for a job that has this hold: it does not stand in its own way.
  std::vector<Share> fit_now_without(Profile& profile, const Hold& own);
  // Beside others on cores that they share (lane_beside.cc): for one that found no room on idle ones. `own`: its hold, if
  // it has one.
  bool shares_cores() const { return jobs_per_core_ > 1; }
  std::vector<Share> fit_beside(Profile& profile, const Hold* own);
  // With whom the last job that fitted does so; null: with nobody.
  const CoreSet* beside() const { return beside_ ? &*beside_ : nullptr; }
  // The hold for one that starts later.
  std::optional<Hold> fit_later(Profile& profile);
  // Not before that moment.
  std::optional<Hold> fit_after(Profile& profile, Time from);
  // At that moment, without these nodes (ascending), and if `licensed` says so for the request: for a component of a
  // heterogeneous job. Nothing is remembered.
  struct Fit {
    Hold hold;
    bool is_short = false;  // for the shortest run that will do
    const model::Reservation* entry = nullptr;
  };
  std::optional<Fit> fit_at(Profile& profile, Time at, const std::vector<NodeNumber>& without,
                            const std::function<bool(const Request&)>& licensed);
  const Request& request_of(const Fit& fit) const { return fit.is_short ? *short_ : request_; }
  // That one is the job that fitted last.
  void choose_fit(const Fit& fit) { chosen_short_ = fit.is_short, entry_ = fit.entry, beside_.reset(); }
  // The next moment after `at` at which there are other licences, if it needs any.
  Time next_license_step(Profile& profile, Time at);
  // Whether fit_now() (and fit_beside()) and fit_later() are known to fail.
  bool is_full(const Profile& profile) const {
    return is_full_of_others(profile) && (!shares_cores() || (beside_full_ && *beside_full_ == profile.gains().end()));
  }
  bool has_no_time(const Profile& profile) const { return no_time_ && *no_time_ == profile.gains().end(); }
  // Whether any node that gained since that place of the log may be of use. A glance, mostly enough.
  bool can_use_gains(const Profile& profile, std::uint64_t since) const;
  // Whether it was full and nothing came since that would change it.
  bool stays_full(const Profile& profile);
  // A new call: times found in the last one mean nothing.
  void begin() { no_time_.reset(), planned_.reset(); }
  // Whether a look at everything finds room where is_full() says there is none: a bug of ours.
  bool is_wrongly_full(Profile& profile) const;

 private:
  enum class Nodes : std::uint8_t { Usable, All };
  void update_reach(const Profile& profile);
  bool suffices_when_empty(const Request& request, const Profile& profile, Nodes which) const;
  bool takes_one_node(const Profile& profile) const;
  bool base_is_full(Profile& profile);
  std::vector<Share> look(Profile& profile, const Request& request) const;
  std::vector<Share> look(Profile& profile);
  bool in_time_at_all(Time start) const;
  std::optional<Hold> search(Profile& profile, Time from, Time until);
  std::vector<Share> look_inside(Profile& profile);
  bool is_full_of_others(const Profile& profile) const { return full_ && *full_ == profile.gains().end(); }
  std::vector<Share> look_beside(Profile& profile);
  std::vector<Share> look_beside(Profile& profile, const Request& request);
  std::vector<Share> look_at_gains(Profile& profile);
  const std::vector<Reservations::Open>& open(const Profile& profile);

  const model::View& view_;
  const model::Partition& partition_;
  std::size_t partition_number_;
  Request request_;
  Amount least_cpus_ = 0;         // that a job needs in all; it may be more
  std::optional<Request> short_;  // with --time-min
  bool chosen_short_ = false;
  std::uint32_t jobs_per_core_ = 1;  // that its jobs have
  std::optional<CoreSet> beside_;
  model::Reason fixed_reason_ = model::Reason::None;  // by configuration alone
  model::Reason node_reason_ = model::Reason::None;
  std::uint64_t static_seen_ = 0;
  Reach reach_;
  // Positions in the profile's logs: when nothing fitted, with and without regard to holds.
  std::optional<std::uint64_t> full_, base_full_, beside_full_;
  // ... when no hold could be made; and when the last one was, and for when.
  std::optional<std::uint64_t> no_time_;
  std::optional<std::pair<std::uint64_t, Time>> planned_;
  // With reservations: who asks (only what they are judged by), which are open now, and for which view and time.
  std::unique_ptr<const model::JobSpec> asker_;
  std::vector<Reservations::Open> open_;
  std::shared_ptr<const std::vector<model::Reservation>> open_of_;
  Time open_at_;
  const model::Reservation* entry_ = nullptr;
};

}  // namespace spur::sched
