// SPDX-License-Identifier: Apache-2.0
#include "os/sd_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "os/test_directory.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

// What systemd would get; `name` begins with '/' or '@'.
class Listener {
 public:
  explicit Listener(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  std::string take() {
    char buffer[512];
    const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    return n < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(n));
  }

 private:
  UniqueFd fd_;
};

TEST(ServiceNotifier, SpeaksToPathsAndAbstractNames) {
  TestDirectory dir;
  for (const std::string& name : {dir / "notify", "@spur-test-" + std::to_string(::getpid())}) {
    Listener listener(name);
    const ServiceNotifier notifier;
    EXPECT_TRUE(notifier.present());
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
    notifier.ready();
    EXPECT_EQ(listener.take(), "READY=1\nMAINPID=" + std::to_string(::getpid()));
    notifier.status("10 jobs");
    EXPECT_EQ(listener.take(), "STATUS=10 jobs");
    notifier.reloading();
    EXPECT_TRUE(listener.take().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    notifier.stopping();
    EXPECT_EQ(listener.take(), "STOPPING=1");
  }
}

TEST(ServiceNotifier, WithoutSystemdNothingHappens) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(ServiceNotifier().present());
  for (const std::string& name : {std::string("/no/such/socket"), std::string("relative"), std::string(),
                                  std::string("/"), "/" + std::string(200, 'x')}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    const ServiceNotifier notifier;
    EXPECT_FALSE(notifier.send("READY=1")) << name;
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  }
}

}  // namespace
}  // namespace spur::os
