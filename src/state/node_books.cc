// SPDX-License-Identifier: Apache-2.0
#include "state/node_books.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "model/gres_in_force.h"

namespace spur::state {
namespace {

using Bits = std::vector<std::uint64_t>;

bool test(const Bits& bits, std::uint64_t i) {
  return i / 64 < bits.size() && (bits[i / 64] >> (i % 64) & 1);
}

void set(Bits& bits, std::uint64_t i) {
  if (i / 64 >= bits.size()) bits.resize(i / 64 + 1);
  SPUR_CHECK_MSG(!test(bits, i), "a CPU or device is given out twice");
  bits[i / 64] |= std::uint64_t{1} << (i % 64);
}

void reset(Bits& bits, std::uint64_t i) {
  SPUR_CHECK_MSG(test(bits, i), "a CPU or device that was not given out comes back");
  bits[i / 64] &= ~(std::uint64_t{1} << (i % 64));
}

void grow(Bits& bits, std::uint64_t count) {
  const std::size_t words = (std::min(count, kMaxDevices) + 63) / 64;
  while (bits.size() > words && bits.back() == 0) bits.pop_back();
  if (bits.size() < words) bits.resize(words);
}

// By value, as the list of grants names gres by name.
template <class N>
auto* books_of(N& node, const std::string& gres) {
  const auto at = std::find_if(node.devices_in_use.begin(), node.devices_in_use.end(),
                               [&](const auto& row) { return row.gres == gres; });
  return at == node.devices_in_use.end() ? nullptr : &*at;
}

// Shares of GPUs are booked under their own name, by the GPU's number.
bool is_share(const model::DeviceGrant& devices) {
  return !devices.shares.empty();
}

// How many shares GPU `index` has.
std::uint64_t shares_of_device(const model::Node& node, const std::string& name, std::uint32_t index) {
  const auto shares = model::shares_by_gpu(node.hardware.gres, name);
  return index < shares.size() ? shares[index] : 0;
}

std::uint32_t shares_in_use(const model::Node& node, const std::string& name, std::uint32_t index) {
  const auto* books = books_of(node, name);
  return books && index < books->shares.size() ? books->shares[index] : 0;
}

std::unexpected<Error> busy(const model::Node& node, std::string what) {
  return fail(ErrorCode::NodesBusy, fmt::format("{} of node {} is taken or does not exist", what, node.name));
}

// A list of numbers that is strictly ascending names nothing twice.
template <class List>
bool ascending(const List& list) {
  return std::adjacent_find(list.begin(), list.end(), [](auto a, auto b) { return a >= b; }) == list.end();
}

Status can_take_shares(const model::Node& node, const model::DeviceGrant& devices) {
  if (devices.shares.size() != devices.indices.size())
    return fail(ErrorCode::InvalidArgument, fmt::format("shares and numbers of {} do not match", devices.gres));
  const auto* whole = books_of(node, std::string("gpu"));
  for (std::size_t i = 0; i < devices.indices.size(); ++i) {
    const std::uint32_t index = devices.indices[i];
    const std::uint64_t all = shares_of_device(node, devices.gres, index);
    const std::uint64_t used = shares_in_use(node, devices.gres, index);
    if (devices.shares[i] == 0 || used + devices.shares[i] > all || (whole && test(whole->bits, index)))
      return busy(node, fmt::format("{} {} of GPU {}", devices.shares[i], devices.gres, index));
  }
  return {};
}

// A GPU of which shares are given out is not to be had whole.
bool is_shared(const model::Node& node, const std::string& gres, std::uint32_t index) {
  if (gres != "gpu") return false;
  return std::any_of(node.devices_in_use.begin(), node.devices_in_use.end(),
                     [&](const auto& books) { return index < books.shares.size() && books.shares[index] > 0; });
}

Status can_take_devices(const model::Node& node, const model::NodeGrant& grant) {
  for (std::size_t i = 0; i < grant.devices.size(); ++i) {
    const model::DeviceGrant& devices = grant.devices[i];
    if (!ascending(devices.indices))
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("the list of {} on node {} is not ascending", devices.gres, node.name));
    // The same device must not come twice under two types either.
    for (std::size_t j = 0; j < i; ++j)
      if (grant.devices[j].gres == devices.gres)
        for (const std::uint32_t index : devices.indices)
          if (std::binary_search(grant.devices[j].indices.begin(), grant.devices[j].indices.end(), index))
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("{} {} on node {} is named twice", devices.gres, index, node.name));
    if (is_share(devices)) {
      SPUR_TRY(can_take_shares(node, devices));
      continue;
    }
    const auto* books = books_of(node, devices.gres);
    const std::uint64_t count = device_count(node, devices.gres);
    for (const std::uint32_t index : devices.indices)
      if (index >= count || (books && test(books->bits, index)) || is_shared(node, devices.gres, index))
        return busy(node, fmt::format("{} {}", devices.gres, index));
  }
  return {};
}

}  // namespace

std::uint64_t device_count(const model::Node& node, const std::string& gres) {
  std::uint64_t count = 0;
  for (const model::NodeGres& row : node.hardware.gres)
    if (row.name == gres) count += std::min(row.count, kMaxDevices);
  return std::min(count, kMaxDevices);
}

void fit_books(model::Node& node) {
  grow(node.cpus_in_use, node.hardware.cpus);
  for (const model::NodeGres& row : node.hardware.gres)
    if (!books_of(node, row.name)) node.devices_in_use.push_back({row.name, {}});
  for (auto& books : node.devices_in_use) grow(books.bits, device_count(node, books.gres));
  std::erase_if(node.devices_in_use, [](const auto& books) { return books.bits.empty() && books.shares.empty(); });
}

Status can_take_cpus(const model::Node& node, const model::NodeGrant& grant, const CpuBits& shareable) {
  if (grant.cpus.empty() || !ascending(grant.cpus) || !ascending(grant.kept_cpus))
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the list of CPUs on node {} is empty or not ascending", node.name));
  std::optional<model::CpuNumber> taken;
  model::for_each_cpu_held(grant, [&](model::CpuNumber cpu) {
    const bool used = test(node.cpus_in_use, cpu) && !test(shareable, cpu);
    if (!taken && (cpu >= node.hardware.cpus || used)) taken = cpu;
  });
  if (taken) return busy(node, fmt::format("CPU {}", *taken));
  for (const model::CpuNumber cpu : grant.kept_cpus)
    if (std::ranges::binary_search(grant.cpus, cpu))
      return fail(ErrorCode::InvalidArgument, fmt::format("CPU {} on node {} is given and kept", cpu, node.name));
  return {};
}

Status can_take(const model::Node& node, const model::NodeGrant& grant, bool memory_counts,
                const CpuBits& shareable) {
  SPUR_TRY(can_take_cpus(node, grant, shareable));
  if (memory_counts) {
    const std::uint64_t total = node.hardware.memory_mib;
    const std::uint64_t used = std::min(node.memory_allocated_mib, total);
    if (grant.memory_mib > total - used) return busy(node, fmt::format("{} MiB of memory", grant.memory_mib));
  }
  return can_take_devices(node, grant);
}

void take_cpus(model::Node& node, const model::NodeGrant& grant, bool alone, const CpuBits& shareable) {
  std::uint32_t fresh = model::cpus_held(grant);
  model::for_each_cpu_held(grant, [&](model::CpuNumber cpu) {
    if (test(shareable, cpu) && test(node.cpus_in_use, cpu))
      --fresh;
    else
      set(node.cpus_in_use, cpu);
  });
  node.cpus_allocated += fresh;
  if (alone) node.exclusive = true;
}

void give_back_cpus(model::Node& node, const model::NodeGrant& grant, const CpuBits& kept) {
  std::uint32_t back = model::cpus_held(grant);
  model::for_each_cpu_held(grant, [&](model::CpuNumber cpu) {
    if (test(kept, cpu))
      --back;
    else
      reset(node.cpus_in_use, cpu);
  });
  node.cpus_allocated -= back;
  if (node.cpus_allocated == 0) node.exclusive = false;  // whoever was alone is the one who left
}

void take(model::Node& node, const model::NodeGrant& grant, JobId job, bool alone, const CpuBits& shareable) {
  take_cpus(node, grant, alone, shareable);
  node.memory_allocated_mib += grant.memory_mib;
  for (const model::DeviceGrant& devices : grant.devices) {
    if (devices.indices.empty()) continue;
    auto* books = books_of(node, devices.gres);
    if (!books) books = &node.devices_in_use.emplace_back(model::Node::DevicesInUse{devices.gres, {}});
    for (std::size_t i = 0; i < devices.indices.size(); ++i) {
      const std::uint32_t index = devices.indices[i];
      if (!is_share(devices)) {
        set(books->bits, index);
        continue;
      }
      if (books->shares.size() <= index) books->shares.resize(index + 1);
      books->shares[index] += devices.shares[i];
    }
  }
  node.jobs.insert(std::lower_bound(node.jobs.begin(), node.jobs.end(), job), job);
}

void give_back(model::Node& node, const model::NodeGrant& grant, JobId job, bool holds_cpus, bool completing,
               const CpuBits& kept) {
  if (holds_cpus) give_back_cpus(node, grant, kept);
  SPUR_CHECK(node.memory_allocated_mib >= grant.memory_mib);
  node.memory_allocated_mib -= grant.memory_mib;
  for (const model::DeviceGrant& devices : grant.devices) {
    if (devices.indices.empty()) continue;
    auto* books = books_of(node, devices.gres);
    SPUR_CHECK(books);
    for (std::size_t i = 0; i < devices.indices.size(); ++i) {
      const std::uint32_t index = devices.indices[i];
      if (!is_share(devices)) {
        reset(books->bits, index);
        continue;
      }
      SPUR_CHECK(index < books->shares.size() && books->shares[index] >= devices.shares[i]);
      books->shares[index] -= devices.shares[i];
    }
    while (!books->shares.empty() && books->shares.back() == 0) books->shares.pop_back();
  }
  const auto at = std::lower_bound(node.jobs.begin(), node.jobs.end(), job);
  SPUR_CHECK(at != node.jobs.end() && *at == job);
  node.jobs.erase(at);
  if (completing) {
    SPUR_CHECK(node.jobs_completing > 0);
    --node.jobs_completing;
  }
}

}  // namespace spur::state
