// SPDX-License-Identifier: Apache-2.0
// Who may do something in a job on this node: whoever shows a ticket, signed by the controller, for the run that is
// here, as its user. One place for steps and files.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "base/result.h"
#include "io/credentials.h"

namespace spur::agent {

struct Admitted {
  const model::ControllerLaunch* launch;
  io::Verified ticket;
};
// JobPending: the job may still come.
Result<Admitted> admit(const Agent& agent, const std::string& node,
                       const std::function<Result<io::Verified>(std::string_view)>& verify, std::string_view ticket);

}  // namespace spur::agent
