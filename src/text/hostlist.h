// SPDX-License-Identifier: Apache-2.0
// Slurm's hostlists: "n[1-4,7],r[1-2]x[01-04]-ib". Names are separated by commas or blanks; each may hold several
// brackets of numbers, ranges and ranges with a step ("0-10:2"); leading zeros of a range's first number set the
// width of all. Nothing is expanded before the number of hosts is known to be within the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::text {

inline constexpr std::size_t kMaxHosts = 1'000'000;

// All names in the order written. Of a name's brackets the last runs fastest, then the first, the second and so on:
// the order of "scontrol show hostnames". Repetitions are kept, empty entries skipped. InvalidArgument for
// unbalanced, nested, empty or reversed brackets and for more hosts than `limit`.
Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t limit = kMaxHosts);

// How many names expand_hostlist would give, without making them.
Result<std::size_t> count_hosts(std::string_view list, std::size_t limit = kMaxHosts);

// Slurm's ranged string of the names in the order given: neighbours with the same prefix share a bracket, ascending
// neighbours share a range: {n1,n2,n4,x7} is "n[1-2,4],x7", {n3,n1,n2} is "n[3,1-2]". Sort first where order is free.
std::string compress_hostlist(const std::vector<std::string>& hosts);

// Slurm's order of node names: by what is before the last number (in which numbers count as such: r9x1 before r10x1),
// then by that number, then by its width.
bool host_less(std::string_view a, std::string_view b);
void sort_hosts(std::vector<std::string>& hosts);
// Sorts and drops repetitions.
void sort_unique_hosts(std::vector<std::string>& hosts);

// Whether a node may be called so: names end up in paths, hostlists and terminals.
bool is_node_name(std::string_view name);

}  // namespace spur::text
