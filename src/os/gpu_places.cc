// SPDX-License-Identifier: Apache-2.0
#include "os/gpu_places.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/decimal.h"
#include "text/words.h"

namespace spur::os {
namespace {

// "0-3,8"; nothing if it is no such list.
std::optional<std::vector<std::uint32_t>> numbers(std::string_view list) {
  std::vector<std::uint32_t> out;
  for (const std::string_view item : text::split(list, ',')) {
    const std::size_t dash = item.find('-');
    const auto first = text::parse_decimal32(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : text::parse_decimal32(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first > 1u << 16) return std::nullopt;
    for (std::uint32_t number = *first; number <= *last; ++number) out.push_back(number);
  }
  return out;
}

}  // namespace

std::string encode_gpu_cores(const std::vector<model::NodeGres>& in_force) {
  std::string out;
  bool any = false, first = true;
  for (const model::NodeGres& row : in_force) {
    if (row.name != "gpu") continue;
    for (std::uint64_t i = 0; i < row.count; ++i) {
      if (!std::exchange(first, false)) out.push_back(';');
      out.append(row.cores);
      any |= !row.cores.empty();
    }
  }
  return any ? out : std::string();
}

std::vector<std::vector<std::uint32_t>> decode_gpu_cpus(std::string_view text, const CpuMap& map) {
  if (text.empty()) return {};
  std::vector<std::vector<std::uint32_t>> by_core;  // the kernel's CPUs of each core, as jobs count cores
  std::optional<std::pair<std::uint32_t, std::uint32_t>> last;
  for (const CpuPlace& place : map.cpus) {
    const std::pair core(place.socket, place.core);
    if (last != core) by_core.emplace_back();
    last = core;
    by_core.back().push_back(place.os);
  }
  std::vector<std::vector<std::uint32_t>> out;
  for (const std::string_view list : text::split(text, ';')) {
    auto& cpus = out.emplace_back();
    const auto cores = list.empty() ? std::nullopt : numbers(list);
    if (!cores) continue;
    for (const std::uint32_t core : *cores) {
      if (core >= by_core.size()) {
        cpus.clear();
        break;
      }
      cpus.insert(cpus.end(), by_core[core].begin(), by_core[core].end());
    }
    std::ranges::sort(cpus);
  }
  return out;
}

}  // namespace spur::os
