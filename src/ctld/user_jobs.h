// SPDX-License-Identifier: Apache-2.0
// The jobs of each user, so that who asks for his own costs what he gets and not what the cluster has. Kept from one
// question to the next: what has changed between two pictures is found without looking at the rest.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/cow_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/view.h"

namespace spur::ctld {

// All functions from any thread.
class UserJobs {
 public:
  using Jobs = CowMap<model::JobPtr>;  // by JobId::value
  Jobs of(const model::View& view, Uid user);
  // The same, if it is soon found: there are few jobs, or somebody asked a moment ago.
  std::optional<Jobs> of_now(const model::View& view, Uid user);
  // Lets go of what nobody has asked for since the last call: it would keep records of old jobs alive.
  void forget_unused();

 private:
  Jobs find(const model::View& view, Uid user);  // with the mutex held
  std::mutex mutex_;
  Jobs seen_;  // of the view that by_user_ is about
  Time seen_at_;
  std::unordered_map<Uid, Jobs> by_user_;
  bool used_ = false;
};

}  // namespace spur::ctld
