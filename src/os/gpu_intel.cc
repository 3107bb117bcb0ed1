// SPDX-License-Identifier: Apache-2.0
// Intel's discrete GPUs from /sys/class/drm. Those built into processors share the machine's memory and are none that
// jobs are given.
#include <fmt/format.h>

#include "os/gpu.h"
#include "os/sysfs.h"

namespace spur::os {
namespace {

constexpr std::uint64_t kIntel = 0x8086, kMiB = 1u << 20;

struct IntelModel {
  std::uint64_t device;
  std::string_view type;
};
constexpr IntelModel kIntelModels[] = {{0x0bd5, "max_1550"}, {0x0bd6, "max_1450"}, {0x0bd9, "max_1100"}, {0x0bda, "max_1100"},
                             {0x0bdb, "max_1100"}, {0x56c0, "flex_170"}, {0x56c1, "flex_140"}};

// 0 where it has none of its own.
std::uint64_t memory_of_card(const std::string& card_dir) {
  if (const auto bytes = sysfs_number(card_dir + "/lmem_total_bytes")) return *bytes / kMiB;  // i915
  std::uint64_t mib = 0;                                                                      // xe: tile by tile
  for (const auto& tile : sysfs_list(card_dir + "/device"))
    if (tile.starts_with("tile"))
      mib += sysfs_number(fmt::format("{}/device/{}/physical_vram_size_bytes", card_dir, tile)).value_or(0) / kMiB;
  return mib;
}

}  // namespace

std::vector<Gpu> find_intel_gpus(const std::string& root) {
  std::vector<Gpu> out;
  const std::string drm = root + "/sys/class/drm";
  for (const auto& name : sysfs_list(drm)) {
    if (!name.starts_with("card") || name.find('-') != std::string::npos) continue;
    const std::string card = drm + "/" + name, device = card + "/device";
    if (sysfs_number(device + "/vendor").value_or(0) != kIntel) continue;
    const std::uint64_t number = sysfs_number(device + "/device").value_or(0), memory = memory_of_card(card);
    std::string type;
    for (const IntelModel& model : kIntelModels)
      if (model.device == number) type = model.type;
    if (type.empty() && memory == 0) continue;
    Gpu& gpu = out.emplace_back();
    gpu.vendor = "intel";
    gpu.type = type.empty() ? fmt::format("intel_{:04x}", number) : type;
    const std::string uevent = sysfs_text(device + "/uevent");
    if (const auto at = uevent.find("PCI_SLOT_NAME="); at != std::string::npos)
      gpu.pci = uevent.substr(at + 14, uevent.find('\n', at) - at - 14);
    gpu.id = gpu.pci.empty() ? name : gpu.pci;
    for (const auto& node : sysfs_list(device + "/drm"))
      if (node.starts_with("renderD")) gpu.files.push_back("/dev/dri/" + node);
    gpu.files.push_back("/dev/dri/" + name);
    gpu.cpus = sysfs_text(device + "/local_cpulist");
    if (const auto numa = sysfs_number(device + "/numa_node")) gpu.numa_node = static_cast<int>(*numa);
    gpu.memory_mib = memory;
  }
  return out;
}

}  // namespace spur::os
