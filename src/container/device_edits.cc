// SPDX-License-Identifier: Apache-2.0
#include "container/device_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace spur::container {
namespace {

template <class T>
void add_once(std::vector<T>& to, const T& item) {
  if (std::ranges::find(to, item) == to.end()) to.push_back(item);
}

// The one with the fewest files: specifications also have devices that stand for all of them.
const os::CdiDevice* device_of(const std::string& file, const std::vector<os::CdiDevice>& known) {
  const os::CdiDevice* out = nullptr;
  for (const os::CdiDevice& device : known)
    if (std::ranges::find(device.files, file) != device.files.end() &&
        (out == nullptr || device.files.size() < out->files.size()))
      out = &device;
  return out;
}

void add_shared_files(const std::string& file, DeviceEdits& out) {
  using namespace std::string_literals;
  if (file.starts_with("/dev/nvidia"))
    for (const auto& shared :
         {"/dev/nvidiactl"s, "/dev/nvidia-uvm"s, "/dev/nvidia-uvm-tools"s, "/dev/nvidia-modeset"s})
      add_once(out.files, shared);
  if (file.starts_with("/dev/dri/")) add_once(out.files, "/dev/kfd"s);
}

}  // namespace

DeviceEdits device_edits(const std::vector<std::string>& granted, const std::vector<os::CdiDevice>& known) {
  DeviceEdits out;
  for (const std::string& file : granted) {
    add_once(out.files, file);
    const os::CdiDevice* device = device_of(file, known);
    if (device == nullptr) {
      add_shared_files(file, out);
      continue;
    }
    for (const std::string& other : device->files) add_once(out.files, other);
    for (const std::string& entry : device->environment) add_once(out.env, entry);
    for (const std::string& mount : device->mounts) {
      const auto colon = mount.find(':');
      add_once(out.mounts, text::MountSpec{.source = text::clean_path(mount.substr(0, colon)),
                                           .target = text::clean_path(mount.substr(colon + 1)),
                                           .read_only = true});
    }
    for (const std::string& hook : device->hooks)
      add_once(out.notes, fmt::format("the CDI hook \"{}\" of {}={} is not run: hooks are not supported", hook,
                                      device->kind, device->name));
  }
  return out;
}

}  // namespace spur::container
