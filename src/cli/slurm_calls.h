// SPDX-License-Identifier: Apache-2.0
// The controller's calls under the names and numbers that Slurm gives to the messages for the same purpose: what
// programs that read sdiag look for.
#pragma once

#include <string>
#include <vector>

#include "wire/controller_statistics.h"

namespace spur::cli {

struct NamedCalls {
  std::string name;  // "REQUEST_SUBMIT_BATCH_JOB", or a user
  std::uint32_t number = 0;
  const wire::ControllerStatistics::Calls* calls = nullptr;
  std::uint64_t average_us() const { return calls->count == 0 ? 0 : calls->total_us / calls->count; }
};

enum class CallOrder : unsigned char { Count, Number, Total, Average };

// The statistics must outlive the rows.
std::vector<NamedCalls> sorted_calls(const wire::ControllerStatistics& statistics, CallOrder order);
std::vector<NamedCalls> sorted_users(const wire::ControllerStatistics& statistics, CallOrder order);

}  // namespace spur::cli
