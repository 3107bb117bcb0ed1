// SPDX-License-Identifier: Apache-2.0
// JobCompType=jobcomp/filetxt: one line in a file for each job that has ended, in Slurm's form. The leading controller has
// them written when a job's nodes are clean.
//
// Each line is there once: who begins to lead hands in all jobs that are over and not forgotten yet (MinJobAge), and
// those whose line is there already, word for word, are passed over. So a controller that was killed between the end of
// a job and its line writes it at its next start. What comes back to the queue has no line.
#pragma once

#include <vector>

#include "io/controller_hooks.h"
#include "model/view.h"

namespace spur::ctld {

// The file of the site; empty: no lines are wanted.
std::string_view completion_file(const model::ClusterConfig& config);
io::ControllerHooks::Completion completion_of(const model::View& view, const model::Job& job);
// Whether `job` is over and `before` (null: unknown) was not.
bool has_completed(const model::Job* before, const model::Job& job);
// Of all jobs that are over.
std::vector<io::ControllerHooks::Completion> all_completions(const model::View& view);

}  // namespace spur::ctld
