// SPDX-License-Identifier: Apache-2.0
// Files of a controller's state directory that are neither journal nor key: the token that lets nodes enrol, and what
// a start without the saved state puts aside.
#pragma once

#include <string>

#include "base/result.h"

namespace spur::main {

// A secret that lets nodes enrol; whoever can read it may add machines, so only the daemon's user can.
Result<std::string> load_or_create_join_token(const std::string& path);

// -c, and -i where it comes to that: the jobs of before are put aside, never deleted. Where to; empty: there were none.
Result<std::string> move_state_aside(const std::string& dir);

}  // namespace spur::main
