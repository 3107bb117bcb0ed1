// SPDX-License-Identifier: Apache-2.0
// What `sacctmgr show config` tells of spurdbd: names, order and forms are slurmdbd's.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "config/load.h"

namespace spur::config {

// `version` and `booted` are the daemon's. Nothing that is secret is among it.
std::vector<std::pair<std::string, std::string>> shown_accounting_config(const Loaded& loaded, std::string_view version,
                                                                         Time booted);

}  // namespace spur::config
