// SPDX-License-Identifier: Apache-2.0
// Sockets and bytes; grpc_call.cc has the HTTP/2 streams.
#include "wire/grpc_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "wire/grpc_call.h"

namespace spur::wire {
namespace {

constexpr std::size_t kReadBytes = 512u << 10;
constexpr std::size_t kWriteAhead = 1u << 20;  // serialise no more than this ahead of the socket
constexpr int kWindowBytes = 16 << 20;         // so that a long answer never waits for our acknowledgements
constexpr int kLocalConnectSeconds = 5;

Result<int> connect_unix(const PeerAddress& peer) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(ErrorCode::Internal, fmt::format("Cannot make a socket: {}", std::strerror(errno)));
  // Blocking: a local connect is done or refused at once, and only waits when the listener's queue is full.
  const timeval limit{.tv_sec = kLocalConnectSeconds, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, peer.unix_path.c_str(), peer.unix_path.size() + 1);
  int done;
  do done = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  while (done != 0 && errno == EINTR);
  if (done != 0 || ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    auto error =
        fail(ErrorCode::Unreachable, fmt::format("Cannot connect to {}: {}", peer.text(), std::strerror(errno)));
    ::close(fd);
    return error;
  }
  return fd;
}

}  // namespace

struct GrpcConnection::Addresses {
  addrinfo* all = nullptr;
  addrinfo* next = nullptr;
  ~Addresses() {
    if (all) ::freeaddrinfo(all);
  }
};

GrpcConnection::GrpcConnection(int fd, std::string peer_name) : fd_(fd), peer_name_(std::move(peer_name)) {}

GrpcConnection::~GrpcConnection() {
  if (fd_ >= 0) ::close(fd_);
  if (session_) nghttp2_session_del(session_);
}

Result<std::unique_ptr<GrpcConnection>> GrpcConnection::adopt(int fd, std::string peer_name) {
  std::unique_ptr<GrpcConnection> connection(new GrpcConnection(fd, std::move(peer_name)));
  connection->authority_ = "localhost";
  SPUR_TRY(connection->open_session());
  return connection;
}

Result<std::unique_ptr<GrpcConnection>> GrpcConnection::dial(const PeerAddress& peer) {
  if (!peer.unix_path.empty()) {
    SPUR_ASSIGN(const int fd, connect_unix(peer));
    return adopt(fd, peer.text());
  }
  std::unique_ptr<GrpcConnection> connection(new GrpcConnection(-1, peer.text()));
  connection->authority_ = peer.text();
  connection->addresses_ = std::make_unique<Addresses>();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;  // first without asking anybody
  const std::string port = std::to_string(peer.port);
  int error = ::getaddrinfo(peer.host.c_str(), port.c_str(), &hints, &connection->addresses_->all);
  if (error == EAI_NONAME) {
    hints.ai_flags = AI_NUMERICSERV;
    error = ::getaddrinfo(peer.host.c_str(), port.c_str(), &hints, &connection->addresses_->all);
  }
  if (error != 0) {
    connection->addresses_->all = nullptr;
    return fail(ErrorCode::Unreachable, fmt::format("Cannot resolve {}: {}", peer.host, ::gai_strerror(error)));
  }
  connection->addresses_->next = connection->addresses_->all;
  SPUR_TRY(connection->open_session());
  if (!connection->try_next_address())
    return fail(ErrorCode::Unreachable,
                fmt::format("Cannot connect to {}: {}", peer.text(), std::strerror(connection->connect_error_)));
  return connection;
}

// Begins to connect to the next address that lets us; false when there is none left.
bool GrpcConnection::try_next_address() {
  while (addrinfo* address = addresses_->next) {
    addresses_->next = address->ai_next;
    const int fd = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      connect_error_ = errno;
      continue;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR) {
      fd_ = fd;
      connecting_ = true;
      return true;
    }
    connect_error_ = errno;
    ::close(fd);
  }
  return false;
}

void GrpcConnection::finish_connecting() {
  // Woken for another reason than the connect's end? Then there is nothing to learn yet.
  pollfd now{.fd = fd_, .events = POLLOUT, .revents = 0};
  if (::poll(&now, 1, 0) != 1) return;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) {
    connecting_ = false;
    addresses_.reset();
    return;
  }
  connect_error_ = error;
  ::close(fd_);
  fd_ = -1;
  if (try_next_address()) return;
  connecting_ = false;
  close({ErrorCode::Unreachable, fmt::format("Cannot connect to {}: {}", peer_name_, std::strerror(connect_error_))});
}

Status GrpcConnection::open_session() {
  if (make_session() != 0) return fail(ErrorCode::Internal, "Out of memory for a connection");
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 64u << 10},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1u << 20},
  };
  if (nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) != 0 ||
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindowBytes) != 0)
    return fail(ErrorCode::Internal, "Out of memory for a connection");
  return {};
}

bool GrpcConnection::wants_write() const {
  if (closed()) return false;
  return connecting_ || out_sent_ < out_.size() || nghttp2_session_want_write(session_) != 0;
}

void GrpcConnection::on_readable() {
  if (connecting_) finish_connecting();
  if (!in_) in_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  while (!closed() && !connecting_) {
    const ssize_t size = ::recv(fd_, in_.get(), kReadBytes, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (size <= 0) return broken("The connection was lost", size < 0 ? errno : 0);
    received_ += static_cast<std::uint64_t>(size);
    receiving_ = true;
    const ssize_t taken = nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(in_.get()),
                                                   static_cast<std::size_t>(size));
    receiving_ = false;
    if (closed()) return;  // a handler closed it
    if (taken < 0) return broken("The peer does not speak gRPC");
    if (static_cast<std::size_t>(size) < kReadBytes) break;
  }
  flush();
  check_alive();
}

// After a goodbye of either side nghttp2 wants nothing more: so do we.
void GrpcConnection::check_alive() {
  if (!closed() && nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0 &&
      out_sent_ == out_.size())
    broken(goaway_ ? "The server closed the connection" : "The peer does not speak gRPC");
}

void GrpcConnection::on_writable() {
  if (connecting_) finish_connecting();
  flush();
  if (!connecting_) check_alive();
}

void GrpcConnection::flush() {
  if (receiving_) return;  // on_readable does it at its end
  while (!closed() && !connecting_) {
    while (out_.size() - out_sent_ < kWriteAhead) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size < 0) return broken("The connection failed");
      if (size == 0) break;
      out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    if (out_sent_ == out_.size()) return;
    const ssize_t sent = ::send(fd_, out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) return broken("The connection was lost", errno);
    out_sent_ += static_cast<std::size_t>(sent);
    if (out_sent_ == out_.size()) {
      out_.clear();
      out_sent_ = 0;
    }
  }
}

void GrpcConnection::ping() {
  if (usable()) nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void GrpcConnection::broken(std::string_view what, int error_number) {
  std::string text = fmt::format("{} ({})", what, peer_name_);
  if (error_number != 0) text = fmt::format("{} ({}): {}", what, peer_name_, std::strerror(error_number));
  close({ErrorCode::Unreachable, std::move(text)});
}

void GrpcConnection::close(Error why) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  connecting_ = false;
  why_closed_ = std::move(why);
  const auto ended =
      std::move(calls_);  // a handler may look at the connection, and finds it closed and without calls
  calls_.clear();
  for (const auto& [id, call] : ended) {
    CallEnd end = unreachable_end(why_closed_.message);
    end.answered = call->end.answered;
    const auto handler = std::exchange(call->handler, nullptr);
    if (handler && handler->on_end) handler->on_end(end);
  }
}

}  // namespace spur::wire
