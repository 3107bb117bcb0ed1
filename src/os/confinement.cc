// SPDX-License-Identifier: Apache-2.0
#include "os/confinement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace spur::os {
namespace {

constexpr std::uint64_t kMiB = 1u << 20, kWhole = 100'000;

std::uint64_t share(std::uint64_t mib, std::uint64_t thousandths) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(mib) * kMiB * thousandths / kWhole);
}

// As Slurm's task/cgroup: what was granted times AllowedRAMSpace, but not below MinRAMSpace nor above MaxRAMPercent;
// a job without memory of its own may have all that the latter leaves.
void limit_memory(const ConfinedNode& node, std::uint64_t granted_mib, CgroupLimits& out) {
  const ConfinementPolicy& policy = node.policy;
  if (!policy.ram && !policy.swap) return;
  const std::uint64_t least = policy.min_ram_mib * kMiB;
  const std::uint64_t most_ram = std::max(least, share(node.memory_mib, policy.max_ram));
  const auto bounded = [&](std::uint64_t bytes, std::uint64_t most) {
    return granted_mib == 0 ? most : std::clamp(bytes, least, most);
  };
  // Without ConstrainRAMSpace the limit of memory and swap together holds for memory, too.
  const std::uint64_t ram = bounded(share(granted_mib, policy.ram ? policy.allowed_ram : kWhole), most_ram);
  const std::uint64_t most_both = most_ram + share(node.memory_mib, policy.max_swap);
  const std::uint64_t both = bounded(ram + share(granted_mib, policy.allowed_swap), most_both);
  out.memory_max = policy.ram ? ram : both;
  if (policy.ram && granted_mib > 0 && bounded(granted_mib * kMiB, most_ram) < ram)
    out.memory_high = bounded(granted_mib * kMiB, most_ram);
  if (policy.swap) out.swap_max = both - std::min(both, *out.memory_max);
}

void limit_devices(const std::vector<ManagedDevice>& all, const std::vector<model::DeviceGrant>& grants,
                   CgroupLimits& out) {
  std::set<DeviceNumber> ours, others;
  for (const ManagedDevice& device : all) {
    const bool granted = std::ranges::any_of(grants, [&](const model::DeviceGrant& grant) {
      return grant.gres == device.gres && std::ranges::find(grant.indices, device.index) != grant.indices.end();
    });
    (granted ? ours : others).insert(device.numbers.begin(), device.numbers.end());
    if (granted) out.granted.push_back(device);
  }
  if (!out.devices) return;
  // A file that stands for several devices is open to whoever has one of them.
  std::ranges::set_difference(others, ours, std::back_inserter(out.denied));
}

std::string text_of(const DeviceNumber& number) {
  return fmt::format("{}{}:{}", number.type, number.major, number.minor);
}

std::string text_of(const std::vector<DeviceNumber>& numbers) {
  std::string out;
  for (const DeviceNumber& number : numbers) out += (out.empty() ? "" : ",") + text_of(number);
  return out;
}

bool take_number(std::string_view text, std::uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

bool take_device(std::string_view text, DeviceNumber* out) {
  std::uint64_t major = 0, minor = 0;
  const auto colon = text.find(':');
  if (text.empty() || colon == std::string_view::npos || (text[0] != 'c' && text[0] != 'b')) return false;
  if (!take_number(text.substr(1, colon - 1), &major) || !take_number(text.substr(colon + 1), &minor)) return false;
  *out = {text[0], static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(minor)};
  return true;
}

template <class F>
bool each(std::string_view list, char separator, F&& f) {
  while (!list.empty()) {
    const auto item = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (!f(item)) return false;
  }
  return true;
}

bool take_devices(std::string_view list, std::vector<DeviceNumber>* out) {
  return each(list, ',', [&](std::string_view item) { return take_device(item, &out->emplace_back()); });
}

// "gpu/3=c195:3,c226:131@/dev/nvidia3"
bool take_granted(std::string_view text, ManagedDevice* out) {
  const auto slash = text.find('/'), equals = text.find('=');
  std::uint64_t index = 0;
  if (slash == std::string_view::npos || equals == std::string_view::npos || equals < slash) return false;
  if (!take_number(text.substr(slash + 1, equals - slash - 1), &index)) return false;
  out->gres = text.substr(0, slash);
  out->index = static_cast<std::uint32_t>(index);
  const auto at = text.find('@', equals);
  if (at != std::string_view::npos)
    each(text.substr(at + 1), '@', [&](std::string_view file) { return out->files.emplace_back(file), true; });
  return take_devices(text.substr(equals + 1, at == std::string_view::npos ? at : at - equals - 1), &out->numbers);
}

bool take_field(std::string_view key, std::string_view value, CgroupLimits& out) {
  std::uint64_t number = 0;
  if (key == "cpus") return out.cpus = value, true;
  if (key == "io") return out.io_max.emplace_back(value), true;
  if (key == "deny") return out.devices = true, take_devices(value, &out.denied);
  if (key == "own") return take_granted(value, &out.granted.emplace_back());
  if (!take_number(value, &number)) return false;
  if (key == "max") return out.memory_max = number, true;
  if (key == "high") return out.memory_high = number, true;
  if (key == "swap") return out.swap_max = number, true;
  if (key == "pids") return out.processes_max = number, true;
  return false;
}

}  // namespace

std::string number_list(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ",", numbers[i]);
    if (numbers[last] > numbers[i]) out += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return out;
}

CgroupLimits limits_of(const ConfinedNode& node, const model::LaunchPart& part) {
  CgroupLimits out;
  if (node.policy.cores) {
    std::vector<std::uint32_t> cpus;
    for (const model::CpuNumber cpu : part.cpus)
      if (cpu < node.cpu_numbers.size()) cpus.push_back(node.cpu_numbers[cpu]);
    // A node that declares more CPUs than it has: what is not there cannot be set aside.
    if (cpus.size() == part.cpus.size()) out.cpus = number_list(std::move(cpus));
  }
  limit_memory(node, part.memory_mib, out);
  out.processes_max = node.policy.max_processes;
  out.io_max = node.policy.io_max;
  out.devices = node.policy.devices;
  limit_devices(node.devices, part.devices, out);
  return out;
}

std::string cpuset_of(const CpuMap& map, const std::vector<model::CpuNumber>& cpus) {
  std::vector<std::uint32_t> numbers;
  for (const model::CpuNumber cpu : cpus) {
    if (cpu >= map.cpus.size()) return {};
    numbers.push_back(map.cpus[cpu].os);
  }
  return number_list(std::move(numbers));
}

CgroupLimits limits_of_step(const CgroupLimits& job, std::uint64_t job_mib, std::uint64_t memory_mib,
                            const std::vector<model::DeviceGrant>& devices) {
  CgroupLimits out;
  const auto part_of = [&](const std::optional<std::uint64_t>& bytes) -> std::optional<std::uint64_t> {
    if (!bytes) return {};
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(*bytes) * memory_mib / job_mib);
  };
  if (memory_mib > 0 && job_mib > memory_mib) {
    out.memory_max = part_of(job.memory_max);
    out.memory_high = part_of(job.memory_high);
    out.swap_max = part_of(job.swap_max);
  }
  out.devices = job.devices;
  limit_devices(job.granted, devices, out);
  out.denied.insert(out.denied.end(), job.denied.begin(), job.denied.end());
  return out;
}

std::string encode_limits(const CgroupLimits& limits) {
  std::vector<std::string> out;
  if (!limits.cpus.empty()) out.push_back("cpus=" + limits.cpus);
  if (limits.memory_max) out.push_back(fmt::format("max={}", *limits.memory_max));
  if (limits.memory_high) out.push_back(fmt::format("high={}", *limits.memory_high));
  if (limits.swap_max) out.push_back(fmt::format("swap={}", *limits.swap_max));
  if (limits.processes_max > 0) out.push_back(fmt::format("pids={}", limits.processes_max));
  for (const std::string& line : limits.io_max) out.push_back("io=" + line);
  if (limits.devices) out.push_back("deny=" + text_of(limits.denied));
  for (const ManagedDevice& device : limits.granted) {
    std::string files;
    for (const std::string& file : device.files)
      if (file.find_first_of(";@") == std::string::npos) files += "@" + file;
    out.push_back(fmt::format("own={}/{}={}{}", device.gres, device.index, text_of(device.numbers), files));
  }
  return fmt::format("{}", fmt::join(out, ";"));
}

Result<CgroupLimits> decode_limits(std::string_view text) {
  CgroupLimits out;
  const bool understood = each(text, ';', [&](std::string_view field) {
    const auto equals = field.find('=');
    return equals != std::string_view::npos && take_field(field.substr(0, equals), field.substr(equals + 1), out);
  });
  if (!understood) return fail(ErrorCode::Corrupt, fmt::format("these are no limits: {}", text));
  return out;
}

}  // namespace spur::os
