// SPDX-License-Identifier: Apache-2.0
// SqlConnection on one SQLite file in WAL mode: one writer, any number of readers, nobody waits for the other.
#include <fcntl.h>
#include <fmt/format.h>

#include <map>
#include <utility>

#include "os/files.h"
#include "os/sql.h"
#include "os/sqlite_db.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

// The log grows to this many pages of 4 KiB before they are moved into the file.
constexpr int kCheckpointPages = 4000;

class SqliteRow final : public SqlRow {
 public:
  explicit SqliteRow(const SqliteStatement& statement) : statement_(statement) {}
  std::int64_t number(int column) const override { return statement_.column(column); }
  std::string_view bytes(int column) const override { return statement_.column_blob(column); }

 private:
  const SqliteStatement& statement_;
};

void bind(SqliteStatement& statement, int at, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    statement.bind(at, *number);
  else
    statement.bind_blob(at, std::get<std::string_view>(value));
}

class SqliteSql final : public SqlConnection {
 public:
  explicit SqliteSql(SqliteDb db, bool reader) : db_(std::move(db)), reader_(reader) {}
  ~SqliteSql() override { statements_.clear(); }

  bool is_postgres() const override { return false; }
  bool broken() const override { return false; }

  Status execute(const std::string& sql) override {
    SPUR_TRY(db_.execute(sql.c_str()));
    if (sql == "COMMIT" && !reader_ && db_.wal_pages() > kCheckpointPages) {
      // A disk too full for it is met again by the next write.
      static_cast<void>(db_.checkpoint(false));
    }
    return {};
  }

  Status query(std::string_view sql, std::span<const SqlValue> values,
               const std::function<bool(const SqlRow&)>& each) override {
    SPUR_ASSIGN(SqliteStatement * statement, prepared(sql));
    for (std::size_t i = 0; i < values.size(); ++i) bind(*statement, static_cast<int>(i) + 1, values[i]);
    const SqliteRow row(*statement);
    while (true) {
      SPUR_ASSIGN(const bool more, statement->step());
      if (!more) return {};
      if (each(row)) continue;
      statement->reset();
      return {};
    }
  }

  Status upsert(const SqlTable& table, std::span<const SqlValue> values) override {
    SPUR_ASSIGN(SqliteStatement * statement, prepared(upsert_text(table)));
    const std::size_t width = table.columns.size();
    for (std::size_t row = 0; row + width <= values.size(); row += width) {
      for (std::size_t i = 0; i < width; ++i) bind(*statement, static_cast<int>(i) + 1, values[row + i]);
      SPUR_TRY(statement->run());
    }
    return {};
  }

 private:
  static std::string upsert_text(const SqlTable& table) {
    std::string names, places, keys, sets;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string_view name = table.columns[i].name;
      names += fmt::format("{}{}", i ? "," : "", name);
      places += fmt::format("{}${}", i ? "," : "", i + 1);
      if (i < table.key_columns)
        keys += fmt::format("{}{}", i ? "," : "", name);
      else
        sets += fmt::format("{}{}=excluded.{}", i > table.key_columns ? "," : "", name, name);
    }
    return fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}", table.name, names, places,
                       keys, sets);
  }

  Result<SqliteStatement*> prepared(std::string_view sql) {
    auto found = statements_.find(sql);
    if (found == statements_.end()) {
      // Questions with lists of any length have as many texts.
      if (statements_.size() >= 64) statements_.clear();
      SPUR_ASSIGN(auto statement, db_.prepare(sql));
      found = statements_.emplace(std::string(sql), std::move(statement)).first;
    }
    return &found->second;
  }

  SqliteDb db_;
  const bool reader_;
  std::map<std::string, SqliteStatement, std::less<>> statements_;
};

}  // namespace

Result<std::unique_ptr<SqlConnection>> open_sqlite(const std::string& path, bool reader) {
  if (!reader) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return fail_errno("cannot open " + path, errno);
  }
  SPUR_ASSIGN(SqliteDb db, SqliteDb::open(path));
  SPUR_TRY(db.execute("PRAGMA busy_timeout=10000"));
  if (reader) {
    SPUR_TRY(db.execute("PRAGMA query_only=1"));
  } else {
    SPUR_TRY(db.execute("PRAGMA journal_mode=WAL"));
    SPUR_TRY(db.execute("PRAGMA synchronous=FULL"));
  }
  SPUR_TRY(db.execute("PRAGMA cache_size=-65536"));
  SPUR_TRY(db.execute("PRAGMA temp_store=MEMORY"));
  return std::unique_ptr<SqlConnection>(std::make_unique<SqliteSql>(std::move(db), reader));
}

}  // namespace spur::os
