// SPDX-License-Identifier: Apache-2.0
// CDI specifications (Container Device Interface, JSON): what a container runtime must add to a container for a
// device. Read, they tell which device files belong together; written, they let any runtime give out the GPUs that
// were found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/gpu.h"

namespace spur::os {

struct CdiDevice {
  std::string kind{}, name{};                        // "nvidia.com/gpu", "0": together "nvidia.com/gpu=0"
  std::vector<std::string> files{};                  // paths on the host
  std::vector<std::string> environment{}, mounts{};  // NAME=VALUE; "host:container"
  std::vector<std::string> hooks{};                  // programs that a runtime is asked to call
  friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

// One specification. Corrupt, with a sentence, if it is none; what every device of it gets is in each of them.
Result<std::vector<CdiDevice>> parse_cdi(std::string_view text);
// All *.json, *.yaml and *.yml of the directories, in order; a device of a later one goes first. Files that are no specification are
// named in `problems`.
std::vector<CdiDevice> read_cdi(const std::vector<std::string>& directories, std::vector<std::string>* problems);

// The specification of all GPUs of one maker.
std::string write_cdi(std::string_view vendor, const std::vector<Gpu>& gpus);

}  // namespace spur::os
