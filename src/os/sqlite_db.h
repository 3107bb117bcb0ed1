// SPDX-License-Identifier: Apache-2.0
// The little of SQLite that the journal needs, with Result for errors: one connection, prepared statements that keep
// their values bound for one run, transactions that roll back unless committed. Not thread-safe: one thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace spur::os {

// The error `handle` is in, as ours: full disk and damage have their own codes.
Error sqlite_error(sqlite3* handle, std::string_view what, int result_code);

class SqliteStatement {
 public:
  SqliteStatement() = default;
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement& operator=(SqliteStatement&& other) noexcept;
  ~SqliteStatement();

  // Parameters count from 1. The bytes of a blob must stay alive until the statement has run.
  SqliteStatement& bind(int parameter, std::int64_t value);
  SqliteStatement& bind_blob(int parameter, std::string_view bytes);
  // True: there is a row to read. False: finished, and ready to be bound again.
  Result<bool> step();
  // Runs a statement that gives no rows.
  Status run();
  void reset();
  // Columns count from 0. The view lives until the next step.
  std::int64_t column(int number) const;
  std::string_view column_blob(int number) const;

 private:
  friend class SqliteDb;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteDb {
 public:
  SqliteDb() = default;
  SqliteDb(SqliteDb&& other) noexcept;
  SqliteDb& operator=(SqliteDb&& other) noexcept;
  ~SqliteDb();
  // The file must exist; an empty one is a new database.
  static Result<SqliteDb> open(const std::string& path);

  Status execute(const char* sql);
  Result<SqliteStatement> prepare(std::string_view sql) const;
  // The first column of the first row.
  Result<std::int64_t> query_number(std::string_view sql) const;
  Result<std::string> query_text(std::string_view sql) const;
  // Pages in the write-ahead log after the last commit.
  int wal_pages() const { return wal_pages_ ? *wal_pages_ : 0; }
  // Moves the log's pages into the database; `truncate` also empties the log file.
  Status checkpoint(bool truncate);
  void no_checkpoint_on_close();
  void close();

 private:
  sqlite3* handle_ = nullptr;
  std::unique_ptr<int> wal_pages_;  // on the heap: SQLite holds its address
};

// Between construction and commit() all changes are one; without commit() they never happened.
class SqliteTransaction {
 public:
  static Result<SqliteTransaction> begin(SqliteDb& db);
  SqliteTransaction(SqliteTransaction&& other) noexcept;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();
  Status commit();

 private:
  explicit SqliteTransaction(SqliteDb& db) : db_(&db) {}
  SqliteDb* db_;
};

}  // namespace spur::os
