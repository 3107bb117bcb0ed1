// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 without a driver: two GPUs with four links between them, a third that is cut into two parts and
// has none. FAKE_NVML_ECC=<n>: uncorrectable errors of the first; FAKE_NVML_XID=<n>: one event of the second;
// FAKE_NVML_GONE=1: the second is off the bus.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Rates {
  unsigned gpu, memory;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gi, ci;
};

constexpr int kOk = 0, kInvalid = 2, kNotSupported = 3, kNotFound = 6, kTimeout = 10, kLost = 15;

// Handles: 1..3 whole devices, 31 and 32 the parts of the third.
void* handle(std::uintptr_t n) {
  return reinterpret_cast<void*>(n);
}
std::uintptr_t number(void* device) {
  return reinterpret_cast<std::uintptr_t>(device);
}
unsigned whole(void* device) {
  return static_cast<unsigned>(number(device) > 10 ? number(device) / 10 : number(device));
}
unsigned long long setting(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}
bool event_told = false;

}  // namespace

extern "C" {
int nvmlInit_v2() {
  event_told = false;
  return kOk;
}
int nvmlShutdown() {
  return kOk;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 2) return kInvalid;
  if (index == 1 && setting("FAKE_NVML_GONE")) return kLost;
  *device = handle(index + 1);
  return kOk;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  const char* text = number(device) > 10 ? "NVIDIA A100-SXM4-40GB MIG 3g.20gb" : "NVIDIA A100-SXM4-40GB";
  std::snprintf(name, length, "%s", text);
  return kOk;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "%s-%u", number(device) > 10 ? "MIG" : "GPU", static_cast<unsigned>(number(device)));
  return kOk;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = whole(device) - 1;
  return kOk;
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = 0x10 * whole(device);
  return kOk;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = (number(device) > 10 ? 20ull : 40ull) << 30;
  memory->used = 3ull << 30;
  memory->free = memory->total - memory->used;
  return kOk;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (link > 11) return kInvalid;
  *active = whole(device) < 3 && link < 4;
  return kOk;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, Pci* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = whole(device) == 1 ? 0x20 : 0x10;
  return kOk;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* later) {
  *now = *later = whole(device) == 3;
  return kOk;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return kOk;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** device) {
  if (index != 0 && index != 2) return kNotFound;
  *device = handle(index == 0 ? 31 : 32);
  return kOk;
}
int nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) {
  *id = static_cast<unsigned>(number(device) - 30);
  return kOk;
}
int nvmlDeviceGetComputeInstanceId(void*, unsigned* id) {
  *id = 0;
  return kOk;
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned kind, unsigned, unsigned long long* count) {
  *count = kind == 1 && number(device) == 1 ? setting("FAKE_NVML_ECC") : 0;
  return kOk;
}
int nvmlDeviceGetUtilizationRates(void* device, Rates* rates) {
  if (number(device) > 10) return kNotSupported;
  *rates = {75, 20};
  return kOk;
}
int nvmlEventSetCreate(void** set) {
  *set = handle(99);
  return kOk;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) {
  return kOk;
}
int nvmlEventSetWait_v2(void*, Event* event, unsigned) {
  const auto xid = setting("FAKE_NVML_XID");
  if (xid == 0 || event_told) return kTimeout;
  event_told = true;
  *event = {handle(2), 8, xid, 0, 0};
  return kOk;
}
int nvmlEventSetFree(void*) {
  return kOk;
}
}
