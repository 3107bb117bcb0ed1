// SPDX-License-Identifier: Apache-2.0
#include "os/step_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::size_t kMaxHelloBytes = 1024;
constexpr std::size_t kMaxSilent = 4096;

// The spool's path may be longer than an address can be: it is named by a descriptor.
Result<sockaddr_un> address_of(const UniqueFd& directory, std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory.get(), name);
  if (path.size() >= sizeof address.sun_path) return fail(ErrorCode::Internal, "the address is too long");
  path.copy(address.sun_path, path.size());
  return address;
}

Result<UniqueFd> open_directory(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno("cannot open " + path, errno);
  return directory;
}

}  // namespace

std::string step_call_socket(std::string_view run_directory) {
  return fmt::format("{}/{}", run_directory.substr(0, run_directory.rfind('/')), kStepCallSocket);
}

Result<UniqueFd> call_agent(const std::string& socket, std::string_view hello, int orders) {
  const std::size_t slash = socket.rfind('/');
  SPUR_ASSIGN(const auto directory, open_directory(socket.substr(0, slash)));
  SPUR_ASSIGN(const auto address, address_of(directory, std::string_view(socket).substr(slash + 1)));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno("cannot reach the agent", errno);
  iovec io{const_cast<char*>(hello.data()), hello.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &orders, sizeof orders);
  if (::sendmsg(fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size()))
    return fail_errno("cannot say hello to the agent", errno);
  return fd;
}

Result<std::unique_ptr<StepCalls>> StepCalls::open(EventLoop& loop, const std::string& spool,
                                                   std::function<void(Call)> on_call) {
  std::unique_ptr<StepCalls> out(new StepCalls(loop, std::move(on_call)));
  SPUR_ASSIGN(const auto directory, open_directory(spool));
  SPUR_ASSIGN(const auto address, address_of(directory, kStepCallSocket));
  out->listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out->listener_) return fail_errno("cannot make a socket", errno);
  const std::string path = fmt::format("{}/{}", spool, kStepCallSocket);
  ::unlink(path.c_str());  // the spool's lock says that nobody else serves it
  const mode_t mask = ::umask(0177);
  const int bound = ::bind(out->listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(mask);
  if (bound != 0) return fail_errno("cannot bind " + path, errno);
  if (::listen(out->listener_.get(), SOMAXCONN) != 0) return fail_errno("cannot listen on " + path, errno);
  SPUR_TRY(loop.watch(out->listener_.get(), EPOLLIN, [raw = out.get()](std::uint32_t) { raw->accept_some(); }));
  return out;
}

StepCalls::~StepCalls() {
  if (listener_) loop_.unwatch(listener_.get());
  for (const auto& [fd, who] : silent_) loop_.unwatch(fd);
}

void StepCalls::accept_some() {
  for (;;) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid() ||
        silent_.size() >= kMaxSilent)
      continue;
    const int number = fd.get();
    if (loop_.watch(number, EPOLLIN, [this, number](std::uint32_t) { take(number); }))
      silent_.emplace(number, std::pair(std::move(fd), peer.pid));
  }
}

void StepCalls::take(int number) {
  const auto it = silent_.find(number);
  if (it == silent_.end()) return;
  loop_.unwatch(number);
  Call call{.hello = std::string(kMaxHelloBytes, '\0'),
            .stream = std::move(it->second.first),
            .orders = {},
            .pid = it->second.second};
  silent_.erase(it);
  iovec io{call.hello.data(), call.hello.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(call.stream.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    call.orders = UniqueFd(fd);
  }
  if (got <= 0 || !call.orders) return;
  call.hello.resize(static_cast<std::size_t>(got));
  on_call_(std::move(call));
}

}  // namespace spur::os
