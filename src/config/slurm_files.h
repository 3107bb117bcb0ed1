// SPDX-License-Identifier: Apache-2.0
// Slurm's further files that have no meaning here: which there are, what is lost without them, and which keys they may
// hold. Each is kept whole, and whoever reads it is told, key by key.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/draft.h"

namespace spur::config {

struct SlurmFile {
  std::string_view name;    // "mpi.conf"
  std::string_view reason;  // what is lost
  std::string_view keys;    // that Slurm knows, separated by blanks; empty: it has no Key=Value lines
};

std::span<const SlurmFile> slurm_files();
bool is_slurm_file(std::string_view name);

// Keeps the text and warns: the reason, the keys in it, and those that Slurm would not know either.
void keep_slurm_file(Draft& draft, const std::string& name, std::string text, Position at);

}  // namespace spur::config
