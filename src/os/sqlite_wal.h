// SPDX-License-Identifier: Apache-2.0
// A look at SQLite's write-ahead log before SQLite sees it. SQLite ends the log at the first frame whose checksum is
// wrong and says nothing: right for a write that a crash cut short, silent loss if the frame had been synced and was
// damaged later. With synchronous=FULL every transaction is synced before the next one is written, so at most the
// last one can be cut short: a good frame that follows a complete later transaction proves damage.
//
// What this cannot tell: damage of the very last transaction, or of the log's header. The synced mark (synced_mark.h)
// covers those.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace spur::os {

struct WalReport {
  std::uint64_t whole_bytes = 0;    // up to the last complete transaction
  std::uint64_t dropped_bytes = 0;  // of this log's generation after it: SQLite will cut them
  bool damaged = false;             // synced transactions lie behind the cut
};

// A missing or empty log is a report of zeros.
Result<WalReport> examine_wal(const std::string& path);

}  // namespace spur::os
