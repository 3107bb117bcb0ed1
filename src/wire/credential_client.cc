// SPDX-License-Identifier: Apache-2.0
#include "wire/credential_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "spur/v1/credential.pb.h"
#include "wire/envelope.h"
#include "wire/unix_socket.h"

namespace spur::wire {
namespace {

constexpr std::uint32_t kMaxReplyBytes = 64u << 10;

std::unexpected<Error> unreachable(const std::string& path, int error) {
  // A timeout of SO_RCVTIMEO or SO_SNDTIMEO shows as EAGAIN.
  const char* why = error == EAGAIN || error == EWOULDBLOCK ? "no answer in time" : std::strerror(error);
  return fail(ErrorCode::Unreachable, fmt::format("Cannot get a credential from {}: {}", path, why));
}

void limit_waiting(int fd, Duration timeout) {
  const auto whole = std::chrono::duration_cast<seconds>(timeout);
  const timeval limit{.tv_sec = whole.count(),
                      .tv_usec = std::max<std::int64_t>((timeout - whole).count(), whole.count() ? 0 : 1)};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Status receive(const std::string& path, int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(fd, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreachable(path, errno);
    if (got == 0)
      return fail(ErrorCode::Unreachable, fmt::format("Cannot get a credential from {}: it hung up", path));
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

Result<std::string> ask_credential(const std::string& auth_socket, std::string_view audience, Duration timeout) {
  const std::string path = auth_socket.starts_with("unix:") ? auth_socket.substr(5) : auth_socket;
  const UnixSocket socket;
  if (socket.fd() < 0) return unreachable(path, errno);
  limit_waiting(socket.fd(), timeout);
  if (const int error = socket.connect_to(path)) return unreachable(path, error);

  v1::CredentialRequest request;
  request.set_audience(std::string(audience));
  std::string out(4, '\0');
  request.AppendToString(&out);
  put_u32(static_cast<std::uint32_t>(out.size() - 4), out.data());
  for (std::size_t sent = 0; sent < out.size();) {
    const ssize_t now = ::send(socket.fd(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return unreachable(path, errno);
    sent += static_cast<std::size_t>(now);
  }

  char length[4];
  SPUR_TRY(receive(path, socket.fd(), length, sizeof length));
  const std::uint32_t size = get_u32(length);
  if (size == 0 || size > kMaxReplyBytes)
    return fail(ErrorCode::Unauthenticated,
                fmt::format("{} answered with {} bytes, which is no credential", path, size));
  std::string reply(size, '\0');
  SPUR_TRY(receive(path, socket.fd(), reply.data(), reply.size()));
  v1::Credential credential;
  if (!credential.ParseFromString(reply))
    return fail(ErrorCode::Unauthenticated, fmt::format("{} answered with what is no credential", path));
  if (!credential.error().empty()) return fail(ErrorCode::Unauthenticated, credential.error());
  if (credential.payload().empty() || credential.signature().empty())
    return fail(ErrorCode::Unauthenticated, fmt::format("{} answered with an unsigned credential", path));
  return reply;
}

}  // namespace spur::wire
