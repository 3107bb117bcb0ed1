// SPDX-License-Identifier: Apache-2.0
// GPUs of machines that are not there: trees of files like those of sysfs, and a library in NVML's place
// (tests/fake_nvml).
#include "os/gpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "os/sysfs.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

class FakeMachine {
 public:
  std::string root() { return dir_ / ""; }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  // A KFD node with a GPU at PCI bus `bus`, linked to `peers` (KFD nodes) with that many megabytes per second.
  void amd(int node, unsigned bus, int render, const std::vector<std::pair<int, unsigned>>& peers,
           unsigned device = 0x74a1) {
    const std::string dir = fmt::format("/sys/class/kfd/kfd/topology/nodes/{}", node);
    write(dir + "/gpu_id", std::to_string(1000 + node));
    write(dir + "/name", "ip discovery");
    write(dir + "/properties",
          fmt::format("cpu_cores_count 0\nsimd_count 1216\nvendor_id 4098\ndevice_id {}\nlocation_id {}\ndomain 0\n"
                      "drm_render_minor {}\nhive_id 777\nunique_id {}",
                      device, bus << 8, render, 0xabc0 + node));
    write(dir + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 206141652992\nflags 0");
    int link = 0;
    write(fmt::format("{}/io_links/{}/properties", dir, link++),
          fmt::format("type 2\nnode_from {}\nnode_to 0", node));
    for (const auto& [peer, speed] : peers)
      write(fmt::format("{}/io_links/{}/properties", dir, link++),
            fmt::format("type 11\nnode_from {}\nnode_to {}\nweight 15\nmax_bandwidth {}", node, peer, speed));
    const std::string pci = fmt::format("/sys/bus/pci/devices/0000:{:02x}:00.0", bus);
    write(pci + "/local_cpulist", bus < 0x50 ? "0-3,8-11" : "4-7,12-15");
    write(pci + "/numa_node", bus < 0x50 ? "0" : "1");
    write(pci + "/ras/umc_err_count", "ue: 0\nce: 5");
    write(pci + "/mem_info_vram_used", std::to_string(512u << 20));
    write(pci + "/gpu_busy_percent", "42");
    write(fmt::format("/sys/class/drm/renderD{}/device/drm/card{}/dev", render, render - 127), "226:0");
    write(fmt::format("/sys/class/drm/renderD{}/device/drm/renderD{}/dev", render, render), "226:128");
  }

 private:
  TestDirectory dir_;
};

TEST(Gpu, AmdFromTheKfdTopology) {
  FakeMachine machine;
  machine.write("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0");  // a processor
  machine.write("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 16\nsimd_count 0");
  machine.amd(1, 0x41, 128, {{2, 200'000}, {10, 50'000}});
  machine.amd(2, 0x42, 129, {{1, 200'000}});
  machine.amd(10, 0x61, 130, {{1, 10'000}}, 0x1234);
  machine.write("/sys/bus/pci/devices/0000:42:00.0/product_name", "AMD Instinct MI300X OAM");
  machine.write("/sys/bus/pci/devices/0000:61:00.0/current_compute_partition", "CPX");
  machine.write("/sys/bus/pci/devices/0000:61:00.0/current_memory_partition", "NPS4");
  machine.write("/sys/bus/pci/devices/0000:61:00.0/ras/gfx_err_count", "ue: 2\nce: 0");
  const auto gpus = find_amd_gpus(machine.root());
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].type, "mi300x");
  EXPECT_EQ(gpus[1].type, "amd_instinct_mi300x_oam");
  EXPECT_EQ(gpus[2].type, "ip_discovery");
  EXPECT_EQ(gpus[0].pci, "0000:41:00.0");
  EXPECT_EQ(gpus[0].files, (std::vector<std::string>{"/dev/dri/renderD128", "/dev/dri/card1"}));
  EXPECT_EQ(gpus[0].cpus, "0-3,8-11");
  EXPECT_EQ(gpus[2].numa_node, 1);
  EXPECT_EQ(gpus[0].memory_mib, 196592u);
  EXPECT_EQ(gpus[0].hive, 777u);
  EXPECT_EQ(gpus[0].partition, "");
  EXPECT_EQ(gpus[2].partition, "CPX/NPS4");
  EXPECT_EQ(gpus[0].links, (std::vector<std::uint32_t>{0, 4, 1}));
  EXPECT_EQ(gpus[1].links, (std::vector<std::uint32_t>{4, 0, 0}));
  EXPECT_EQ(gpus[2].links, (std::vector<std::uint32_t>{1, 0, 0}));
  EXPECT_EQ(gpus[0].problem, "");
  EXPECT_EQ(gpus[2].problem, "2 uncorrectable errors (gfx)");
  const auto load = amd_load(machine.root(), gpus[0]);
  EXPECT_EQ(load.memory_mib, 512u);
  EXPECT_EQ(load.percent, 42u);
}

TEST(Gpu, RowsAsInGresConf) {
  FakeMachine machine;
  machine.amd(1, 0x41, 128, {{2, 50'000}});
  machine.amd(2, 0x61, 129, {{1, 50'000}});
  machine.amd(3, 0x62, 130, {});
  // 16 CPUs: cores are pairs (0, 8), (1, 9) ... in our numbering.
  std::vector<std::uint32_t> cpus;
  for (std::uint32_t i = 0; i < 8; ++i) cpus.insert(cpus.end(), {i, i + 8});
  const auto rows = gres_of(find_amd_gpus(machine.root()), cpus, 2);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "gpu");
  EXPECT_EQ(rows[0].type, "mi300x");
  EXPECT_EQ(rows[0].count, 1u);
  EXPECT_EQ(rows[0].file, "/dev/dri/renderD128");
  EXPECT_EQ(rows[0].cores, "0-3");
  EXPECT_EQ(rows[1].cores, "4-7");
  EXPECT_EQ(rows[0].links, "-1,1,0");
  EXPECT_EQ(rows[1].links, "1,-1,0");
  EXPECT_EQ(rows[2].links, "");  // linked to none
}

TEST(Gpu, IntelFromDrm) {
  FakeMachine machine;
  const auto card = [&](int n, const char* vendor, const char* device) {
    const std::string dir = fmt::format("/sys/class/drm/card{}", n);
    machine.write(dir + "/device/vendor", vendor);
    machine.write(dir + "/device/device", device);
    machine.write(dir + "/device/uevent", fmt::format("DRIVER=i915\nPCI_SLOT_NAME=0000:{:02x}:00.0\nX=1", n));
    machine.write(fmt::format("{}/device/drm/renderD{}/dev", dir, 128 + n), "226:0");
    machine.write(dir + "/device/local_cpulist", "0-7");
    machine.write(dir + "/device/numa_node", "0");
  };
  card(0, "0x8086", "0x4680");  // in the processor
  card(1, "0x8086", "0x0bd5");
  card(2, "0x1a03", "0x2000");  // somebody else's
  card(10, "0x8086", "0x9999");
  machine.write("/sys/class/drm/card10/lmem_total_bytes", std::to_string(16ull << 30));
  machine.write("/sys/class/drm/card1-DP-1/status", "connected");
  const auto gpus = find_intel_gpus(machine.root());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].type, "max_1550");
  EXPECT_EQ(gpus[0].files, (std::vector<std::string>{"/dev/dri/renderD129", "/dev/dri/card1"}));
  EXPECT_EQ(gpus[0].pci, "0000:01:00.0");
  EXPECT_EQ(gpus[1].type, "intel_9999");
  EXPECT_EQ(gpus[1].memory_mib, 16384u);
}

TEST(Gpu, NothingThere) {
  FakeMachine machine;
  EXPECT_TRUE(find_amd_gpus(machine.root()).empty());
  EXPECT_TRUE(find_intel_gpus(machine.root()).empty());
  EXPECT_EQ(Nvml::open("libno-such-thing.so.1").error().code, ErrorCode::NotFound);
  EXPECT_EQ(Nvml::open("libm.so.6").error().code, ErrorCode::VersionMismatch);
}

TEST(Gpu, NvidiaThroughNvml) {
  FakeMachine machine;
  machine.write("/sys/bus/pci/devices/0000:10:00.0/local_cpulist", "0-3");
  machine.write("/sys/bus/pci/devices/0000:10:00.0/numa_node", "0");
  machine.write("/proc/driver/nvidia-caps/mig-minors",
                "config 1\nmonitor 2\ngpu2/gi1/access 30\ngpu2/gi1/ci0/access 31\ngpu2/gi2/access 39\n"
                "gpu2/gi2/ci0/access 40");
  auto nvml = Nvml::open(FAKE_NVML);
  ASSERT_TRUE(nvml) << nvml.error().message;
  const auto gpus = (*nvml)->find(machine.root());
  ASSERT_EQ(gpus.size(), 4u);
  EXPECT_EQ(gpus[0].type, "nvidia_a100-sxm4-40gb");
  EXPECT_EQ(gpus[0].id, "GPU-1");
  EXPECT_EQ(gpus[0].pci, "0000:10:00.0");
  EXPECT_EQ(gpus[0].files, std::vector<std::string>{"/dev/nvidia0"});
  EXPECT_EQ(gpus[0].cpus, "0-3");
  EXPECT_EQ(gpus[0].memory_mib, 40960u);
  EXPECT_EQ(gpus[0].links, (std::vector<std::uint32_t>{0, 4, 0, 0}));
  EXPECT_EQ(gpus[1].links, (std::vector<std::uint32_t>{4, 0, 0, 0}));
  EXPECT_EQ(gpus[2].type, "nvidia_a100-sxm4-40gb_3g.20gb");
  EXPECT_EQ(gpus[2].partition, "3g.20gb");
  EXPECT_EQ(gpus[2].id, "MIG-31");
  EXPECT_EQ(gpus[2].files, (std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap31", "/dev/nvidia-caps/nvidia-cap30",
                                                     "/dev/nvidia2"}));
  EXPECT_EQ(gpus[3].files[0], "/dev/nvidia-caps/nvidia-cap40");
  EXPECT_EQ(gpus[2].memory_mib, 20480u);
  EXPECT_EQ((*nvml)->load("GPU-1").percent, 75u);
  EXPECT_EQ((*nvml)->load("MIG-31").memory_mib, 3072u);
  EXPECT_EQ((*nvml)->load("none").memory_mib, 0u);
}

TEST(Gpu, HealthIsToldInOneSentence) {
  FakeMachine machine;
  auto nvml = Nvml::open(FAKE_NVML);
  ASSERT_TRUE(nvml);
  const auto before = (*nvml)->find(machine.root());
  EXPECT_EQ(gpu_problem(before, (*nvml)->find(machine.root())), "");
  ::setenv("FAKE_NVML_ECC", "3", 1);
  EXPECT_EQ(gpu_problem(before, (*nvml)->find(machine.root())), "gres/gpu /dev/nvidia0: 3 uncorrectable ECC errors");
  ::unsetenv("FAKE_NVML_ECC");
  ::setenv("FAKE_NVML_XID", "13", 1);  // a program's fault
  EXPECT_EQ(gpu_problem(before, (*nvml)->find(machine.root())), "");
  ::unsetenv("FAKE_NVML_XID");
  ::setenv("FAKE_NVML_GONE", "1", 1);
  EXPECT_EQ(gpu_problem(before, (*nvml)->find(machine.root())), "gres/gpu /dev/nvidia1 is gone");
  ::unsetenv("FAKE_NVML_GONE");
  nvml = Nvml::open(FAKE_NVML);
  ASSERT_TRUE(nvml);
  ::setenv("FAKE_NVML_XID", "79", 1);
  EXPECT_EQ(gpu_problem(before, (*nvml)->find(machine.root())), "gres/gpu /dev/nvidia1: XID 79");
  ::unsetenv("FAKE_NVML_XID");
}

TEST(Gpu, NamesOfTypes) {
  EXPECT_EQ(type_name("NVIDIA A100-SXM4-40GB"), "nvidia_a100-sxm4-40gb");
  EXPECT_EQ(type_name("  Tesla  T4 "), "tesla_t4");
  EXPECT_EQ(type_name("a:b=c,d (e)"), "a_b_c_d_e");
  EXPECT_EQ(type_name(""), "");
}

TEST(Sysfs, SmallFiles) {
  FakeMachine machine;
  machine.write("/a/10", "0x1f");
  machine.write("/a/9", "12");
  machine.write("/a/.x", "");
  machine.write("/a/word", "twelve");
  const std::string dir = machine.root() + "/a";
  EXPECT_EQ(sysfs_list(dir), (std::vector<std::string>{"9", "10", "word"}));
  EXPECT_TRUE(sysfs_list(dir + "/none").empty());
  EXPECT_EQ(sysfs_number(dir + "/10"), 31u);
  EXPECT_EQ(sysfs_number(dir + "/9"), 12u);
  EXPECT_EQ(sysfs_number(dir + "/word"), std::nullopt);
  EXPECT_EQ(sysfs_property("ab 1\na 2\nb: 3\n", "a"), 2u);
  EXPECT_EQ(sysfs_property("ab 1\na 2\nb: 3\n", "b"), 3u);
  EXPECT_EQ(sysfs_property("ab 1\n", "c"), std::nullopt);
  EXPECT_EQ(cpu_list("0-2,5,x,9-"), (std::vector<std::uint32_t>{0, 1, 2, 5, 9}));
  EXPECT_TRUE(cpu_list("5-99999999").empty());
}

}  // namespace
}  // namespace spur::os
