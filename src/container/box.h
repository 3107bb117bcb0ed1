// SPDX-License-Identifier: Apache-2.0
// One container, from what the step daemon asks for to the namespaces that tasks enter:
//
//   find and unpack the image --> own user and mount namespaces --> root with a writable layer, mounts --> pivot
//
// Runs in a process that is wholly the user's and ends afterwards: the descriptors keep the namespaces, and with the
// last of them every mount is gone. On disk only the writable layer is left, in the job's scratch directory.
#pragma once

#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"
#include "spur/v1/agent.pb.h"

namespace spur::container {

struct MadeBox {
  v1::ContainerReady ready;
  std::vector<os::UniqueFd> fds;  // as ContainerReady says
};

// The calling process is in the container afterwards, or of no use.
Result<MadeBox> make_box(const v1::ContainerSetup& setup);

}  // namespace spur::container
