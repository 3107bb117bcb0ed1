// SPDX-License-Identifier: Apache-2.0
// --container-mounts: what of the node is to be seen in a container, and where.
//
//   SOURCE:TARGET[:OPTION[+OPTION...]][,...]      SOURCE alone: at the same path
//
// SOURCE is a path on the node, or the word tmpfs for an empty directory in memory. Options: ro, rw, bind (without
// what is mounted below it), rbind, noexec, nodev, nosuid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::text {

struct MountSpec {
  std::string source{};  // absolute; empty: a tmpfs
  std::string target{};  // absolute, without . and .. and doubled slashes
  bool read_only = false, recursive = true, no_exec = false, no_dev = false, no_suid = false;
  friend bool operator==(const MountSpec&, const MountSpec&) = default;
};

// A relative source starts at `directory`. One entry, without commas:
Result<MountSpec> parse_mount(std::string_view text, std::string_view directory);
// The whole list; empty entries are an error.
Result<std::vector<MountSpec>> parse_mounts(std::string_view text, std::string_view directory);
// In the grammar above; parse_mount reads it back.
std::string mount_text(const MountSpec& mount);

// An absolute path with empty, "." and ".." parts taken out; what would go above the root stays at it.
std::string clean_path(std::string_view path);

}  // namespace spur::text
