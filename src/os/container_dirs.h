// SPDX-License-Identifier: Apache-2.0
// Directories of containers on a node, below the image directory:
//
//   users/<uid>                     images that were unpacked for jobs of this user; his own
//   run/<spool>.<job>.<epoch>       writable layers of a run's containers; the user's own, gone with the run
//
// Made by the step daemon before it becomes the user; what is in them is never trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "os/privileges.h"

namespace spur::os {

// How the agent tells step daemons about containers, as one text.
struct ContainerSettings {
  std::string image_dir;
  std::uint64_t max_bytes = 0, max_files = 0;
  bool copy = false;
  std::vector<std::string> cdi_dirs;
  friend bool operator==(const ContainerSettings&, const ContainerSettings&) = default;
};
std::string encode_container_settings(const ContainerSettings& settings);
Result<ContainerSettings> decode_container_settings(std::string_view text);

std::string container_scratch(std::string_view image_dir, std::string_view spool_token, model::JobRun run);

struct ContainerDirs {
  std::string scratch, cache;
};
Result<ContainerDirs> make_container_dirs(const std::string& image_dir, std::string_view spool_token,
                                          model::JobRun run, const Identity& user);
// Scratch directories of this spool whose runs are not among `known`.
std::vector<std::string> stale_scratch(const std::string& image_dir, std::string_view spool_token,
                                       const std::vector<model::JobRun>& known);

}  // namespace spur::os
