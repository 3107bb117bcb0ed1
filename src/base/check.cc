// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace spur {

void check_failed(const char* file, int line, const char* expression, const char* message) {
  std::fprintf(stderr, "fatal: %s:%d: %s does not hold%s%s\n", file, line, expression, *message ? ": " : "",
               message);
  std::abort();
}

}  // namespace spur
