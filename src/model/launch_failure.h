// SPDX-License-Identifier: Apache-2.0
// How the end of a run that never ran its script is told, from the step daemon to the job's record. Through the node
// (no space, no such user there): launch_failed, and the job goes back to the queue. Through the user (a file he
// named cannot be opened): this exit status, an error and no launch_failed, and the job is FAILED, as no node would
// do better.
#pragma once

#include "model/job.h"

namespace spur::model {

inline constexpr ExitStatus kNeverRan{.code = 0, .signal = 53};  // as Slurm shows it: ExitCode=0:53

}  // namespace spur::model
