// SPDX-License-Identifier: Apache-2.0
// A 64-bit digest for comparing replicas: order matters, and every value is followed by its length or kind, so that
// two different states do not run together. Not for adversaries. The same on every machine: nothing depends on
// addresses, on std::hash or on the byte order.
#pragma once

#include <cstdint>
#include <string_view>

namespace spur::state {

class Digest {
 public:
  void number(std::uint64_t n) {
    value_ = (value_ ^ mix(n + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    value_ ^= value_ >> 32;
  }
  void text(std::string_view text);
  std::uint64_t value() const { return mix(value_); }

 private:
  static std::uint64_t mix(std::uint64_t n) {
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
    return n ^ (n >> 31);
  }
  std::uint64_t value_ = 0x2545f4914f6cdd1du;
};

}  // namespace spur::state
