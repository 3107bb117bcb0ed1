// SPDX-License-Identifier: Apache-2.0
// Amounts of trackable resources by name, as limits and usage are written: cpu=4,mem=100,gres/gpu=8. Memory in
// mebibytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spur::model {

struct TresCount {
  std::string tres;  // "cpu", "gres/gpu:a100"
  std::uint64_t count = 0;
  friend bool operator==(const TresCount&, const TresCount&) = default;
};
using TresCounts = std::vector<TresCount>;  // each resource at most once; what is not named has no limit

inline const TresCount* find_tres(const TresCounts& list, std::string_view tres) {
  const auto found = std::ranges::find(list, tres, &TresCount::tres);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace spur::model
