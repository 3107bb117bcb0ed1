// SPDX-License-Identifier: Apache-2.0
#include "wire/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace spur::wire {

UnixSocket::UnixSocket() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

UnixSocket::~UnixSocket() {
  if (fd_ >= 0) ::close(fd_);
}

int UnixSocket::connect_to(const std::string& path) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  std::size_t size = sizeof address;
  if (path.starts_with('@')) {
    address.sun_path[0] = '\0';
    size = offsetof(sockaddr_un, sun_path) + path.size();
  }
  int done;
  do done = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size));
  while (done != 0 && errno == EINTR);
  return done == 0 ? 0 : errno;
}

bool UnixSocket::peer_is_trusted() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

}  // namespace spur::wire
