// SPDX-License-Identifier: Apache-2.0
#include "text/hostlist.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(hostlist, "n[1-4,7]", "n[001-010],x", "r[1-2]n[01-04]", "n[0-10:2]-ib0", "a,b c,,d", "n[0-4294967295]",
          "[1-3]", "n[1-2][3-4][5-6]") {
  constexpr std::size_t kLimit = 5000;
  const auto hosts = expand_hostlist(input, kLimit);
  const auto count = count_hosts(input, kLimit);
  SPUR_CHECK(hosts.has_value() == count.has_value());
  if (!hosts) return fuzz::check_message(hosts.error());
  SPUR_CHECK(hosts->size() == *count && *count <= kLimit);
  const std::string list = compress_hostlist(*hosts);
  const auto again = expand_hostlist(list, kLimit);
  SPUR_CHECK(again.has_value() && *again == *hosts);
  auto sorted = *hosts;
  sort_unique_hosts(sorted);
  for (std::size_t i = 1; i < sorted.size(); ++i)
    SPUR_CHECK(host_less(sorted[i - 1], sorted[i]) && !host_less(sorted[i], sorted[i - 1]));
}

}  // namespace spur::text
