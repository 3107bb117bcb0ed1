// SPDX-License-Identifier: Apache-2.0
#include "stepd/file_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "os/process.h"
#include "os/step_control.h"
#include "stepd/file_reader.h"
#include "stepd/file_writer.h"
#include "stepd/process_set.h"
#include "wire/agent_codec.h"
#include "wire/file_block.h"
#include "wire/grpc_framing.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kReadFileBytes = std::size_t{512} << 10, kMaxFrame = std::size_t{16} << 20;
constexpr int kLookAgainMs = 100;

// ---- the user's part

class FileService {
 public:
  FileService(int stream, std::string node) : stream_(stream), node_(std::move(node)) {}

  void serve() {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kReadFileBytes);
    while (!over_) {
      const ssize_t n = ::recv(stream_, buffer.get(), kReadFileBytes, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // nobody is there any more: what is not whole goes
      const auto on_message = [this](std::string_view message) { on_input(message); };
      if (!reader_.take({buffer.get(), static_cast<std::size_t>(n)}, on_message)) return;
    }
  }

 private:
  void on_input(std::string_view bytes) {
    if (over_) return;
    v1::FileInput input;
    if (!input.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return tell({EBADMSG, "not a message"});
    if (input.has_start() && !started_) {
      started_ = true;
      if (input.start().has_fetch()) return fetch(input.start().fetch());
      if (auto failed = writer_.begin(input.start().send())) tell(failed);
    } else if (input.has_block() && started_ && !fetched_) {
      const auto data = wire::open_file_block(input.block(), room_);
      if (!data) return tell({EIO, data.error().message});
      if (auto failed = writer_.write(*data)) tell(failed);
    } else if (input.has_end() && started_) {
      end();
    } else {
      tell({EBADMSG, "a message out of turn"});
    }
  }

  void end() {
    if (!fetched_) return tell(writer_.finish());
    if (!remove_.empty()) (void)remove_files(remove_);
    over_ = true;
  }

  void fetch(const v1::FileFetch& what) {
    fetched_ = true;
    const FileSink sink{.entry =
                            [this](const v1::FileEntry& entry) {
                              v1::FileOutput output;
                              *output.mutable_entry() = entry;
                              return send(output);
                            },
                        .data =
                            [this, &what](std::string_view data) {
                              v1::FileOutput output;
                              *output.mutable_block() = wire::make_file_block(data, what.compress());
                              return send(output);
                            }};
    if (auto failed = read_files(what, sink)) return tell(failed);
    if (what.remove()) remove_ = what.path();
    v1::FileOutput output;
    output.mutable_done()->set_node(node_);
    over_ = !send(output);
  }

  // How it ended, for good or bad.
  void tell(const FileFailure& failure) {
    v1::FileOutput output;
    if (failure) {
      output.mutable_error()->set_node(node_);
      output.mutable_error()->set_number(failure.number);
      output.mutable_error()->set_text(failure.text);
    } else {
      output.mutable_done()->set_node(node_);
    }
    send(output);
    over_ = true;
  }

  bool send(const v1::FileOutput& output) const {
    std::string frame;
    wire::append_frame(output.SerializeAsString(), &frame);
    for (std::string_view left = frame; !left.empty();) {
      const ssize_t n = ::send(stream_, left.data(), left.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  int stream_;
  std::string node_, room_, remove_;
  wire::FrameReader reader_{kMaxFrame};
  FileWriter writer_;
  bool started_ = false, fetched_ = false, over_ = false;
};

[[noreturn]] void be_user(const FileRunInput& input, const std::string& node, int cgroup_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cgroup_fd >= 0) {
    const os::UniqueFd group(::openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!group || ::write(group.get(), "0", 1) != 1) ::_exit(1);
  }
  // The supervisor is protected from the out-of-memory killer, as all step daemons are; this one is the user's.
  if (const os::UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score) [[maybe_unused]]
    const auto written = ::write(score.get(), "0", 1);
  if (!os::become(input.identity)) ::_exit(1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // which the change of user has cleared
  ::umask(077);
  serve_files(input.stream.get(), node);
  ::_exit(0);
}

// ---- the supervisor

bool told_to_end(int orders) {
  while (const auto order = os::receive_order(orders))
    if (order->kind == os::StepOrder::Kind::Kill || order->kind == os::StepOrder::Kind::Terminate) return true;
  return false;
}

void supervise(pid_t child, int orders) {
  const os::UniqueFd pidfd = os::open_pidfd(child);
  for (;;) {
    pollfd waits[] = {{.fd = orders, .events = POLLIN, .revents = 0},
                      {.fd = pidfd.get(), .events = POLLIN, .revents = 0}};
    // Without a descriptor for the child (it may be gone) we look now and then.
    if (::poll(waits, 2, pidfd ? -1 : kLookAgainMs) < 0 && errno != EINTR) break;
    if (::waitpid(child, nullptr, WNOHANG) == child) return;
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    if (told_to_end(orders) || (waits[0].revents & (POLLHUP | POLLERR)) != 0) break;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

void serve_files(int stream, const std::string& node) {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  FileService(stream, node).serve();
}

void run_files(FileRunInput input) {
  const auto header = input.record.header();
  const auto bytes = input.record.launch();
  if (!header || !bytes) return;
  const auto message = wire::decode_controller_message(*bytes);
  const auto* launch = message ? std::get_if<model::ControllerLaunch>(&*message) : nullptr;
  if (launch == nullptr || launch->parts.empty() || !launch->spec || launch->spec->uid != input.identity.uid) return;
  const auto group =
      ProcessSet::make(header->cgroup, fmt::format("files_{}", ::getpid()), input.limits, os::CgroupLimits{});
  if (!group) {
    fmt::print(stderr, "spurstepd: error: {}\n", group.error().message);
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) be_user(input, launch->parts.front().node, group->cgroup_fd());
  input.stream.reset();
  if (child > 0) supervise(child, input.orders.get());
  group->remove(false);
}

}  // namespace spur::stepd
