// SPDX-License-Identifier: Apache-2.0
// Who holds what until when: the active jobs of a View, gathered in one walk. The profile makes timelines out of it;
// licences in use and running array tasks are counted on the way.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"

namespace spur::sched {

// When an active job gives its resources back, as far as one can know at `now`: at its time limit; never without one;
// in a moment where it should be over already.
Time expected_end(const model::Job& job, Time now);

class Occupancy {
 public:
  Occupancy(const model::View& view, const Capacity& capacity, Time now);

  struct Holding {
    Time until;
    std::uint32_t row;  // position in rows(), in units of the width
  };
  // Of the jobs on that node, in order of job ids.
  std::vector<Holding> holdings(NodeNumber node) const;
  const Amount* row(const Holding& holding) const { return &rows_[holding.row * width_]; }

  // Licences in use, by position in ClusterConfig::licenses, and when they come back.
  struct LicenseHolding {
    Time until;
    std::vector<Amount> counts;
  };
  const std::vector<LicenseHolding>& licenses() const { return licenses_; }

 private:
  void add_licenses(const model::View& view, const model::Job& job, Time until);

  std::size_t width_;
  std::vector<Amount> rows_;
  std::vector<Holding> all_;                // in the order of the walk
  std::vector<std::uint32_t> next_, head_;  // chains of one node, newest first; kNone ends them
  std::vector<LicenseHolding> licenses_;
};

// Tasks of the array that run now (completing ones have given their place back).
std::unordered_map<JobId, std::uint32_t> running_array_tasks(const model::View& view);

}  // namespace spur::sched
