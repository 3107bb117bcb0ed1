// SPDX-License-Identifier: Apache-2.0
// An OCI bundle (srun --container=DIRECTORY): its config.json, as far as a step can follow it. What cannot be had,
// and what it would be wrong to leave out, is refused by name; what only strengthens a container that somebody else
// runs (namespaces, cgroups, seccomp, user) is the scheduler's own business and passed over;
// process.args gives way to the program of the step, as in Slurm. Pure but for the type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/mount_spec.h"

namespace spur::container {

struct Bundle {
  std::string root;  // as written: relative to the bundle
  bool readonly = false;
  std::vector<std::string> env;
  std::string workdir, hostname;
  std::vector<text::MountSpec> mounts;  // those that bind; others are had anyway
  std::vector<std::string> masked, readonly_paths;
  friend bool operator==(const Bundle&, const Bundle&) = default;
};

// `directory` is the bundle's: sources of mounts may be relative to it.
Result<Bundle> parse_bundle(std::string_view text, std::string_view directory);

}  // namespace spur::container
