// SPDX-License-Identifier: Apache-2.0
#include "sched/node_layout.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <set>

#include "model/gres_in_force.h"
#include "sched/device_choice.h"
#include "text/words.h"

namespace spur::sched {
namespace {

using Bits = std::vector<std::uint64_t>;

bool bit(const Bits& words, std::size_t at) {
  return at / 64 < words.size() && (words[at / 64] >> (at % 64) & 1) != 0;
}
void set_bit(Bits& words, std::size_t at) {
  if (at / 64 >= words.size()) words.resize(at / 64 + 1);
  words[at / 64] |= std::uint64_t{1} << (at % 64);
}

// "0-3,8" as calls of each(number); what is malformed is left out, as configuration has checked it.
template <class Each>
void for_numbers(std::string_view list, std::uint32_t below, Each each) {
  for (const auto part : text::split(list, ',')) {
    std::uint32_t first = 0, last = 0;
    const auto got = std::from_chars(part.data(), part.data() + part.size(), first);
    if (got.ec != std::errc()) continue;
    last = first;
    if (got.ptr != part.data() + part.size() && *got.ptr == '-')
      std::from_chars(got.ptr + 1, part.data() + part.size(), last);
    for (std::uint32_t n = first; n <= last && n < below; ++n) each(n);
  }
}

std::uint64_t count_of_name(const model::NodeHardware& hardware, std::string_view name) {
  std::uint64_t count = 0;
  for (const auto& gres : hardware.gres)
    if (gres.name == name) count += std::min(gres.count, kMaxDevices);
  return count;
}

bool is_single_devices(const model::NodeHardware& hardware, const model::NodeGres& gres) {
  if (count_of_name(hardware, gres.name) > kMaxSingleDevices) return false;
  if (gres.name == "gpu") return true;
  return std::ranges::any_of(hardware.gres, [&](const model::NodeGres& row) {
    return row.name == gres.name && (!row.file.empty() || !row.links.empty());
  });
}

// Shares need the devices that they are shares of.
bool is_share_here(const model::NodeHardware& hardware, const model::NodeGres& gres) {
  const auto gpus = count_of_name(hardware, "gpu");
  return is_share_of_gpu(gres.name) && gpus > 0 && gpus <= kMaxSingleDevices;
}

std::uint32_t socket_columns(const model::NodeHardware& hardware) {
  const bool several = hardware.sockets >= 2 && hardware.sockets <= 64 && hardware.cores_per_socket >= 2;
  return several && hardware.cpus % hardware.sockets == 0 ? hardware.sockets : 0;
}

Amount unit_of(const model::NodeHardware& hw, bool cores_whole) {
  if (!cores_whole || hw.threads_per_core <= 1 || hw.cpus == 0) return 1;
  // A site may declare one CPU per core on a machine with two threads each: then a CPU is a core already.
  if (std::uint64_t{hw.sockets} * hw.cores_per_socket * hw.threads_per_core > hw.cpus) return 1;
  return hw.cpus % hw.threads_per_core == 0 ? hw.threads_per_core : 1;
}

// CPUs of a core.
std::uint32_t threads_of(const model::NodeHardware& hardware) {
  const bool all = hardware.cpus == hardware.sockets * hardware.cores_per_socket * hardware.threads_per_core;
  return all ? std::max(1u, hardware.threads_per_core) : 1u;
}

// Cores kept for the system: those listed, or so many; one at least is for jobs.
Bits reserved(const model::NodeHardware& hardware, Amount unit) {
  Bits bits;
  if (!hardware.spec_cpus.empty()) {
    for_numbers(hardware.spec_cpus, hardware.cpus, [&](std::uint32_t cpu) {
      const auto core = cpu / static_cast<std::uint32_t>(unit) * static_cast<std::uint32_t>(unit);
      for (std::uint32_t thread = 0; thread < unit; ++thread) set_bit(bits, core + thread);
    });
    return bits;
  }
  if (hardware.spec_cores == 0) return bits;
  const auto cores = hardware.cpus / threads_of(hardware);
  return kept_cpus(hardware, {std::min(hardware.spec_cores, cores > 0 ? cores - 1 : 0), false}, unit);
}

// Which CPUs and sockets a device is near to. Cores are those of the abstract numbering.
void place_near(const model::NodeHardware& hardware, const std::string& cores, Device& device) {
  if (cores.empty() || hardware.cpus == 0) return;
  const std::uint32_t sockets = std::max(1u, hardware.sockets);
  const std::uint32_t all_cores = std::max(1u, sockets * std::max(1u, hardware.cores_per_socket));
  const std::uint32_t threads = std::max(1u, hardware.cpus / all_cores);
  const std::uint32_t per_socket = std::max(1u, hardware.cpus / sockets);
  std::uint64_t near = 0;
  for_numbers(cores, all_cores, [&](std::uint32_t core) {
    for (std::uint32_t thread = 0; thread < threads; ++thread) set_bit(device.near_cpus, core * threads + thread);
    near |= std::uint64_t{1} << std::min(63u, core * threads / per_socket);
  });
  if (near != 0) device.sockets = near;
}

// gres.conf's Links of one device, "-1,16,16,16", into its line of the matrix.
void read_links(std::string_view links, std::size_t device, DeviceGroup& group) {
  const std::size_t count = group.devices.size();
  std::size_t other = 0;
  for (const auto part : text::split(links, ',')) {
    if (other >= count) break;
    std::int32_t weight = 0;
    std::from_chars(part.data(), part.data() + part.size(), weight);
    if (other != device) group.links[device * count + other] = std::clamp(weight, 0, 1'000'000);
    ++other;
  }
}

// A line of the configuration is one device with its links, or several; then each has the line's, one after another,
// divided by semicolons, or they have none.
void add_links(const model::NodeGres& row, std::size_t first, DeviceGroup& group) {
  std::size_t device = first;
  for (const auto one : text::split(row.links, ';')) {
    if (device >= first + row.count) break;
    read_links(one, device++, group);
  }
}

void finish_group(DeviceGroup& group) {
  const std::size_t count = group.devices.size();
  // A link has two ends; where both tell, the better word counts.
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < a; ++b)
      group.links[a * count + b] = group.links[b * count + a] = std::max(group.link(a, b), group.link(b, a));
  for (std::size_t a = 0; a < count; ++a) {
    if (group.devices[a].sockets != group.devices[0].sockets) group.all_equal = false;
    for (std::size_t b = 0; b < count; ++b)
      if (a != b && group.link(a, b) != group.link(0, count - 1)) group.all_equal = false;
  }
  if (group.all_equal || count > kMaxEnumerated) return;
  group.sums.assign(std::size_t{1} << count, 0);
  for (std::size_t mask = 1; mask < group.sums.size(); ++mask) {
    const auto low = static_cast<std::size_t>(std::countr_zero(mask));
    group.sums[mask] = group.sums[mask & (mask - 1)];
    for (std::size_t other = low + 1; other < count; ++other)
      if (mask >> other & 1) group.sums[mask] += group.link(low, other);
  }
}

// The shares of rows such as shard:16.
void add_shares(const model::NodeHardware& hardware, const std::string& name, DeviceGroup& group) {
  group.shared_as = name;
  const auto shares = model::shares_by_gpu(hardware.gres, name);
  for (std::size_t d = 0; d < std::min(shares.size(), group.devices.size()); ++d)
    group.devices[d].capacity = static_cast<Amount>(shares[d]);
}

class LayoutMaker {
 public:
  LayoutMaker(const model::NodeHardware& hardware, const Columns& columns, bool cores_whole)
      : hardware_(hardware), columns_(columns), next_(columns.first_of_node()) {
    layout_.unit = unit_of(hardware, cores_whole);
    layout_.sockets = std::max(1u, hardware.sockets);
    layout_.reserved_cpus = reserved(hardware, layout_.unit);
    layout_.spans.resize(columns.gres_kinds());
    if (const std::uint32_t sockets = socket_columns(hardware)) {
      layout_.first_socket = next_;
      layout_.cpus_per_socket = hardware.cpus / sockets;
      next_ += sockets;
    }
  }

  NodeLayout make() {
    for (const auto& row : hardware_.gres) {
      if (is_share_here(hardware_, row) || layout_.group(row.name) || is_counted(row.name)) continue;
      is_single_devices(hardware_, row) ? add_group(row.name) : add_counted(row.name);
    }
    for (const auto& row : hardware_.gres)
      for (auto& group : layout_.groups)
        if (group.name == "gpu" && group.shared_as.empty() && is_share_here(hardware_, row))
          add_shares(hardware_, row.name, group);
    return std::move(layout_);
  }

 private:
  bool is_counted(const std::string& name) const {
    return std::ranges::find(layout_.counted, name, &CountedGres::name) != layout_.counted.end();
  }

  void add_group(const std::string& name) {
    DeviceGroup group;
    group.name = name;
    const auto number = static_cast<std::uint32_t>(layout_.groups.size());
    for (const auto& row : hardware_.gres) {
      if (row.name != name) continue;
      for (std::uint64_t i = 0; i < row.count; ++i) {
        Device device;
        device.gres = exact_id(row);
        place_near(hardware_, row.cores, device);
        group.devices.push_back(std::move(device));
      }
    }
    // Columns by type, so that those of a type stand together.
    for (const GresId id : columns_.gres_ids(name, {})) {
      const std::size_t first = next_;
      for (auto& device : group.devices)
        if (device.gres == id) device.column = next_++;
      layout_.spans[id] = {first, next_ - first, false, number};
    }
    group.links.assign(group.devices.size() * group.devices.size(), 0);
    std::size_t first = 0;
    for (const auto& row : hardware_.gres) {
      if (row.name != name) continue;
      if (!row.links.empty()) add_links(row, first, group);
      first += row.count;
    }
    finish_group(group);
    layout_.groups.push_back(std::move(group));
  }

  void add_counted(const std::string& name) {
    std::uint64_t first = 0;
    for (const auto& row : hardware_.gres) {
      if (row.name != name) continue;
      const GresId id = exact_id(row);
      auto at = std::ranges::find(layout_.counted, id, &CountedGres::gres);
      if (at == layout_.counted.end()) {
        layout_.spans[id] = {next_, 1, true, 0};
        at = layout_.counted.insert(at, {id, name, next_++, {}});
      }
      const std::uint64_t count = std::min(row.count, kMaxDevices - first);
      at->runs.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
      first += count;
    }
  }

  GresId exact_id(const model::NodeGres& row) const {
    for (const GresId id : columns_.gres_ids(row.name, {}))
      if (columns_.gres_type(id) == row.type) return id;
    return 0;
  }

  const model::NodeHardware& hardware_;
  const Columns& columns_;
  NodeLayout layout_;
  std::size_t next_;
};

// Word by word: every node of the cluster is counted so.
Amount free_singles(const Bits& used, const Bits& kept, std::size_t first, std::size_t last) {
  Amount busy = 0;
  // Mostly all or nothing; without a machine instruction to rely on, counting bits is dear.
  const auto count = [&](std::uint64_t word) {
    busy += word == 0 || ~word == 0 ? static_cast<int>(word & 64) : std::popcount(word);
  };
  std::size_t w = first / 64;
  if (first % 64 == 0 && kept.empty())
    for (const std::size_t whole = std::min(last / 64, used.size()); w < whole; ++w) count(used[w]);
  for (; w * 64 < last; ++w) {
    std::uint64_t word = (w < used.size() ? used[w] : 0) | (w < kept.size() ? kept[w] : 0);
    if (w * 64 < first) word &= ~std::uint64_t{0} << (first - w * 64);
    if ((w + 1) * 64 > last) word &= ~std::uint64_t{0} >> ((w + 1) * 64 - last);
    count(word);
  }
  return static_cast<Amount>(last - first) - busy;
}

Amount free_in(const Bits& used, const Bits& kept, Amount first, Amount last, Amount unit) {
  if (unit == 1) return free_singles(used, kept, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
  Amount free = 0;
  for (Amount core = first; core + unit <= last; core += unit) {
    bool busy = false;
    for (Amount cpu = core; cpu < core + unit; ++cpu)
      busy |= bit(used, static_cast<std::size_t>(cpu)) || bit(kept, static_cast<std::size_t>(cpu));
    free += busy ? 0 : unit;
  }
  return free;
}

}  // namespace

bool is_share_of_gpu(std::string_view gres) {
  return gres == "shard" || gres == "mps";
}

Columns::Columns(const model::View& view) : topologies_(topologies_of(view)) {
  std::set<std::pair<std::string, std::string>> kinds;
  std::size_t most = 0;
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    const auto& hardware = node->hardware;
    std::size_t own = socket_columns(hardware);
    for (const auto& gres : hardware.gres) {
      if (is_share_here(hardware, gres)) continue;
      if (!kinds.contains({gres.name, gres.type})) kinds.emplace(gres.name, gres.type);
      own += is_single_devices(hardware, gres) ? gres.count : 1;
    }
    most = std::max(most, own);
  });
  gres_.assign(kinds.begin(), kinds.end());
  first_of_node_ = kFirstLimit;
  for (const auto& partition : *view.partitions)
    partition_limit_.push_back(partition.config.max_cpus_per_node ? first_of_node_++ : 0);
  width_ = first_of_node_ + most;
}

std::vector<GresId> Columns::gres_ids(std::string_view name, std::string_view type) const {
  std::vector<GresId> found;
  for (GresId id = 0; id < gres_.size(); ++id)
    if (gres_[id].first == name && (type.empty() || gres_[id].second == type)) found.push_back(id);
  return found;
}

std::int32_t DeviceGroup::links_within(std::uint64_t mask) const {
  if (!sums.empty()) return sums[mask];
  std::int32_t sum = 0;
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = a + 1; b < devices.size() && (mask >> a & 1); ++b)
      if (mask >> b & 1) sum += link(a, b);
  return sum;
}

const DeviceGroup* NodeLayout::group(std::string_view name) const {
  const auto at = std::ranges::find(groups, name, &DeviceGroup::name);
  return at == groups.end() ? nullptr : &*at;
}

std::vector<std::uint64_t> kept_cpus(const model::NodeHardware& hardware, CoreSpec spec, Amount unit) {
  Bits bits;
  const std::uint32_t sockets = std::max(1u, hardware.sockets), threads = threads_of(hardware);
  const std::uint32_t cores = hardware.cpus / threads, per_socket = std::max(1u, cores / sockets);
  std::uint64_t left = spec.threads ? spec.count : std::uint64_t{spec.count} * threads;
  for (std::uint32_t core = per_socket; core-- > 0 && left > 0;)
    for (std::uint32_t socket = sockets; socket-- > 0 && left > 0;) {
      if (left < threads && unit > 1) return bits;
      const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, threads));
      for (std::uint32_t thread = threads - here; thread < threads; ++thread)
        set_bit(bits, (socket * per_socket + core) * threads + thread);
      left -= here;
    }
  return bits;
}

Amount cpus_beside(const model::NodeHardware& hardware, CoreSpec spec, Amount unit) {
  return free_in({}, kept_cpus(hardware, spec, unit), 0, static_cast<Amount>(hardware.cpus), unit);
}

NodeLayout make_layout(const model::NodeHardware& hardware, const Columns& columns, bool cores_whole) {
  return LayoutMaker(hardware, columns, cores_whole).make();
}

void fill_total(const NodeLayout& layout, const model::NodeHardware& hardware, Amount* row) {
  const auto cpus = static_cast<Amount>(hardware.cpus);
  row[Columns::kCpu] = layout.reserved_cpus.empty() ? cpus : free_in({}, layout.reserved_cpus, 0, cpus, layout.unit);
  row[Columns::kMemory] =
      static_cast<Amount>(hardware.memory_mib - std::min(hardware.memory_mib, hardware.spec_memory_mib));
  if (layout.first_socket)
    for (Amount s = 0; s < layout.sockets; ++s)
      row[layout.first_socket + static_cast<std::size_t>(s)] =
          layout.reserved_cpus.empty() ? layout.cpus_per_socket
                                       : free_in({}, layout.reserved_cpus, s * layout.cpus_per_socket,
                                                 (s + 1) * layout.cpus_per_socket, layout.unit);
  for (const auto& group : layout.groups)
    for (const auto& device : group.devices) row[device.column] = device.capacity;
  for (const auto& counted : layout.counted) {
    row[counted.column] = 0;
    for (const auto& run : counted.runs) row[counted.column] += run.count;
  }
}

void subtract_used(const NodeLayout& layout, const model::Node& node, bool memory_counts, Amount* row) {
  const auto cpus = static_cast<Amount>(node.hardware.cpus);
  if (layout.unit == 1 && !layout.first_socket && layout.reserved_cpus.empty()) {
    row[Columns::kCpu] -= static_cast<Amount>(node.cpus_allocated);  // each is as good as the other
  } else if (std::ranges::any_of(node.cpus_in_use, [](std::uint64_t word) { return word != 0; })) {
    row[Columns::kCpu] = free_in(node.cpus_in_use, layout.reserved_cpus, 0, cpus, layout.unit);
    for (Amount s = 0; layout.first_socket && s < layout.sockets; ++s)
      row[layout.first_socket + static_cast<std::size_t>(s)] =
          free_in(node.cpus_in_use, layout.reserved_cpus, s * layout.cpus_per_socket,
                  (s + 1) * layout.cpus_per_socket, layout.unit);
  }
  if (memory_counts)
    row[Columns::kMemory] =
        std::max<Amount>(0, row[Columns::kMemory] - static_cast<Amount>(node.memory_allocated_mib));
  for (const auto& used : node.devices_in_use) {
    const bool shares = is_share_of_gpu(used.gres);
    if (const DeviceGroup* group = layout.group(shares ? "gpu" : used.gres);
        group && (!shares || used.gres == group->shared_as)) {
      for (std::size_t d = 0; d < group->devices.size(); ++d) {
        const Device& device = group->devices[d];
        if (shares)
          row[device.column] -= d < used.shares.size() ? used.shares[d] : 0;
        else if (bit(used.bits, d))
          row[device.column] -= device.capacity;
      }
      continue;
    }
    for (const auto& counted : layout.counted)
      if (used.gres == counted.name)
        for (const auto& run : counted.runs)
          for (std::uint32_t d = 0; d < run.count; ++d) row[counted.column] -= bit(used.bits, run.first + d);
  }
}

void add_cpus(const NodeLayout& layout, std::span<const model::CpuNumber> cpus, Amount* row) {
  if (layout.unit == 1 && !layout.first_socket && layout.reserved_cpus.empty()) {
    row[Columns::kCpu] += static_cast<Amount>(cpus.size());
    return;
  }
  Amount last_core = -1;
  for (const model::CpuNumber cpu : cpus) {  // ascending
    if (cpu / layout.unit == last_core || bit(layout.reserved_cpus, cpu)) continue;
    last_core = cpu / layout.unit;
    row[Columns::kCpu] += layout.unit;
    if (layout.first_socket)
      row[layout.first_socket + static_cast<std::size_t>(std::min<Amount>(cpu / layout.cpus_per_socket,
                                                                          layout.sockets - 1))] += layout.unit;
  }
}

void add_devices(const NodeLayout& layout, const std::vector<model::DeviceGrant>& devices, Amount* row) {
  for (const auto& grant : devices) {
    const bool shares = !grant.shares.empty();
    if (const DeviceGroup* group = layout.group(shares ? "gpu" : grant.gres)) {
      for (std::size_t i = 0; i < grant.indices.size(); ++i) {
        if (grant.indices[i] >= group->devices.size()) continue;
        const Device& device = group->devices[grant.indices[i]];
        row[device.column] += shares ? Amount{grant.shares[i]} : device.capacity;
      }
      continue;
    }
    for (const std::uint32_t index : grant.indices)
      for (const auto& counted : layout.counted)
        for (const auto& run : counted.runs)
          if (counted.name == grant.gres && index - run.first < run.count) ++row[counted.column];
  }
}

}  // namespace spur::sched
