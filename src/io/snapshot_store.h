// SPDX-License-Identifier: Apache-2.0
// The door to where a controller of several keeps the newest snapshot of the state. Real: os/etcd_snapshot. Fake:
// sim/.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace spur::io {

struct StoredSnapshot {
  std::uint64_t index = 0;  // the last entry that it includes; 0: none
  std::string bytes;
};

class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  // Corrupt: damaged; the message says what to do.
  virtual Result<StoredSnapshot> load() = 0;
  // Replaces the one before, durably and all at once.
  virtual Status store(std::uint64_t index, const std::string& bytes) = 0;
};

}  // namespace spur::io
