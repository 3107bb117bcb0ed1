// SPDX-License-Identifier: Apache-2.0
// The mounts of a container, made in a user namespace of the user's own: nothing here works by rights that the user
// does not have. Targets are opened inside the new root before anything is mounted on them, so that no link in an
// image leads a mount elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"
#include "text/mount_spec.h"

namespace spur::container {

// Own user and mount namespaces (and, with `own_hostname`, one of host names). Inside, one is oneself, or root.
Status enter_own_namespaces(bool remap_root, bool own_hostname);

struct RootPlan {
  std::string lower;      // the image
  std::string directory;  // where upper layer and work files go; the user's own
  bool copy = false;
  std::vector<text::MountSpec> mounts;  // to come: their targets are made beforehand
};
// The container's root, mounted at directory/root: the image with a writable layer over it. Returns it opened.
Result<os::UniqueFd> mount_root(const RootPlan& plan);

// Shows `mount.source` (a tmpfs without one) at its target. What is missing of the target is made.
Status mount_in(int root, const text::MountSpec& mount);
// /dev: a small one with the usual files, the host's terminals and shared memory, and `files`.
Status mount_dev(int root, const std::vector<std::string>& files);
// A file that nobody can read, an empty directory.
Status mask(int root, const std::string& path);
Status make_readonly(int root, const std::string& path);
Status make_root_readonly(int root);
// The container's root becomes the process's.
Status pivot_to(int root);

}  // namespace spur::container
