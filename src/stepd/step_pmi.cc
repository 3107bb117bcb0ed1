// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_pmi.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "os/files.h"

namespace spur::stepd {

StepPmi::StepPmi(os::EventLoop& loop, MpiStep step, Events events)
    : loop_(loop),
      step_(std::move(step)),
      server_({step_.name, step_.size, step_.process_mapping}, step_.ranks),
      events_(std::move(events)),
      lines_(step_.ranks.size()) {}

StepPmi::~StepPmi() {
  for (std::size_t t = 0; t < lines_.size(); ++t) close(t);
}

Status StepPmi::begin(std::function<void()> ready) {
  ready();
  return {};
}

Result<os::UniqueFd> StepPmi::prepare(std::size_t local, TaskPlan& plan) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return os::fail_errno("cannot make a socket for PMI", errno);
  lines_[local].fd.reset(ends[0]);
  os::UniqueFd theirs(ends[1]);
  SPUR_TRY(loop_.watch(ends[0], EPOLLIN, [this, local](std::uint32_t events) { on_ready(local, events); }));
  plan.kept_fd = theirs.get();
  for (auto& entry :
       {fmt::format("PMI_FD={}", theirs.get()), fmt::format("PMI_RANK={}", step_.ranks[local]),
        fmt::format("PMI_SIZE={}", step_.size), "PMI_JOBID=" + step_.name, std::string("PMI_SPAWNED=0")})
    plan.own_environment.push_back(entry);
  return theirs;
}

Status StepPmi::pass_fence(std::string_view data) {
  SPUR_TRY(server_.pass_fence(data));
  answer();
  return {};
}

void StepPmi::on_ready(std::size_t task, std::uint32_t events) {
  if (events & EPOLLOUT) write_some(task);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && lines_[task].fd && !read_some(task)) close(task);
}

// False at the end.
bool StepPmi::read_some(std::size_t task) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(lines_[task].fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  if (auto done = server_.receive(task, {buffer.data(), static_cast<std::size_t>(got)}); !done) {
    events_.failed(done.error());
    return false;
  }
  answer();
  if (server_.aborted() && !std::exchange(aborted_, true))
    events_.abort(server_.aborted()->rank, server_.aborted()->code, server_.aborted()->message);
  if (auto pairs = server_.take_fence()) events_.fence(std::move(*pairs));
  return true;
}

void StepPmi::answer() {
  for (auto& [task, bytes] : server_.take_answers()) {
    if (!lines_[task].fd) continue;
    lines_[task].queue += bytes;
    write_some(task);
  }
}

void StepPmi::write_some(std::size_t task) {
  Line& line = lines_[task];
  while (line.fd && !line.queue.empty()) {
    const ssize_t sent = ::send(line.fd.get(), line.queue.data(), line.queue.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return close(task);
    if (sent < 0) break;
    line.queue.erase(0, static_cast<std::size_t>(sent));
  }
  if (!line.fd || line.writes == !line.queue.empty()) return;
  line.writes = !line.queue.empty();
  loop_.change(line.fd.get(), line.writes ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void StepPmi::close(std::size_t task) {
  if (!lines_[task].fd) return;
  loop_.unwatch(lines_[task].fd.get());
  lines_[task].fd.reset();
}

}  // namespace spur::stepd
