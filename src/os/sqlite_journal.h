// SPDX-License-Identifier: Apache-2.0
// io::Journal on one SQLite file: the embedded default of a single controller. Group commit on a thread of its own:
// what is appended while one transaction becomes durable goes into the next one together. Between transactions the
// thread writes a piece of a snapshot or clears up a piece of what an older one made superfluous, so appends never
// wait for long.
//
// Acknowledged entries survive the end of the process and of the machine. What is on disk, and which damage is found:
// see journal_store.h. After a failed append every later one fails with the same error; a failed snapshot (disk full)
// leaves appending as it was.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "io/journal.h"
#include "os/journal_store.h"

namespace spur::os {

class SqliteJournal final : public io::Journal {
 public:
  struct Options {
    std::size_t max_group_entries = 4096;  // of one transaction
    std::size_t max_group_bytes = std::size_t{8} << 20;
    std::size_t snapshot_chunk_bytes = std::size_t{256} << 10;
    std::uint64_t trim_entries = 1000;             // deleted in one transaction
    int checkpoint_pages = 2000;                   // of 4 KiB
    Duration rest{std::chrono::milliseconds(20)};  // without work, before the mark is synced
  };

  // Takes the directory for this process alone. Errors: Busy (held by another process, which is named),
  // PermissionDenied, Corrupt, VersionMismatch, OutOfSpace.
  static Result<std::unique_ptr<SqliteJournal>> open(const std::string& state_directory, Options options);
  static Result<std::unique_ptr<SqliteJournal>> open(const std::string& state_directory) {
    return open(state_directory, Options());
  }
  // Makes durable what was appended and calls back for it; does not wait for unfinished snapshots, whose callbacks
  // get an error.
  ~SqliteJournal() override;

  Result<Recovery> recover() override;
  void append(std::uint64_t index, std::string entry, Done done) override;
  void save_snapshot(std::uint64_t index, std::string snapshot, Done done) override;

 private:
  struct Append {
    std::string entry;
    Done done;
  };
  struct Snapshot {
    std::uint64_t index = 0;
    std::string data;
    Done done;
    std::size_t written = 0;  // bytes
  };

  SqliteJournal(JournalStore store, Options options) : options_(options), store_(std::move(store)) {}
  void run();
  std::vector<Append> take_group();
  void commit(std::vector<Append> group);
  void refuse(std::vector<Append> group, const Error& error);
  void background_step(std::size_t arrived);
  void snapshot_step(Snapshot& snapshot);
  void finish_snapshot(Status status);
  void fail_for_good(const Error& error);

  const Options options_;
  JournalStore store_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Append> queue_;  // guarded by mutex_, as all up to stop_
  std::deque<Snapshot> new_snapshots_;
  std::uint64_t next_index_ = 0;  // 0: not recovered yet
  bool stop_ = false;

  // The journal thread's own.
  std::deque<Snapshot> snapshots_;
  bool trimming_ = false;
  std::optional<Error> failed_;

  std::thread thread_;
};

}  // namespace spur::os
