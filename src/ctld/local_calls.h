// SPDX-License-Identifier: Apache-2.0
// The Controller service over the local socket (wire/local_call.h): the kernel has said who calls; the rest is as
// with gRPC. Knows nothing of sockets: answers go out through a LocalReply.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ctld/controller_calls.h"
#include "ctld/identify.h"

namespace spur::ctld {

// The way back to a local caller; from any thread.
class LocalReply {
 public:
  virtual ~LocalReply() = default;
  // The last bytes of the answer.
  virtual void send_last(std::string_view bytes) = 0;
  // Bytes with more to come, and whether all of them are out, or the caller is gone.
  virtual void send(std::string_view bytes) = 0;
  virtual bool drained() const = 0;
  virtual bool gone() const = 0;
  // `more` is pulled as fast as the caller reads, until it returns false; on the controller's readers.
  virtual void stream(std::function<bool(std::string*)> more) = 0;
};

class LocalCalls {
 public:
  LocalCalls(ControllerCalls& calls, const Identify& identify) : calls_(calls), identify_(identify) {}
  // `frame` is a request without its length.
  void take(Uid uid, Gid gid, std::string frame, std::shared_ptr<LocalReply> reply);

 private:
  void begin(std::string_view method, const model::Caller& caller, std::string_view message,
             const std::shared_ptr<LocalReply>& reply);
  void list_jobs(const model::Caller& caller, std::string_view message, std::shared_ptr<LocalReply> reply);
  void watch_jobs(const model::Caller& caller, std::string_view message, const std::shared_ptr<LocalReply>& reply);
  ControllerCalls& calls_;
  const Identify& identify_;
};

}  // namespace spur::ctld
