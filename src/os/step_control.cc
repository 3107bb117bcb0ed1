// SPDX-License-Identifier: Apache-2.0
#include "os/step_control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::uint32_t kMagic = 0x53744f31;  // "StO1"

struct Datagram {
  std::uint32_t magic;
  std::uint8_t kind;
  std::uint8_t why;
  std::uint16_t reserved;
  std::int32_t signal;
};

Datagram to_datagram(const StepOrder& order) {
  return {kMagic, static_cast<std::uint8_t>(order.kind), static_cast<std::uint8_t>(order.why), 0, order.signal};
}

std::optional<StepOrder> from_datagram(const Datagram& d) {
  if (d.magic != kMagic || d.kind > static_cast<std::uint8_t>(StepOrder::Kind::Resume) ||
      d.why > static_cast<std::uint8_t>(model::JobState::OutOfMemory) || d.signal < 0 || d.signal > 64)
    return std::nullopt;
  return StepOrder{static_cast<StepOrder::Kind>(d.kind), d.signal, static_cast<model::JobState>(d.why)};
}

// Socket addresses hold 107 bytes; through the descriptor's name in /proc any directory fits.
bool address_below(int dir, const char* name, sockaddr_un* address) {
  address->sun_family = AF_UNIX;
  const int length = std::snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", dir, name);
  return length > 0 && static_cast<std::size_t>(length) < sizeof address->sun_path;
}

Status sent(ssize_t result) {
  if (result >= 0) return {};
  if (errno == EAGAIN || errno == ENOBUFS) return fail(ErrorCode::Busy, "spurstepd does not take its orders");
  if (errno == ECONNREFUSED || errno == ENOENT || errno == ECONNRESET || errno == EPIPE)
    return fail(ErrorCode::NotFound, "spurstepd is gone");
  return fail_errno("cannot send an order to spurstepd", errno);
}

bool obeyed(const msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&message), c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender;
    std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
    return sender.uid == 0 || sender.uid == ::geteuid();
  }
  return false;
}

}  // namespace

Status expect_orders(int socket) {
  const int on = 1;
  if (::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return fail_errno("cannot ask for the senders of orders", errno);
  return {};
}

std::optional<StepOrder> receive_order(int socket) {
  for (;;) {
    Datagram datagram{};
    iovec io{&datagram, sizeof datagram};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (got != sizeof datagram || !obeyed(message)) continue;
    if (const auto order = from_datagram(datagram)) return order;
  }
}

Status send_order(int connected, const StepOrder& order) {
  const Datagram datagram = to_datagram(order);
  return sent(::send(connected, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL));
}

Status send_order_to(int dir, const char* name, const StepOrder& order) {
  sockaddr_un address{};
  if (!address_below(dir, name, &address))
    return fail(ErrorCode::InvalidArgument, "the name of a socket is too long");
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot make a socket", errno);
  const Datagram datagram = to_datagram(order);
  return sent(::sendto(socket.get(), &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL,
                       reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

Result<UniqueFd> bind_orders(int dir, const char* name) {
  sockaddr_un address{};
  if (!address_below(dir, name, &address))
    return fail(ErrorCode::InvalidArgument, "the name of a socket is too long");
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot make a socket", errno);
  // The mode of a socket's file is that of the socket when it is bound.
  if (::fchmod(socket.get(), 0600) != 0) return fail_errno("cannot set the mode of a socket", errno);
  SPUR_TRY(expect_orders(socket.get()));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno("cannot bind the socket for orders", errno);
  return socket;
}

}  // namespace spur::os
