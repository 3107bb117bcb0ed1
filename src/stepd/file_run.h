// SPDX-License-Identifier: Apache-2.0
// One file on this node, to it or from it, for the job's user: proto/spur/v1/files.proto over the stream to the
// agent. The work is done by a process that is wholly the user's, in a group of the job's own; this one only waits
// for it, obeys the agent's orders to end it, and cleans up.
#pragma once

#include <string>

#include "os/confinement.h"
#include "os/privileges.h"
#include "os/spool.h"
#include "os/unique_fd.h"

namespace spur::stepd {

struct FileRunInput {
  os::RunFile record;  // of the job, for its launch
  os::UniqueFd orders, stream;
  os::Identity identity;
  os::CgroupLimits limits;  // of the job on this node
};

// Returns when it is over and nothing of it is left.
void run_files(FileRunInput input);

// The user's part: talks over the socket, which blocks, until all is said or nobody listens.
void serve_files(int stream, const std::string& node);

}  // namespace spur::stepd
