// SPDX-License-Identifier: Apache-2.0
// From counts to numbers: which CPUs and which devices a starting job gets on each node. Works on copies of the
// nodes' bitmaps, made when a node is first touched, so that the starts of one planning call never share anything.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/allocation.h"
#include "sched/capacity.h"
#include "sched/feasibility.h"

namespace spur::sched {

class Grants {
 public:
  explicit Grants(const Capacity& capacity) : capacity_(capacity) {}

  // Takes lowest free numbers for `take`, a row that fits into what is free on the node.
  model::NodeGrant grant(const Share& share, const Amount* take);

 private:
  struct Bits {
    std::vector<std::uint64_t> cpus;
    std::vector<DeviceRange> ranges;
    std::vector<std::vector<bool>> devices;  // beside `ranges`: in use
  };
  Bits& bits_of(NodeNumber node);
  std::vector<std::uint16_t> take_cpus(Bits& bits, NodeNumber node, Amount count) const;
  std::vector<model::DeviceGrant> take_devices(Bits& bits, const Amount* take) const;

  const Capacity& capacity_;
  std::unordered_map<NodeNumber, std::uint32_t> slot_;  // position in bits_; look-up only
  std::vector<Bits> bits_;
};

}  // namespace spur::sched
