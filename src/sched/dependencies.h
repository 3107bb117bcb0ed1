// SPDX-License-Identifier: Apache-2.0
// Dependencies in virtual time: which jobs may start now that another one has started or ended. The rules are those
// of state/dependencies.cc, which knows what jobs there are; here a few counts stand for that. A job is looked at
// only when one that it waits for has moved.
//
// Not done here: aftercorr splits the tasks of an array off one by one. Whoever has to be exact asks foresees_all().
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/view.h"

namespace spur::sched {

class Dependencies {
 public:
  explicit Dependencies(const model::View& view);

  bool any() const { return any_; }  // if not, nothing below need be called
  bool foresees_all() const { return !corresponding_; }

  // What a record was, and what it is now; null: it is new, or forgotten.
  void note(const model::Job* before, const model::Job* after);
  // The new records of jobs for which something is met, or can never be met, by now; `view` has all that was noted.
  // One that is final is one that is cancelled for it. To be noted in turn, and asked for again until there are none.
  std::vector<model::JobPtr> review(const model::View& view, Time now);

 private:
  enum class Met : std::uint8_t { No, Yes, Never };
  struct Tally {  // of an array's records
    std::uint32_t live = 0, waiting = 0, bad = 0;
  };
  struct Name {  // of one user's jobs of one name
    std::set<std::uint32_t> live;
    std::uint32_t running = 0;
  };
  using NameKey = std::pair<std::uint32_t, std::string>;

  void count(const model::Job& job, bool add);
  void wake(const model::Job& job);
  Met judge(const model::View& view, const model::Dependency& term, const model::Job& job, Time* not_before) const;
  Met judge_record(const model::Dependency& term, const model::Job& other, Time* not_before) const;
  Met judge_array(const model::View& view, const model::Dependency& term, Time* not_before) const;
  bool is_single(const model::Job& job) const;
  model::JobPtr reviewed(const model::View& view, const model::Job& job, Time now) const;

  bool any_ = false, corresponding_ = false, names_matter_ = false;
  std::map<std::uint32_t, std::set<std::uint32_t>> waiting_for_;  // job or array -> who waits
  std::map<std::uint32_t, Tally> arrays_;
  std::map<NameKey, Name> names_;
  std::set<std::uint32_t> due_;
};

}  // namespace spur::sched
