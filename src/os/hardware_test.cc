// SPDX-License-Identifier: Apache-2.0
#include "os/hardware.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace spur::os {
namespace {

TEST(Hardware, ThisMachine) {
  const auto machine = discover_machine();
  ASSERT_TRUE(machine) << machine.error().message;
  const model::NodeHardware& hardware = machine->hardware;
  EXPECT_EQ(hardware.cpus, static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_LE(hardware.sockets * hardware.cores_per_socket * hardware.threads_per_core, hardware.cpus);
  EXPECT_GT(hardware.memory_mib, 100u);
  EXPECT_GT(hardware.tmp_disk_mib, 0u);
  EXPECT_TRUE(machine->os.starts_with("Linux ")) << machine->os;
  EXPECT_FALSE(machine->arch.empty());
  EXPECT_FALSE(machine->hostname.empty());
  EXPECT_EQ(machine->hostname.find('.'), std::string::npos);
  EXPECT_GT(machine->boot_time, from_unix_seconds(1'000'000'000));
  EXPECT_LT(machine->boot_time, Time(std::chrono::floor<Duration>(std::chrono::system_clock::now())));
}

TEST(Hardware, AnAffinityMaskDoesNotMakeTheNodeSmaller) {
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "one processor only";
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) ::_exit(2);
    const auto machine = discover_machine();
    ::_exit(machine && machine->hardware.cpus == static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Hardware, OtherMachines) {
  struct Case {
    const char* synthetic;
    std::uint32_t cpus, sockets, cores, threads;
  };
  for (const Case& c : {
           Case{"pack:1 core:1 pu:1", 1, 1, 1, 1},
           Case{"pack:2 core:8 pu:2", 32, 2, 8, 2},
           Case{"numa:4 pack:1 l3:2 core:8 pu:2", 128, 4, 16, 2},
           Case{"pack:2 numa:2 core:32 pu:1", 128, 2, 64, 1},
           Case{"pu:6", 6, 1, 6, 1},  // neither packages nor cores are known
           Case{"core:4 pu:2", 8, 1, 4, 2},
       }) {
    const auto machine = discover_machine({.tmp_dir = "/tmp", .synthetic = c.synthetic});
    ASSERT_TRUE(machine) << c.synthetic << ": " << machine.error().message;
    EXPECT_EQ(machine->hardware.cpus, c.cpus) << c.synthetic;
    EXPECT_EQ(machine->hardware.sockets, c.sockets) << c.synthetic;
    EXPECT_EQ(machine->hardware.cores_per_socket, c.cores) << c.synthetic;
    EXPECT_EQ(machine->hardware.threads_per_core, c.threads) << c.synthetic;
    EXPECT_EQ(machine->hardware.boards, 1u);
  }
  EXPECT_EQ(discover_machine({.tmp_dir = "/tmp", .synthetic = "no such thing"}).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(discover_machine({.tmp_dir = "/no/such/dir", .synthetic = {}}).error().code, ErrorCode::NotFound);
}

TEST(Hardware, Load) {
  const MachineLoad load = sample_load();
  EXPECT_GT(load.free_memory_mib, 0u);
  EXPECT_LT(load.free_memory_mib, discover_machine()->hardware.memory_mib);
}

}  // namespace
}  // namespace spur::os
