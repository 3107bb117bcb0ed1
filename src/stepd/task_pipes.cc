// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_pipes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "os/files.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kPipeBytes = 65536;  // as the kernel makes them
constexpr std::size_t kReadBytes = std::size_t{512} << 10;
constexpr std::size_t kShrinkAt = std::size_t{4} << 20;

Status make_pipe(os::UniqueFd& read_end, os::UniqueFd& write_end) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return os::fail_errno("cannot make a pipe", errno);
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  return {};
}

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

TaskPipes::~TaskPipes() {
  close(in_);
  close(out_);
  close(err_);
}

void TaskPipes::close(os::UniqueFd& fd) {
  if (!fd) return;
  loop_.unwatch(fd.get());
  fd.reset();
}

Result<TaskPipes::Ends> TaskPipes::make_pipes(bool in, bool out, bool err) {
  Ends ends;
  if (in) SPUR_TRY(make_pipe(ends.in, in_));
  if (out) SPUR_TRY(make_pipe(out_, ends.out));
  if (err) SPUR_TRY(make_pipe(err_, ends.err));
  return ends;
}

Result<TaskPipes::Ends> TaskPipes::make_terminal(Uid user, std::uint32_t rows, std::uint32_t columns) {
  os::UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[128];
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name, sizeof name) != 0)
    return os::fail_errno("cannot make a terminal", errno);
  Ends ends{
      .in = os::UniqueFd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)), .out = {}, .err = {}, .is_terminal = true};
  if (!ends.in) return os::fail_errno("cannot open the terminal", errno);
  if (::geteuid() == 0 &&
      (::fchown(ends.in.get(), user.value, static_cast<gid_t>(-1)) != 0 || ::fchmod(ends.in.get(), 0620) != 0))
    return os::fail_errno("cannot hand over the terminal", errno);
  out_ = std::move(master);
  terminal_in_ = out_.get();
  resize(rows, columns);
  return ends;
}

Status TaskPipes::watch(Events events) {
  events_ = std::move(events);
  if (in_) set_nonblocking(in_.get());
  for (auto* fd : {&out_, &err_}) {
    if (!*fd) continue;
    set_nonblocking(fd->get());
    const bool is_stderr = fd == &err_;
    SPUR_TRY(loop_.watch(fd->get(), EPOLLIN, [this, fd, is_stderr](std::uint32_t ready) {
      if (ready & EPOLLOUT) write_some();
      if (*fd && (ready & (EPOLLIN | EPOLLHUP | EPOLLERR))) read_once(*fd, is_stderr);
    }));
  }
  if (!in_) return {};
  return loop_.watch(in_.get(), 0, [this](std::uint32_t ready) {
    if (!(ready & EPOLLERR)) return write_some();
    input_.clear(), written_ = 0;  // nobody reads it any more
    input_ended_ = true;
    write_some();
  });
}

bool TaskPipes::read_once(os::UniqueFd& fd, bool is_stderr) {
  static std::array<char, kReadBytes> buffer;  // one thread, and nobody keeps what is in there
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got > 0) {
    if (static_cast<std::size_t>(got) >= kPipeBytes) widen(fd, wide_[is_stderr ? 2 : 1]);
    events_.on_output({buffer.data(), static_cast<std::size_t>(got)}, is_stderr);
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  close(fd);  // the end; a terminal says EIO when its last user is gone
  if (&fd == &out_ && terminal_in_ >= 0) terminal_in_ = -1;
  events_.on_end(is_stderr);
  return false;
}

void TaskPipes::drain() {
  // No more than pipes hold: what the task left running may go on writing for ever.
  for (auto* fd : {&out_, &err_})
    for (int reads = 0; reads < 32 && *fd && read_once(*fd, fd == &err_); ++reads) {
    }
}

void TaskPipes::pause(bool paused) {
  if (std::exchange(paused_, paused) == paused) return;
  for (auto* fd : {&out_, &err_})
    if (*fd) loop_.change(fd->get(), paused ? 0u : static_cast<std::uint32_t>(EPOLLIN));
  if (std::exchange(watching_in_, false)) follow_input();  // a terminal's is the same descriptor
}

void TaskPipes::write_input(std::string_view data) {
  if (input_ended_ || (!in_ && terminal_in_ < 0)) return;
  if (written_ == input_.size()) input_.clear(), written_ = 0;
  input_ += data;
  if (data.size() >= kPipeBytes && in_) widen(in_, wide_[0]);
  write_some();
}

// A pipe through which much goes at once: fewer turns for the same.
void TaskPipes::widen(const os::UniqueFd& fd, bool& wide) {
  if (terminal_in_ < 0 && !std::exchange(wide, true)) ::fcntl(fd.get(), F_SETPIPE_SZ, static_cast<int>(kReadBytes));
}

void TaskPipes::end_input() {
  if (std::exchange(input_ended_, true)) return;
  // A terminal's end of input is a character; who reads raw must know it himself.
  if (terminal_in_ >= 0) input_ += '\4';
  write_some();
}

void TaskPipes::write_some() {
  const int fd = in_ ? in_.get() : terminal_in_;
  const std::size_t before = queued_input();
  while (fd >= 0 && queued_input() > 0) {
    const ssize_t put = ::write(fd, input_.data() + written_, queued_input());
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (put < 0) {  // the task does not want any more
      input_.clear(), written_ = 0;
      input_ended_ = true;
      break;
    }
    written_ += static_cast<std::size_t>(put);
  }
  if (written_ > kShrinkAt) input_.erase(0, std::exchange(written_, 0));
  if (in_ && queued_input() == 0 && input_ended_) close(in_);
  follow_input();
  if (queued_input() < before && events_.on_input_taken) events_.on_input_taken();
}

void TaskPipes::follow_input() {
  const bool wanted = queued_input() > 0;
  if (wanted == watching_in_) return;
  watching_in_ = wanted;
  if (in_)
    loop_.change(in_.get(), wanted ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  else if (terminal_in_ >= 0)
    loop_.change(terminal_in_, (paused_ ? 0u : static_cast<std::uint32_t>(EPOLLIN)) |
                                   (wanted ? static_cast<std::uint32_t>(EPOLLOUT) : 0u));
}

void TaskPipes::resize(std::uint32_t rows, std::uint32_t columns) {
  if (terminal_in_ < 0) return;
  const winsize size{.ws_row = static_cast<unsigned short>(rows),
                     .ws_col = static_cast<unsigned short>(columns),
                     .ws_xpixel = 0,
                     .ws_ypixel = 0};
  ::ioctl(terminal_in_, TIOCSWINSZ, &size);
}

}  // namespace spur::stepd
