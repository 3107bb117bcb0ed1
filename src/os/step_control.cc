// SPDX-License-Identifier: Apache-2.0
#include "os/step_control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::uint32_t kControlMagic = 0x53744f31;  // "StO1"

struct Datagram {
  std::uint32_t magic;
  std::uint8_t kind;
  std::uint8_t why;
  std::uint16_t reserved;
  std::int32_t signal;
};

Datagram to_datagram(const StepOrder& order) {
  return {kControlMagic, static_cast<std::uint8_t>(order.kind), static_cast<std::uint8_t>(order.why), 0, order.signal};
}

std::optional<StepOrder> from_datagram(const Datagram& d) {
  if (d.magic != kControlMagic || d.kind > static_cast<std::uint8_t>(StepOrder::Kind::Notify) ||
      d.why > static_cast<std::uint8_t>(model::JobState::OutOfMemory) || d.signal < 0 || d.signal > 64)
    return std::nullopt;
  return StepOrder{static_cast<StepOrder::Kind>(d.kind), d.signal, static_cast<model::JobState>(d.why)};
}

Status sent(ssize_t result) {
  if (result >= 0) return {};
  if (errno == EAGAIN || errno == ENOBUFS) return fail(ErrorCode::Busy, "spurstepd does not take its orders");
  if (errno == ECONNREFUSED || errno == ENOENT || errno == ENXIO || errno == ECONNRESET || errno == EPIPE)
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
    ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const bool pipe = got < 0 && errno == ENOTSOCK;
    if (pipe) got = ::read(socket, &datagram, sizeof datagram);  // it never blocks: open_orders()
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (got != sizeof datagram || (!pipe && !obeyed(message))) continue;
    if (const auto order = from_datagram(datagram)) return order;
  }
}

Status send_order(int connected, const StepOrder& order) {
  const Datagram datagram = to_datagram(order);
  return sent(::send(connected, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL));
}

Status send_order_to(int dir, const char* name, const StepOrder& order) {
  const UniqueFd pipe(::openat(dir, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!pipe) return sent(-1);
  const Datagram datagram = to_datagram(order);
  return sent(::write(pipe.get(), &datagram, sizeof datagram));  // whole or not at all, being so short
}

Result<UniqueFd> open_orders(int dir, const char* name) {
  for (int attempt = 0;; ++attempt) {
    // For writing as well: so there is no end of file when a sender goes.
    UniqueFd pipe(::openat(dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (pipe && ::fstat(pipe.get(), &info) == 0 && S_ISFIFO(info.st_mode) && info.st_uid == ::geteuid() &&
        (info.st_mode & 0777) == 0600)
      return pipe;
    if (attempt > 0) return fail_errno("cannot open the pipe for orders", pipe ? EEXIST : errno);
    ::unlinkat(dir, name, 0);
    if (::mkfifoat(dir, name, 0600) != 0 || ::fchmodat(dir, name, 0600, 0) != 0)  // whatever the umask
      return fail_errno("cannot make the pipe for orders", errno);
  }
}

void tell_agent(int orders, std::string_view text) {
  (void)::send(orders, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::string hear_step(int orders) {
  char buffer[4096];
  const ssize_t got = ::recv(orders, buffer, sizeof buffer, MSG_DONTWAIT);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

}  // namespace spur::os
