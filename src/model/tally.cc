// SPDX-License-Identifier: Apache-2.0
#include "model/tally.h"

#include <algorithm>
#include <array>

namespace spur::model {
namespace {

Wide second(std::int64_t at) {
  return static_cast<Wide>(static_cast<std::uint64_t>(std::max<std::int64_t>(at, 0)));
}

std::uint64_t narrow(Wide value) {
  constexpr Wide kMost = ~std::uint64_t{0};
  return static_cast<std::uint64_t>(std::min(value, kMost));
}

Wide less(Wide from, Wide what) {
  return from > what ? from - what : 0;
}

}  // namespace

void Tally::widen(std::size_t columns) {
  if (tres.size() >= columns) return;
  tres.resize(columns);
  ends.resize(columns);
  limited.resize(columns);
  rate.resize(columns);
  since.resize(columns);
  past.resize(columns);
}

void Tally::add(const TallyPart& part) {
  running += part.running;
  submitted += part.submitted;
  accruing += part.accruing;
  if (part.tres.empty()) return;
  widen(part.tres.size() + 1);
  const Wide factor = static_cast<Wide>(part.factor_thousandths);
  for (std::size_t i = 0; i <= part.tres.size(); ++i) {
    const Wide amount = i < part.tres.size() ? part.tres[i] : 1;
    tres[i] += static_cast<std::uint64_t>(amount);
    if (part.limit_end) {
      limited[i] += static_cast<std::uint64_t>(amount);
      ends[i] += amount * second(*part.limit_end);
    }
    if (part.used_since) {
      rate[i] += amount * factor;
      since[i] += amount * factor * second(*part.used_since);
    }
  }
}

void Tally::remove(const TallyPart& part) {
  running -= part.running;
  submitted -= part.submitted;
  accruing -= part.accruing;
  if (part.tres.empty()) return;
  widen(part.tres.size() + 1);
  const Wide factor = static_cast<Wide>(part.factor_thousandths);
  for (std::size_t i = 0; i <= part.tres.size(); ++i) {
    const Wide amount = i < part.tres.size() ? part.tres[i] : 1;
    tres[i] -= static_cast<std::uint64_t>(amount);
    if (part.limit_end) {
      limited[i] -= static_cast<std::uint64_t>(amount);
      ends[i] -= amount * second(*part.limit_end);
    }
    if (part.used_since) {
      rate[i] -= amount * factor;
      since[i] -= amount * factor * second(*part.used_since);
    }
  }
}

void Tally::enter_nodes(const TallyPart& part) {
  if (part.tres.empty()) return;
  if (!part.where) {
    unplaced += part.tres[TresTable::kNode];
    return;
  }
  for (const NodeGrant& grant : part.where->nodes) {
    const std::uint32_t* jobs = nodes.find(grant.node.value);
    nodes.set(grant.node.value, jobs ? *jobs + 1 : 1);
  }
}

void Tally::leave_nodes(const TallyPart& part) {
  if (part.tres.empty()) return;
  if (!part.where) {
    unplaced -= part.tres[TresTable::kNode];
    return;
  }
  for (const NodeGrant& grant : part.where->nodes) {
    const std::uint32_t* jobs = nodes.find(grant.node.value);
    if (!jobs) continue;
    if (*jobs > 1) {
      nodes.set(grant.node.value, *jobs - 1);
    } else {
      nodes.erase(grant.node.value);
    }
  }
}

std::uint64_t Tally::more_nodes(const Allocation& allocation) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(allocation.nodes, [&](const NodeGrant& grant) { return !nodes.contains(grant.node.value); }));
}

bool operator==(const Tally& a, const Tally& b) {
  bool same = a.nodes.size() == b.nodes.size() && a.unplaced == b.unplaced;
  a.nodes.for_each([&](std::uint32_t node, std::uint32_t jobs) {
    const std::uint32_t* other = b.nodes.find(node);
    return same = same && other && *other == jobs;
  });
  return same && a.running == b.running && a.submitted == b.submitted && a.accruing == b.accruing && a.tres == b.tres &&
         a.ends == b.ends && a.limited == b.limited && a.rate == b.rate && a.since == b.since && a.past == b.past;
}

void Tally::settle(std::int64_t now) {
  for (std::size_t i = 0; i < rate.size(); ++i) {
    past[i] += less(rate[i] * second(now), since[i]) << kFadedBits;
    since[i] = rate[i] * second(now);
  }
}

Wide Tally::used_finely(std::size_t column, std::int64_t now) const {
  if (column >= past.size()) return 0;
  return past[column] + (less(rate[column] * second(now), since[column]) << kFadedBits);
}

// To the nearest second: a minute that was used just now has faded a little already, and is one all the same.
std::uint64_t Tally::used(std::size_t column, std::int64_t now) const {
  return narrow(((used_finely(column, now) >> kFadedBits) + 500) / 1000);
}

std::uint64_t Tally::promised(std::size_t column, std::int64_t now) const {
  if (column >= ends.size()) return 0;
  return narrow(less(ends[column], static_cast<Wide>(limited[column]) * second(now)));
}

bool Tally::empty() const {
  return running == 0 && submitted == 0 && accruing == 0 && nodes.empty() && unplaced == 0 &&
         std::ranges::all_of(past, [](Wide w) { return w == 0; });
}

// The exponent as a binary fraction: one factor 2^-(2^-k) for each of its bits, all rounded alike on every machine.
std::uint64_t fade_factor(seconds elapsed, seconds half_life) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  // 2^-(1/2), 2^-(1/4), ... in 2^-64.
  static const std::array<std::uint64_t, 32> kRoots = [] {
    std::array<std::uint64_t, 32> roots{};
    Wide square = Wide{1} << 127;  // 1/2 in 2^-128
    for (std::uint64_t& root : roots) {
      std::uint64_t r = 0;
      for (int bit = 63; bit >= 0; --bit) {
        const std::uint64_t tried = r | (std::uint64_t{1} << bit);
        if (static_cast<Wide>(tried) * tried <= square) r = tried;
      }
      root = r;
      square = static_cast<Wide>(r) << 64;
    }
    return roots;
  }();
  if (half_life.count() <= 0 || elapsed.count() <= 0) return kOne;
  const auto whole = elapsed.count() / half_life.count();
  if (whole >= 64) return 0;
  const Wide rest = static_cast<Wide>(elapsed.count() % half_life.count());
  const std::uint64_t fraction = static_cast<std::uint64_t>((rest << 32) / static_cast<Wide>(half_life.count()));
  std::uint64_t factor = ~std::uint64_t{0};  // 1 in 2^-64, as near as it goes
  for (std::size_t k = 0; k < kRoots.size(); ++k)
    if (fraction & (std::uint64_t{1} << (31 - k)))
      factor = static_cast<std::uint64_t>((static_cast<Wide>(factor) * kRoots[k]) >> 64);
  factor = whole == 0 ? factor : factor >> whole;
  return (factor >> 32) + ((factor >> 31) & 1);
}

Wide faded(Wide usage, std::uint64_t factor) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  if (factor >= kOne) return usage;
  const Wide high = usage >> 32, low = usage & (kOne - 1);
  return high * factor + ((low * factor) >> 32);
}

}  // namespace spur::model
