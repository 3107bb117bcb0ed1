// SPDX-License-Identifier: Apache-2.0
#include "agent/file_service.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/byte_buffer.h"
#include "wire/error_map.h"

namespace spur::agent {
namespace {

constexpr std::size_t kPauseFilesAt = 16, kResumeFilesAt = 4;  // outputs waiting to be written
constexpr int kBlocksAhead = 4;                      // blocks on their way

grpc::ByteBuffer file_buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

// Holds itself until gRPC is done with it. The session lives and dies on the agent's thread.
class FileService::Stream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                  public std::enable_shared_from_this<Stream> {
 public:
  Stream(FileService& service, grpc::CallbackServerContext* context) : service_(service), context_(context) {}

  void begin() {
    self_ = shared_from_this();
    service_.post_([self = self_] {
      self->session_ = std::make_unique<FileSession>(
          self->service_.context_,
          FileSession::Events{.output = [raw = self.get()](const std::string& bytes) { raw->queue_output(bytes); },
                              .finished = [raw = self.get()](const Status& status) { raw->end_with(status); }});
    });
    StartRead(&in_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // the caller sends no more; a broken stream shows as OnCancel
    service_.post_([self = shared_from_this(), bytes = bytes_of(in_)]() mutable {
      if (self->session_) self->session_->input(std::move(bytes), [self] { self->taken(); });
    });
    std::lock_guard lock(mutex_);
    in_.Clear();
    reading_ = ++inputs_ < kBlocksAhead && !finished_;
    if (reading_) StartRead(&in_);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!queue_.empty()) queue_.pop_front();
    if (!ok) return;
    if (paused_ && queue_.size() <= kResumeFilesAt) {
      paused_ = false;
      service_.post_([self = shared_from_this()] {
        if (self->session_) self->session_->pause(false);
      });
    }
    write_next_locked();
  }

  void OnCancel() override {
    service_.post_([self = shared_from_this()] { self->session_.reset(); });
    std::lock_guard lock(mutex_);
    finish_locked(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    service_.post_([self = std::move(self_)] { self->session_.reset(); });
  }

 private:
  void taken() {
    std::lock_guard lock(mutex_);
    --inputs_;
    if (finished_ || std::exchange(reading_, true)) return;
    StartRead(&in_);
  }

  void queue_output(const std::string& bytes) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    queue_.push_back(file_buffer_of(bytes));
    if (!paused_ && queue_.size() >= kPauseFilesAt) {
      paused_ = true;
      session_->pause(true);
    }
    write_next_locked();
  }

  void end_with(const Status& status) {
    std::lock_guard lock(mutex_);
    end_ = grpc::Status::OK;
    if (!status) {
      context_->AddTrailingMetadata("spur-error", std::to_string(static_cast<unsigned>(status.error().code)));
      end_ = grpc::Status(static_cast<grpc::StatusCode>(wire::grpc_status_of(status.error().code)),
                          status.error().message);
    }
    write_next_locked();
  }

  void write_next_locked() {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      StartWrite(&queue_.front());
    } else if (end_) {
      finish_locked(*end_);
    }
  }

  void finish_locked(const grpc::Status& status) {
    if (!std::exchange(finished_, true)) Finish(status);
  }

  FileService& service_;
  grpc::CallbackServerContext* context_;
  std::shared_ptr<Stream> self_;
  std::unique_ptr<FileSession> session_;
  grpc::ByteBuffer in_;
  std::mutex mutex_;
  std::deque<grpc::ByteBuffer> queue_;  // the front is being written while writing_
  std::optional<grpc::Status> end_;
  int inputs_ = 0;       // read and not yet taken
  bool reading_ = true;  // another one is being read
  bool writing_ = false, finished_ = false, paused_ = false;
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FileService::Transfer(
    grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<Stream>(*this, context);
  stream->begin();
  return stream.get();
}

}  // namespace spur::agent
