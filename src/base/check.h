// SPDX-License-Identifier: Apache-2.0
// SPUR_CHECK states what cannot be otherwise. It is on in release builds: a scheduler that goes on with a
// broken invariant hands out the same GPU twice. Never use it on input; input errors are Result values.
#pragma once

namespace spur {

[[noreturn]] void check_failed(const char* file, int line, const char* expression, const char* message);

}  // namespace spur

#define SPUR_CHECK(expression)                                                                   \
  (static_cast<bool>(expression) ? static_cast<void>(0)                                          \
                                 : ::spur::check_failed(__FILE__, __LINE__, #expression, ""))
#define SPUR_CHECK_MSG(expression, message)                                                      \
  (static_cast<bool>(expression) ? static_cast<void>(0)                                          \
                                 : ::spur::check_failed(__FILE__, __LINE__, #expression, message))
