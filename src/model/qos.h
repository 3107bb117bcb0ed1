// SPDX-License-Identifier: Apache-2.0
// A quality of service, as far as the scheduler weighs it. The accounting service owns them and sends them; the state
// keeps the last list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/cluster_config.h"

namespace spur::model {

enum QosFlag : std::uint32_t {
  kQosNoReserve = 1u << 0,            // its jobs get no planned start
  kQosRequiresReservation = 1u << 1,  // only for jobs in a reservation
  kQosDenyOnLimit = 1u << 2,
  kQosOverPartitionQos = 1u << 3,
  kQosPartitionMinNodes = 1u << 4,  // the partition's limits bend
  kQosPartitionMaxNodes = 1u << 5,
  kQosPartitionTimeLimit = 1u << 6,
  kQosNoDecay = 1u << 7,
  kQosUsageFactorSafe = 1u << 8,
  kQosEnforceUsageThreshold = 1u << 9,
};

struct Qos {
  std::string name;
  std::uint32_t priority = 0;
  std::vector<std::string> preempts;            // names of the QOS whose jobs it may push out
  PreemptHow preempt_mode = PreemptHow::Unset;  // of its own jobs; Unset: the cluster's
  seconds grace{0};                             // that its jobs get before they must go
  std::optional<seconds> exempt;                // run time before one of its jobs may be pushed out
  std::uint32_t flags = 0;                      // QosFlag bits
  std::int64_t usage_factor_thousandths = 1000;
  friend bool operator==(const Qos&, const Qos&) = default;
};

}  // namespace spur::model
