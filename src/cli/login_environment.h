// SPDX-License-Identifier: Apache-2.0
// --get-user-env: the environment that a user has after logging in on this host, as his shell's start-up files make
// it.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace spur::cli {

// NAME=VALUE entries. Runs the user's login shell (as him, where the caller is root) for at most `limit`.
Result<std::vector<std::string>> login_environment(Uid user, seconds limit);

// HOME, USER, LOGNAME, SHELL and a PATH: for whom no login shell tells more.
std::vector<std::string> bare_environment(Uid user);

}  // namespace spur::cli
