// SPDX-License-Identifier: Apache-2.0
// Writing a line into a file that the user named, as the user: what he named may be a pipe that nobody reads, or a
// file of the kernel that looks at who is writing. So a short-lived process of his own does it, and is not waited for
// long.
#pragma once

#include <string_view>

#include "os/privileges.h"

namespace spur::stepd {

void write_as_user(const os::Identity& user, int fd, std::string_view text);

}  // namespace spur::stepd
