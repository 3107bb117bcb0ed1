// SPDX-License-Identifier: Apache-2.0
#include "os/auth_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "os/files.h"
#include "spur/v1/credential.pb.h"

namespace spur::os {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::uint32_t read_length(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

void append_length(std::string& to, std::size_t size) {
  for (std::size_t i = 0; i < kLengthBytes; ++i) to.push_back(static_cast<char>(size >> (8 * i)));
}

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

// What the kernel shows for a user it cannot name in our user namespace.
std::uint32_t overflow_uid() {
  static const std::uint32_t value = [] {
    const Result<std::string> text = read_file("/proc/sys/kernel/overflowuid", 64);
    const unsigned long number = text ? std::strtoul(text->c_str(), nullptr, 10) : 0;
    return number == 0 ? kNobodyUid.value : static_cast<std::uint32_t>(number);
  }();
  return value;
}

}  // namespace

Result<std::unique_ptr<AuthSocket>> AuthSocket::open(Options options, io::CredentialSigner& signer,
                                                     io::Clock& clock) {
  std::unique_ptr<AuthSocket> socket(new AuthSocket(std::move(options), signer, clock));
  SPUR_TRY(socket->listen_on_path());
  socket->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  socket->stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!socket->epoll_ || !socket->stop_) return fail_errno("cannot make an epoll descriptor", errno);
  for (const int fd : {socket->listener_.get(), socket->stop_.get()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(socket->epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail_errno("epoll_ctl", errno);
  }
  socket->thread_ = std::thread([self = socket.get()] { self->run(); });
  return socket;
}

AuthSocket::~AuthSocket() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_.get(), &one, sizeof one));
    thread_.join();
  }
  if (bound_) ::unlink(options_.path.c_str());
}

Status AuthSocket::listen_on_path() {
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

void AuthSocket::run() {
  std::vector<epoll_event> events(64);
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_milliseconds());
    SPUR_CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_.get()) return;
      if (fd == listener_.get()) {
        accept_some();
      } else if (const auto at = connections_.find(fd); at != connections_.end() && !progress(at->second)) {
        close_connection(fd);
      }
    }
    close_late();
    set_accepting(connections_.size() < options_.max_connections && clock_.monotonic() >= paused_until_);
  }
}

void AuthSocket::accept_some() {
  while (connections_.size() < options_.max_connections) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      admit(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) paused_until_ = clock_.monotonic() + milliseconds(50);  // EMFILE and its like
    return;
  }
}

void AuthSocket::admit(UniqueFd fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  const Uid uid(peer.uid);
  if (per_user_[uid] >= options_.max_connections_per_user) return;
  const int number = fd.get();
  epoll_event event{.events = EPOLLIN, .data = {.fd = number}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, number, &event) != 0) return;
  ++per_user_[uid];
  Connection& connection = connections_[number];
  connection.fd = std::move(fd);
  connection.uid = uid;
  connection.gid = Gid(peer.gid);
  connection.deadline = clock_.monotonic() + options_.time_limit;
  // The request is usually there already.
  if (!progress(connection)) close_connection(number);
}

void AuthSocket::set_accepting(bool accepting) {
  if (accepting == accepting_) return;
  epoll_event event{.events = accepting ? EPOLLIN : 0u, .data = {.fd = listener_.get()}};
  SPUR_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event) == 0);
  accepting_ = accepting;
}

bool AuthSocket::progress(Connection& connection) {
  if (!connection.answered && !read_request(connection)) return false;
  return !connection.answered || write_reply(connection);
}

bool AuthSocket::read_request(Connection& connection) {
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::recv(connection.fd.get(), buffer, sizeof buffer, 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    connection.in.append(buffer, static_cast<std::size_t>(n));
    if (connection.in.size() < kLengthBytes) continue;
    const std::size_t length = read_length(connection.in);
    if (length > options_.max_request_bytes) return false;
    if (connection.in.size() < kLengthBytes + length) continue;
    answer(connection, std::string_view(connection.in).substr(kLengthBytes, length));
    return true;
  }
}

void AuthSocket::answer(Connection& connection, std::string_view request) {
  Result<std::string> bytes = credential_for(connection, request);
  if (!bytes) {
    v1::Credential refusal;
    refusal.set_error(bytes.error().message);
    bytes = refusal.SerializeAsString();
  }
  append_length(connection.out, bytes->size());
  connection.out += *bytes;
  connection.answered = true;
}

Result<std::string> AuthSocket::credential_for(const Connection& connection, std::string_view request_bytes) {
  v1::CredentialRequest request;
  if (!request.ParseFromArray(request_bytes.data(), static_cast<int>(request_bytes.size())))
    return fail(ErrorCode::InvalidArgument, "the request is garbled");
  const Uid uid = connection.uid;
  if (uid.value == overflow_uid())
    return fail(ErrorCode::InvalidUser,
                fmt::format("uid {} stands for unknown users and gets no credential", uid.value));
  if (options_.may_attest && !options_.may_attest(uid))
    return fail(ErrorCode::PermissionDenied,
                fmt::format("this host gives uid {} no credential, because it has no job here", uid.value));
  io::CredentialClaims claims;
  claims.uid = uid;
  claims.gid = connection.gid;
  claims.audience = request.audience();
  return signer_.sign(claims, clock_.now());
}

bool AuthSocket::write_reply(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t n = ::send(connection.fd.get(), connection.out.data() + connection.sent,
                             connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      epoll_event event{.events = EPOLLOUT, .data = {.fd = connection.fd.get()}};
      return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event) == 0;
    }
    if (n < 0) return false;
    connection.sent += static_cast<std::size_t>(n);
  }
  return false;
}

void AuthSocket::close_connection(int fd) {
  const auto at = connections_.find(fd);
  SPUR_CHECK(at != connections_.end());
  if (const auto user = per_user_.find(at->second.uid); --user->second == 0) per_user_.erase(user);
  connections_.erase(at);
}

void AuthSocket::close_late() {
  const Duration now = clock_.monotonic();
  std::vector<int> late;
  for (const auto& [fd, connection] : connections_)
    if (connection.deadline <= now) late.push_back(fd);
  for (const int fd : late) close_connection(fd);
}

int AuthSocket::wait_milliseconds() const {
  if (connections_.empty() && accepting_) return -1;
  Duration next = connections_.empty() ? paused_until_ : Duration::max();
  for (const auto& [fd, connection] : connections_) next = std::min(next, connection.deadline);
  if (!accepting_ && paused_until_ > clock_.monotonic()) next = std::min(next, paused_until_);
  const auto left = std::chrono::ceil<milliseconds>(next - clock_.monotonic());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 10'000));
}

}  // namespace spur::os
