// SPDX-License-Identifier: Apache-2.0
// Gives the configuration files to agents that have none (proto/spur/v1/configless.proto): to users, and to whoever
// shows the join token.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ctld/core_thread.h"
#include "ctld/identify.h"
#include "spur/v1/configless.grpc.pb.h"

namespace spur::ctld {

class ConfiglessService final : public v1::Configless::CallbackService {
 public:
  using Files = std::vector<std::pair<std::string, std::string>>;  // name and text, the main one first
  struct Options {
    std::string join_token;
    std::function<Result<Files>()> files;  // on threads of calls; an error where agents must have their own
  };
  ConfiglessService(CoreThread& core, const Identify& identify, Options options)
      : core_(core), identify_(identify), options_(std::move(options)) {}
  grpc::ServerUnaryReactor* FetchConfig(grpc::CallbackServerContext* context, const v1::FetchConfigRequest* request,
                                        v1::FetchConfigReply* reply) override;

 private:
  Status may_have(std::string_view credential, std::string_view token) const;
  CoreThread& core_;
  const Identify& identify_;
  Options options_;
};

}  // namespace spur::ctld
