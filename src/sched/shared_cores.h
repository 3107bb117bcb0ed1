// SPDX-License-Identifier: Apache-2.0
// Cores that several jobs have at once (model/core_sharing.h): who has them on a node, what a job finds beside the
// others, and which of them is the last to leave. Worked out for a node when somebody asks; nobody pays for it where no
// job shares.
//
// A row counts a core as free only when nobody has it, and whoever leaves a core last gives it back. So planning for
// later knows nothing of sharing; only a job that finds no room on idle cores now looks for a place beside others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"

namespace spur::sched {

// Who shares with each other, and how many of them may have a core at most (or: are to be looked at).
struct CoreSet {
  std::string partition, reservation;
  std::uint32_t most = 1;
};

struct SharedCore {
  model::CpuNumber first = 0;  // its lowest CPU
  std::uint32_t jobs = 0;      // that have it
  Time until;                  // raw end of the one that leaves it last
};

// CPUs that a job gives back when it ends: those that it is the last to leave.
class LastLeavers {
 public:
  // `n`: the node, of which jobs are looked up in the view.
  LastLeavers(const model::View& view, const Capacity& capacity, NodeNumber n);
  std::vector<model::CpuNumber> cpus_of(const model::Job& job, const model::NodeGrant& grant) const;

 private:
  struct Last {
    Time until;
    JobId job;
  };
  std::vector<Last> last_;  // by CPU
};

// What a job would find on a node beside others.
struct Beside {
  std::vector<Amount> idle, row;  // the least that is free without and with cores of others
  std::vector<SharedCore> cores;  // those with the fewest jobs first, then the lowest

  // Idle cores come first: the others that `take`, made for `row`, needs. It is left with what comes of idle ones.
  std::vector<SharedCore> split(const NodeLayout& layout, Amount* take) const;
};
Beside make_beside(const NodeLayout& layout, std::span<const Amount> least, std::vector<SharedCore> cores);

// The CPUs of these cores, ascending; and as a row.
std::vector<model::CpuNumber> cpus_of(const NodeLayout& layout, std::span<const SharedCore> cores);

class SharedCores {
 public:
  SharedCores(const model::View& view, const Capacity& capacity) : view_(view), capacity_(capacity) {}

  // Whoever shares there is not who it was, or ends at another time.
  void forget(NodeNumber n);
  // Such a run begins now, which is in no record yet.
  void note_start(const model::Allocation& allocation, Time until);
  void forget_starts(NodeNumber n);
  // Whether either has happened since this was asked last.
  bool take_changed(NodeNumber n) { return !changed_.empty() && changed_.erase(n) > 0; }

  // Cores of those who run there and share with each other. Valid until the next call.
  const std::vector<SharedCore>& of(NodeNumber n, const std::string& partition, const std::string& reservation);
  // The CPUs of a grant that nobody else has.
  std::vector<model::CpuNumber> alone(const model::Job& job, const model::NodeGrant& grant);

 private:
  struct Start {
    std::string partition, reservation;
    std::vector<model::CpuNumber> cpus;
    Time until;
  };
  struct Known {
    std::string partition, reservation;
    std::vector<SharedCore> cores;
  };
  const model::View& view_;
  const Capacity& capacity_;
  // Look-up only.
  std::unordered_map<NodeNumber, std::vector<Start>> starts_;
  std::unordered_map<NodeNumber, std::vector<Known>> known_;
  std::unordered_set<NodeNumber> changed_;
};

}  // namespace spur::sched
