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

// What the file gives; empty if it says nothing ("(null)" is shown then).
inline std::string_view given_value(const ClusterConfig& config, std::string_view key) {
  const std::string_view value = shown_value(config, key);
  return value == "(null)" ? std::string_view() : value;
}

}  // namespace spur::model
