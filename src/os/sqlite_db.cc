// SPDX-License-Identifier: Apache-2.0
#include "os/sqlite_db.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "base/check.h"

namespace spur::os {

namespace {

// SQLite calls only ENOSPC "full"; a quota or a file size limit is the same to us.
bool means_full(int errno_value) {
  return errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG;
}

// Did the operating system's last objection to a write mean "full"? sqlite3_system_errno() does not know when a
// commit failed; the file (database or log) does.
bool disk_is_full(sqlite3* handle) {
  if (means_full(sqlite3_system_errno(handle))) return true;
  for (const int which : {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER}) {
    sqlite3_file* file = nullptr;
    int value = 0;
    if (sqlite3_file_control(handle, "main", which, &file) == SQLITE_OK && file && file->pMethods &&
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &value) == SQLITE_OK && means_full(value))
      return true;
  }
  return false;
}

}  // namespace

Error sqlite_error(sqlite3* handle, std::string_view what, int result_code) {
  const int system = handle ? sqlite3_system_errno(handle) : 0;
  const int primary = result_code & 0xff;
  ErrorCode code = ErrorCode::Internal;
  // What could not be synced may be on the disk or not: no case of "nothing was written".
  const bool unsynced = result_code == SQLITE_IOERR_FSYNC || result_code == SQLITE_IOERR_DIR_FSYNC;
  if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && !unsynced && handle && disk_is_full(handle)))
    code = ErrorCode::OutOfSpace;
  else if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || result_code == SQLITE_IOERR_SHORT_READ)
    code = ErrorCode::Corrupt;
  else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
    code = ErrorCode::Busy;
  else if (primary == SQLITE_PERM || primary == SQLITE_READONLY || primary == SQLITE_AUTH ||
           (primary == SQLITE_CANTOPEN && system == EACCES))
    code = ErrorCode::PermissionDenied;
  else if (primary == SQLITE_TOOBIG)
    code = ErrorCode::ResourceLimit;
  const char* path = handle ? sqlite3_db_filename(handle, "main") : nullptr;
  const char* text = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(result_code);
  return {code, fmt::format("{}: {} ({}, code {})", path ? path : "SQLite", text, what, result_code)};
}

// ---- statements

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}

SqliteStatement& SqliteStatement::operator=(SqliteStatement&& other) noexcept {
  std::swap(statement_, other.statement_);
  return *this;
}

SqliteStatement::~SqliteStatement() {
  sqlite3_finalize(statement_);
}

SqliteStatement& SqliteStatement::bind(int parameter, std::int64_t value) {
  SPUR_CHECK(sqlite3_bind_int64(statement_, parameter, value) == SQLITE_OK);
  return *this;
}

SqliteStatement& SqliteStatement::bind_blob(int parameter, std::string_view bytes) {
  // A null pointer would bind NULL, not an empty blob.
  const char* data = bytes.data() ? bytes.data() : "";
  SPUR_CHECK(sqlite3_bind_blob64(statement_, parameter, data, bytes.size(), SQLITE_STATIC) == SQLITE_OK);
  return *this;
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = sqlite_error(sqlite3_db_handle(statement_), sqlite3_sql(statement_), code);
  reset();
  return std::unexpected(std::move(error));
}

Status SqliteStatement::run() {
  SPUR_ASSIGN(const bool row, step());
  SPUR_CHECK(!row);
  return {};
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::int64_t SqliteStatement::column(int number) const {
  return sqlite3_column_int64(statement_, number);
}

std::string_view SqliteStatement::column_blob(int number) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, number));
  const int size = sqlite3_column_bytes(statement_, number);
  return data ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

// ---- the connection

SqliteDb::SqliteDb(SqliteDb&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), wal_pages_(std::move(other.wal_pages_)) {}

SqliteDb& SqliteDb::operator=(SqliteDb&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(wal_pages_, other.wal_pages_);
  return *this;
}

SqliteDb::~SqliteDb() {
  close();
}

void SqliteDb::close() {
  if (handle_) sqlite3_close_v2(std::exchange(handle_, nullptr));
}

void SqliteDb::no_checkpoint_on_close() {
  SPUR_CHECK(sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr) == SQLITE_OK);
}

Result<SqliteDb> SqliteDb::open(const std::string& path) {
  SqliteDb db;
  db.wal_pages_ = std::make_unique<int>(0);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &db.handle_, flags, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(db.handle_, fmt::format("open {}", path), code));
  // Also takes the place of SQLite's own hook, which would checkpoint inside a commit.
  sqlite3_wal_hook(
      db.handle_,
      [](void* pages, sqlite3*, const char*, int count) {
        *static_cast<int*>(pages) = count;
        return SQLITE_OK;
      },
      db.wal_pages_.get());
  return db;
}

Status SqliteDb::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(handle_, sql, code));
  return {};
}

Result<SqliteStatement> SqliteDb::prepare(std::string_view sql) const {
  SqliteStatement statement;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement.statement_, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(handle_, sql, code));
  return statement;
}

Result<std::int64_t> SqliteDb::query_number(std::string_view sql) const {
  SPUR_ASSIGN(SqliteStatement statement, prepare(sql));
  SPUR_ASSIGN(const bool row, statement.step());
  return row ? statement.column(0) : 0;
}

Result<std::string> SqliteDb::query_text(std::string_view sql) const {
  SPUR_ASSIGN(SqliteStatement statement, prepare(sql));
  SPUR_ASSIGN(const bool row, statement.step());
  return row ? std::string(statement.column_blob(0)) : std::string();
}

Status SqliteDb::checkpoint(bool truncate) {
  const int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(handle_, "main", mode, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(handle_, "checkpoint", code));
  *wal_pages_ = 0;
  return {};
}

// ---- transactions

Result<SqliteTransaction> SqliteTransaction::begin(SqliteDb& db) {
  SPUR_TRY(db.execute("BEGIN IMMEDIATE"));
  return SqliteTransaction(db);
}

SqliteTransaction::SqliteTransaction(SqliteTransaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

SqliteTransaction::~SqliteTransaction() {
  // Some errors have rolled back already; then this one says so and changes nothing.
  if (db_) static_cast<void>(db_->execute("ROLLBACK"));
}

Status SqliteTransaction::commit() {
  SPUR_TRY(db_->execute("COMMIT"));
  db_ = nullptr;
  return {};
}

}  // namespace spur::os
