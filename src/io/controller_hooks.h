// SPDX-License-Identifier: Apache-2.0
// The controller's door to programs of the site that run on its own host, before and after each job (PrologSlurmctld,
// EpilogSlurmctld). Real: os/controller_hooks.h. Without one there are no such programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace spur::io {

class ControllerHooks {
 public:
  enum class Kind : std::uint8_t { Prolog, Epilog };
  virtual ~ControllerHooks() = default;
  virtual bool has(Kind kind) const = 0;
  // `done` is called on the controller's thread, never before this returns.
  virtual void run(Kind kind, std::vector<std::string> environment, std::function<void(Status)> done) = 0;
};

}  // namespace spur::io
