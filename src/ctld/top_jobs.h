// SPDX-License-Identifier: Apache-2.0
// scontrol top: which nice values put jobs in front of all others of their user, account, QOS and partition. As in
// Slurm the priorities that these jobs have are dealt out among them in the new order, so that their user gains
// nothing over others.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "model/view.h"
#include "state/command.h"

namespace spur::ctld {

// The changes, one command a record, by job; none if nothing has to move. The first of `jobs` comes out on top.
using PriorityOf = std::function<std::uint32_t(const model::Job&)>;  // of this moment
Result<std::vector<state::UpdateJob>> top_jobs(const model::View& view, const std::vector<JobId>& jobs,
                                               const PriorityOf& priority_of);

}  // namespace spur::ctld
