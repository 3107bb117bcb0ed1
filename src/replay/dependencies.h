// SPDX-License-Identifier: Apache-2.0
// Dependencies in a world where every job ends well: which jobs may start now that another one has started or ended.
// (state/dependencies.cc is the real thing. Here aftercorr waits for the whole other array.)
#pragma once

#include <map>
#include <set>
#include <vector>

#include "model/view.h"

namespace spur::replay {

class Dependencies {
 public:
  explicit Dependencies(const model::View& view);

  bool any() const { return !waiting_.empty(); }
  // A record came, or ended and is gone.
  void add(const model::Job& job);
  void remove(const model::Job& job);
  // Jobs with something left to wait for, of which some is met now: their new records.
  std::vector<model::JobPtr> review(const model::View& view, Time now);

 private:
  enum class Met : std::uint8_t { No, Yes, Never };
  Met judge(const model::View& view, const model::Dependency& term, const model::Job& job) const;
  bool is_single(const model::View& view, const model::Job& job) const;

  std::set<std::uint32_t> waiting_;                          // ids of pending jobs with dependencies
  std::map<std::uint32_t, std::set<std::uint32_t>> arrays_;  // array -> its records that are not over
};

}  // namespace spur::replay
