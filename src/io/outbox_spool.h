// SPDX-License-Identifier: Apache-2.0
// The door to the disk on which records for the accounting database wait. Beside the journal, not in it: a record can
// be had again from the journal's replay until a snapshot has taken its place, and no snapshot does before the spool
// has it. Real: os/outbox_file.h. Any thread may call; calls block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::io {

class OutboxSpool {
 public:
  struct Record {
    std::uint64_t number = 0;
    std::string bytes;
  };
  struct Held {
    Time born;
    std::uint64_t first = 0, last = 0;  // 0: none
    std::uint64_t count = 0;
  };
  virtual ~OutboxSpool() = default;

  // Durable when it returns. Numbers that are here already stay as they are. Records of another outbox (`born`) are
  // thrown away first: nobody can send them any more.
  virtual Status append(Time born, std::span<const Record> records) = 0;
  // Those behind `after`, in order: as many as there are, up to about `max_bytes`, at least one if there is one.
  virtual Result<std::vector<Record>> read(std::uint64_t after, std::size_t max_bytes) = 0;
  // How many there are behind `after`, up to `until`.
  virtual Result<std::uint64_t> count(std::uint64_t after, std::uint64_t until) = 0;
  // The database has everything up to `number`.
  virtual Status trim(std::uint64_t number) = 0;
  virtual Result<Held> held() = 0;
};

}  // namespace spur::io
