// SPDX-License-Identifier: Apache-2.0
#include "os/local_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "os/files.h"
#include "os/local_socket_loop.h"

namespace spur::os {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::InvalidArgument, fmt::format("socket path \"{}\" is empty or longer than {} bytes", path,
                                                        sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Status make_socket_directory(const std::string& directory) {
  struct stat info{};
  if (::stat(directory.c_str(), &info) != 0 && errno == ENOENT) {
    SPUR_TRY(make_private_dir(directory));
    if (::chmod(directory.c_str(), 0755) != 0)
      return fail_errno(fmt::format("cannot set the mode of {}", directory), errno);
  }
  return check_private_dir(directory);
}

// Removes a socket file that nobody listens on.
Status clear_path(const std::string& path, const sockaddr_un& address) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(fmt::format("cannot use {}", path), errno);
  }
  if (!S_ISSOCK(info.st_mode)) return fail(ErrorCode::AlreadyExists, fmt::format("{} exists and is no socket", path));
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return fail_errno("cannot make a socket", errno);
  // EAGAIN: somebody listens, with a full queue.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN)
    return fail(ErrorCode::Busy, fmt::format("{} is served by another process already", path));
  if (::unlink(path.c_str()) != 0) return fail_errno(fmt::format("cannot remove the stale socket {}", path), errno);
  return {};
}

}  // namespace

Uid LocalSocket::unknown_uid() {
  static const Uid value = [] {
    const Result<std::string> text = read_file("/proc/sys/kernel/overflowuid", 64);
    const unsigned long number = text ? std::strtoul(text->c_str(), nullptr, 10) : 0;
    return number == 0 ? kNobodyUid : Uid(static_cast<std::uint32_t>(number));
  }();
  return value;
}

Result<std::unique_ptr<LocalSocket>> LocalSocket::open(Options options, Handler handler, io::Clock& clock) {
  SPUR_CHECK(options.threads > 0);
  std::unique_ptr<LocalSocket> socket(new LocalSocket(std::move(options), std::move(handler), clock));
  SPUR_TRY(socket->listen_on_path());
  for (unsigned i = 0; i < socket->options_.threads; ++i) {
    auto loop = std::make_unique<Loop>(*socket);
    SPUR_TRY(loop->start());
    socket->loops_.push_back(std::move(loop));
  }
  return socket;
}

LocalSocket::LocalSocket(Options options, Handler handler, io::Clock& clock)
    : options_(std::move(options)), handler_(std::move(handler)), clock_(clock) {}

LocalSocket::~LocalSocket() {
  loops_.clear();
  if (bound_) ::unlink(options_.path.c_str());
}

Status LocalSocket::listen_on_path() {
  SPUR_ASSIGN(const sockaddr_un address, address_of(options_.path));
  SPUR_TRY(make_socket_directory(parent_directory(options_.path)));
  // Two that start at once must not each take the other's new socket for a stale one.
  const std::string lock_path = options_.path + ".lock";
  lock_.reset(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_) return fail_errno(fmt::format("cannot open {}", lock_path), errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::Busy, fmt::format("{} is served by another process already", options_.path));
  SPUR_TRY(clear_path(options_.path, address));
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) return fail_errno("cannot make a socket", errno);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno(fmt::format("cannot bind to {}", options_.path), errno);
  bound_ = true;
  if (::chmod(options_.path.c_str(), 0666) != 0)
    return fail_errno(fmt::format("cannot set the mode of {}", options_.path), errno);
  if (::listen(listener_.get(), SOMAXCONN) != 0)
    return fail_errno(fmt::format("cannot listen on {}", options_.path), errno);
  return {};
}

bool LocalSocket::Shares::enter(Uid uid, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  auto& share = users_[uid];
  if (share.connections >= limit) return false;
  ++share.connections;
  return true;
}

bool LocalSocket::Shares::grow(Uid uid, std::size_t bytes, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  auto& share = users_[uid];
  if (bytes > limit || share.bytes > limit - bytes) return false;
  share.bytes += bytes;
  return true;
}

void LocalSocket::Shares::leave(Uid uid, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = users_.find(uid);
  SPUR_CHECK(at != users_.end() && at->second.connections > 0 && at->second.bytes >= bytes);
  at->second.bytes -= bytes;
  if (--at->second.connections == 0) users_.erase(at);
}

}  // namespace spur::os
