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

  // The numbers for `take`, a row that take_of_share made for what is free on the node: of each socket the cores near
  // the devices first, then the lowest; of GRES without devices the lowest.
  model::NodeGrant grant(const Request& request, const Share& share, const Amount* take);
  // A job that has the node's part `grant` will be gone: what it has can be given out again.
  enum class Gone : std::uint8_t { All, Cpus };
  void give_back(const model::NodeGrant& grant, Gone what);
  // CPUs of a job that runs on, or of one that must find them free.
  void take_cpus(const model::NodeGrant& grant);
  bool is_free(NodeNumber node, model::CpuNumber cpu);

 private:
  struct Bits {
    std::vector<std::uint64_t> cpus;
    std::vector<std::vector<bool>> counted;  // beside NodeLayout::counted: in use, run after run
  };
  Bits& bits_of(NodeNumber node);
  std::vector<model::CpuNumber> take_cpus(Bits& bits, NodeNumber node, const Amount* take) const;
  // All of a node that is free altogether, but for what is kept for the system.
  void take_node(Bits& bits, NodeNumber node, CoreSpec spec, model::NodeGrant& grant) const;

  const Capacity& capacity_;
  std::unordered_map<NodeNumber, std::uint32_t> slot_;  // position in bits_; look-up only
  std::vector<Bits> bits_;
};

}  // namespace spur::sched
