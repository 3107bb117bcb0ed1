// SPDX-License-Identifier: Apache-2.0
// What an applied batch did to jobs, told in plain words: a row for each job and command, with who caused it. Computed
// off the core thread from the commands, their outcomes and the records before and after. Pure.
#pragma once

#include <vector>

#include "ctld/commit_queue.h"
#include "io/history_store.h"

namespace spur::ctld {

// Appends the events of the batch, and the records that are new or have a new place in their array.
void note_events(const AppliedBatch& applied, io::HistoryStore::Part* part);

}  // namespace spur::ctld
