// SPDX-License-Identifier: Apache-2.0
#include "agent/step_fences.h"

#include <algorithm>
#include <utility>

namespace spur::agent {

std::optional<StepFences::Pass> StepFences::at(std::size_t part, std::uint64_t number, std::string data) {
  if (number != 0 && number <= last_.number) {
    if (number < last_.number) return std::nullopt;
    Pass again = last_;  // it has not heard
    again.only = part;
    return again;
  }
  parts_[part].at[number] = std::move(data);
  return pass();
}

std::optional<StepFences::Pass> StepFences::over(std::size_t part) {
  parts_[part].over = true;
  return pass();
}

// The parts are at most one fence apart: nobody passes one before all have come.
std::optional<StepFences::Pass> StepFences::pass() {
  std::optional<std::uint64_t> number;
  for (const Part& part : parts_) {
    if (part.over) continue;
    if (part.at.empty()) return std::nullopt;
    number = std::min(number.value_or(~std::uint64_t{0}), part.at.rbegin()->first);
  }
  if (!number) return std::nullopt;
  Pass out{.number = *number, .data = {}, .only = {}};
  for (Part& part : parts_) {
    const auto it = part.at.find(*number);
    if (it == part.at.end() && !part.over) return std::nullopt;
    if (it != part.at.end()) out.data += it->second;
  }
  for (Part& part : parts_) part.at.erase(part.at.begin(), part.at.upper_bound(*number));
  last_ = out;
  return out;
}

}  // namespace spur::agent
