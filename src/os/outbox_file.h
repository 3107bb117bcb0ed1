// SPDX-License-Identifier: Apache-2.0
// io::OutboxSpool on a SQLite file of its own in the state directory. Writing and reading do not wait for each other.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "io/outbox_spool.h"
#include "os/sql.h"

namespace spur::os {

class OutboxFile final : public io::OutboxSpool {
 public:
  // <state_directory>/outbox.sqlite. Corrupt for a file that cannot be read.
  static Result<std::unique_ptr<OutboxFile>> open(const std::string& state_directory);

  Status append(Time born, std::span<const Record> records) override;
  Result<std::vector<Record>> read(std::uint64_t after, std::size_t max_bytes) override;
  Result<std::uint64_t> count(std::uint64_t after, std::uint64_t until) override;
  Status trim(std::uint64_t number) override;
  Result<Held> held() override;

 private:
  OutboxFile(std::unique_ptr<SqlConnection> writer, std::unique_ptr<SqlConnection> reader)
      : writer_(std::move(writer)), reader_(std::move(reader)) {}
  std::mutex write_mutex_, read_mutex_;
  std::unique_ptr<SqlConnection> writer_, reader_;
};

}  // namespace spur::os
