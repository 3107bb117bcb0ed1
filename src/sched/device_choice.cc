// SPDX-License-Identifier: Apache-2.0
#include "sched/device_choice.h"

#include <bit>

namespace spur::sched {
namespace {

int socket_count(const DeviceGroup& group, std::uint64_t mask) {
  std::uint64_t sockets = 0;
  for (std::uint64_t left = mask; left != 0; left &= left - 1)
    sockets |= group.devices[static_cast<std::size_t>(std::countr_zero(left))].sockets;
  return std::popcount(sockets);
}

// Compares choices; cheap tests first.
class Better {
 public:
  Better(const DeviceGroup& group, std::uint64_t free, std::uint64_t rails)
      : group_(group), free_(free), rails_(rails) {}

  bool operator()(std::uint64_t a, std::uint64_t b) const {
    if (b == 0) return true;
    if (const auto of_a = group_.links_within(a), of_b = group_.links_within(b); of_a != of_b) return of_a > of_b;
    if (const int of_a = socket_count(group_, a), of_b = socket_count(group_, b); of_a != of_b) return of_a < of_b;
    if (const int of_a = std::popcount(a & rails_), of_b = std::popcount(b & rails_); of_a != of_b)
      return of_a > of_b;
    const auto rest_a = group_.links_within(free_ & ~a), rest_b = group_.links_within(free_ & ~b);
    if (rest_a != rest_b) return rest_a > rest_b;
    const std::uint64_t differ = a ^ b;
    return (differ & (~differ + 1) & a) != 0;  // the lowest number that only one of them has
  }

 private:
  const DeviceGroup& group_;
  std::uint64_t free_, rails_;
};

std::uint64_t lowest(std::uint64_t free, std::span<const DeviceWish> wishes, std::uint64_t rails) {
  std::uint64_t chosen = 0;
  for (const auto& wish : wishes) {
    std::uint32_t missing = wish.count;
    for (std::uint64_t left : {free & wish.allowed & rails, free & wish.allowed & ~rails})
      for (; missing > 0 && left != 0; --missing, left &= left - 1) chosen |= left & (~left + 1);
  }
  return chosen;
}

bool satisfies(std::uint64_t mask, std::span<const DeviceWish> wishes) {
  for (const auto& wish : wishes)
    if (static_cast<std::uint32_t>(std::popcount(mask & wish.allowed)) != wish.count) return false;
  return true;
}

std::uint64_t enumerate(const DeviceGroup& group, std::uint64_t free, std::span<const DeviceWish> wishes,
                        std::uint32_t total, std::uint64_t rails) {
  const Better better(group, free, rails);
  std::uint64_t best = 0;
  for (std::uint64_t mask = free; mask != 0; mask = (mask - 1) & free)
    if (static_cast<std::uint32_t>(std::popcount(mask)) == total && satisfies(mask, wishes) && better(mask, best))
      best = mask;
  return best;
}

class Greedy {
 public:
  Greedy(const DeviceGroup& group, std::uint64_t free, std::span<const DeviceWish> wishes, std::uint32_t total,
         std::uint64_t rails)
      : group_(group), free_(free), wishes_(wishes), total_(total), better_(group, free, rails) {}

  std::uint64_t choose() const {
    std::uint64_t best = 0;
    for (std::uint64_t first = free_; first != 0; first &= first - 1) {
      const std::uint64_t one = first & (~first + 1);
      if (!may_add(0, one)) continue;
      const std::uint64_t grown = swap(grow(one));
      if (grown != 0 && better_(grown, best)) best = grown;
    }
    return best;
  }

 private:
  bool may_add(std::uint64_t mask, std::uint64_t one) const {
    for (const auto& wish : wishes_)
      if (one & wish.allowed) return static_cast<std::uint32_t>(std::popcount(mask & wish.allowed)) < wish.count;
    return false;
  }
  std::uint64_t grow(std::uint64_t mask) const {
    while (static_cast<std::uint32_t>(std::popcount(mask)) < total_) {
      std::uint64_t best = 0;
      for (std::uint64_t left = free_ & ~mask; left != 0; left &= left - 1) {
        const std::uint64_t one = left & (~left + 1);
        if (may_add(mask, one) && better_(mask | one, best)) best = mask | one;
      }
      if (best == 0) return 0;
      mask = best;
    }
    return mask;
  }
  std::uint64_t swap(std::uint64_t mask) const {
    for (bool moved = mask != 0; moved;) {
      moved = false;
      for (std::uint64_t out = mask; out != 0 && !moved; out &= out - 1)
        for (std::uint64_t in = free_ & ~mask; in != 0 && !moved; in &= in - 1) {
          const std::uint64_t without = mask & ~(out & (~out + 1)), one = in & (~in + 1);
          if (!may_add(without, one) || !better_(without | one, mask)) continue;
          mask = without | one;
          moved = true;
        }
    }
    return mask;
  }

  const DeviceGroup& group_;
  std::uint64_t free_;
  std::span<const DeviceWish> wishes_;
  std::uint32_t total_;
  Better better_;
};

}  // namespace

std::uint64_t choose_devices(const DeviceGroup& group, std::uint64_t free, std::span<const DeviceWish> wishes,
                             std::uint64_t rails) {
  std::uint32_t total = 0;
  for (const auto& wish : wishes) {
    if (static_cast<std::uint32_t>(std::popcount(free & wish.allowed)) < wish.count) return 0;
    total += wish.count;
  }
  if (total == 0) return 0;
  if (group.all_equal) return lowest(free, wishes, rails);
  if (group.devices.size() <= kMaxEnumerated) return enumerate(group, free, wishes, total, rails);
  return Greedy(group, free, wishes, total, rails).choose();
}

}  // namespace spur::sched
