// SPDX-License-Identifier: Apache-2.0
#include "ctld/grpc_watch.h"

#include <utility>

#include "ctld/rpc_status.h"

namespace spur::ctld {

class GrpcWatch::Stream final : public GrpcWatch::Reactor {
 public:
  explicit Stream(std::shared_ptr<GrpcWatch> sink) : sink_(std::move(sink)) {}
  void OnWriteDone(bool ok) override { sink_->on_written(ok); }
  void OnCancel() override { sink_->on_cancel(); }
  void OnDone() override {
    sink_->on_done();
    delete this;
  }

 private:
  std::shared_ptr<GrpcWatch> sink_;
};

GrpcWatch::Reactor* GrpcWatch::reactor() {
  const std::lock_guard lock(mutex_);
  return stream_ = new Stream(shared_from_this());
}

bool GrpcWatch::gone() const {
  const std::lock_guard lock(mutex_);
  return finished_ || hung_up_;
}

bool GrpcWatch::drained() const {
  const std::lock_guard lock(mutex_);
  return !writing_;
}

void GrpcWatch::send(const v1::JobChanges& changes) {
  const std::lock_guard lock(mutex_);
  if (finished_ || hung_up_ || !stream_) return;
  message_ = changes;
  writing_ = true;
  stream_->StartWrite(&message_);
}

void GrpcWatch::end(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (!stream_) return;
  last_ = status ? grpc::Status::OK : rpc_status(context_, status.error());
  if (!writing_) finish(*last_);
}

void GrpcWatch::on_written(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) hung_up_ = true;
    if (hung_up_)
      finish(grpc::Status::CANCELLED);
    else if (last_)
      finish(*last_);
  }
  has_room_();
}

void GrpcWatch::on_cancel() {
  const std::lock_guard lock(mutex_);
  hung_up_ = true;
  if (!writing_) finish(grpc::Status::CANCELLED);
}

void GrpcWatch::on_done() {
  const std::lock_guard lock(mutex_);
  stream_ = nullptr;
  finished_ = true;
}

void GrpcWatch::finish(grpc::Status status) {
  if (std::exchange(finished_, true) || !stream_) return;
  stream_->Finish(std::move(status));
}

}  // namespace spur::ctld
