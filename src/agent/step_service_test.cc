// SPDX-License-Identifier: Apache-2.0
// The step service on a loopback port, and a peer that asks whether it is still there.
#include "agent/step_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>

#include "wire/lean_stream.h"
#include "wire/peer_address.h"

namespace spur::agent {
namespace {

struct Idle final : io::Clock, io::Launcher, io::ControllerPort, io::StepPort, io::StepNotes {
  Time now() override { return {}; }
  Duration monotonic() override { return {}; }
  Result<std::vector<Known>> recover() override { return std::vector<Known>{}; }
  Status launch(const model::ControllerLaunch&) override { return {}; }
  void end(model::JobRun, bool, model::JobState) override {}
  void signal(model::JobRun, int, bool, bool) override {}
  void suspend(model::JobRun, bool) override {}
  void forget(model::JobRun) override {}
  void send(model::AgentMessage) override {}
  Status add(model::JobRun, std::string_view) override { return {}; }
  std::vector<std::string> read(model::JobRun) override { return {}; }
  std::unique_ptr<io::StepChannel> resume_local(model::JobRun, std::uint32_t, const std::string&,
                                                io::StepChannel::Events) override {
    return nullptr;
  }
  std::unique_ptr<io::StepChannel> open_local(const model::ControllerLaunch&, std::uint32_t,
                                              io::StepChannel::Events) override {
    return nullptr;
  }
  std::unique_ptr<io::StepChannel> open_remote(const std::string&, io::StepChannel::Events) override {
    return nullptr;
  }
};

Duration monotonic() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

// Pings a silent stream `pings` times, an interval apart; whether it is still there afterwards.
bool survives(Duration permitted, Duration interval, int pings) {
  Idle doors;
  Agent agent({.node = "n1",
               .address = {},
               .hostname = {},
               .version = {},
               .os = {},
               .arch = {},
               .public_key = {},
               .found = {},
               .boot_time = {}},
              doors, doors, doors);
  StepContext context{agent, doors, doors, doors, "n1"};
  context.verify = [](std::string_view) -> Result<io::Verified> { return fail(ErrorCode::Unauthenticated, "no"); };
  // No message comes, so no session does anything: any thread may be the agent's.
  StepService service(context, "test", {}, [](std::function<void()> f) { f(); });
  int port = 0;
  auto server = serve_steps("127.0.0.1:0", service, &port, permitted);
  EXPECT_TRUE(server) << server.error().message;
  const auto peer = wire::parse_peer_address("127.0.0.1:" + std::to_string(port), 0);
  bool ended = false;
  auto stream =
      wire::LeanStream::open(*peer, "/spur.v1.NodeAgent/RunStep", {},
                             {.on_message = [](std::string_view) {}, .on_end = [&](const auto&) { ended = true; }},
                             {.interval = interval, .timeout = std::chrono::seconds(60)});
  EXPECT_TRUE(stream) << stream.error().message;
  const Duration until = monotonic() + interval * pings;
  while (!ended && monotonic() < until) {
    pollfd ready{.fd = (*stream)->fd(), .events = POLLIN, .revents = 0};
    if ((*stream)->wants_write() || (*stream)->connecting()) ready.events |= POLLOUT;
    ::poll(&ready, 1, 5);
    if (ready.revents & POLLOUT) (*stream)->on_writable();
    if (ready.revents & (POLLIN | POLLHUP | POLLERR)) (*stream)->on_readable();
    if (!ended) (*stream)->on_timer(monotonic());
  }
  stream->reset();
  (*server)->Shutdown(std::chrono::system_clock::now());
  return !ended;
}

// Who pings more often than the service permits is cut off after a few times: so it must permit what our own side
// does.
TEST(StepService, SilentStepsLiveAsLongAsTheyAsk) {
  EXPECT_TRUE(survives(milliseconds(1), milliseconds(50), 20));
  EXPECT_FALSE(survives(std::chrono::hours(1), milliseconds(50), 200));
  EXPECT_LE(kShortestPingInterval, seconds(15)) << "os/step_channels.cc asks that often";
}

}  // namespace
}  // namespace spur::agent
