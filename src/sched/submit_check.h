// SPDX-License-Identifier: Apache-2.0
// Slurm's checks at submit, for one who asks again and again: what they need to know of the nodes is worked out once
// per configuration, and a wish that was found possible is not looked at again. Answers as check_submit() does, at a
// cost that does not grow with the cluster. Not for two threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/cow_map.h"
#include "base/result.h"
#include "model/view.h"
#include "sched/capacity.h"

namespace spur::sched {

class SubmitChecker {
 public:
  Status check(const model::View& view, const model::JobSpec& spec);

 private:
  void see(const model::View& view);
  bool has_passed(const model::JobSpec& spec) const;
  void remember(const model::JobSpec& spec);

  std::shared_ptr<const model::ClusterConfig> config_;
  std::shared_ptr<const std::vector<model::Partition>> partitions_;
  CowMap<model::NodePtr> nodes_, built_from_;  // as last seen; those that `capacity_` points to
  std::optional<Capacity> capacity_;
  // Wishes that the nodes can fulfil, by their hash; look-up only.
  std::unordered_multimap<std::uint64_t, std::unique_ptr<const model::JobSpec>> passed_;
};

}  // namespace spur::sched
