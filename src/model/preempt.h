// SPDX-License-Identifier: Apache-2.0
// Who may push out whom, and how the one that has to go goes. Of a running job this is decided by the partition that
// it runs in (PreemptType=preempt/partition_prio) or by its QOS (preempt/qos).
#pragma once

#include <cstdint>

namespace spur::model {

enum class PreemptBy : std::uint8_t { Nothing, PartitionTier, Qos };
enum class PreemptHow : std::uint8_t { Unset, Off, Cancel, Requeue, Suspend, Within };

}  // namespace spur::model
