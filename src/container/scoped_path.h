// SPDX-License-Identifier: Apache-2.0
// Paths inside a directory tree that somebody else filled: symbolic links in them, absolute ones included, are
// followed inside the tree and never lead out of it (openat2 with RESOLVE_IN_ROOT).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace spur::container {

// Relative to `root`. `path` may be "" for the root itself.
Result<os::UniqueFd> open_in(int root, std::string_view path, int flags, mode_t mode = 0);
// The directory at `path`, made with what is missing above it.
Result<os::UniqueFd> make_dirs_in(int root, std::string_view path);
// Removes what `name` in the directory is, whatever that is; nothing there is fine. Follows nothing and does not
// leave the file system.
Status remove_at(int directory, const std::string& name);

}  // namespace spur::container
