// SPDX-License-Identifier: Apache-2.0
#include "wire/peer_address.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

namespace spur::wire {
namespace {

bool take_prefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::InvalidArgument, fmt::format("Invalid address {}: {}", text, why));
}

Result<PeerAddress> parse_unix(std::string_view whole, std::string_view path) {
  while (path.starts_with("//")) path.remove_prefix(1);
  if (!path.starts_with('/')) return bad(whole, "the path of a local socket begins with /");
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return bad(whole, "the path of a local socket has at most 107 characters");
  if (path.find('\0') != path.npos) return bad(whole, "a path holds no NUL");
  return PeerAddress{.unix_path = std::string(path), .host = {}, .port = 0};
}

}  // namespace

std::string PeerAddress::text() const {
  if (!unix_path.empty()) return "unix:" + unix_path;
  return host.find(':') != host.npos ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<PeerAddress> parse_peer_address(std::string_view text, std::uint16_t default_port) {
  const std::string_view whole = text;
  if (take_prefix(&text, "unix:") || text.starts_with('/')) return parse_unix(whole, text);
  if (text.starts_with("https://"))
    return fail(ErrorCode::NotSupported, fmt::format("Address {}: TLS is not supported", whole));
  if (take_prefix(&text, "http://") && text.ends_with('/')) text.remove_suffix(1);

  std::string_view host = text, port;
  bool has_port = false;
  if (take_prefix(&host, "[")) {
    const auto end = host.find(']');
    if (end == host.npos) return bad(whole, "a ] is missing");
    port = host.substr(end + 1);
    host = host.substr(0, end);
    has_port = take_prefix(&port, ":");
    if (!has_port && !port.empty()) return bad(whole, "after ] only a port may follow");
  } else if (std::count(text.begin(), text.end(), ':') == 1) {  // more colons: a bare IPv6 address
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (host.empty()) return bad(whole, "the host is missing");
  const auto odd = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '@' || c == '[' || c == 127;
  };
  if (std::any_of(host.begin(), host.end(), odd)) return bad(whole, "no host has such a name");
  PeerAddress address{.unix_path = {}, .host = std::string(host), .port = default_port};
  if (has_port) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc{} || end != port.data() + port.size() || address.port == 0)
      return bad(whole, "a port is a number from 1 to 65535");
  }
  return address;
}

}  // namespace spur::wire
