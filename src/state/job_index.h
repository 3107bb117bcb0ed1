// SPDX-License-Identifier: Apache-2.0
// Look-ups over the job records that keep every command O(what it touches): how an array stands, who waits for whom,
// who has which name. All of it is derived: it can be rebuilt from the records at any time (check_invariants does and
// compares), and nothing of it is in a snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/cow_map.h"
#include "base/ids.h"
#include "model/job.h"

namespace spur::state {

// Over: in a final state, with all nodes clean.
inline bool is_over(const model::Job& job) {
  return model::is_final(job.state) && !(job.flags & model::kCompleting);
}
inline bool is_waiting(const model::Job& job) {
  return job.state == model::JobState::Pending && !(job.flags & model::kCompleting);
}

class JobIndex {
 public:
  // Records of one array, the pending rest being one.
  struct Tally {
    std::uint32_t live = 0;     // not over
    std::uint32_t waiting = 0;  // pending
    std::uint32_t running = 0;  // running or suspended: what %limit counts
    std::uint32_t bad = 0;      // over, and not COMPLETED
    friend bool operator==(const Tally&, const Tally&) = default;
  };

  // A record was made (before null), changed, or purged (after null).
  void replace(const model::Job* before, const model::Job* after);

  Tally tally(JobId array) const;
  // Pending jobs with an unmet dependency on this job or array, ascending; null: none.
  const std::set<JobId>* waiting_for(JobId job) const;
  // Active jobs with --exclusive=user.
  std::uint32_t user_exclusive() const { return user_exclusive_; }
  // Those that may start and do not age (model::kNotAging), by user, account, QOS and partition: whoever is first of each
  // goes first.
  using Alike = std::tuple<std::uint32_t, std::string, std::string, std::string>;
  const std::map<Alike, std::set<JobId>>& not_aging() const { return not_aging_; }
  // How many of a license the jobs hold that have nodes: suspended and completing ones too, as the scheduler counts.
  std::uint64_t licenses_held(const std::string& name) const;

  // --dependency=singleton. Names are indexed from the first such job on, as few sites use it.
  bool watches_names() const { return watches_names_; }
  void watch_names(const CowMap<model::JobPtr>& jobs);
  // No other job of the same user and name runs, or waits and has a lower id.
  bool is_single(const model::Job& job) const;
  // Jobs for which the answer of is_single may have changed since the last call.
  std::vector<JobId> take_name_changes();

  friend bool operator==(const JobIndex& a, const JobIndex& b) {
    return a.tallies_ == b.tallies_ && a.waiting_for_ == b.waiting_for_ && a.user_exclusive_ == b.user_exclusive_ &&
           a.licenses_ == b.licenses_ && a.names_ == b.names_ && a.not_aging_ == b.not_aging_;
  }

 private:
  struct NameGroup {
    std::set<JobId> live;
    std::uint32_t running = 0;
    friend bool operator==(const NameGroup&, const NameGroup&) = default;
  };
  void count(const model::Job& job, int sign);
  void wait(const model::Job& job, bool add);
  void name(const model::Job& job, bool add);
  void age(const model::Job& job, bool add);

  std::unordered_map<JobId, Tally> tallies_;
  std::unordered_map<JobId, std::set<JobId>> waiting_for_;
  std::unordered_map<std::string, std::uint64_t> licenses_;  // without those that nobody holds
  std::unordered_map<std::string, NameGroup> names_;         // "uid:name"
  std::map<Alike, std::set<JobId>> not_aging_;
  bool watches_names_ = false;
  std::uint32_t user_exclusive_ = 0;
  std::vector<JobId> name_changes_;
};

}  // namespace spur::state
