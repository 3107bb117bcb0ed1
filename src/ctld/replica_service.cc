// SPDX-License-Identifier: Apache-2.0
#include "ctld/replica_service.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/rpc_status.h"
#include "wire/command_codec.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

class SnapshotReactor final : public grpc::ServerWriteReactor<v1::SnapshotChunk> {
 public:
  void refuse(grpc::Status status) { Finish(std::move(status)); }
  void begin(std::uint64_t index, std::string bytes) {
    bytes_ = std::move(bytes);
    chunk_.set_index(index);
    chunk_.set_total_bytes(bytes_.size());
    write();
  }
  void OnWriteDone(bool ok) override { ok ? write() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void write() {
    if (sent_ == bytes_.size()) return Finish(grpc::Status::OK);
    chunk_.set_data(bytes_.substr(sent_, kChunkBytes));
    sent_ += chunk_.data().size();
    StartWrite(&chunk_);
  }
  std::string bytes_;
  std::size_t sent_ = 0;
  v1::SnapshotChunk chunk_;
};

// One chunk is read from the disk when the one before it has gone out.
class OutboxReactor final : public grpc::ServerWriteReactor<v1::OutboxChunk> {
 public:
  OutboxReactor(io::OutboxSpool* spool, std::uint64_t after, std::uint64_t until)
      : spool_(spool), after_(after), until_(until) {}
  void refuse(grpc::Status status) { Finish(std::move(status)); }
  void write() {
    if (!spool_ || after_ >= until_) return Finish(grpc::Status::OK);
    const auto records = spool_->read(after_, kChunkBytes);
    if (!records) return Finish({grpc::StatusCode::INTERNAL, records.error().message});
    chunk_.Clear();
    for (const auto& record : *records) {
      after_ = record.number;
      if (after_ > until_) break;
      auto* out = chunk_.add_records();
      out->set_number(record.number);
      out->set_bytes(record.bytes);
    }
    if (chunk_.records().empty()) return Finish(grpc::Status::OK);
    StartWrite(&chunk_);
  }
  void OnWriteDone(bool ok) override { ok ? write() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  io::OutboxSpool* spool_;
  std::uint64_t after_, until_;
  v1::OutboxChunk chunk_;
};

}  // namespace

Status ReplicaService::allow(const grpc::CallbackServerContext& context, std::string_view call) const {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("spur-credential-bin");
  const std::string_view credential =
      it == metadata.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
  SPUR_ASSIGN(const auto caller, identify_.user(credential, core_.picture()->view));
  return authorize(call, caller);
}

grpc::ServerWriteReactor<v1::OutboxChunk>* ReplicaService::FetchOutbox(grpc::CallbackServerContext* context,
                                                                       const v1::FetchOutboxRequest* request) {
  // Records of another outbox have the same numbers and are something else.
  const auto held = spool_ ? spool_->held() : Result<io::OutboxSpool::Held>(io::OutboxSpool::Held{});
  const bool same = held && to_micros(held->born) == request->born_us();
  auto* reactor = new OutboxReactor(same ? spool_ : nullptr, request->after(), request->until());
  if (const Status ok = allow(*context, "FetchOutbox"); !ok)
    reactor->refuse(rpc_status(context, ok.error()));
  // What is still on its way to the disk would be taken for lost.
  else if (outbox_ && outbox_->standing().last < request->until())
    reactor->refuse(rpc_status(context, Error{ErrorCode::Busy, "this controller is not that far yet"}));
  else if (!held)
    reactor->refuse(rpc_status(context, held.error()));
  else
    reactor->write();
  return reactor;
}

grpc::ServerWriteReactor<v1::SnapshotChunk>* ReplicaService::FetchSnapshot(grpc::CallbackServerContext* context,
                                                                           const v1::FetchSnapshotRequest*) {
  auto* reactor = new SnapshotReactor();
  if (const Status ok = allow(*context, "FetchSnapshot"); !ok)
    return reactor->refuse(rpc_status(context, ok.error())), reactor;
  core_.post([this, reactor, context](Controller& controller) {
    if (controller.cluster().index() == 0)
      return reactor->refuse(rpc_status(context, Error{ErrorCode::Busy, "this controller has no state yet"}));
    auto image = std::make_shared<state::Cluster::Image>(controller.cluster().image());
    const bool taken = core_.ponder([reactor, image] { reactor->begin(image->index, wire::encode_image(*image)); });
    if (!taken) reactor->refuse(rpc_status(context, Error{ErrorCode::Busy, "too many ask at once; try again"}));
  });
  return reactor;
}

}  // namespace spur::ctld
