// SPDX-License-Identifier: Apache-2.0
// Which tallies a job counts in, and what it adds to them. The state keeps the books with these functions; the
// scheduler uses the same ones on its own copy while it plans.
#pragma once

#include <cstdint>

#include "model/job.h"
#include "model/tally.h"
#include "model/view.h"

namespace spur::model {

// Whose: the association and all above it, and up to two QOS (the job's, and its partition's), each with its user and
// its account. Pointers into the view.
struct CountedIn {
  const Association* association = nullptr;  // null: in none at all
  const Qos* qos[2] = {nullptr, nullptr};    // the partition's, the job's; the one whose limits come first first
  Uid user;
  std::uint32_t account = 0;  // id of the account's own association; 0: none
};
CountedIn counted_in(const View& view, const JobSpec& spec, std::uint32_t association, std::string_view partition);
// The partition whose QOS counts: the one it runs in, else its first.
std::string_view partition_of(const View& view, const Job& job);

TallyPart part_of(const View& view, const Job& job);

// What a job that starts now adds.
// `where`: its nodes, if they are chosen.
TallyPart part_of_start(const View& view, const JobSpec& spec, TresRow held, TimeLimit limit, Time now,
                        std::shared_ptr<const Allocation> where);

// What a job that waits adds: `jobs` of them, that gain priority by age or do not.
TallyPart part_of_wait(std::uint32_t jobs, bool ages);

// `before` goes, `after` comes; what `before` used since it was last counted becomes past.
void recount(Tallies& tallies, const View& view, const CountedIn& where, const TallyPart& before,
             const TallyPart& after, Time now);

// The same for a record that changes (null: there was or is none), in the tallies of the view itself.
void recount(View& view, const Job* before, const Job* after, Time now);

// Pending, and gains priority by its age.
bool ages(const Job& job);

std::int64_t whole_seconds(Time at);

}  // namespace spur::model
