// SPDX-License-Identifier: Apache-2.0
// spurcontainer: makes a container for spurstepd, which starts it as the user with a socket as the descriptor that
// --fd names (container/README.md), and is what `spur image` calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "container/box.h"
#include "container/image_command.h"
#include "os/remove_tree.h"
#include "spur/v1/agent.pb.h"

namespace {

using namespace spur;

constexpr std::size_t kMostMessage = 1 << 20, kMostFds = 8;

void reply(int socket, const v1::ContainerReply& message, const std::vector<os::UniqueFd>& fds) {
  std::string bytes = message.SerializeAsString();
  iovec part{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))] = {};
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::vector<int> numbers;
    for (const auto& fd : fds) numbers.push_back(fd.get());
    std::memcpy(CMSG_DATA(rights), numbers.data(), numbers.size() * sizeof(int));
  }
  (void)::sendmsg(socket, &header, MSG_NOSIGNAL);
}

int serve(int socket) {
  std::string buffer(kMostMessage, '\0');
  const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
  v1::ContainerSetup setup;
  if (got <= 0 || !setup.ParseFromArray(buffer.data(), static_cast<int>(got))) return 1;
  v1::ContainerReply message;
  auto made = container::make_box(setup);
  if (made) {
    *message.mutable_ready() = std::move(made->ready);
    reply(socket, message, made->fds);
    return 0;
  }
  message.mutable_error()->set_code(static_cast<std::uint32_t>(made.error().code));
  message.mutable_error()->set_text(made.error().message);
  reply(socket, message, {});
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "image") return container::image_command({words.begin() + 1, words.end()});
  // What is left of a run's containers, for spurd.
  if (words.size() == 1 && words.front().starts_with("--remove="))
    return os::remove_tree(AT_FDCWD, words.front().substr(9)) ? 0 : 1;
  constexpr std::string_view kOption = "--fd=";
  int fd = -1;
  if (words.size() == 1 && words.front().starts_with(kOption))
    std::from_chars(words[0].data() + kOption.size(), words[0].data() + words[0].size(), fd);
  if (fd < 3) {
    fmt::print(stderr, "spurcontainer is started by spurstepd; see \"spur image --help\" for images.\n");
    return 1;
  }
  ::signal(SIGPIPE, SIG_IGN);
  return serve(fd);
}
