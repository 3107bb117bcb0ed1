// SPDX-License-Identifier: Apache-2.0
// The messages between agent and template, and what happens when there is no template. Real templates are tried in src/stepd.
#include "os/step_spawner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

namespace spur::os {
namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    ours.reset(fds[0]);
    theirs.reset(fds[1]);
  }
  UniqueFd ours, theirs;
};

TEST(StepSpawner, MalformedRequestsAreRefused) {
  for (const std::string& bad : {std::string("x"), std::string(12, '\0'), std::string("1WPS\1\0\0\0\7\0\0\0a\0b\0", 16),
                                 std::string("1WPS\1\0\0\0\0\0\0\0only one text", 25)}) {
    Pair pair;
    ASSERT_EQ(::send(pair.ours.get(), bad.data(), bad.size(), 0), static_cast<ssize_t>(bad.size()));
    const auto request = receive_request(pair.theirs.get());
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, ErrorCode::Corrupt);
  }
  Pair pair;
  pair.ours.reset();
  const auto gone = receive_request(pair.theirs.get());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::NotFound);
}

TEST(StepSpawner, RequestsArriveWhole) {
  Pair pair;
  const std::string bytes("1WPS\11\0\0\0\1\0\0\0argument\0title\0A=1\0B=\0", 12 + 9 + 6 + 4 + 3);
  ASSERT_EQ(::send(pair.ours.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  const auto request = receive_request(pair.theirs.get());
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->id, 9u);
  EXPECT_EQ(request->kind, StepRequest::Kind::Step);
  EXPECT_EQ(request->argument, "argument");
  EXPECT_EQ(request->title, "title");
  EXPECT_EQ(request->environment, (std::vector<std::string>{"A=1", "B="}));
  EXPECT_TRUE(request->fds.empty());
}

std::optional<Error> error_of_spawning_with(const std::string& program, std::vector<std::string> environment) {
  auto loop = *EventLoop::open();
  StepSpawner spawner(*loop, program);
  std::optional<Error> error;
  StepRequest request;
  request.environment = std::move(environment);
  bool returned = false;
  spawner.spawn(std::move(request), [&](const Result<Spawned>& spawned) {
    EXPECT_TRUE(returned) << "told before the call returned";
    if (!spawned) error = spawned.error();
    loop->stop();
  });
  returned = true;
  loop->run();
  return error;
}

TEST(StepSpawner, WithoutATemplateEverybodyIsTold) {
  const auto missing = error_of_spawning_with("/nonexistent/spurstepd", {});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->message, "cannot start /nonexistent/spurstepd: No such file or directory");
  const auto died = error_of_spawning_with("/bin/false", {});
  ASSERT_TRUE(died);
  EXPECT_EQ(died->code, ErrorCode::Unreachable);
  const auto large = error_of_spawning_with("/bin/false", {std::string(1 << 20, 'x')});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->message, "the user's groups do not fit into a request");
}

}  // namespace
}  // namespace spur::os
