// SPDX-License-Identifier: Apache-2.0
// io::Journal on one SQLite file: the embedded default of a single controller. Group commit on a thread of its own:
// what is appended while one transaction becomes durable goes into the next one together. Between transactions the
// thread writes a piece of a snapshot or clears up a piece of what an older one made superfluous, so appends never
// wait for long.
//
// A small entry that comes while that thread rests is written by its caller, and done() called before append()
// returns: handing it over and being told costs two wake-ups of a thread, which is more than a quick disk takes. A
// disk that was slow the last time gets everything through the thread.
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
    std::size_t lone_bytes = std::size_t{64} << 10;  // of an entry that the caller may write; 0: never
    Duration quick{std::chrono::milliseconds(1)};    // such a write takes at most
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
  void rest(std::unique_lock<std::mutex>& lock);
  bool may_write_here(const std::string& entry) const;  // with the mutex held
  void give_back();
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
  std::uint64_t marked_ = 0;      // what next_index_ was when the mark was last synced
  bool resting_ = false;          // the thread waits, and the store is nobody's ...
  bool lent_ = false;             // ... or the caller's
  bool asleep_ = false;           // it waits for whatever comes, and not for the time to sync the mark
  bool nudged_ = false;           // the log wants to be folded into the database
  bool quick_ = true;             // the last write was
  bool stop_ = false;

  // Of whoever has the store: the journal's thread, or the caller to whom it is lent.
  std::deque<Snapshot> snapshots_;
  bool trimming_ = false;
  std::optional<Error> failed_;

  std::thread thread_;
};

}  // namespace spur::os
