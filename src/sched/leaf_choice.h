// SPDX-License-Identifier: Apache-2.0
// Nodes on as few leaf switches (or blocks) as possible. The leaves that have most come first; the last one is the
// smallest that will do; and all of them are below the lowest switch that admits so few. Within the leaves the nodes
// are chosen as everywhere (placement.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sched/feasibility.h"
#include "sched/request.h"

namespace spur::sched {

using OfferList = std::vector<const Offer*>;
// Picks at least `nodes` nodes out of the offers, or none.
using PickNodes = std::function<std::optional<OfferList>(OfferList offers, std::uint32_t nodes)>;

// `nodes`: so many at least. The request has a topology.
std::optional<OfferList> pick_by_leaves(const Request& request, const OfferList& offers, std::uint32_t nodes,
                                        const PickNodes& pick);

}  // namespace spur::sched
