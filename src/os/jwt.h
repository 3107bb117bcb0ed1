// SPDX-License-Identifier: Apache-2.0
// Tokens as RFC 7519 has them, signed with HMAC and SHA-256, with the claims of Slurm's: "exp", "iat" and the user's
// name in "sun".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spur::os {

// An end beyond what a number of seconds can say is the last one that it can.
Result<std::string> make_jwt(std::string_view key, std::string_view user, Time now, seconds lifespan);
// The same, with the key in the file: as it is, byte for byte. A file that others than its owner may read or write is
// refused: whoever has the key is anybody.
Result<std::string> make_jwt_with(const std::string& key_file, const std::string& user, Time now, seconds lifespan);

}  // namespace spur::os
