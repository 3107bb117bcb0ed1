// SPDX-License-Identifier: Apache-2.0
#include "os/step_spawner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::uint32_t kSpawnerMagic = 0x53505731;  // "SPW1"
constexpr std::size_t kMaxMessage = 200u << 10;
constexpr std::size_t kMaxFds = 3;

struct RequestHead {
  std::uint32_t magic, id;
  std::uint32_t kind;
};
struct Reply {
  std::uint32_t magic, id;
  std::int32_t pid, error;
};

// One message with descriptors.
ssize_t send_with(int socket, const std::string& bytes, const std::vector<int>& fds, int flags) {
  iovec io{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with(int socket, std::string& bytes, std::vector<UniqueFd>& fds, int flags) {
  iovec io{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (got <= 0) return got;
  bytes.resize(static_cast<std::size_t>(got));
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return got;
}

// Head, then NUL-ended texts: argument, title, environment.
std::string encode(const StepRequest& request) {
  const RequestHead head{kSpawnerMagic, request.id, static_cast<std::uint32_t>(request.kind)};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  out += request.argument + '\0' + request.title + '\0';
  for (const auto& entry : request.environment) out += entry + '\0';
  return out;
}

}  // namespace

StepSpawner::~StepSpawner() {
  *alive_ = false;
  if (socket_) loop_.unwatch(socket_.get());
  if (template_) loop_.unwatch(template_->get());
}

Status StepSpawner::start() {
  if (socket_) return {};
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return fail_errno("cannot make a socket", errno);
  UniqueFd ours(fds[0]);
  const UniqueFd theirs(fds[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null", errno);
  SpawnRequest request{.path = program_,
                       // Room for the titles of the copies.
                       .arguments = {"spurstepd: [ready]" + std::string(64, ' '), "--serve"},
                       .environment = {},
                       .fds = {null.get(), null.get(), STDERR_FILENO, theirs.get()},
                       .new_session = true};
  if (const char* zone = std::getenv("TZ")) request.environment.push_back(std::string("TZ=") + zone);
  SPUR_ASSIGN(auto spawned, os::spawn(request));
  template_ = std::make_shared<const UniqueFd>(std::move(spawned.pidfd));
  SPUR_TRY(loop_.watch_process(template_, [this] { on_template_gone(); }));
  socket_ = std::move(ours);
  watching_out_ = false;
  return loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_ready(events); });
}

void StepSpawner::fail_later(Done done, Error error) {
  loop_.post([alive = alive_, done = std::move(done), error = std::move(error)] {
    if (*alive) done(std::unexpected(error));
  });
}

void StepSpawner::spawn(StepRequest request, Done done) {
  request.id = next_id_++;
  if (auto started = start(); !started) return fail_later(std::move(done), started.error());
  if (encode(request).size() > kMaxMessage || request.fds.size() > kMaxFds)
    return fail_later(std::move(done), {ErrorCode::InvalidArgument, "the user's groups do not fit into a request"});
  waiting_.emplace(request.id, std::move(done));
  queue_.push_back(std::move(request));
  send_some();
}

void StepSpawner::send_some() {
  while (socket_ && !queue_.empty()) {
    const StepRequest& request = queue_.front();
    std::vector<int> fds;
    for (const auto& fd : request.fds) fds.push_back(fd.get());
    if (send_with(socket_.get(), encode(request), fds, MSG_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != ENOBUFS) return;  // gone: on_template_gone tells everybody
      break;
    }
    queue_.pop_front();  // our copies of the descriptors go; those in the message stay
  }
  const bool wanted = !queue_.empty();
  if (wanted == watching_out_) return;
  watching_out_ = wanted;
  loop_.change(socket_.get(), wanted ? EPOLLIN | EPOLLOUT : static_cast<std::uint32_t>(EPOLLIN));
}

void StepSpawner::on_ready(std::uint32_t events) {
  if (events & EPOLLIN) on_replies();
  if (socket_ && (events & EPOLLOUT)) send_some();
  if (socket_ && (events & (EPOLLHUP | EPOLLERR)) && !(events & EPOLLIN)) on_template_gone();
}

void StepSpawner::on_replies() {
  for (;;) {
    std::string bytes(sizeof(Reply), '\0');
    std::vector<UniqueFd> fds;
    const ssize_t got = receive_with(socket_.get(), bytes, fds, MSG_DONTWAIT);
    if (got < 0) return;
    if (got == 0) return on_template_gone();
    Reply reply;
    if (got != sizeof reply) continue;
    std::memcpy(&reply, bytes.data(), sizeof reply);
    const auto it = waiting_.find(reply.id);
    if (reply.magic != kSpawnerMagic || it == waiting_.end()) continue;
    const Done done = std::move(it->second);
    waiting_.erase(it);
    if (reply.error != 0 || fds.size() != 1)
      done(fail_errno("cannot start a step daemon", reply.error));
    else
      done(Spawned{reply.pid, std::move(fds[0])});
    if (!socket_) return;
  }
}

void StepSpawner::on_template_gone() {
  if (!socket_) return;
  loop_.unwatch(socket_.get());
  socket_.reset();
  loop_.unwatch(template_->get());
  reap(*template_);
  queue_.clear();
  for (auto& [id, done] : std::exchange(waiting_, {}))
    fail_later(std::move(done), {ErrorCode::Unreachable, "the template of the step daemons died"});
}

Result<StepRequest> receive_request(int socket) {
  for (;;) {
    // Its size first: a buffer for the longest one would cost fifty page faults per job, most of a launch.
    const ssize_t size = ::recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size > static_cast<ssize_t>(kMaxMessage)) return fail(ErrorCode::Corrupt, "a malformed request");
    std::string bytes(static_cast<std::size_t>(std::max<ssize_t>(size, 1)), '\0');
    StepRequest out;
    const ssize_t got = receive_with(socket, bytes, out.fds, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::NotFound, "the agent is gone");
    RequestHead head;
    if (bytes.size() < sizeof head) return fail(ErrorCode::Corrupt, "a malformed request");
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.magic != kSpawnerMagic || head.kind > static_cast<std::uint32_t>(StepRequest::Kind::Files)) return fail(ErrorCode::Corrupt, "a malformed request");
    out.id = head.id;
    out.kind = static_cast<StepRequest::Kind>(head.kind);
    std::vector<std::string> texts;
    for (std::size_t at = sizeof head; at < bytes.size();) {
      const auto end = std::min(bytes.find('\0', at), bytes.size());
      texts.push_back(bytes.substr(at, end - at));
      at = end + 1;
    }
    if (texts.size() < 2) return fail(ErrorCode::Corrupt, "a malformed request");
    out.argument = std::move(texts[0]);
    out.title = std::move(texts[1]);
    out.environment.assign(std::make_move_iterator(texts.begin() + 2), std::make_move_iterator(texts.end()));
    return out;
  }
}

Status send_reply(int socket, std::uint32_t id, pid_t pid, int pidfd, int error) {
  const Reply reply{kSpawnerMagic, id, pid, error};
  const std::string bytes(reinterpret_cast<const char*>(&reply), sizeof reply);
  if (send_with(socket, bytes, pidfd >= 0 ? std::vector<int>{pidfd} : std::vector<int>{}, 0) < 0)
    return fail_errno("cannot answer the agent", errno);
  return {};
}

}  // namespace spur::os
