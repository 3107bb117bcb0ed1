// SPDX-License-Identifier: Apache-2.0
// A watcher of jobs behind a gRPC stream. The stream belongs to gRPC, which ends it when it likes; the sink outlives
// it harmlessly.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "ctld/job_watches.h"

namespace spur::ctld {

class GrpcWatch final : public WatchSink, public std::enable_shared_from_this<GrpcWatch> {
 public:
  using Reactor = grpc::ServerWriteReactor<v1::JobChanges>;
  // `has_room` is called when a message is out.
  GrpcWatch(grpc::CallbackServerContext* context, std::function<void()> has_room)
      : context_(context), has_room_(std::move(has_room)) {}
  // To be given to gRPC; once.
  Reactor* reactor();

  bool gone() const override;
  bool drained() const override;
  void send(const v1::JobChanges& changes) override;
  void end(const Status& status) override;

 private:
  class Stream;
  void on_written(bool ok);
  void on_cancel();
  void on_done();
  void finish(grpc::Status status);  // with the mutex held

  grpc::CallbackServerContext* const context_;
  const std::function<void()> has_room_;
  mutable std::mutex mutex_;
  Stream* stream_ = nullptr;
  v1::JobChanges message_;
  bool writing_ = false, finished_ = false, hung_up_ = false;
  std::optional<grpc::Status> last_;  // to be said when the message that is under way is out
};

}  // namespace spur::ctld
