// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs through NVML. Its headers are not free to ship, so the few calls that are needed are declared here,
// by the library's published interface; the library itself comes with the driver and is loaded when the agent starts.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "os/gpu.h"
#include "os/sysfs.h"

namespace spur::os {
namespace {

using Device = void*;
using EventSet = void*;
constexpr int kSuccess = 0;
constexpr unsigned kMostLinks = 18, kMigEnabled = 1, kUncorrected = 1, kSinceBoot = 0, kNameBytes = 96;
constexpr unsigned long long kXidEvent = 8;
constexpr std::uint64_t kNvmlMiB = 1u << 20;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

// The driver's messages that tell of a program's mistake and not of the device (NVIDIA's list of XID errors).
bool is_programs_fault(unsigned long long xid) {
  static constexpr unsigned long long kPrograms[] = {13, 31, 43, 45, 68, 109};
  return std::ranges::find(kPrograms, xid) != std::end(kPrograms);
}

// "00000000:3B:00.0" to sysfs's "0000:3b:00.0".
std::string pci_name(const PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

struct Library {
  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*minor)(Device, unsigned*) = nullptr;
  int (*pci)(Device, PciInfo*) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  // What an older driver may not have.
  int (*link_state)(Device, unsigned, unsigned*) = nullptr;
  int (*link_remote)(Device, unsigned, PciInfo*) = nullptr;
  int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  int (*mig_count)(Device, unsigned*) = nullptr;
  int (*mig_by_index)(Device, unsigned, Device*) = nullptr;
  int (*gpu_instance)(Device, unsigned*) = nullptr;
  int (*compute_instance)(Device, unsigned*) = nullptr;
  int (*ecc_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*event_set)(EventSet*) = nullptr;
  int (*register_events)(Device, unsigned long long, EventSet) = nullptr;
  int (*next_event)(EventSet, EventData*, unsigned) = nullptr;
  int (*free_events)(EventSet) = nullptr;

  template <class F>
  bool find(F& into, const char* symbol) {
    into = reinterpret_cast<F>(::dlsym(handle, symbol));
    return into != nullptr;
  }
  bool find_all() {
    find(link_state, "nvmlDeviceGetNvLinkState");
    find(link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    find(mig_mode, "nvmlDeviceGetMigMode");
    find(mig_count, "nvmlDeviceGetMaxMigDeviceCount");
    find(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
    find(gpu_instance, "nvmlDeviceGetGpuInstanceId");
    find(compute_instance, "nvmlDeviceGetComputeInstanceId");
    find(ecc_errors, "nvmlDeviceGetTotalEccErrors");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(event_set, "nvmlEventSetCreate");
    find(register_events, "nvmlDeviceRegisterEvents");
    find(next_event, "nvmlEventSetWait_v2");
    find(free_events, "nvmlEventSetFree");
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") && find(count, "nvmlDeviceGetCount_v2") &&
           find(by_index, "nvmlDeviceGetHandleByIndex_v2") && find(name, "nvmlDeviceGetName") &&
           find(uuid, "nvmlDeviceGetUUID") && find(minor, "nvmlDeviceGetMinorNumber") &&
           find(pci, "nvmlDeviceGetPciInfo_v3") && find(memory, "nvmlDeviceGetMemoryInfo");
  }
};

class LoadedNvml final : public Nvml {
 public:
  explicit LoadedNvml(Library library) : nvml_(library) {
    if (!nvml_.event_set || !nvml_.register_events || !nvml_.next_event) return;
    if (nvml_.event_set(&events_) != kSuccess) events_ = nullptr;
  }
  ~LoadedNvml() override {
    if (events_ && nvml_.free_events) nvml_.free_events(events_);
    nvml_.shutdown();
    ::dlclose(nvml_.handle);
  }

  std::vector<Gpu> find(const std::string& root) override {
    take_events();
    std::vector<Gpu> out;
    devices_.clear();
    unsigned count = 0;
    if (nvml_.count(&count) != kSuccess) return out;
    std::vector<Device> whole;  // by GPU of `out`: the device it is, or is part of
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      if (nvml_.by_index(i, &device) != kSuccess) continue;  // off the bus: missing from the list
      if (events_ && watched_.insert(device).second) nvml_.register_events(device, kXidEvent, events_);
      const Gpu gpu = describe(root, device);
      const std::size_t before = out.size();
      add_partitions(root, device, gpu, out);
      if (out.size() == before) {
        devices_[gpu.id] = device;
        out.push_back(gpu);
      }
      whole.resize(out.size(), device);
    }
    link(whole, out);
    return out;
  }

  GpuLoad load(const std::string& id) override {
    const auto it = devices_.find(id);
    if (it == devices_.end()) return {};
    GpuLoad out;
    MemoryInfo memory{};
    if (nvml_.memory(it->second, &memory) == kSuccess) out.memory_mib = memory.used / kNvmlMiB;
    Utilization busy{};
    if (nvml_.utilization && nvml_.utilization(it->second, &busy) == kSuccess) out.percent = busy.gpu;
    return out;
  }

 private:
  std::string text(int (*get)(Device, char*, unsigned), Device device) const {
    char buffer[kNameBytes] = "";
    return get(device, buffer, sizeof buffer) == kSuccess ? std::string(buffer) : std::string();
  }

  Gpu describe(const std::string& root, Device device) const {
    Gpu gpu;
    gpu.vendor = "nvidia";
    gpu.type = type_name(text(nvml_.name, device));
    gpu.id = text(nvml_.uuid, device);
    PciInfo pci{};
    if (nvml_.pci(device, &pci) == kSuccess) gpu.pci = pci_name(pci);
    unsigned minor = 0;
    if (nvml_.minor(device, &minor) == kSuccess) gpu.files.push_back(fmt::format("/dev/nvidia{}", minor));
    MemoryInfo memory{};
    if (nvml_.memory(device, &memory) == kSuccess) gpu.memory_mib = memory.total / kNvmlMiB;
    const std::string dir = fmt::format("{}/sys/bus/pci/devices/{}", root, gpu.pci);
    gpu.cpus = sysfs_text(dir + "/local_cpulist");
    if (const auto numa = sysfs_number(dir + "/numa_node")) gpu.numa_node = static_cast<int>(*numa);
    unsigned long long errors = 0;
    if (nvml_.ecc_errors && nvml_.ecc_errors(device, kUncorrected, kSinceBoot, &errors) == kSuccess && errors > 0)
      gpu.problem = fmt::format("{} uncorrectable ECC errors", errors);
    if (const auto xid = xids_.find(device); xid != xids_.end()) gpu.problem = fmt::format("XID {}", xid->second);
    return gpu;
  }

  // MIG: the parts of a device that was cut up. Each is opened through its own capability files.
  void add_partitions(const std::string& root, Device device, const Gpu& parent, std::vector<Gpu>& out) {
    unsigned now = 0, later = 0, count = 0;
    if (!nvml_.mig_mode || !nvml_.mig_count || !nvml_.mig_by_index || !nvml_.gpu_instance || !nvml_.compute_instance)
      return;
    if (nvml_.mig_mode(device, &now, &later) != kSuccess || now != kMigEnabled) return;
    if (nvml_.mig_count(device, &count) != kSuccess) return;
    const std::string minors = sysfs_text(root + "/proc/driver/nvidia-caps/mig-minors");
    const std::string gpu_number = parent.files.empty() ? "0" : parent.files[0].substr(11);
    for (unsigned i = 0; i < count; ++i) {
      Device part = nullptr;
      unsigned gi = 0, ci = 0;
      if (nvml_.mig_by_index(device, i, &part) != kSuccess) continue;  // numbers have gaps
      if (nvml_.gpu_instance(part, &gi) != kSuccess || nvml_.compute_instance(part, &ci) != kSuccess) continue;
      Gpu gpu = parent;
      gpu.id = text(nvml_.uuid, part);
      const std::string name = text(nvml_.name, part);
      if (const auto at = name.find("MIG "); at != std::string::npos) gpu.partition = type_name(name.substr(at + 4));
      gpu.type = gpu.partition.empty() ? type_name(name) : fmt::format("{}_{}", parent.type, gpu.partition);
      MemoryInfo memory{};
      if (nvml_.memory(part, &memory) == kSuccess) gpu.memory_mib = memory.total / kNvmlMiB;
      // What is its alone stands for it; the device itself it shares with the other parts.
      std::vector<std::string> files;
      for (const auto& key : {fmt::format("gpu{}/gi{}/ci{}/access", gpu_number, gi, ci),
                              fmt::format("gpu{}/gi{}/access", gpu_number, gi)})
        if (const auto minor = sysfs_property(minors, key))
          files.push_back(fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor));
      gpu.files.insert(gpu.files.begin(), files.begin(), files.end());
      devices_[gpu.id] = part;
      out.push_back(std::move(gpu));
    }
  }

  // Links go to another GPU, or to switches, which join all GPUs that have such links.
  void link(const std::vector<Device>& whole, std::vector<Gpu>& gpus) const {
    std::vector<std::uint32_t> to_switch(gpus.size(), 0);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].links.assign(gpus.size(), 0);
      if (!nvml_.link_state || !nvml_.link_remote || !gpus[i].partition.empty()) continue;
      for (unsigned n = 0; n < kMostLinks; ++n) {
        unsigned active = 0;
        PciInfo remote{};
        if (nvml_.link_state(whole[i], n, &active) != kSuccess || active == 0) continue;
        if (nvml_.link_remote(whole[i], n, &remote) != kSuccess) continue;
        const std::string name = pci_name(remote);
        const auto peer = std::ranges::find(gpus, name, &Gpu::pci);
        if (peer == gpus.end())
          ++to_switch[i];
        else if (peer->pci != gpus[i].pci)
          ++gpus[i].links[static_cast<std::size_t>(peer - gpus.begin())];
      }
    }
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (std::size_t k = 0; k < gpus.size(); ++k)
        if (i != k) gpus[i].links[k] += std::min(to_switch[i], to_switch[k]);
  }

  void take_events() {
    EventData event{};
    while (events_ && nvml_.next_event(events_, &event, 0) == kSuccess)
      if (event.type == kXidEvent && !is_programs_fault(event.data)) xids_[event.device] = event.data;
  }

  Library nvml_;
  EventSet events_ = nullptr;
  std::set<Device> watched_;
  std::map<Device, unsigned long long> xids_;
  std::map<std::string, Device> devices_;
};

}  // namespace

Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& library) {
  Library loaded;
  loaded.handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded.handle) return fail(ErrorCode::NotFound, fmt::format("{} is not installed", library));
  if (!loaded.find_all()) {
    ::dlclose(loaded.handle);
    return fail(ErrorCode::VersionMismatch, fmt::format("{} is too old", library));
  }
  if (const int error = loaded.init(); error != kSuccess) {
    ::dlclose(loaded.handle);
    return fail(ErrorCode::Unreachable, fmt::format("{} answers with error {}", library, error));
  }
  return std::make_unique<LoadedNvml>(loaded);
}

}  // namespace spur::os
