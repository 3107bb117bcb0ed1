// SPDX-License-Identifier: Apache-2.0
// /etc/passwd and /etc/group of a container: the image's, and the user who runs in it, whom the image does not know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/mount_spec.h"

namespace spur::container {

struct BoxUser {
  std::string name, home;
  bool as_root = false;  // inside he is root, whom every image knows
};

// `content` with a line for the id unless it has one. Pure.
std::string with_user(std::string content, std::string_view name, unsigned uid, unsigned gid, std::string_view home);
std::string with_group(std::string content, std::string_view name, unsigned gid);

// Writes both below `directory` and tells where to mount them; nothing when the image needs no change.
Result<std::vector<text::MountSpec>> write_user_files(const std::string& rootfs, const std::string& directory,
                                                      const BoxUser& user);

}  // namespace spur::container
