// SPDX-License-Identifier: Apache-2.0
// --at TIME: a command that shows things shows them as they were then.
#pragma once

#include <string>

#include "cli/context.h"

namespace spur::cli {

// From now on the controller answers, and context.now() is, as of `at`. Else 1, and the user has been told.
int look_back(Context& context, Controller& controller, const std::string& at);

}  // namespace spur::cli
