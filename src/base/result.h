// SPDX-License-Identifier: Apache-2.0
// What can go wrong, as values. An Error carries one code (see error_code.h: it decides Slurm's errno, the exit
// status and the HTTP status) and one sentence for the user that names the offending value.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error_code.h"

namespace spur {

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // one sentence, no newline, no trailing full stop

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message = {}) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace spur

// Returns the error of `expression` from the calling function, or goes on.
#define SPUR_TRY(expression)                                              \
  do {                                                                    \
    if (auto spur_try_result = (expression); !spur_try_result)            \
      return ::std::unexpected(std::move(spur_try_result).error());       \
  } while (false)

#define SPUR_CONCAT_(a, b) a##b
#define SPUR_CONCAT(a, b) SPUR_CONCAT_(a, b)
// SPUR_ASSIGN(auto x, f()): x is the value of f(), or the calling function returns f()'s error.
#define SPUR_ASSIGN(declaration, expression)                                                       \
  auto SPUR_CONCAT(spur_assign_, __LINE__) = (expression);                                         \
  if (!SPUR_CONCAT(spur_assign_, __LINE__))                                                        \
    return ::std::unexpected(std::move(SPUR_CONCAT(spur_assign_, __LINE__)).error());              \
  declaration = *std::move(SPUR_CONCAT(spur_assign_, __LINE__))
