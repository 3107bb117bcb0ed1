// SPDX-License-Identifier: Apache-2.0
// Doors of an agent behind which nothing happens, for tests of what stands beside it: sessions and tickets.
#pragma once

#include <vector>

#include "io/clock.h"
#include "io/agent_port.h"
#include "io/launcher.h"

namespace spur::agent {

struct IdleClock final : io::Clock {
  Time now() override { return {}; }
  Duration monotonic() override { return {}; }
};

struct IdleLauncher final : io::Launcher {
  Result<std::vector<Known>> recover() override { return std::vector<Known>{}; }
  Status launch(const model::ControllerLaunch&) override { return {}; }
  void end(model::JobRun, bool, model::JobState) override {}
  void signal(model::JobRun, int, bool, bool) override {}
  void suspend(model::JobRun, bool) override {}
  void forget(model::JobRun) override {}
};

struct IdleController final : io::ControllerPort {
  void send(model::AgentMessage) override {}
};

}  // namespace spur::agent
