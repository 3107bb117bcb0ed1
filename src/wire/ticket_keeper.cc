// SPDX-License-Identifier: Apache-2.0
#include "wire/ticket_keeper.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include "io/credentials.h"
#include "spur/v1/controller.pb.h"
#include "wire/envelope.h"
#include "wire/local_call.h"

namespace spur::wire {
namespace {

constexpr std::uint32_t kMaxRequestBytes = 1024;
constexpr timeval kTicketPatience{.tv_sec = 1, .tv_usec = 0};

Time wall_clock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

bool receive(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(fd, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool is_ours(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

Result<std::string> answer_to(std::string_view frame, JobId job, const Result<ControllerClient::StepTicket>& ticket) {
  SPUR_ASSIGN(const auto call, parse_local_request(frame));
  v1::StepTicketRequest request;
  if (call.method != "StepTicket" ||
      !request.ParseFromArray(call.message.data(), static_cast<int>(call.message.size())) ||
      request.job() != job.value)
    return fail(ErrorCode::NotFound, "there is no ticket here");
  if (!ticket) return std::unexpected(ticket.error());
  v1::StepTicketReply reply;
  reply.set_ticket(ticket->ticket);
  for (const auto& node : ticket->nodes) reply.add_nodes(node);
  for (const auto& address : ticket->addresses) reply.add_addresses(address);
  for (const auto tasks : ticket->tasks_per_node) reply.add_tasks_per_node(tasks);
  return reply.SerializeAsString();
}

}  // namespace

Result<TicketKeeper> TicketKeeper::open() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    return fail(ErrorCode::Internal, fmt::format("getrandom: {}", std::strerror(errno)));
  TicketKeeper keeper(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fmt::format("@spur-tickets-{:016x}", number));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  keeper.address_.copy(address.sun_path + 1, keeper.address_.size() - 1, 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + keeper.address_.size());
  if (keeper.fd_ < 0 || ::bind(keeper.fd_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(keeper.fd_, SOMAXCONN) != 0)
    return fail(ErrorCode::Internal, fmt::format("cannot serve step tickets: {}", std::strerror(errno)));
  return keeper;
}

TicketKeeper::TicketKeeper(TicketKeeper&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

TicketKeeper::~TicketKeeper() {
  if (fd_ >= 0) ::close(fd_);
}

void TicketKeeper::serve(JobId job, const std::function<Result<ControllerClient::StepTicket>()>& renew) {
  for (;;) (void)serve_one(job, renew);
}

Status TicketKeeper::serve_one(JobId job, const std::function<Result<ControllerClient::StepTicket>()>& renew) {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return fail(ErrorCode::Internal, fmt::format("accept: {}", std::strerror(errno)));
  const TicketKeeper connection(fd, {});
  if (!is_ours(fd)) return fail(ErrorCode::PermissionDenied, "it is another user who asks");
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kTicketPatience, sizeof kTicketPatience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kTicketPatience, sizeof kTicketPatience);
  char length[kLocalLengthBytes];
  if (!receive(fd, length, sizeof length) || get_u32(length) > kMaxRequestBytes)
    return fail(ErrorCode::InvalidArgument, "no request came");
  std::string frame(get_u32(length), '\0');
  if (!receive(fd, frame.data(), frame.size())) return fail(ErrorCode::InvalidArgument, "no request came");
  if (!ticket_ || wall_clock() >= renew_at_) {
    ticket_ = renew();
    renew_at_ = wall_clock() + io::kStepTicketLifetime / 2;
  }
  const auto message = answer_to(frame, job, ticket_);
  std::string bytes;
  if (message) append_local_message(*message, &bytes);
  append_local_end(message ? Status() : std::unexpected(message.error()), &bytes);
  send_all(fd, bytes);
  return message ? Status() : Status(std::unexpected(message.error()));
}

}  // namespace spur::wire
