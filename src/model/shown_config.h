// SPDX-License-Identifier: Apache-2.0
// What `scontrol show config` says of one key: for settings that are looked at rarely and need no field of their own.
#pragma once

#include <string_view>

#include "model/cluster_config.h"

namespace spur::model {

// Empty if there is no such key.
inline std::string_view shown_value(const ClusterConfig& config, std::string_view key) {
  for (const auto& [name, value] : config.shown)
    if (name == key) return value;
  return {};
}

}  // namespace spur::model
