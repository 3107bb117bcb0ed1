// SPDX-License-Identifier: Apache-2.0
// What a container gets with the devices that its job was granted: their files, and what CDI specifications of the
// node add for them. Pure.
#pragma once

#include <string>
#include <vector>

#include "os/cdi.h"
#include "text/mount_spec.h"

namespace spur::container {

struct DeviceEdits {
  std::vector<std::string> files;  // at the same path inside
  std::vector<text::MountSpec> mounts;
  std::vector<std::string> env;
  std::vector<std::string> notes;  // what was asked for and is not done
  friend bool operator==(const DeviceEdits&, const DeviceEdits&) = default;
};

// `granted`: the files of all granted devices. Without a specification a device brings the control files that its
// maker's devices share.
DeviceEdits device_edits(const std::vector<std::string>& granted, const std::vector<os::CdiDevice>& known);

}  // namespace spur::container
