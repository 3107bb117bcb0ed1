// SPDX-License-Identifier: Apache-2.0
// Logarithms and powers of two without floating point, the same on every machine. Numbers are in 2^-32.
#pragma once

#include <cstdint>

namespace spur::model {

std::int64_t fixed_log2(std::uint64_t x);    // of what is not 0; rounded down
std::uint64_t fixed_exp2(std::int64_t y);    // what is too large becomes the largest number there is

}  // namespace spur::model
