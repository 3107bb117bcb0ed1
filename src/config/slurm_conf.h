// SPDX-License-Identifier: Apache-2.0
// slurm.conf, with Include, and gres.conf beside it. Keys that mean something here are rows of the table in keys.cc;
// real Slurm keys without a meaning yet give one warning each; anything else is refused as Slurm refuses it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/draft.h"
#include "config/keys.h"

namespace spur::config {

// Reads an included file; load.cc gives the real one.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

// Adds what `text` says to `draft`, whose files[0] names the file in messages and is where relative Includes start.
// The result still has to pass resolve().
Status read_slurm_conf(std::string_view text, const FileReader& read, Draft& draft);

// The same for a file beside it, by the scope of its keys: gres.conf (Device), cgroup.conf (Cgroup), topology.conf
// (Switch), slurmdbd.conf (Dbd). `path` is its name in messages.
Status read_slurm_sibling(Scope scope, std::string_view text, std::string path, const FileReader& read, Draft& draft);

// Takes in a finished line of gres.conf, or a [[devices.gres]].
Status add_device_block(Draft& draft, DeviceBlock device);

}  // namespace spur::config
