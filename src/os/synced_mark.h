// SPDX-License-Identifier: Apache-2.0
// The number of the last acknowledged journal entry, kept outside the database so that a database which lost its tail
// cannot hide it. Written after an entry is durable and before it is acknowledged, so it never runs ahead of the log.
//
// It is not synced on every entry (that would double the time of a commit), only when the journal rests. So it is
// exact after the end of the process, however violent, and may be some moments old after a power loss; then it proves
// less, never something false.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/unique_fd.h"

namespace spur::os {

class SyncedMark {
 public:
  using JournalId = std::array<char, 16>;
  struct Value {
    JournalId journal{};
    std::uint64_t index = 0;
  };
  SyncedMark() = default;  // of no file
  // Nothing if there is no such file. A damaged one is Corrupt.
  static Result<std::optional<Value>> read(const std::string& path);
  // Creates or replaces the file durably and keeps it open.
  static Result<SyncedMark> create(const std::string& path, const Value& value);

  Status set(std::uint64_t index);
  Status sync();

 private:
  SyncedMark(UniqueFd fd, std::string path, JournalId journal)
      : fd_(std::move(fd)), path_(std::move(path)), journal_(journal) {}
  UniqueFd fd_;
  std::string path_;
  JournalId journal_{};
  bool synced_ = true;
};

}  // namespace spur::os
