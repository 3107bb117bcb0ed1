// SPDX-License-Identifier: Apache-2.0
// spurpmix: the PMIx server of a step on its node (pmix/README.md). spurstepd starts it, as the user, with a socket
// as the descriptor that --fd names.
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "model/distribution.h"
#include "pmix/pmix_node.h"
#include "spur/v1/agent.pb.h"
#include "wire/grpc_framing.h"

namespace {

using namespace spur;

constexpr std::size_t kMostMessage = std::size_t{1} << 30;
constexpr std::size_t kMostRanks = std::size_t{1} << 24;

// Also from the library's threads.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  void send(const v1::PmixOutput& message) {
    std::string bytes;
    wire::append_frame(message.SerializeAsString(), &bytes);
    const std::lock_guard lock(mutex_);
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // the reader notices
      sent += static_cast<std::size_t>(n);
    }
  }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::mutex mutex_;
};

Result<pmix::StepMap> map_of(const v1::PmixSetup& setup) {
  pmix::StepMap step{.name = setup.name(),
                     .nodes = {setup.nodes().begin(), setup.nodes().end()},
                     .ranks = {},
                     .node = setup.node(),
                     .uid = setup.uid(),
                     .gid = setup.gid()};
  auto ranks = model::parse_process_mapping(setup.process_mapping(), step.nodes.size(), kMostRanks);
  if (!ranks || step.node >= ranks->size() || (*ranks)[step.node].empty())
    return fail(ErrorCode::InvalidArgument, "the step has no task on this node");
  step.ranks = *std::move(ranks);
  return step;
}

Status set_up(const v1::PmixSetup& setup, const std::string& directory, Line& line) {
  SPUR_ASSIGN(const auto step, map_of(setup));
  pmix::PmixEvents events{.fence =
                              [&line](std::string data) {
                                v1::PmixOutput out;
                                out.mutable_fence()->set_data(std::move(data));
                                line.send(out);
                              },
                          .abort =
                              [&line](std::uint32_t rank, int code, std::string text) {
                                v1::PmixOutput out;
                                out.mutable_abort()->set_rank(rank);
                                out.mutable_abort()->set_code(code);
                                out.mutable_abort()->set_text(std::move(text));
                                line.send(out);
                              }};
  SPUR_TRY(pmix::PmixNode::start(step, directory, std::move(events)));
  v1::PmixOutput out;
  for (const std::uint32_t rank : step.ranks[step.node]) {
    SPUR_ASSIGN(const auto environment, pmix::PmixNode::environment(step, rank));
    auto* task = out.mutable_ready()->add_tasks();
    task->set_rank(rank);
    for (const auto& entry : environment) task->add_env(entry);
  }
  line.send(out);
  return {};
}

// Until the step daemon closes its end.
void serve(Line& line, const std::string& directory) {
  wire::FrameReader reader(kMostMessage);
  bool started = false;
  const auto handle = [&](std::string_view bytes) {
    v1::PmixInput input;
    if (!input.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (input.has_fence() && started) pmix::PmixNode::pass_fence(input.fence().data());
    if (!input.has_setup() || std::exchange(started, true)) return;
    if (auto done = set_up(input.setup(), directory, line); !done) {
      v1::PmixOutput out;
      out.mutable_error()->set_code(static_cast<std::uint32_t>(done.error().code));
      out.mutable_error()->set_text(done.error().message);
      line.send(out);
    }
  };
  std::string buffer(65536, '\0');
  for (;;) {
    const ssize_t got = ::recv(line.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !reader.take(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)), handle)) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kOption = "--fd=";
  const std::string_view argument = argc == 2 ? argv[1] : "";
  int fd = -1;
  if (argument.starts_with(kOption))
    std::from_chars(argument.data() + kOption.size(), argument.data() + argument.size(), fd);
  if (fd < 3) {
    fmt::print(stderr, "spurpmix is started by spurstepd; it is of no use by hand.\n");
    return 1;
  }
  // Signals for the step are for its tasks; we go when the socket closes.
  for (const int sig : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(sig, SIG_IGN);
  std::string directory = "/tmp/spur-pmix.XXXXXX";
  if (!::mkdtemp(directory.data())) {
    fmt::print(stderr, "spurpmix: error: cannot make a directory below /tmp\n");
    return 1;
  }
  // Between the servers of a step the step daemons carry what there is to say; nobody connects from elsewhere.
  ::setenv("PMIX_MCA_ptl_tcp_if_include", "lo", 1);
  ::setenv("PMIX_MCA_ptl_base_if_include", "lo", 1);
  Line line(fd);
  serve(line, directory);
  // The library's threads may be amid anything: leave without waiting for them.
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  ::_exit(0);
}
