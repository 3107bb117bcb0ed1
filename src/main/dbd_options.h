// SPDX-License-Identifier: Apache-2.0
// The command line of spurdbd, which also answers to slurmdbd's options.
#pragma once

#include <optional>
#include <string>

#include "main/daemon_options.h"

namespace spur::main {

struct DbdOptions : DaemonOptions {
  std::string database_url, archive;
  bool migrate = false, dry_run = false, resets_tree = false, works_at_log = false;
  std::optional<int> nice;
};

// Parses; prints and exits for -V, --help and errors.
DbdOptions parse_dbd_options(int argc, char** argv);

}  // namespace spur::main
