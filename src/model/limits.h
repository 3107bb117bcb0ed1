// SPDX-License-Identifier: Apache-2.0
// What the limits of a job's association and QOS say. The order of precedence is Slurm's: a limit that the
// partition's QOS sets hides the same one of the job's QOS, and either hides that of the associations (the job's QOS
// comes first if it has the flag OverPartQOS). Limits of a group hold at every level of the tree. A check costs what
// there are limits and levels, whatever the number of jobs.
#pragma once

#include <cstdint>
#include <optional>

#include "model/counting.h"
#include "model/pending_reason.h"

namespace spur::model {

struct LimitQuestion {
  CountedIn where;
  TresRow tres;      // of the whole job
  TresRow per_node;  // on each of its nodes, on an average
  TimeLimit limit;
  std::string_view account, partition;
  const Allocation* allocation = nullptr;  // null: nobody has chosen nodes for it yet
  bool in_vain = false;  // it found none that its group has already: what it waits for is more nodes
  bool asks_for_time = true;  // else the limit is one that it was given
};

// What the job asks for, before anybody has chosen nodes for it; and what it is to get.
LimitQuestion limit_question(const View& view, const JobSpec& spec, std::uint32_t association, const Partition& in,
                             TimeLimit limit);
LimitQuestion limit_question(const View& view, const JobSpec& spec, std::uint32_t association,
                             const Allocation& allocation, TimeLimit limit);

// None: the job may start. Only where AccountingStorageEnforce says limits.
Reason limit_at_start(const View& view, const Tallies& tallies, const LimitQuestion& question, Time now);

// None: `jobs` more may be submitted.
Reason limit_at_submit(const View& view, const Tallies& tallies, const CountedIn& where, std::uint32_t jobs);

// Limits that the job by itself can never keep, of a QOS that refuses such jobs at once (DenyOnLimit); None if there
// is no such QOS.
Reason denied_at_submit(const View& view, const LimitQuestion& question);

// Whether one more of these jobs may gain priority by its age (MaxJobsAccrue, GrpJobsAccrue).
bool may_age(const View& view, const Tallies& tallies, const CountedIn& where);

// Whether nodes may be kept free for a job that waits: not with NoReserve, nor if its priority is below the
// MinPrioThreshold of its QOS or association. Such a job starts when there is room.
bool may_be_planned(const View& view, const Job& job, std::string_view partition, std::uint32_t priority);

// What a job that asks for no time may have, in minutes; not set: any time. Of the first QOS that has a limit on it
// (MaxWall, GrpWall), else of the first association on the way up: nobody looks further, as in Slurm.
std::optional<std::uint32_t> longest_wall(const View& view, const CountedIn& where);

}  // namespace spur::model
