// SPDX-License-Identifier: Apache-2.0
#include "os/device_filter.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "os/files.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

constexpr std::uint8_t kContext = 1, kType = 2, kMajor = 3, kMinor = 4;  // registers
constexpr std::int16_t kPerDevice = 5;                                   // instructions of one comparison

bpf_insn instruction(int code, std::uint8_t to, std::uint8_t from, std::int16_t offset, std::int32_t value) {
  bpf_insn out{};
  out.code = static_cast<__u8>(code);
  out.dst_reg = to & 0xf;
  out.src_reg = from & 0xf;
  out.off = offset;
  out.imm = value;
  return out;
}

bpf_insn load(std::uint8_t to, std::size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, kContext, static_cast<std::int16_t>(offset), 0);
}
bpf_insn jump_unless_equal(std::uint8_t reg, std::uint32_t value, std::int16_t over) {
  return instruction(BPF_JMP32 | BPF_JNE | BPF_K, reg, 0, over, static_cast<std::int32_t>(value));
}
bpf_insn answer(int value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, value);
}
bpf_insn leave() {
  return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

long call_bpf(int command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

template <class T>
std::uint64_t address(const T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

}  // namespace

std::vector<bpf_insn> device_program(const std::vector<DeviceNumber>& denied) {
  std::vector<bpf_insn> out{load(kType, offsetof(bpf_cgroup_dev_ctx, access_type)),
                            // The upper half says what is to be done with it.
                            instruction(BPF_ALU | BPF_AND | BPF_K, kType, 0, 0, 0xffff),
                            load(kMajor, offsetof(bpf_cgroup_dev_ctx, major)),
                            load(kMinor, offsetof(bpf_cgroup_dev_ctx, minor))};
  for (const DeviceNumber& device : denied) {
    out.push_back(
        jump_unless_equal(kType, device.type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR, kPerDevice - 1));
    out.push_back(jump_unless_equal(kMajor, device.major, kPerDevice - 2));
    out.push_back(jump_unless_equal(kMinor, device.minor, kPerDevice - 3));
    out.push_back(answer(0));
    out.push_back(leave());
  }
  out.push_back(answer(1));
  out.push_back(leave());
  return out;
}

static Result<UniqueFd> load_program(const std::vector<DeviceNumber>& denied) {
  const auto program = device_program(denied);
  bpf_attr load_it{};
  load_it.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load_it.insns = address(program.data());
  load_it.insn_cnt = static_cast<__u32>(program.size());
  load_it.license = address("Apache-2.0");
  std::strncpy(load_it.prog_name, "spur_devices", sizeof load_it.prog_name - 1);
  UniqueFd loaded(static_cast<int>(call_bpf(BPF_PROG_LOAD, load_it)));
  if (loaded) return loaded;
  if (errno == ENOSYS || errno == EINVAL || (errno == EPERM && ::geteuid() != 0))
    return fail(ErrorCode::NotSupported, "this kernel, or this user, cannot confine a cgroup's devices");
  return fail_errno("cannot load the device filter", errno);
}

Status can_deny_devices() {
  auto loaded = load_program({});
  return loaded ? Status{} : Status(std::unexpected(loaded.error()));
}

Status deny_devices(int cgroup_fd, const std::vector<DeviceNumber>& denied) {
  if (denied.empty()) return {};
  SPUR_ASSIGN(const UniqueFd loaded, load_program(denied));
  bpf_attr attach{};
  attach.target_fd = static_cast<__u32>(cgroup_fd);
  attach.attach_bpf_fd = static_cast<__u32>(loaded.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (call_bpf(BPF_PROG_ATTACH, attach) != 0) return fail_errno("cannot attach the device filter", errno);
  return {};
}

Result<DeviceNumber> device_number(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail_errno("cannot examine " + path, errno);
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) return fail(ErrorCode::NotFound, path + " is no device");
  return DeviceNumber{S_ISBLK(info.st_mode) ? 'b' : 'c', static_cast<std::uint32_t>(major(info.st_rdev)),
                      static_cast<std::uint32_t>(minor(info.st_rdev))};
}

}  // namespace spur::os
