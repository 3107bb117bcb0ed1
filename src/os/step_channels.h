// SPDX-License-Identifier: Apache-2.0
// The real io::StepPort and io::FilePort: local steps through spurstepd's socket (gRPC's frames,
// wire/grpc_framing.h), remote ones through the other agent's RunStep or Transfer stream. On the thread of the event
// loop.
#pragma once

#include <memory>
#include <string>

#include "io/file_port.h"
#include "io/step_port.h"
#include "os/event_loop.h"
#include "os/step_launcher.h"

namespace spur::os {

class StepChannels final : public io::StepPort, public io::FilePort {
 public:
  StepChannels(EventLoop& loop, StepLauncher& launcher) : loop_(loop), launcher_(launcher) {}
  std::unique_ptr<io::StepChannel> open_local(const model::ControllerLaunch& launch, std::uint32_t step,
                                              io::StepChannel::Events events) override;
  std::unique_ptr<io::StepChannel> resume_local(model::JobRun run, std::uint32_t step, const std::string& key,
                                                io::StepChannel::Events events) override;
  std::unique_ptr<io::StepChannel> open_remote(const std::string& address, io::StepChannel::Events events) override;
  std::unique_ptr<io::StepChannel> open_files(const model::ControllerLaunch& launch,
                                              io::StepChannel::Events events) override;
  std::unique_ptr<io::StepChannel> open_remote_files(const std::string& address,
                                                     io::StepChannel::Events events) override;

 private:
  EventLoop& loop_;
  StepLauncher& launcher_;
};

}  // namespace spur::os
