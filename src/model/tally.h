// SPDX-License-Identifier: Apache-2.0
// What an association, a QOS, or a user or account within a QOS holds and has used: sums that change with the jobs
// that start and end, so that a limit is checked without looking at any job. Of what grows with time only the rate
// and the moments are kept: a job that holds c since t0 and must end at t1 has used c * (now - t0) and may use
// c * (t1 - now), and both add up over jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/cow_map.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/tres_table.h"

namespace spur::model {

__extension__ using Wide = unsigned __int128;
inline constexpr int kFadedBits = 32;  // of faded usage: fractions of a TRES second

// One job's part in the tallies it counts for. Columns are those of the TresTable and, behind them, the job itself
// (for time on the wall).
struct TallyPart {
  std::uint32_t running = 0, submitted = 0, accruing = 0;
  TresRow tres;                            // while it holds something; else empty
  std::optional<std::int64_t> limit_end;   // second; not set: no limit, or nothing runs
  std::optional<std::int64_t> used_since;  // second from which its usage is not counted yet; not set: nothing runs
  std::int64_t factor_thousandths = 1000;  // of its QOS, on usage
  std::shared_ptr<const Allocation> where;  // its nodes; null while it has none, or nobody has chosen them yet
  friend bool operator==(const TallyPart&, const TallyPart&) = default;
};

struct Tally {
  std::uint32_t running = 0, submitted = 0, accruing = 0;
  TresRow tres;             // held now
  std::vector<Wide> ends;   // amount times the second of the limit, of jobs with one
  TresRow limited;          // the amounts in `ends`
  std::vector<Wide> rate;   // amount times factor, while it is used
  std::vector<Wide> since;  // that times the second from which it is not counted yet
  std::vector<Wide> past;   // usage up to those moments, faded: thousandths * 2^-32 TRES seconds
  // Only where there is a limit on nodes, of which each counts once: how many jobs are on a node.
  CowMap<std::uint32_t> nodes;
  std::uint64_t unplaced = 0;  // nodes of jobs for which nobody has chosen them yet
  friend bool operator==(const Tally& a, const Tally& b);

  void widen(std::size_t columns);
  void add(const TallyPart& part);
  void remove(const TallyPart& part);
  // The same for its nodes.
  void enter_nodes(const TallyPart& part);
  void leave_nodes(const TallyPart& part);
  // How many nodes its jobs are on, and how many more there would be with these.
  std::uint64_t distinct_nodes() const { return nodes.size() + unplaced; }
  std::uint64_t more_nodes(const Allocation& allocation) const;
  // Counts what has been used until `now` (a second) as past.
  void settle(std::int64_t now);
  // Usage up to `now` in TRES seconds, whole ones.
  std::uint64_t used(std::size_t column, std::int64_t now) const;
  Wide used_finely(std::size_t column, std::int64_t now) const;
  // TRES seconds that running jobs may still use.
  std::uint64_t promised(std::size_t column, std::int64_t now) const;
  bool empty() const;
};

using TallyPtr = std::shared_ptr<const Tally>;

struct Tallies {
  CowMap<TallyPtr> associations;             // by id
  CowMap<TallyPtr> qos;                      // by id
  CowMap<CowMap<TallyPtr>> users, accounts;  // id of a QOS -> uid, id of the account's association
};

// 2^-(seconds / half_life) in 2^-32; 0 without half-life counts as never fading.
std::uint64_t fade_factor(seconds elapsed, seconds half_life);
Wide faded(Wide usage, std::uint64_t factor);

}  // namespace spur::model
