// SPDX-License-Identifier: Apache-2.0
// The little of SQL that the accounting database needs, the same for SQLite (sqlite_sql.cc) and PostgreSQL
// (postgres_sql.cc): values are numbers and bytes and always go as parameters. Parameters are written $1, $2 ... and
// must first appear in that order, which both understand. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace spur::os {

using SqlValue = std::variant<std::int64_t, std::string_view>;

class SqlRow {
 public:
  virtual ~SqlRow() = default;
  virtual std::int64_t number(int column) const = 0;
  virtual std::string_view bytes(int column) const = 0;  // until the next row
};

// A table as bulk writes see it.
struct SqlTable {
  struct Column {
    std::string_view name;
    bool bytes = false;
  };
  std::string_view name;
  std::vector<Column> columns;
  std::size_t key_columns = 0;  // the first ones
};

class SqlConnection {
 public:
  virtual ~SqlConnection() = default;

  virtual bool is_postgres() const = 0;
  // One or more statements without parameters and rows.
  virtual Status execute(const std::string& sql) = 0;
  virtual Status query(std::string_view sql, std::span<const SqlValue> values,
                       const std::function<bool(const SqlRow&)>& each) = 0;
  // Writes rows (their values one after another) over those with the same key. No key twice in one call. Inside a
  // transaction.
  virtual Status upsert(const SqlTable& table, std::span<const SqlValue> values) = 0;
  // The link is gone, or its state is not known: of no more use.
  virtual bool broken() const = 0;

  Status run(std::string_view sql, std::span<const SqlValue> values) {
    return query(sql, values, [](const SqlRow&) { return true; });
  }
};

// A transaction that is rolled back unless committed.
class SqlTransaction {
 public:
  static Result<SqlTransaction> begin(SqlConnection& connection);
  SqlTransaction(SqlTransaction&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  SqlTransaction& operator=(SqlTransaction&&) = delete;
  ~SqlTransaction();
  Status commit();

 private:
  explicit SqlTransaction(SqlConnection& connection) : connection_(&connection) {}
  SqlConnection* connection_;
};

// `path` is made if it is not there. A reader never writes.
Result<std::unique_ptr<SqlConnection>> open_sqlite(const std::string& path, bool reader);
Result<std::unique_ptr<SqlConnection>> open_postgres(const std::string& url);

}  // namespace spur::os
