// SPDX-License-Identifier: Apache-2.0
#include "model/allocation.h"

namespace spur::model {

std::uint32_t Allocation::total_cpus() const {
  std::uint32_t sum = 0;
  for (const NodeGrant& grant : nodes) sum += static_cast<std::uint32_t>(grant.cpus.size());
  return sum;
}

}  // namespace spur::model
