// SPDX-License-Identifier: Apache-2.0
// A file of this host to the nodes of a job, with the shared objects it needs if asked for: what sbcast and srun
// --bcast share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"

namespace spur::cli {

inline constexpr std::string_view kNoLibrariesFrom = "/lib,/usr/lib,/lib64,/usr/lib64";

struct Broadcast {
  std::string source, destination;  // destination is absolute
  bool compress = false, replace = false, preserve = false, send_libs = false;
  std::string exclude{kNoLibrariesFrom};  // directories whose shared objects every node has; "NONE": none
  std::size_t block_bytes = std::size_t{512} << 10;
};

// Sends it to all places, which are the components of a job. Returns the exit status, after the messages.
int broadcast(Context& context, Controller& controller, const Broadcast& what,
              const std::vector<wire::FilePlace>& places);

// The paths that `ldd` found, without those below the directories of `exclude`. Unresolved ones are left out.
std::vector<std::string> libraries_of(std::string_view ldd_output, std::string_view exclude);
// Where the shared objects of a program go.
inline std::string library_directory(const std::string& program) {
  return program + "_libs";
}

}  // namespace spur::cli
