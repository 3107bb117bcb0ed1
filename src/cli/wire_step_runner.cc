// SPDX-License-Identifier: Apache-2.0
// The interface of step_runner.h over wire::AgentClient: one line a call, no logic.
#include "base/check.h"
#include "cli/step_runner.h"

namespace spur::cli {
namespace {

class WireStepRunner final : public StepRunner {
 public:
  Status start(const std::string& address, const wire::StepRequest& request, wire::StepEvents events) override {
    SPUR_ASSIGN(client_, wire::AgentClient::run_step(address, request, std::move(events)));
    return {};
  }
  bool turn(int input, Duration longest) override { return client().turn(input, longest); }
  bool ended() const override { return client().ended(); }
  Status result() const override { return client().result(); }
  void send_input(std::string_view data, std::optional<std::uint32_t> rank) override {
    client().send_input(data, rank);
  }
  void end_input() override { client().end_input(); }
  bool input_is_full() const override { return client().input_is_full(); }
  void send_signal(int signal) override { client().send_signal(signal); }
  void resize(std::uint32_t rows, std::uint32_t columns) override { client().resize(rows, columns); }

 private:
  wire::AgentClient& client() const {
    SPUR_CHECK(client_ != nullptr);
    return *client_;
  }
  std::unique_ptr<wire::AgentClient> client_;
};

}  // namespace

std::unique_ptr<StepRunner> make_wire_step_runner() {
  return std::make_unique<WireStepRunner>();
}

}  // namespace spur::cli
