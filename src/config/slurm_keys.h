// SPDX-License-Identifier: Apache-2.0
// Names of real slurm.conf keys (22.05 to 25.05 and a few older ones) that have no meaning here yet. They are
// accepted with one warning each, so that a site can point Spur at the file it has; a name that is neither here nor
// in keys.cc is an error, as in Slurm. A key that gets a meaning moves to the table in keys.cc.
#pragma once

#include <span>
#include <string_view>

#include "config/keys.h"

namespace spur::config {

struct SlurmName {
  Scope scope;
  std::string_view name;
  // A value that asks for just what Spur does anyway, so that there is nothing to warn of; alternatives separated by
  // '|'.
  std::string_view harmless;
};

std::span<const SlurmName> slurm_names();
// In any case; null if it is no Slurm key at all, or one of keys.cc.
const SlurmName* find_slurm_name(Scope scope, std::string_view name);

}  // namespace spur::config
