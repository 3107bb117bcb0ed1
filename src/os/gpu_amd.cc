// SPDX-License-Identifier: Apache-2.0
// AMD GPUs from the topology that the KFD driver shows: /sys/class/kfd/kfd/topology/nodes/<n>, one node per GPU or
// partition of one (and per processor, which are passed over), with the links between nodes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "os/gpu.h"
#include "os/sysfs.h"

namespace spur::os {
namespace {

constexpr std::uint64_t kXgmi = 11;               // CRAT's number for the kind of link
constexpr std::uint64_t kLinkMegabytes = 50'000;  // per second, of one XGMI link
constexpr std::uint64_t kVramMiB = 1u << 20;

struct AmdModel {
  std::uint64_t device;
  std::string_view type;
};
// Instinct accelerators by PCI device number, for boards that do not tell their name.
constexpr AmdModel kAmdModels[] = {{0x66a0, "mi60"},   {0x66a1, "mi50"},   {0x738c, "mi100"},  {0x738e, "mi100"},
                             {0x7408, "mi250x"}, {0x740c, "mi250"},  {0x740f, "mi210"},  {0x74a0, "mi300a"},
                             {0x74a1, "mi300x"}, {0x74a2, "mi308x"}, {0x74a5, "mi325x"}, {0x75a0, "mi350x"},
                             {0x75a3, "mi355x"}};

std::string type_of(const std::string& pci_dir, std::uint64_t device, const std::string& node_dir) {
  if (const auto product = type_name(sysfs_text(pci_dir + "/product_name")); !product.empty()) return product;
  for (const AmdModel& model : kAmdModels)
    if (model.device == device) return std::string(model.type);
  const std::string name = type_name(sysfs_text(node_dir + "/name"));
  return name.empty() ? "amd" : name;
}

std::vector<std::string> files_of(const std::string& root, std::uint64_t render) {
  std::vector<std::string> out{fmt::format("/dev/dri/renderD{}", render)};
  for (const auto& name : sysfs_list(fmt::format("{}/sys/class/drm/renderD{}/device/drm", root, render)))
    if (name.starts_with("card") && name.find('-') == std::string::npos) out.push_back("/dev/dri/" + name);
  return out;
}

std::uint64_t memory_of(const std::string& node_dir) {
  std::uint64_t bytes = 0;
  for (const auto& bank : sysfs_list(node_dir + "/mem_banks")) {
    const auto text = sysfs_text(fmt::format("{}/mem_banks/{}/properties", node_dir, bank));
    if (const auto heap = sysfs_property(text, "heap_type").value_or(0); heap == 1 || heap == 2)
      bytes += sysfs_property(text, "size_in_bytes").value_or(0);
  }
  return bytes / kVramMiB;
}

std::string partition_of(const std::string& pci_dir) {
  const auto compute = sysfs_text(pci_dir + "/current_compute_partition");
  const auto memory = sysfs_text(pci_dir + "/current_memory_partition");
  if (compute.empty() || (compute == "SPX" && (memory.empty() || memory == "NPS1"))) return {};
  return memory.empty() ? compute : fmt::format("{}/{}", compute, memory);
}

// Errors that memory or logic could not correct, counted since the driver was loaded.
std::string ras_problem(const std::string& pci_dir) {
  for (const auto& name : sysfs_list(pci_dir + "/ras")) {
    if (!name.ends_with("_err_count")) continue;
    const auto count = sysfs_property(sysfs_text(fmt::format("{}/ras/{}", pci_dir, name)), "ue");
    if (count.value_or(0) > 0)
      return fmt::format("{} uncorrectable errors ({})", *count, name.substr(0, name.size() - 10));
  }
  return {};
}

Gpu read_gpu(const std::string& root, const std::string& node_dir, const std::string& properties) {
  const auto value = [&](const char* key) { return sysfs_property(properties, key).value_or(0); };
  Gpu gpu;
  gpu.vendor = "amd";
  const std::uint64_t at = value("location_id");
  gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", value("domain"), at >> 8 & 0xff, at >> 3 & 0x1f, at & 7);
  const std::string pci_dir = fmt::format("{}/sys/bus/pci/devices/{}", root, gpu.pci);
  gpu.type = type_of(pci_dir, value("device_id"), node_dir);
  gpu.files = files_of(root, value("drm_render_minor"));
  gpu.id = fmt::format("{:x}", value("unique_id"));
  if (value("unique_id") == 0) gpu.id = gpu.pci;
  gpu.cpus = sysfs_text(pci_dir + "/local_cpulist");
  if (const auto numa = sysfs_number(pci_dir + "/numa_node")) gpu.numa_node = static_cast<int>(*numa);
  gpu.memory_mib = memory_of(node_dir);
  gpu.hive = value("hive_id");
  gpu.partition = partition_of(pci_dir);
  gpu.problem = ras_problem(pci_dir);
  return gpu;
}

}  // namespace

std::vector<Gpu> find_amd_gpus(const std::string& root) {
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  std::vector<Gpu> out;
  std::map<std::uint64_t, std::size_t> by_node;
  std::vector<std::string> dirs;
  for (const auto& name : sysfs_list(nodes)) {
    const std::string dir = nodes + "/" + name;
    // A node without a GPU has gpu_id 0; one that a cgroup or container hides cannot be read.
    if (sysfs_number(dir + "/gpu_id").value_or(0) == 0) continue;
    const std::string properties = sysfs_text(dir + "/properties");
    if (sysfs_property(properties, "simd_count").value_or(0) == 0) continue;
    by_node[std::strtoull(name.c_str(), nullptr, 10)] = out.size();
    dirs.push_back(dir);
    out.push_back(read_gpu(root, dir, properties));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].links.assign(out.size(), 0);
    for (const auto& link : sysfs_list(dirs[i] + "/io_links")) {
      const std::string text = sysfs_text(fmt::format("{}/io_links/{}/properties", dirs[i], link));
      const auto to = by_node.find(sysfs_property(text, "node_to").value_or(~0ull));
      if (to == by_node.end() || to->second == i || sysfs_property(text, "type").value_or(0) != kXgmi) continue;
      const auto links = sysfs_property(text, "max_bandwidth").value_or(0) / kLinkMegabytes;
      out[i].links[to->second] = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, links));
    }
  }
  return out;
}

GpuLoad amd_load(const std::string& root, const Gpu& gpu) {
  const std::string dir = fmt::format("{}/sys/bus/pci/devices/{}", root, gpu.pci);
  return {.memory_mib = sysfs_number(dir + "/mem_info_vram_used").value_or(0) / kVramMiB,
          .percent = static_cast<std::uint32_t>(sysfs_number(dir + "/gpu_busy_percent").value_or(0))};
}

}  // namespace spur::os
