// SPDX-License-Identifier: Apache-2.0
#include "text/private_data.h"

#include "text/words.h"

namespace spur::text {

std::uint32_t parse_private_data(std::string_view list) {
  static constexpr struct {
    std::string_view name;
    std::uint32_t bits;
  } kWords[] = {{"jobs", kPrivateJobs},         {"nodes", kPrivateNodes},
                {"partitions", kPrivatePartitions}, {"usage", kPrivateUsage},
                {"users", kPrivateUsers},       {"accounts", kPrivateAccounts},
                {"reservations", kPrivateReservations}, {"events", kPrivateEvents},
                {"all", ~0u}};
  std::uint32_t bits = 0;
  for (const std::string_view item : split(list, ','))
    for (const auto& word : kWords)
      if (equal_ignoring_case(trim(item), word.name)) bits |= word.bits;
  return bits;
}

}  // namespace spur::text
