// SPDX-License-Identifier: Apache-2.0
// Gives the state to another controller of the cluster (proto/spur/v1/replica.proto).
#pragma once

#include "ctld/core_thread.h"
#include "ctld/identify.h"
#include "spur/v1/replica.grpc.pb.h"

namespace spur::ctld {

class ReplicaService final : public v1::Replica::CallbackService {
 public:
  ReplicaService(CoreThread& core, const Identify& identify) : core_(core), identify_(identify) {}
  grpc::ServerWriteReactor<v1::SnapshotChunk>* FetchSnapshot(grpc::CallbackServerContext* context,
                                                             const v1::FetchSnapshotRequest* request) override;

 private:
  CoreThread& core_;
  const Identify& identify_;
};

}  // namespace spur::ctld
