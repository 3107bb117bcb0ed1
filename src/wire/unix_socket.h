// SPDX-License-Identifier: Apache-2.0
// A blocking connection to a local socket, for the small clients of this folder.
#pragma once

#include <string>

namespace spur::wire {

class UnixSocket {
 public:
  UnixSocket();  // fd() < 0: errno says why
  ~UnixSocket();
  UnixSocket(const UnixSocket&) = delete;
  UnixSocket& operator=(const UnixSocket&) = delete;
  int fd() const { return fd_; }
  // 0, or the error number. A name that begins with '@' is in the abstract namespace.
  int connect_to(const std::string& path) const;
  // Whether the one that serves it is root or ourselves, and so may be believed.
  bool peer_is_trusted() const;

 private:
  int fd_;
};

}  // namespace spur::wire
