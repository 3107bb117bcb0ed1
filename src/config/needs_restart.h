// SPDX-License-Identifier: Apache-2.0
// What a controller that reads its configuration again cannot change, because it is in use.
#pragma once

#include <string>

#include "config/load.h"

namespace spur::config {

// The names of such settings that differ, for a sentence; empty: none.
std::string needs_restart(const Loaded& now, const Loaded& fresh);

}  // namespace spur::config
