// SPDX-License-Identifier: Apache-2.0
// The agent's door to files of users: a process of the job's user on this node that writes or reads them, or the
// agent of another node. Both speak FileInput and FileOutput (proto/spur/v1/files.proto), here as their bytes.
//
// Events and calls are on the agent's thread. Real: os/step_channels.h.
#pragma once

#include <memory>
#include <string>

#include "io/step_port.h"

namespace spur::io {

class FilePort {
 public:
  virtual ~FilePort() = default;
  virtual std::unique_ptr<StepChannel> open_files(const model::ControllerLaunch& launch,
                                                  StepChannel::Events events) = 0;
  virtual std::unique_ptr<StepChannel> open_remote_files(const std::string& address, StepChannel::Events events) = 0;
};

}  // namespace spur::io
