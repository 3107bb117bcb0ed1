// SPDX-License-Identifier: Apache-2.0
// A quality of service: what its jobs are worth in the queue, and limits on them. spurdbd owns them and sends them;
// the state keeps the last list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/association.h"
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
  kQosRelative = 1u << 10,  // TRES limits of the group are percents of the cluster
};

struct Qos {
  std::string name;
  std::uint32_t id = 0;  // spurdbd's
  std::string description;
  std::uint32_t priority = 0;
  std::vector<std::string> preempts;            // names of the QOS whose jobs it may push out
  PreemptHow preempt_mode = PreemptHow::Unset;  // of its own jobs; Unset: the cluster's
  seconds grace{0};                             // that its jobs get before they must go
  std::optional<seconds> exempt;                // run time before one of its jobs may be pushed out
  std::uint32_t flags = 0;                      // QosFlag bits
  std::int64_t usage_factor_thousandths = 1000;
  std::optional<std::int64_t> usage_threshold_thousandths;
  std::optional<std::int64_t> limit_factor_thousandths;  // on the TRES limits of associations
  GroupLimits group;
  std::optional<std::uint32_t> max_jobs_per_user, max_jobs_per_account, max_jobs_accrue_per_user,
      max_jobs_accrue_per_account, max_submit_per_user, max_submit_per_account, max_wall_minutes, min_priority;
  TresCounts max_tres_per_job, max_tres_per_node, max_tres_per_user, max_tres_per_account, max_tres_minutes_per_job,
      max_tres_run_minutes_per_user, max_tres_run_minutes_per_account, min_tres_per_job;
  friend bool operator==(const Qos&, const Qos&) = default;
};

}  // namespace spur::model
