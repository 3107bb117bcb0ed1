// SPDX-License-Identifier: Apache-2.0
// The step daemon that is kept ready and copies itself for every batch script and step; the other end is
// os/step_spawner.h. It does nothing else, so a copy starts with nothing of another job's in its memory.
#pragma once

#include "os/unique_fd.h"

namespace spur::stepd {

// Serves requests until the agent is gone. `title` is the writable text of argv[0], which copies replace by their
// own.
void run_template(os::UniqueFd socket, char* title);

}  // namespace spur::stepd
