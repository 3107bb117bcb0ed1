// SPDX-License-Identifier: Apache-2.0
#include "os/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "os/confinement.h"
#include "os/sysfs.h"

namespace spur::os {

std::string type_name(std::string_view product) {
  std::string out;
  for (const char c : product) {
    const bool blank = c == ' ' || c == '\t' || c == ',' || c == ':' || c == '=' || c == '(' || c == ')';
    if (blank && (out.empty() || out.back() == '_')) continue;
    out += blank ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

std::vector<model::NodeGres> gres_of(const std::vector<Gpu>& gpus, const std::vector<std::uint32_t>& cpu_numbers,
                                     std::uint32_t threads_per_core) {
  std::map<std::uint32_t, std::uint32_t> core_of;  // by the kernel's number
  for (std::size_t i = 0; i < cpu_numbers.size(); ++i)
    core_of[cpu_numbers[i]] = static_cast<std::uint32_t>(i) / std::max(1u, threads_per_core);
  std::vector<model::NodeGres> out;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const Gpu& gpu = gpus[i];
    model::NodeGres& row = out.emplace_back();
    row.name = "gpu";
    row.type = gpu.type;
    row.count = 1;
    if (!gpu.files.empty()) row.file = gpu.files.front();
    std::vector<std::uint32_t> cores;
    for (const std::uint32_t cpu : cpu_list(gpu.cpus))
      if (const auto core = core_of.find(cpu); core != core_of.end()) cores.push_back(core->second);
    row.cores = number_list(std::move(cores));
    std::vector<std::int64_t> links(gpu.links.begin(), gpu.links.end());
    if (links.size() == gpus.size() && std::ranges::any_of(links, [](auto n) { return n > 0; })) {
      links[i] = -1;
      row.links = fmt::format("{}", fmt::join(links, ","));
    }
  }
  return out;
}

std::string gpu_problem(const std::vector<Gpu>& before, const std::vector<Gpu>& now) {
  for (const Gpu& gpu : before) {
    const auto it = std::ranges::find_if(now, [&](const Gpu& g) { return g.id == gpu.id && g.files == gpu.files; });
    const std::string name = gpu.files.empty() ? gpu.id : gpu.files.front();
    if (it == now.end()) return fmt::format("gres/gpu {} is gone", name);
    if (!it->problem.empty()) return fmt::format("gres/gpu {}: {}", name, it->problem);
  }
  return {};
}

}  // namespace spur::os
