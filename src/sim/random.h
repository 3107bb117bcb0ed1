// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere for the same seed (the standard library's distributions are not).
#pragma once

#include <cstdint>

namespace spur::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [low, high], both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + next() % (high - low + 1); }
  bool chance(unsigned per_mille) { return next() % 1000 < per_mille; }
  Random fork() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace spur::sim
