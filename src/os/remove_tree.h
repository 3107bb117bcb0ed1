// SPDX-License-Identifier: Apache-2.0
// Removing a directory tree that a user could write to, also as root: no symbolic link is followed, no other file
// system is entered, and directories that cannot be read are made readable first.
#pragma once

#include <string>

#include "base/result.h"

namespace spur::os {

// What `name` in `directory` (a descriptor, or AT_FDCWD) is; nothing there is fine.
Status remove_tree(int directory, const std::string& name);

}  // namespace spur::os
