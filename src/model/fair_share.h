// SPDX-License-Identifier: Apache-2.0
// What a user's association with an account is worth in the queue. The accounting service works the factors out from
// usage and sends them; the state keeps the last ones. No floating point: replicas must agree.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/ids.h"

namespace spur::model {

inline constexpr std::uint32_t kFullShare = 1'000'000'000;  // a factor of 1

struct FairShare {
  std::string account;
  Uid user;
  std::string partition;       // empty: any
  std::uint32_t factor = 0;    // billionths
  std::uint32_t priority = 0;  // the association's own
  friend bool operator==(const FairShare&, const FairShare&) = default;
};

// The order of View::shares.
inline bool before(const FairShare& a, const FairShare& b) {
  if (a.account != b.account) return a.account < b.account;
  if (a.user != b.user) return a.user < b.user;
  return a.partition < b.partition;
}

}  // namespace spur::model
