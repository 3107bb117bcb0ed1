// SPDX-License-Identifier: Apache-2.0
// From one dialect to the other: `spur import` and `spur export`. Both write what was read, statement by statement, so
// that slurm.conf -> spur.conf -> slurm.conf comes to the same configuration, and keys that are not in force survive:
// in spur.conf they stand in [slurm], under their own names and word for word.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/draft.h"

namespace spur::config {

struct Translation {
  std::vector<std::pair<std::string, std::string>> files;  // name and text; the main one first
  std::vector<std::string> remarks;                        // what the other dialect has no word for
};

// spur.conf, one file.
Result<Translation> to_spur_conf(const Draft& draft);
// slurm.conf, and gres.conf, cgroup.conf, topology.conf and what else there is to say. `draft` must have passed resolve.
Result<Translation> to_slurm_conf(const Draft& draft);

}  // namespace spur::config
