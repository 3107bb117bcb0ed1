// SPDX-License-Identifier: Apache-2.0
// By which address of this host an agent sees us.
#pragma once

#include <string>

namespace spur::cli {

// The local address of a connection to the agent, without making one. Empty: there is no way to it.
std::string own_address_towards(const std::string& agent);

}  // namespace spur::cli
