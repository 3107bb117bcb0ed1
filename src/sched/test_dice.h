// SPDX-License-Identifier: Apache-2.0
// For tests at random: numbers that are the same everywhere, unlike the distributions of <random>, and which seeds to
// try.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace spur::sched {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// More on demand: SPUR_SEEDS=100000; SPUR_SEEDS=501-600 takes just those.
struct Seeds {
  std::uint64_t first = 1, last = 0;
};
inline Seeds seeds(std::uint64_t last) {
  Seeds found{1, last};
  const char* asked = std::getenv("SPUR_SEEDS");
  if (!asked) return found;
  char* rest = nullptr;
  found.last = std::strtoull(asked, &rest, 10);
  if (*rest == '-') {
    found.first = found.last;
    found.last = std::strtoull(rest + 1, nullptr, 10);
  }
  return found;
}

}  // namespace spur::sched
