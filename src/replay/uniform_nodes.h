// SPDX-License-Identifier: Apache-2.0
// A cluster of equal nodes n1..nN in one partition: the machine of a trace that knows processors only.
#pragma once

#include <cstdint>

#include "model/view.h"

namespace spur::replay {

struct UniformNodes {
  std::uint32_t nodes = 1, cpus = 1;
  std::uint32_t last_cpus = 1;  // of the last node, where it has fewer than the others
};
model::View make_view(const UniformNodes& nodes);

}  // namespace spur::replay
