// SPDX-License-Identifier: Apache-2.0
// The program run by a few lines that know the instructions it is made of; the kernel runs it in cgroup_test.cc.
#include "os/device_filter.h"

#include <gtest/gtest.h>

#include <cstring>

namespace spur::os {
namespace {

// 1: may be opened. Anything unexpected is -1.
int run(const std::vector<bpf_insn>& program, bpf_cgroup_dev_ctx context) {
  std::uint64_t regs[11] = {};
  for (std::size_t at = 0; at < program.size(); ++at) {
    const bpf_insn& i = program[at];
    switch (i.code) {
      case BPF_LDX | BPF_MEM | BPF_W: {
        std::uint32_t value = 0;
        std::memcpy(&value, reinterpret_cast<const char*>(&context) + i.off, sizeof value);
        regs[i.dst_reg] = value;
        break;
      }
      case BPF_ALU | BPF_AND | BPF_K:
        regs[i.dst_reg] = static_cast<std::uint32_t>(regs[i.dst_reg]) & static_cast<std::uint32_t>(i.imm);
        break;
      case BPF_JMP32 | BPF_JNE | BPF_K:
        if (static_cast<std::uint32_t>(regs[i.dst_reg]) != static_cast<std::uint32_t>(i.imm))
          at += static_cast<std::size_t>(i.off);
        break;
      case BPF_ALU64 | BPF_MOV | BPF_K:
        regs[i.dst_reg] = static_cast<std::uint64_t>(i.imm);
        break;
      case BPF_JMP | BPF_EXIT:
        return static_cast<int>(regs[0]);
      default:
        return -1;
    }
  }
  return -1;
}

TEST(DeviceFilter, DeniesWhatIsNamedAndNothingElse) {
  const auto program = device_program({{'c', 195, 1}, {'b', 8, 0}, {'c', 226, 129}});
  const struct {
    std::uint32_t type, major, minor;
    int expected;
  } rows[] = {
      {BPF_DEVCG_DEV_CHAR, 195, 1, 0},   {BPF_DEVCG_DEV_CHAR, 195, 0, 1}, {BPF_DEVCG_DEV_BLOCK, 195, 1, 1},
      {BPF_DEVCG_DEV_BLOCK, 8, 0, 0},    {BPF_DEVCG_DEV_CHAR, 8, 0, 1},   {BPF_DEVCG_DEV_CHAR, 226, 129, 0},
      {BPF_DEVCG_DEV_CHAR, 226, 128, 1}, {BPF_DEVCG_DEV_CHAR, 1, 3, 1},
  };
  for (const auto& row : rows)
    for (const std::uint32_t access : {BPF_DEVCG_ACC_READ, BPF_DEVCG_ACC_WRITE, BPF_DEVCG_ACC_MKNOD})
      EXPECT_EQ(run(program, {.access_type = access << 16 | row.type, .major = row.major, .minor = row.minor}),
                row.expected)
          << row.type << " " << row.major << ":" << row.minor;
  EXPECT_EQ(run(device_program({}), {.access_type = BPF_DEVCG_DEV_CHAR, .major = 1, .minor = 1}), 1);
}

TEST(DeviceFilter, NumbersOfFiles) {
  EXPECT_EQ(*device_number("/dev/null"), (DeviceNumber{'c', 1, 3}));
  EXPECT_EQ(device_number("/etc/passwd").error().code, ErrorCode::NotFound);
  EXPECT_EQ(device_number("/dev/there-is-none").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace spur::os
