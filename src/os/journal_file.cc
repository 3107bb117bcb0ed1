// SPDX-License-Identifier: Apache-2.0
#include "os/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/check.h"
#include "os/crc32c.h"
#include "os/files.h"
#include "os/journal_store.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

constexpr const char* kJournalSchema = R"(
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), journal BLOB NOT NULL, last INTEGER NOT NULL,
                   chain INTEGER NOT NULL);
CREATE TABLE entry (number INTEGER PRIMARY KEY, chain INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE snapshot (number INTEGER PRIMARY KEY, first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,
                       size INTEGER NOT NULL, chain INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE chunk (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
)";

Status fill_new_database(SqliteDb& db) {
  SPUR_TRY(db.execute("PRAGMA page_size=4096"));
  SPUR_TRY(db.execute("PRAGMA auto_vacuum=INCREMENTAL"));
  SPUR_TRY(db.execute("PRAGMA journal_mode=WAL"));
  SPUR_TRY(db.execute("PRAGMA synchronous=FULL"));
  SyncedMark::JournalId id{};
  SPUR_CHECK(::getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));
  SPUR_ASSIGN(SqliteTransaction transaction, SqliteTransaction::begin(db));
  SPUR_TRY(db.execute(fmt::format("PRAGMA application_id={}", JournalStore::kApplicationId).c_str()));
  SPUR_TRY(db.execute(fmt::format("PRAGMA user_version={}", JournalStore::kFormat).c_str()));
  SPUR_TRY(db.execute(kJournalSchema));
  SPUR_ASSIGN(SqliteStatement insert, db.prepare("INSERT INTO meta VALUES (1, ?1, 0, 0)"));
  SPUR_TRY(insert.bind_blob(1, {id.data(), id.size()}).run());
  return transaction.commit();
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void append_little_endian(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::uint32_t journal_chain(std::uint32_t before, std::uint64_t index, std::string_view entry) {
  std::string start;
  append_little_endian(start, before, 4);
  append_little_endian(start, index, 8);
  return crc32c(entry, crc32c(start));
}

Status create_journal_file(const std::string& path) {
  const std::string fresh = path + ".new";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((fresh + suffix).c_str());
  // SQLite would create it readable for all; its log takes the mode of the database.
  UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(fmt::format("cannot create {}", fresh), errno);
  {
    SPUR_ASSIGN(SqliteDb db, SqliteDb::open(fresh));
    SPUR_TRY(fill_new_database(db));
    SPUR_TRY(db.checkpoint(true));
  }
  if (::fsync(fd.get()) != 0) return fail_errno(fmt::format("cannot sync {}", fresh), errno);
  if (::rename(fresh.c_str(), path.c_str()) != 0)
    return fail_errno(fmt::format("cannot rename {} to {}", fresh, path), errno);
  return sync_directory(parent_directory(path));
}

Status check_journal_header(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  std::array<char, 100> bytes{};
  const ssize_t n = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) return fail_errno(fmt::format("cannot read {}", path), errno);
  const std::string_view header(bytes.data(), bytes.size());
  using namespace std::string_view_literals;
  if (static_cast<std::size_t>(n) < bytes.size() || !header.starts_with("SQLite format 3\0"sv))
    return fail(ErrorCode::Corrupt,
                fmt::format("{} is no journal, or its start is damaged: {}", path, kJournalAdvice));
  const std::int64_t application = big_endian(header, 68), format = big_endian(header, 60);
  if (application != JournalStore::kApplicationId)
    return fail(ErrorCode::Corrupt,
                fmt::format("{} is the database of another program (application id {:#x}), or its "
                            "start is damaged: {}",
                            path, application, kJournalAdvice));
  if (format > JournalStore::kFormat)
    return fail(
        ErrorCode::VersionMismatch,
        fmt::format("{} has format {}, this program knows formats up to {}: start the newer program that wrote "
                    "it, or restore the state directory as it was before that one ran",
                    path, format, JournalStore::kFormat));
  if (format < 1)
    return fail(ErrorCode::VersionMismatch,
                fmt::format("{} has the unknown format {}: {}", path, format, kJournalAdvice));
  // 2: write-ahead log. Anything else would make SQLite ignore the log beside the file.
  if (header[18] != 2 || header[19] != 2)
    return fail(ErrorCode::Corrupt, fmt::format("{} is damaged in its header: {}", path, kJournalAdvice));
  return {};
}

Result<SqliteDb> open_journal_file(const std::string& path) {
  SPUR_ASSIGN(SqliteDb db, SqliteDb::open(path));
  // A journal that is refused must stay as it was found.
  db.no_checkpoint_on_close();
  // Before the first read: nobody else gets in, and the log's index is kept in memory, not in a file.
  SPUR_TRY(db.execute("PRAGMA locking_mode=EXCLUSIVE"));
  SPUR_TRY(db.execute("PRAGMA synchronous=FULL"));
  SPUR_TRY(db.execute("PRAGMA cell_size_check=ON"));
  SPUR_TRY(db.execute("PRAGMA trusted_schema=OFF"));
  SPUR_TRY(db.execute("PRAGMA journal_size_limit=67108864"));
  SPUR_TRY(db.execute("PRAGMA cache_size=-16000"));
  // Pages of an unfinished transaction stay out of the log, where they could be taken for damage.
  SPUR_TRY(db.execute("PRAGMA cache_spill=OFF"));
  return db;
}

}  // namespace spur::os
