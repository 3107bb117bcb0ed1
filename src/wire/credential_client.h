// SPDX-License-Identifier: Apache-2.0
// Asks the daemon of this host who we are: over its auth socket, where the kernel tells it our uid, we get a signed
// credential that lives for a short time and goes along with each call as metadata (credential.proto).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spur::wire {

// The Credential message as bytes, for `audience` ("controller"). Unreachable: the socket is not there or silent;
// Unauthenticated: the daemon gives none, and says why.
Result<std::string> ask_credential(const std::string& auth_socket, std::string_view audience, Duration timeout);

}  // namespace spur::wire
