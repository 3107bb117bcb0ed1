// SPDX-License-Identifier: Apache-2.0
// io::HistoryStore on a SQLite file of its own in the state directory. Entries that are written together lie together,
// compressed. Writing and reading do not wait for each other.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "io/history_store.h"
#include "os/sql.h"

namespace spur::os {

class HistoryFile final : public io::HistoryStore {
 public:
  // <state_directory>/history.sqlite. Corrupt for a file that cannot be read.
  static Result<std::unique_ptr<HistoryFile>> open(const std::string& state_directory);

  Status append(const Part& part) override;
  Status save(const Image& image) override;
  Status sync() override;
  Result<Held> held() override;
  Result<std::optional<Image>> image_before(Time then) override;
  Result<Time> next_image(std::uint64_t index) override;
  Result<std::vector<Entry>> read(std::uint64_t after, std::size_t max_bytes) override;
  Result<std::vector<Record>> records(JobId job) override;
  Result<std::vector<Event>> events(std::span<const JobId> jobs, std::size_t most) override;
  Result<bool> trim(Time then, std::uint64_t max_bytes) override;
  Status clear() override;

 private:
  HistoryFile(std::unique_ptr<SqlConnection> writer, std::unique_ptr<SqlConnection> reader)
      : writer_(std::move(writer)), reader_(std::move(reader)) {}
  Status append_entries(const std::vector<Entry>& entries);
  Status drop_before(std::int64_t index);
  Result<std::uint64_t> used_bytes(SqlConnection& connection);

  std::mutex write_mutex_, read_mutex_;
  std::unique_ptr<SqlConnection> writer_, reader_;
};

}  // namespace spur::os
