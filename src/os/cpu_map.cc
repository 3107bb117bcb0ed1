// SPDX-License-Identifier: Apache-2.0
#include "os/cpu_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "os/files.h"
#include "text/decimal.h"

namespace spur::os {
namespace {

std::string read_line(const std::string& path) {
  auto text = read_file(path, std::size_t{1} << 16);
  if (!text) return {};
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return *text;
}

// "0-3,8": the kernel's lists.
std::vector<std::uint32_t> parse_list(std::string_view text) {
  std::vector<std::uint32_t> out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const auto dash = item.find('-');
    const auto first = text::parse_decimal32(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : text::parse_decimal32(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first > 65536) return {};
    for (std::uint32_t n = *first; n <= *last; ++n) out.push_back(n);
  }
  return out;
}

}  // namespace

CpuMap read_cpu_map(const std::string& system) {
  CpuMap map;
  for (const std::uint32_t cpu : parse_list(read_line(system + "/cpu/online"))) {
    const std::string place = fmt::format("{}/cpu/cpu{}/topology/", system, cpu);
    const auto number = [&](const char* name) { return text::parse_decimal32(read_line(place + name)).value_or(0); };
    map.cpus.push_back({.os = cpu, .socket = number("physical_package_id"), .core = number("core_id"), .numa = 0});
  }
  for (const std::uint32_t node : parse_list(read_line(system + "/node/online")))
    for (const std::uint32_t cpu : parse_list(read_line(fmt::format("{}/node/node{}/cpulist", system, node))))
      for (CpuPlace& place : map.cpus)
        if (place.os == cpu) place.numa = node;
  std::ranges::sort(map.cpus, {}, [](const CpuPlace& c) { return std::tuple(c.socket, c.core, c.os); });
  return map;
}

}  // namespace spur::os
