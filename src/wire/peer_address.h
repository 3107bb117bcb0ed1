// SPDX-License-Identifier: Apache-2.0
// Where a daemon listens, as users and configuration write it: "unix:/path" (or "unix:///path"), "host:port", "host",
// "[v6 address]:port", "http://host:port".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::wire {

struct PeerAddress {
  std::string unix_path;  // not empty: a local socket, and the rest is unused
  std::string host;
  std::uint16_t port = 0;
  std::string text() const;  // "unix:/path" or "host:port"
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

// InvalidArgument names the text; https is NotSupported.
Result<PeerAddress> parse_peer_address(std::string_view text, std::uint16_t default_port);

}  // namespace spur::wire
