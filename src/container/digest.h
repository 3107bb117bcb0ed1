// SPDX-License-Identifier: Apache-2.0
// SHA-256, piece by piece.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::container {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(const void* bytes, std::size_t size);
  // "sha256:..."; once.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string digest_of(std::string_view text);
Result<std::string> digest_of_file(int fd);  // from its current place on

}  // namespace spur::container
