// SPDX-License-Identifier: Apache-2.0
// The textual parts of the gRPC protocol: percent-encoded messages, base64 of binary metadata, timeouts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spur::wire {

// grpc-message. What is no valid escape stays as it is.
std::string percent_decode(std::string_view text);

// Without padding, as gRPC sends it; decoding takes both, and nothing if the text is no base64.
std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);

// grpc-timeout: at most eight digits and a unit, rounded up. "1500m", "90S".
std::string grpc_timeout(Duration timeout);

}  // namespace spur::wire
