// SPDX-License-Identifier: Apache-2.0
// Why a job waits, or ended, in words for people. One row per reason; a reason without words fails the test.
#pragma once

#include <string>

#include "base/time.h"
#include "model/job.h"
#include "model/pending_reason.h"

namespace spur::cli {

// "waits for free resources"
std::string reason_words(model::Reason reason);
// Of a job, with what is known beside the reason, and when it is expected to start. Empty for one that runs or ended
// well.
std::string why_words(const model::Job& job, Time expected_start, Time now);
// "in 5 min", "in 3 h", "in 2 days"; "now" for what is past.
std::string from_now(Time at, Time now);

}  // namespace spur::cli
