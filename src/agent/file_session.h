// SPDX-License-Identifier: Apache-2.0
// One file on its way through this agent: to this node and to those behind it, or from this node
// (proto/spur/v1/files.proto). Blocks are passed on unread. The nodes behind are dealt out to at most `fanout` of
// them, which pass it on in turn.
//
// On the agent's thread. The owner (file_service.cc) moves bytes between it and a gRPC stream.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "base/time.h"
#include "io/credentials.h"
#include "io/file_port.h"
#include "spur/v1/files.pb.h"

namespace spur::agent {

// What all sessions of an agent share.
struct FileContext {
  const Agent& agent;
  io::FilePort& port;
  std::string node;
  std::function<Result<io::Verified>(std::string_view ticket)> verify;
  std::function<void(Duration, std::function<void()>)> call_after;
};

inline constexpr std::uint32_t kMaxFanout = 8, kUsualFanout = 2;

// `count` nodes into at most `fanout` groups of about the same size, in order: the size of each.
std::vector<std::size_t> fan_out(std::size_t count, std::size_t fanout);

class FileSession {
 public:
  struct Events {
    std::function<void(std::string)> output;  // FileOutputs, as bytes
    std::function<void(Status)> finished;     // once, last
  };
  FileSession(FileContext& context, Events events) : context_(context), events_(std::move(events)) {}
  ~FileSession() { *alive_ = false; }
  FileSession(const FileSession&) = delete;
  FileSession& operator=(const FileSession&) = delete;

  // The caller's next FileInput, as bytes; `taken` when more may be sent.
  void input(std::string bytes, std::function<void()> taken);
  void pause(bool paused);  // the caller reads slowly

 private:
  struct Block {
    std::size_t left = 0;  // parts that have not passed it on
    std::function<void()> taken;
  };
  // This node, or one behind it with its share of the nodes.
  struct Part {
    std::set<std::string> nodes;                // of which nothing was heard yet
    std::deque<std::shared_ptr<Block>> unsent;  // in the channel's hands
    std::unique_ptr<io::StepChannel> channel;
    bool over = false;
  };
  Status start(const v1::FileStart& start, Duration waited);
  Result<const model::ControllerLaunch*> admit(const v1::FileStart& start) const;
  void open_parts(const v1::FileStart& start, const model::ControllerLaunch& launch);
  io::StepChannel::Events events_of(Part& part);
  void on_output(Part& part, std::string bytes);
  void on_closed(Part& part, const Status& status);
  void settle(Part& part);
  void send_all(const std::string& bytes, std::function<void()> taken);
  static void passed_on(Part& part);

  FileContext& context_;
  Events events_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::pair<std::string, std::function<void()>>> early_;  // what came while the job had not
  bool started_ = false, waiting_ = false, finished_ = false, fetch_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spur::agent
