// SPDX-License-Identifier: Apache-2.0
// Strong ids: a node index cannot be passed where a job id is meant. Value 0 is "none" for JobId (Slurm never
// hands out job 0); NodeIndex is a position in View::nodes and has its own kNoNode.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace spur {

template <class Tag, class Rep>
struct Id {
  Rep value{};
  constexpr Id() = default;
  explicit constexpr Id(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != Rep{}; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using JobId = Id<struct JobIdTag, std::uint32_t>;
using NodeIndex = Id<struct NodeIndexTag, std::uint32_t>;
using Uid = Id<struct UidTag, std::uint32_t>;
using Gid = Id<struct GidTag, std::uint32_t>;
// Which run of a job: 1 for the first start, one more after each requeue. Agents refuse older ones.
using Epoch = Id<struct EpochTag, std::uint32_t>;

inline constexpr NodeIndex kNoNode{0xffffffffu};
inline constexpr Uid kRootUid{0};
inline constexpr Uid kNobodyUid{65534};

}  // namespace spur

template <class Tag, class Rep>
struct std::hash<spur::Id<Tag, Rep>> {
  std::size_t operator()(spur::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
