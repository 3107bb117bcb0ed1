// SPDX-License-Identifier: Apache-2.0
// Opening, appending, snapshots, clearing up. What load() checks is in journal_store_load.cc.
#include "os/journal_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "os/crc32c.h"
#include "os/files.h"
#include "os/journal_file.h"
#include "os/sqlite_wal.h"

namespace spur::os {
namespace {

constexpr std::size_t kImportBytes = std::size_t{256} << 10;
constexpr std::int64_t kTrimChunks = 8;        // per step
constexpr std::int64_t kTrimPages = 256;       // per step
constexpr std::int64_t kKeepFreePages = 1024;  // the next entries will need pages: giving all back would only cost

constexpr std::uint64_t kReserveBytes = std::uint64_t{16} << 20;  // the log's share, and entries meanwhile

std::int64_t as_sqlite(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

Result<bool> exists(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT) return false;
  return fail_errno(fmt::format("cannot use {}", path), errno);
}

// No database yet: make one, unless something else says that there had been one.
Status create_where_none_was(const StateDirectory& directory, const std::string& path) {
  SPUR_ASSIGN(const bool log, exists(path + "-wal"));
  Result<std::optional<SyncedMark::Value>> mark = SyncedMark::read(directory / "journal.mark");
  if (log || !mark || (*mark && (**mark).index > 0))
    return fail(ErrorCode::Corrupt, fmt::format("{} is missing, although this state directory has been in use: {}",
                                                path, kJournalAdvice));
  return create_journal_file(path);
}

}  // namespace

JournalStore::JournalStore(StateDirectory directory, SqliteDb db, std::string notice)
    : directory_(std::move(directory)), db_(std::move(db)), notice_(std::move(notice)) {}

Result<JournalStore> JournalStore::open(const std::string& path) {
  SPUR_ASSIGN(StateDirectory directory, StateDirectory::open(path, "journal.lock"));
  const std::string file = directory / "journal.sqlite";
  SPUR_ASSIGN(const bool there, exists(file));
  if (!there) SPUR_TRY(create_where_none_was(directory, file));
  SPUR_TRY(check_journal_header(file));
  SPUR_ASSIGN(const WalReport wal, examine_wal(file + "-wal"));
  if (wal.damaged)
    return fail(ErrorCode::Corrupt, fmt::format("{}-wal is damaged after byte {}, before acknowledged entries: {}",
                                                file, wal.whole_bytes, kJournalAdvice));
  std::string notice;
  if (wal.dropped_bytes > 0)
    notice = fmt::format(
        "cut {} bytes of a write that a crash had interrupted from the journal's end; nothing in them "
        "had been acknowledged",
        wal.dropped_bytes);
  SPUR_ASSIGN(SqliteDb db, open_journal_file(file));
  return JournalStore(std::move(directory), std::move(db), std::move(notice));
}

Status JournalStore::append(std::span<const std::string_view> entries) {
  std::uint64_t last = last_;
  std::uint32_t chain = chain_;
  SPUR_ASSIGN(SqliteTransaction transaction, SqliteTransaction::begin(db_));
  for (const std::string_view entry : entries) {
    if (entry.size() > kMaxEntryBytes)
      return fail(ErrorCode::ResourceLimit,
                  fmt::format("journal entry {} has {} bytes, more than {}", last + 1, entry.size(), kMaxEntryBytes));
    ++last;
    chain = journal_chain(chain, last, entry);
    SPUR_TRY(insert_entry_.bind(1, as_sqlite(last)).bind(2, chain).bind_blob(3, entry).run());
  }
  SPUR_TRY(set_last_.bind(1, as_sqlite(last)).bind(2, chain).run());
  SPUR_TRY(transaction.commit());
  last_ = last;
  chain_ = chain;
  // The entries are in the log: no error may say otherwise.
  if (const Status marked = mark_.set(last_); !marked) return fail(ErrorCode::Internal, marked.error().message);
  return {};
}

Status JournalStore::check_room_for_snapshot(std::uint64_t bytes) const {
  struct statvfs disk{};
  if (::statvfs(directory_.path().c_str(), &disk) != 0)
    return fail_errno(fmt::format("cannot examine the disk of {}", directory_.path()), errno);
  const std::uint64_t available = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (available < bytes + kReserveBytes)
    return fail(ErrorCode::OutOfSpace, fmt::format("{} has {} MiB left, too little for a snapshot of {} MiB",
                                                   directory_.path(), available >> 20, (bytes >> 20) + 1));
  return {};
}

Status JournalStore::add_chunk(std::string_view bytes) {
  SPUR_ASSIGN(SqliteTransaction transaction, SqliteTransaction::begin(db_));
  SPUR_TRY(insert_chunk_.bind(1, next_chunk_).bind_blob(2, bytes).run());
  SPUR_TRY(transaction.commit());
  if (writing_.chunks == 0) writing_.first_chunk = next_chunk_;
  ++next_chunk_;
  ++writing_.chunks;
  writing_.size += bytes.size();
  writing_.crc = crc32c(bytes, writing_.crc);
  return {};
}

std::uint32_t JournalStore::checksum(const Head& head, std::uint32_t crc_of_data) {
  const std::string fields =
      fmt::format("{} {} {} {} {}", head.index, head.first_chunk, head.chunks, head.size, head.chain);
  return crc32c(fields, crc_of_data);
}

Status JournalStore::finish_snapshot(std::uint64_t index) {
  if (index > last_ || index < head_.index)
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("no snapshot is possible at entry {}: the journal has {} to {}", index, head_.index, last_));
  Head head{.index = index, .size = writing_.size, .first_chunk = writing_.first_chunk, .chunks = writing_.chunks};
  // The chain goes on from the last entry that the snapshot replaces.
  if (index == head_.index) {
    head.chain = head_.chain;
  } else {
    SPUR_ASSIGN(const std::int64_t chain,
                db_.query_number(fmt::format("SELECT chain FROM entry WHERE number={}", index)));
    head.chain = static_cast<std::uint32_t>(chain);
  }
  head.crc = checksum(head, writing_.crc);
  SPUR_ASSIGN(SqliteTransaction transaction, SqliteTransaction::begin(db_));
  SPUR_TRY(db_.execute("DELETE FROM snapshot"));
  SPUR_ASSIGN(SqliteStatement insert, db_.prepare("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  insert.bind(1, as_sqlite(index)).bind(2, head.first_chunk).bind(3, head.chunks).bind(4, as_sqlite(head.size));
  SPUR_TRY(insert.bind(5, head.chain).bind(6, head.crc).run());
  SPUR_TRY(transaction.commit());
  head_ = head;
  writing_ = {};
  return {};
}

Status JournalStore::import_state(std::uint64_t index, std::string_view bytes) {
  if (last_ != 0)
    return fail(ErrorCode::AlreadyExists, fmt::format("{} has a journal already", directory_.path()));
  SPUR_TRY(check_room_for_snapshot(bytes.size()));
  begin_snapshot();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kImportBytes)))
    SPUR_TRY(add_chunk(bytes.substr(0, kImportBytes)));
  Head head{.index = index, .size = writing_.size, .first_chunk = writing_.first_chunk, .chunks = writing_.chunks};
  head.crc = checksum(head, writing_.crc);
  SPUR_ASSIGN(SqliteTransaction transaction, SqliteTransaction::begin(db_));
  SPUR_ASSIGN(SqliteStatement insert, db_.prepare("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  insert.bind(1, as_sqlite(index)).bind(2, head.first_chunk).bind(3, head.chunks).bind(4, as_sqlite(head.size));
  SPUR_TRY(insert.bind(5, head.chain).bind(6, head.crc).run());
  SPUR_TRY(set_last_.bind(1, as_sqlite(index)).bind(2, head.chain).run());
  SPUR_TRY(transaction.commit());
  head_ = head;
  writing_ = {};
  last_ = index;
  first_ = index + 1;
  chain_ = head.chain;
  SPUR_TRY(mark_.set(last_));
  return mark_.sync();
}

Result<bool> JournalStore::trim(std::uint64_t max_entries) {
  SPUR_ASSIGN(const bool chunks, trim_chunks());
  if (chunks) return true;
  SPUR_ASSIGN(const bool entries, trim_entries(max_entries));
  if (entries) return true;
  return trim_pages();
}

Result<bool> JournalStore::trim_chunks() {
  // Left-overs lie below the snapshot's chunks, or above them up to those being written.
  const std::int64_t end = head_.first_chunk + head_.chunks;
  const std::int64_t limit = writing_.chunks > 0 ? writing_.first_chunk : next_chunk_;
  SPUR_ASSIGN(
      SqliteStatement some,
      db_.prepare("DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id < ?1 OR (id >= ?2 AND id < ?3) "
                  "LIMIT ?4) RETURNING id"));
  some.bind(1, head_.first_chunk).bind(2, end).bind(3, limit).bind(4, kTrimChunks);
  bool any = false;
  for (;;) {
    SPUR_ASSIGN(const bool row, some.step());
    if (!row) return any;
    any = true;
  }
}

Result<bool> JournalStore::trim_entries(std::uint64_t max_entries) {
  if (first_ > head_.index) return false;
  const std::uint64_t up_to = std::min(head_.index, first_ + max_entries - 1);
  SPUR_ASSIGN(SqliteStatement some, db_.prepare("DELETE FROM entry WHERE number <= ?1"));
  SPUR_TRY(some.bind(1, as_sqlite(up_to)).run());
  first_ = up_to + 1;
  return true;
}

Result<bool> JournalStore::trim_pages() {
  SPUR_ASSIGN(const std::int64_t all, db_.query_number("PRAGMA page_count"));
  SPUR_ASSIGN(const std::int64_t unused, db_.query_number("PRAGMA freelist_count"));
  if (unused <= std::max(kKeepFreePages, all / 2)) return false;
  SPUR_TRY(db_.execute(fmt::format("PRAGMA incremental_vacuum({})", kTrimPages).c_str()));
  return true;
}

Status JournalStore::checkpoint_if_over(int pages) {
  if (!wants_checkpoint(pages)) return {};
  return db_.checkpoint(false);
}

Status JournalStore::close() {
  SPUR_TRY(mark_.sync());
  return db_.checkpoint(true);
}

}  // namespace spur::os
