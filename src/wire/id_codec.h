// SPDX-License-Identifier: Apache-2.0
// The small shared pieces of messages: index sets, runs of numbers, job targets, exit statuses, filters. As
// everywhere in this folder, to_proto writes into an empty message and from_proto into a freshly made struct;
// from_proto answers Corrupt when the message holds what the model cannot.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/index_set.h"
#include "base/result.h"
#include "model/agent_message.h"
#include "model/job.h"
#include "model/job_state.h"
#include "state/command.h"

namespace spur::v1 {
class ExitStatus;
class StepEnd;
class Usage;
class IndexSet;
class JobRun;
class JobTarget;
class StateFilter;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const IndexSet& from, v1::IndexSet* to);
Status from_proto(const v1::IndexSet& from, IndexSet* to);
void to_proto(const model::Usage& from, v1::Usage* to);
Status from_proto(const v1::Usage& from, model::Usage* to);
void to_proto(const model::StepEnd& from, v1::StepEnd* to);
Status from_proto(const v1::StepEnd& from, model::StepEnd* to);
void to_proto(const model::ExitStatus& from, v1::ExitStatus* to);
Status from_proto(const v1::ExitStatus& from, model::ExitStatus* to);
void to_proto(const model::JobRun& from, v1::JobRun* to);
Status from_proto(const v1::JobRun& from, model::JobRun* to);
void to_proto(const state::JobTarget& from, v1::JobTarget* to);
Status from_proto(const v1::JobTarget& from, state::JobTarget* to);
void to_proto(const model::StateFilter& from, v1::StateFilter* to);
Status from_proto(const v1::StateFilter& from, model::StateFilter* to);

// Any sequence of numbers, compactly where neighbours are consecutive. Decoding refuses more than kMaxRunMembers
// numbers, so that a message of ten bytes cannot ask for 32 GiB.
inline constexpr std::uint64_t kMaxRunMembers = 1u << 22;
void runs_to_proto(const std::vector<std::uint16_t>& from, v1::IndexSet* to);
void runs_to_proto(const std::vector<std::uint32_t>& from, v1::IndexSet* to);
void runs_to_proto(const std::vector<NodeIndex>& from, v1::IndexSet* to);
Status runs_from_proto(const v1::IndexSet& from, std::vector<std::uint16_t>* to);
Status runs_from_proto(const v1::IndexSet& from, std::vector<std::uint32_t>* to);
Status runs_from_proto(const v1::IndexSet& from, std::vector<NodeIndex>* to);

}  // namespace spur::wire
