// SPDX-License-Identifier: Apache-2.0
// The agents' streams: one per node, the newest wins. The first message of a stream is the hello, which together with the
// call's metadata decides whether the stream may speak for that node; nothing else is looked at before.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "ctld/core_thread.h"
#include "ctld/identify.h"
#include "io/agent_port.h"
#include "spur/v1/controller.grpc.pb.h"

namespace spur::ctld {

class AgentLinks final : public io::AgentPort {
 public:
  void send(std::string_view node, model::ControllerMessage message) override;
  void hang_up(std::string_view node) override;
  // Ends all streams; agents dial again or move on.
  void close();

  class Service;

 private:
  class Stream;
  std::shared_ptr<Stream> find(std::string_view node);
  // Returns the stream that was replaced, if any.
  std::shared_ptr<Stream> adopt(const std::string& node, std::shared_ptr<Stream> stream);
  bool drop(const std::string& node, const Stream* stream);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Stream>, std::less<>> streams_;
};

class AgentLinks::Service final : public v1::AgentLink::CallbackService {
 public:
  // `not_leading`: what agents are told while another controller leads.
  Service(AgentLinks& links, CoreThread& core, const Identify& identify, std::function<Error()> not_leading = {})
      : links_(links), core_(core), identify_(identify), not_leading_(std::move(not_leading)) {}
  grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* Connect(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const v1::JoinRequest* request,
                                 v1::JoinReply* reply) override;

 private:
  friend class AgentLinks::Stream;
  Error away() const;  // while another controller leads
  Status may_join(grpc::CallbackServerContext* context, const std::string& name) const;
  AgentLinks& links_;
  CoreThread& core_;
  const Identify& identify_;
  std::function<Error()> not_leading_;
};

}  // namespace spur::ctld
