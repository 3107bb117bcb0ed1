// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/peer_address.h"

namespace spur::cli {

std::string own_address_towards(const std::string& agent) {
  const auto peer = wire::parse_peer_address(agent, 6818);
  if (!peer || peer->host.empty()) return {};
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;  // connecting one sends nothing, and tells the way
  addrinfo* all = nullptr;
  if (::getaddrinfo(peer->host.c_str(), std::to_string(peer->port).c_str(), &hints, &all) != 0) return {};
  std::string out;
  for (const addrinfo* one = all; one != nullptr && out.empty(); one = one->ai_next) {
    const int fd = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[NI_MAXHOST];
    if (::connect(fd, one->ai_addr, one->ai_addrlen) == 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      out = text;
    ::close(fd);
  }
  ::freeaddrinfo(all);
  return out;
}

}  // namespace spur::cli
