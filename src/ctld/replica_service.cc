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

}  // namespace

grpc::ServerWriteReactor<v1::SnapshotChunk>* ReplicaService::FetchSnapshot(grpc::CallbackServerContext* context,
                                                                           const v1::FetchSnapshotRequest*) {
  auto* reactor = new SnapshotReactor();
  const auto& metadata = context->client_metadata();
  const auto it = metadata.find("spur-credential-bin");
  const std::string_view credential =
      it == metadata.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
  auto caller = identify_.user(credential, core_.picture()->view);
  Status allowed = caller ? authorize("FetchSnapshot", *caller) : Status(std::unexpected(caller.error()));
  if (!allowed) return reactor->refuse(rpc_status(context, allowed.error())), reactor;
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
