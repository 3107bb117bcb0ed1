// SPDX-License-Identifier: Apache-2.0
// What `scontrol show config` prints: names in Slurm's spelling and order, values in Slurm's form. Goes into
// ClusterConfig::shown, so it must be the same whenever the same file is loaded. What changes while the controller
// runs (BOOT_TIME, NEXT_JOB_ID, HASH_VAL) is the command's to add.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/daemon_config.h"
#include "model/cluster_config.h"

namespace spur::config {

// The Slurm release whose behaviour and version number we answer with.
inline constexpr std::string_view kSlurmVersion = "25.05.0";

// `path` is shown as SLURM_CONF.
std::vector<std::pair<std::string, std::string>> shown_config(const model::ClusterConfig& cluster,
                                                              const DaemonConfig& daemon, std::string_view path);

}  // namespace spur::config
