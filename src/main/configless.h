// SPDX-License-Identifier: Apache-2.0
// An agent without configuration files (spurd --conf-server): gets the controller's, and keeps them below its spool,
// where commands in jobs find them, too.
#pragma once

#include <string>

#include "base/result.h"

namespace spur::main {

// `servers`: host[:port], several with commas. `patient`: wait for a while if none answers. The path of the main file, in
// <spool>/conf-cache.
Result<std::string> fetch_configuration(const std::string& servers, const std::string& token, const std::string& node,
                                        bool patient);

}  // namespace spur::main
