// SPDX-License-Identifier: Apache-2.0
// PrivateData: what is hidden from users who are no operators, as bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace spur::text {

enum PrivateData : std::uint32_t {
  kPrivateJobs = 1u << 0,
  kPrivateNodes = 1u << 1,
  kPrivatePartitions = 1u << 2,
  kPrivateUsage = 1u << 3,
  kPrivateUsers = 1u << 4,
  kPrivateAccounts = 1u << 5,
  kPrivateReservations = 1u << 6,
  kPrivateEvents = 1u << 7,
};

// "jobs,usage", "all"; words that mean nothing here ("none", "cloud") are passed over.
std::uint32_t parse_private_data(std::string_view list);

}  // namespace spur::text
