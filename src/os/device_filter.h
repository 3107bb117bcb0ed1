// SPDX-License-Identifier: Apache-2.0
// Keeps the processes of a cgroup from opening devices that are not theirs, whatever the device files' modes say: a
// small program that the kernel runs at every open and mknod of a device (BPF_CGROUP_DEVICE). It names what is
// forbidden; all else stays as it was, as with Slurm's ConstrainDevices.
#pragma once

#include <linux/bpf.h>

#include <vector>

#include "base/result.h"
#include "os/confinement.h"

namespace spur::os {

// The program; pure.
std::vector<bpf_insn> device_program(const std::vector<DeviceNumber>& denied);

// Loads it and ties it to the cgroup, beside programs of groups above, which keep their say. It goes with the group.
// NotSupported where the kernel has no such programs, or we may not load any.
Status deny_devices(int cgroup_fd, const std::vector<DeviceNumber>& denied);

// Whether deny_devices can work here at all.
Status can_deny_devices();

// The device behind a file; NotFound if it is none.
Result<DeviceNumber> device_number(const std::string& path);

}  // namespace spur::os
