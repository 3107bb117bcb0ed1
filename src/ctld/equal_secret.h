// SPDX-License-Identifier: Apache-2.0
// Comparing what a stranger brings with a secret, such as the token with which nodes join: how long it takes says nothing
// of where they differ.
#pragma once

#include <cstddef>
#include <string_view>

namespace spur::ctld {

inline bool equal_secret(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference = static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  return difference == 0;
}

}  // namespace spur::ctld
