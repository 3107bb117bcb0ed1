// SPDX-License-Identifier: Apache-2.0
// What the journal keeps on disk, and every single durable step on it; os/sqlite_journal.h decides when each is
// taken. One thread at a time. Each Status-returning call is one transaction, durable when it returns.
//
//   journal.sqlite   meta      one row: the journal's id, the number and chain value of the last entry
//                    entry     number, chain value, bytes
//                    snapshot  at most one row: the number of the entry it includes, its chunks, size, checksum
//                    chunk     pieces of snapshots; those no snapshot row names are left-overs and are deleted
//   journal.mark     see synced_mark.h
//   journal.lock     see state_directory.h
//
// An entry's chain value is the CRC-32C over the chain value before it, its number and its bytes, so a missing,
// changed, doubled or exchanged entry is found. load() checks everything it gives back, the structure of the whole
// file (SQLite's quick_check, so that a damaged free list cannot hand out a page in use later) and the mark. The one
// loss it cannot see: damage of the last transaction after a power loss that also kept the mark's last few
// milliseconds from the disk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/journal.h"
#include "os/sqlite_db.h"
#include "os/state_directory.h"
#include "os/synced_mark.h"

namespace spur::os {

class JournalStore {
 public:
  static constexpr std::int64_t kApplicationId = 0x53505552;  // "SPUR"
  static constexpr std::int64_t kFormat = 1;
  static constexpr std::size_t kMaxEntryBytes = std::size_t{512} << 20;

  static Result<JournalStore> open(const std::string& directory);
  // Once, before all else. Corrupt: the message says which entry and what to do; the files are left as they were.
  Result<io::Journal::Recovery> load();

  std::uint64_t last_index() const { return last_; }
  std::uint64_t snapshot_index() const { return head_.index; }

  // Entries last_index() + 1 and so on.
  Status append(std::span<const std::string_view> entries);

  // A snapshot arrives in chunks, any number of appends between them, and counts from finish_snapshot() on, which
  // replaces the one before. begin_snapshot() forgets the chunks of one that was not finished.
  void begin_snapshot() { writing_ = {}; }
  // OutOfSpace unless the disk holds that much more and then some.
  Status check_room_for_snapshot(std::uint64_t bytes) const;
  Status add_chunk(std::string_view bytes);
  Status finish_snapshot(std::uint64_t index);

  // The state of another journal, as this one's beginning: the next entry is `index` + 1. Only where there is nothing
  // yet (AlreadyExists).
  Status import_state(std::uint64_t index, std::string_view bytes);

  // A limited amount of clearing up: chunks and entries that the snapshot made superfluous, then pages the file no
  // longer needs. False: nothing was left to do.
  Result<bool> trim(std::uint64_t max_entries);

  // The log has grown to `pages`: fold it into the database.
  Status checkpoint_if_over(int pages);
  bool wants_checkpoint(int pages) const { return db_.wal_pages() > pages; }
  Status sync_mark() { return mark_.sync(); }
  // Leaves a database without a log behind.
  Status close();

 private:
  struct Head {  // the snapshot in force; index 0: none
    std::uint64_t index = 0, size = 0;
    std::int64_t first_chunk = 0, chunks = 0;
    std::uint32_t chain = 0, crc = 0;
  };
  struct Writing {
    std::int64_t first_chunk = 0, chunks = 0;
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
  };

  JournalStore(StateDirectory directory, SqliteDb db, std::string notice);
  Status load_meta();
  Result<std::string> load_snapshot();
  Status load_entries(io::Journal::Recovery& recovery);
  Status check_mark(std::string& notice);
  Result<io::Journal::Recovery> load_checked();
  Result<bool> trim_chunks();
  Result<bool> trim_entries(std::uint64_t max_entries);
  Result<bool> trim_pages();
  static std::uint32_t checksum(const Head& head, std::uint32_t crc_of_data);

  StateDirectory directory_;
  SqliteDb db_;
  std::string notice_;
  SyncedMark mark_;
  SyncedMark::JournalId id_{};
  std::uint64_t last_ = 0, first_ = 1;  // first_: the oldest entry still stored
  std::uint32_t chain_ = 0;
  std::int64_t next_chunk_ = 1;
  Head head_;
  Writing writing_;
  SqliteStatement insert_entry_, set_last_, insert_chunk_;
};

}  // namespace spur::os
