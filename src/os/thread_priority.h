// SPDX-License-Identifier: Apache-2.0
// How much a thread counts when there is more to do than CPUs.
#pragma once

namespace spur::os {

// The calling thread gives way to all others of the process. Where the system refuses, all stays as it is.
void give_way();

}  // namespace spur::os
