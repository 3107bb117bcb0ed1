// SPDX-License-Identifier: Apache-2.0
#include "os/sd_notify.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "os/unique_fd.h"

namespace spur::os {

ServiceNotifier::ServiceNotifier() {
  if (const char* address = std::getenv("NOTIFY_SOCKET")) {
    address_ = address;
    ::unsetenv("NOTIFY_SOCKET");
  }
  // A path, or a name in the abstract space, which is written with '@' for its zero byte.
  if (address_.size() < 2 || (address_[0] != '/' && address_[0] != '@')) address_.clear();
}

bool ServiceNotifier::send(std::string_view state) const {
  sockaddr_un to{};
  if (address_.empty() || address_.size() >= sizeof to.sun_path) return false;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  return fd && ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                        size) == static_cast<ssize_t>(state.size());
}

void ServiceNotifier::ready() const {
  send(fmt::format("READY=1\nMAINPID={}", ::getpid()));
}

void ServiceNotifier::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000));
}

void ServiceNotifier::stopping() const {
  send("STOPPING=1");
}

void ServiceNotifier::status(std::string_view text) const {
  send(fmt::format("STATUS={}", text));
}

}  // namespace spur::os
