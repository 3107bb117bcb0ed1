// SPDX-License-Identifier: Apache-2.0
// Gives the state, and records for accounting, to another controller of the cluster (proto/spur/v1/replica.proto).
#pragma once

#include "ctld/core_thread.h"
#include "ctld/identify.h"
#include "spur/v1/replica.grpc.pb.h"

namespace spur::ctld {

class ReplicaService final : public v1::Replica::CallbackService {
 public:
  // `spool`, `outbox`: null where there is no accounting.
  ReplicaService(CoreThread& core, const Identify& identify, io::OutboxSpool* spool, const AcctOutbox* outbox)
      : core_(core), identify_(identify), spool_(spool), outbox_(outbox) {}
  grpc::ServerWriteReactor<v1::SnapshotChunk>* FetchSnapshot(grpc::CallbackServerContext* context,
                                                             const v1::FetchSnapshotRequest* request) override;
  grpc::ServerWriteReactor<v1::OutboxChunk>* FetchOutbox(grpc::CallbackServerContext* context,
                                                         const v1::FetchOutboxRequest* request) override;

 private:
  Status allow(const grpc::CallbackServerContext& context, std::string_view call) const;

  CoreThread& core_;
  const Identify& identify_;
  io::OutboxSpool* spool_;
  const AcctOutbox* outbox_;
};

}  // namespace spur::ctld
