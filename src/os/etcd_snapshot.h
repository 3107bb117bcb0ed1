// SPDX-License-Identifier: Apache-2.0
// What a controller of several keeps on its own disk: the id of its cluster and the newest snapshot of the state. The
// log behind the snapshot is in etcd.
//
//   cluster.id        the id, one line
//   converted.id      likewise, of one that is not in etcd yet: the state beside it was a single controller's
//   snapshot.bin      magic, number of the last entry it includes, checksum, the snapshot
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "io/snapshot_store.h"

namespace spur::os {

using StoredSnapshot = io::StoredSnapshot;

// Empty: this controller has not joined a cluster yet.
Result<std::string> load_cluster_id(const std::string& directory);
Status store_cluster_id(const std::string& directory, const std::string& id);
// Empty: nothing was converted here.
Result<std::string> load_converted_id(const std::string& directory);
Status store_converted_id(const std::string& directory, const std::string& id);
Status forget_converted_id(const std::string& directory);

Result<StoredSnapshot> load_snapshot_file(const std::string& directory);
Status store_snapshot_file(const std::string& directory, std::uint64_t index, const std::string& bytes);

class SnapshotFile final : public io::SnapshotStore {
 public:
  explicit SnapshotFile(std::string directory) : directory_(std::move(directory)) {}
  Result<StoredSnapshot> load() override { return load_snapshot_file(directory_); }
  Status store(std::uint64_t index, const std::string& bytes) override {
    return store_snapshot_file(directory_, index, bytes);
  }

 private:
  std::string directory_;
};

}  // namespace spur::os
