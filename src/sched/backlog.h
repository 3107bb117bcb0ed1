// SPDX-License-Identifier: Apache-2.0
// The pending jobs, kept between calls: in classes of equal wishes, inside them in priority groups, inside these in
// order. A job that comes, goes or changes costs its own weight; all others cost nothing, however many there are.
//
// Jobs that are held, wait for others or for their begin time are known here, but in no group; nor are array tasks
// beyond what their array may run at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/view.h"
#include "sched/turn.h"

namespace spur::sched {

inline constexpr std::uint32_t kNone = 0xffffffffu;

class Backlog {
 public:
  enum class State : std::uint8_t {
    Own,     // a reason of its own: held, dependencies
    Begin,   // waits for its time
    Capped,  // its array runs as many tasks as it may
    Queued,
    Grouped,  // a component of a heterogeneous job that may start, if all others may: in no priority group's order
  };
  // One pending job.
  struct Slot {
    const model::Job* job = nullptr;  // lives in the view; null: the slot is free
    State state = State::Own;
    std::uint32_t job_class = kNone, group = kNone;
    std::int64_t order = 0;
    Time begin, relax;
    std::uint32_t previous = kNone, next = kNone;  // of the same class whose record has the same reason
  };
  struct Group {
    PriorityGroupKey key;
    Turns turns;
  };
  struct JobClass {
    std::shared_ptr<const model::JobSpec> spec;  // null: free
    TimeLimit limit;
    bool relaxed = false;           // the number of switches does not matter any more
    std::uint32_t association = 0;  // where it matters whose jobs they are
    std::uint64_t hash = 0;
    std::vector<Group> groups;
    std::map<PriorityGroupKey, std::uint32_t> group_by_key;
    std::size_t members = 0;
    std::vector<std::pair<model::Reason, std::uint32_t>> by_reason;  // as the records say; first slot
  };

  using HetGroup =
      std::map<std::uint32_t, std::uint32_t>;  // slots of its components, by offset: those that may start

  // `by_asker`: whose jobs they are matters.
  Backlog(const model::View& view, const PriorityScale& scale, bool by_asker)
      : view_(view), scale_(scale), by_asker_(by_asker) {}

  // ---- what happened. The view may have the new state already.
  void add(const model::Job& job);
  void remove(JobId job);
  void change(const model::Job& job);
  void count_array_task(JobId array, int sign);  // running ones
  // Jobs whose time has come join the queue.
  void begin(Time now);

  // ---- what there is
  const Slot& slot(std::uint32_t number) const { return slots_[number]; }
  std::size_t slots() const { return slots_.size(); }
  std::uint32_t find(JobId job) const;
  std::size_t queued() const { return queued_; }  // records that may start; the rest of an array is one
  const std::vector<JobClass>& classes() const { return classes_; }
  // The next moment at which a job joins the queue, or asks for less; not set: none.
  Time next_change() const;
  std::uint32_t running_tasks(JobId array) const;
  // Pending records of an array with a limit.
  const std::set<std::uint32_t>& limited(JobId array) const;
  // Those that wait for reasons of their own, while their records say something else.
  const std::set<std::uint32_t>& misinformed() const { return misinformed_; }
  const std::set<std::uint32_t>& capped() const { return capped_; }
  // Those in the queue for which others had to go.
  const std::set<std::uint32_t>& claimed() const { return claimed_; }
  // By the first component's id; also those of which some component may not start.
  const std::map<JobId, HetGroup>& het_groups() const { return het_groups_; }
  bool is_whole(const HetGroup& group) const { return group.size() == slots_[group.begin()->second].job->het_size; }
  // Classes that came or went since the last call.
  std::vector<std::uint32_t> take_changed_classes() { return std::exchange(changed_classes_, {}); }

 private:
  struct Array {
    std::uint32_t running = 0;
    std::set<std::uint32_t> limited;
  };
  void settle(std::uint32_t number);
  void unsettle(std::uint32_t number);
  void enqueue(std::uint32_t number);
  void review(JobId array);
  bool is_limited(const model::Job& job) const { return job.array_job && job.array_max_running > 0; }
  bool at_cap(const model::Job& job) const;
  std::uint32_t class_of(const model::Job& job, bool relaxed);
  void leave_class(std::uint32_t number);
  void link(std::uint32_t number);
  void unlink(std::uint32_t number);

  const model::View& view_;
  const PriorityScale& scale_;
  bool by_asker_;
  Time now_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_, free_classes_, changed_classes_;
  std::unordered_map<JobId, std::uint32_t> slot_of_;  // look-up only
  std::vector<JobClass> classes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> class_by_hash_;  // look-up only
  std::uint32_t last_class_ = kNone;
  std::size_t queued_ = 0;
  std::set<std::pair<Time, std::uint32_t>> begins_, relaxes_;
  std::set<std::uint32_t> misinformed_, capped_, claimed_;
  std::map<JobId, Array> arrays_;
  std::map<JobId, HetGroup> het_groups_;
  std::set<JobId> arrays_to_review_;
};

}  // namespace spur::sched
