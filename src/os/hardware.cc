// SPDX-License-Identifier: Apache-2.0
#include "os/hardware.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "os/cpu_map.h"
#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::uint64_t kMemoryMiB = 1u << 20;

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Result<Topology> load_topology(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail_errno("cannot start hwloc", errno);
  Topology topology(raw);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0)
    return fail(ErrorCode::InvalidArgument, fmt::format("hwloc does not understand the machine \"{}\"", synthetic));
  // Processors outside our own cpuset belong to the node as well.
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0)
    return fail_errno("cannot set up hwloc", errno);
  // Caches, NUMA nodes, devices: not asked for here, and slow to look up on large machines.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return fail_errno("cannot examine the processors", errno);
  return topology;
}

std::uint32_t count(const Topology& topology, hwloc_obj_type_t type) {
  const int number = hwloc_get_nbobjs_by_type(topology.get(), type);
  return number > 0 ? static_cast<std::uint32_t>(number) : 0;
}

// Where packages or cores differ from each other (or the hypervisor hides them), the numbers per socket and per core
// are rounded down; `cpus` is always the true count.
Status count_processors(const std::string& synthetic, Machine& machine) {
  model::NodeHardware& hardware = machine.hardware;
  SPUR_ASSIGN(const Topology topology, load_topology(synthetic));
  hardware.cpus = count(topology, HWLOC_OBJ_PU);
  if (hardware.cpus == 0) return fail(ErrorCode::Internal, "hwloc found no processor");
  for (hwloc_obj_t cpu = nullptr; (cpu = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, cpu)) != nullptr;)
    machine.cpu_numbers.push_back(cpu->os_index);
  // The step daemon binds tasks by the same numbers; where two readings of a machine could differ, its own counts.
  if (const CpuMap map = read_cpu_map(); synthetic.empty() && map.cpus.size() == machine.cpu_numbers.size())
    std::ranges::transform(map.cpus, machine.cpu_numbers.begin(), &CpuPlace::os);
  hardware.boards = 1;
  hardware.sockets = std::max(1u, count(topology, HWLOC_OBJ_PACKAGE));
  std::uint32_t cores = count(topology, HWLOC_OBJ_CORE);
  if (cores == 0) cores = hardware.cpus;
  hardware.cores_per_socket = std::max(1u, cores / hardware.sockets);
  hardware.threads_per_core = std::max(1u, hardware.cpus / cores);
  return {};
}

Result<Time> read_boot_time() {
  SPUR_ASSIGN(const std::string stat, read_file("/proc/stat", std::size_t{16} << 20));
  constexpr std::string_view kKey = "\nbtime ";
  const auto at = stat.find(kKey);
  std::int64_t value = 0;
  if (at != std::string::npos) std::from_chars(stat.data() + at + kKey.size(), stat.data() + stat.size(), value);
  if (value <= 0) return fail(ErrorCode::Internal, "/proc/stat does not say when the machine was started");
  return from_unix_seconds(value);
}

}  // namespace

Result<Machine> discover_machine(const HardwareOptions& options) {
  Machine machine;
  SPUR_TRY(count_processors(options.synthetic, machine));

  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return fail_errno("cannot find out the size of the memory", errno);
  machine.hardware.memory_mib = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) / kMemoryMiB;

  struct statvfs disk{};
  if (::statvfs(options.tmp_dir.c_str(), &disk) != 0)
    return fail_errno(fmt::format("cannot examine the temporary directory {}", options.tmp_dir), errno);
  machine.hardware.tmp_disk_mib = std::uint64_t{disk.f_blocks} * disk.f_frsize / kMemoryMiB;

  utsname names{};
  if (::uname(&names) != 0) return fail_errno("uname", errno);
  machine.os = fmt::format("{} {} {}", names.sysname, names.release, names.version);
  machine.arch = names.machine;
  machine.hostname = names.nodename;
  machine.hostname.resize(std::min(machine.hostname.find('.'), machine.hostname.size()));
  SPUR_ASSIGN(machine.boot_time, read_boot_time());
  return machine;
}

MachineLoad sample_load() {
  MachineLoad load;
  double average = 0;
  if (::getloadavg(&average, 1) == 1) load.load_hundredths = static_cast<std::uint32_t>(std::lround(average * 100));
  struct sysinfo info{};
  if (::sysinfo(&info) == 0) load.free_memory_mib = std::uint64_t{info.freeram} * info.mem_unit / kMemoryMiB;
  return load;
}

}  // namespace spur::os
