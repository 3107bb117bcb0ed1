// SPDX-License-Identifier: Apache-2.0
// Trackable resources: "cpu=4,mem=10G,node=1,billing=4,gres/gpu:mi300x=8". Memory is kept in mebibytes; burst buffers
// and file systems too. Everything else is a plain count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/memory_size.h"

namespace spur::text {

struct Tres {
  std::string type;         // "cpu", "mem", "node", "billing", "gres", "license", "bb", "fs", ...
  std::string name;         // after '/': "gpu" or "gpu:mi300x"; empty for most
  std::uint64_t count = 0;  // mebibytes where counts_mib(type)
  friend bool operator==(const Tres&, const Tres&) = default;
};

// True for the types whose count is an amount of memory or storage.
bool counts_mib(std::string_view type);

// Also takes ':' instead of '=' after "gres/gpu" ("gres/gpu:2"), as --tres-per-task does. The same resource twice is
// an error.
Result<std::vector<Tres>> parse_tres(std::string_view text);

// In the order given; "cpu=4,mem=1000M,gres/gpu=2". UnitStyle::Plain: never converts ("mem=10240M").
std::string format_tres(const std::vector<Tres>& items, UnitStyle style = UnitStyle::Exact);

}  // namespace spur::text
