// SPDX-License-Identifier: Apache-2.0
// Signals that srun gets. Handlers only note them; the loops of srun ask here what came. The only global state of the
// folder, because a signal handler has nothing else.
#pragma once

#include <optional>

namespace spur::cli {

// From now on INT, TERM, HUP, QUIT, USR1, USR2, CONT, ALRM, WINCH and PIPE are noted instead of ending the process (which
// would leave its allocation behind); undone when it is destroyed.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The next signal noted, in no particular order.
  static std::optional<int> take();
};

// Whether a signal that ends things has been noted and not taken: a call that waits is given up then.
bool interrupted();

}  // namespace spur::cli
