// SPDX-License-Identifier: Apache-2.0
// Which devices of a node a job gets, out of those that are free. The best-linked ones: the largest sum of link
// weights between the chosen; then on the fewest sockets; then with the numbers that the job's other nodes can give
// too (GPUs of one number are on one rail: their network cards meet at one switch); then so that what stays free is
// linked best; then the lowest numbers. Exact up to kMaxEnumerated devices of a name, by looking at every choice;
// beyond that grown greedily from every device and bettered by swaps.
#pragma once

#include <cstdint>
#include <span>

#include "sched/node_layout.h"

namespace spur::sched {

inline constexpr std::size_t kMaxEnumerated = 8;

// So many out of these (a bit per device number).
struct DeviceWish {
  std::uint64_t allowed = 0;
  std::uint32_t count = 0;
};

// A mask of devices, all of `free`, that gives each wish its count; 0 if there is none. The wishes are for devices of
// different types, so no device is allowed by two. `rails`: the numbers that are free on all nodes of the job.
inline constexpr std::uint64_t kAllRails = ~std::uint64_t{0};
std::uint64_t choose_devices(const DeviceGroup& group, std::uint64_t free, std::span<const DeviceWish> wishes,
                             std::uint64_t rails = kAllRails);

}  // namespace spur::sched
