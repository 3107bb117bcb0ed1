// SPDX-License-Identifier: Apache-2.0
// slurm.conf, with Include, and gres.conf beside it. Keys that mean something here are rows of the table in keys.cc;
// real Slurm keys without a meaning yet give one warning each; anything else is refused as Slurm refuses it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/draft.h"

namespace spur::config {

// Reads an included file; load.cc gives the real one.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

// Adds what `text` says to `draft`, whose files[0] names the file in messages and is where relative Includes start.
// The result still has to pass resolve().
Status read_slurm_conf(std::string_view text, const FileReader& read, Draft& draft);

// cgroup.conf, which is like slurm.conf with keys of its own.
Status read_cgroup_conf(std::string_view text, std::string path, const FileReader& read, Draft& draft);
// Adds the lines of a gres.conf; `path` is its name in messages.
Status read_gres_conf(std::string_view text, std::string path, const FileReader& read, Draft& draft);

}  // namespace spur::config
