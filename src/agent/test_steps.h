// SPDX-License-Identifier: Apache-2.0
// For tests: a job on n1 and n2 as n1's agent has it, and the channels of its steps, which the test works by hand.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/step_session.h"
#include "agent/test_doors.h"

namespace spur::agent {

// The far ends of the channels, by order of opening.
struct TestPort final : io::StepPort {
  struct End {
    std::string where;
    io::StepChannel::Events events;
    std::vector<v1::StepInput> got;
    bool paused = false, open = true;
    void say(const v1::StepOutput& output) { events.on_output(output.SerializeAsString()); }
  };
  struct Channel final : io::StepChannel {
    std::shared_ptr<End> end;
    ~Channel() override { end->open = false; }
    void send(std::string input, std::function<void()> written) override {
      ASSERT_TRUE(end->got.emplace_back().ParseFromString(input));
      if (written) written();
    }
    void pause(bool paused) override { end->paused = paused; }
  };
  std::vector<std::shared_ptr<End>> ends;
  std::unique_ptr<io::StepChannel> open(std::string where, io::StepChannel::Events events) {
    auto channel = std::make_unique<Channel>();
    channel->end = ends.emplace_back(std::make_shared<End>());
    channel->end->where = std::move(where);
    channel->end->events = std::move(events);
    return channel;
  }
  std::unique_ptr<io::StepChannel> open_local(const model::ControllerLaunch&, std::uint32_t step,
                                              io::StepChannel::Events events) override {
    return open("local step " + std::to_string(step), std::move(events));
  }
  std::unique_ptr<io::StepChannel> resume_local(model::JobRun, std::uint32_t step, const std::string& key,
                                                io::StepChannel::Events events) override {
    return open("again step " + std::to_string(step) + " " + key, std::move(events));
  }
  std::unique_ptr<io::StepChannel> open_remote(const std::string& address, io::StepChannel::Events events) override {
    return open(address, std::move(events));
  }
};

struct TestNotes final : io::StepNotes {
  std::map<model::JobRun, std::vector<std::string>> all;
  Status add(model::JobRun run, std::string_view record) override {
    all[run].emplace_back(record);
    return {};
  }
  std::vector<std::string> read(model::JobRun run) override { return all[run]; }
  void forget(model::JobRun run) override { all.erase(run); }
};

class StepSessionTest : public testing::Test {
 protected:
  StepSessionTest() {
    context_.verify = [this](std::string_view ticket) -> Result<io::Verified> {
      if (ticket != "ticket") return fail(ErrorCode::Unauthenticated, "forged");
      return ticket_;
    };
    context_.call_after = [this](Duration, std::function<void()> f) { later_.push_back(std::move(f)); };
    EXPECT_TRUE(agent_.start());
    model::ControllerWelcome welcome;
    welcome.lease = seconds(0);
    agent_.on_message(welcome);
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000};
    model::ControllerLaunch launch;
    launch.run = {JobId{7}, Epoch{1}};
    launch.spec = spec;
    for (const char* node : {"n1", "n2"})
      launch.parts.push_back({.node = node, .cpus = {0, 1, 2, 3}, .memory_mib = 0, .tasks = 1, .devices = {}});
    launch.addresses = {"n1:1", "n2:2"};
    agent_.on_message(launch);
    ticket_.kind = io::CredentialKind::StepTicket;
    ticket_.uid = Uid{1000};
    ticket_.job = JobId{7};
    ticket_.epoch = Epoch{1};
    open();
  }
  void open() {
    port_.ends.clear();
    heard_.clear();
    finished_.reset();
    session_ = std::make_unique<StepSession>(
        context_,
        StepSession::Events{.output = [this](v1::StepOutput output) { heard_.push_back(std::move(output)); },
                            .finished = [this](Status status) { finished_ = std::move(status); }});
  }
  static v1::StepStart start_of(std::uint32_t tasks) {
    v1::StepStart start;
    start.set_ticket("ticket");
    start.add_argv("true");
    start.set_ntasks(tasks);
    return start;
  }
  void begin(const v1::StepStart& start) {
    v1::StepInput input;
    *input.mutable_start() = start;
    session_->input(input, [] {});
  }
  static v1::StepOutput exit_of(std::uint32_t rank, std::uint32_t code) {
    v1::StepOutput output;
    output.mutable_task_exit()->set_rank(rank);
    output.mutable_task_exit()->set_code(code);
    return output;
  }
  static v1::StepOutput done() {
    v1::StepOutput output;
    output.mutable_done();
    return output;
  }

  IdleClock clock_;
  IdleLauncher launcher_;
  IdleController controller_;
  Agent agent_{{.node = "n1",
                .address = {},
                .hostname = {},
                .version = {},
                .os = {},
                .arch = {},
                .public_key = {},
                .found = {},
                .boot_time = {}},
               clock_,
               launcher_,
               controller_};
  TestPort port_;
  io::Verified ticket_;
  TestNotes notes_;
  StepContext context_{agent_, clock_, port_, notes_, "n1"};
  std::vector<std::function<void()>> later_;
  std::unique_ptr<StepSession> session_;
  std::vector<v1::StepOutput> heard_;
  std::optional<Status> finished_;
};

}  // namespace spur::agent
