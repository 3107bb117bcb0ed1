// SPDX-License-Identifier: Apache-2.0
// SqlConnection on PostgreSQL, over libpq. Parameters and results are binary; bulk writes go by COPY into a temporary
// table and from there into their place, in the transaction of the caller.
#include <arpa/inet.h>
#include <endian.h>
#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstring>
#include <utility>

#include "os/sql.h"

namespace spur::os {
namespace {

constexpr Oid kBigint = 20, kBytea = 17;
constexpr std::size_t kCopyChunk = std::size_t{1} << 20;

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, Clear>;

std::string first_line(const char* text) {
  std::string_view line(text ? text : "");
  while (line.starts_with('\n')) line.remove_prefix(1);
  line = line.substr(0, line.find('\n'));
  return std::string(line);
}

std::int64_t read_number(const char* bytes, int length) {
  std::uint64_t value = 0;
  if (length == 8) {
    std::memcpy(&value, bytes, 8);
    return static_cast<std::int64_t>(be64toh(value));
  }
  if (length == 4) {
    std::uint32_t small = 0;
    std::memcpy(&small, bytes, 4);
    return static_cast<std::int32_t>(ntohl(small));
  }
  return 0;
}

class PostgresRow final : public SqlRow {
 public:
  explicit PostgresRow(const PGresult* result) : result_(result) {}
  std::int64_t number(int column) const override {
    return read_number(PQgetvalue(result_, 0, column), PQgetlength(result_, 0, column));
  }
  std::string_view bytes(int column) const override {
    return {PQgetvalue(result_, 0, column), static_cast<std::size_t>(PQgetlength(result_, 0, column))};
  }

 private:
  const PGresult* result_;
};

// The COPY BINARY format: lengths and numbers in network order.
class CopyBuffer {
 public:
  CopyBuffer() {
    text_.append("PGCOPY\n\377\r\n\0", 11);
    number32(0);
    number32(0);
  }
  void number16(std::uint16_t value) { raw(htobe16(value)); }
  void number32(std::uint32_t value) { raw(htobe32(value)); }
  void value(const SqlValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      number32(8);
      raw(htobe64(static_cast<std::uint64_t>(*number)));
    } else {
      const auto bytes = std::get<std::string_view>(value);
      number32(static_cast<std::uint32_t>(bytes.size()));
      text_.append(bytes);
    }
  }
  std::string& text() { return text_; }

 private:
  template <class T>
  void raw(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string text_;
};

class PostgresSql final : public SqlConnection {
 public:
  explicit PostgresSql(PGconn* connection) : connection_(connection) {}
  ~PostgresSql() override { PQfinish(connection_); }

  bool is_postgres() const override { return true; }
  bool broken() const override { return broken_ || PQstatus(connection_) != CONNECTION_OK; }

  Status execute(const std::string& sql) override {
    const ResultPtr result(PQexec(connection_, sql.c_str()));
    return check(result.get());
  }

  Status query(std::string_view sql, std::span<const SqlValue> values,
               const std::function<bool(const SqlRow&)>& each) override {
    SPUR_TRY(send(sql, values));
    PQsetSingleRowMode(connection_);
    Status status;
    bool enough = false;
    while (const ResultPtr result{PQgetResult(connection_)}) {
      if (PQresultStatus(result.get()) == PGRES_SINGLE_TUPLE) {
        if (!enough && !each(PostgresRow(result.get()))) {
          enough = true;
          cancel();
        }
      } else if (status && !enough) {
        status = check(result.get());
      }
    }
    if (status && PQstatus(connection_) != CONNECTION_OK)
      return fail(ErrorCode::Unreachable, fmt::format("PostgreSQL: {}", first_line(PQerrorMessage(connection_))));
    return status;
  }

  Status upsert(const SqlTable& table, std::span<const SqlValue> values) override {
    if (values.empty()) return {};
    std::string names, keys, sets;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string_view name = table.columns[i].name;
      names += fmt::format("{}{}", i ? "," : "", name);
      if (i < table.key_columns)
        keys += fmt::format("{}{}", i ? "," : "", name);
      else
        sets += fmt::format("{}{}=excluded.{}", i > table.key_columns ? "," : "", name, name);
    }
    // Kept for the session unless the transaction that made it is rolled back; emptied by each commit.
    std::string columns;
    for (const auto& column : table.columns)
      columns +=
          fmt::format("{}{} {} NOT NULL", columns.empty() ? "" : ",", column.name, column.bytes ? "BYTEA" : "BIGINT");
    SPUR_TRY(execute(
        fmt::format("CREATE TEMPORARY TABLE IF NOT EXISTS new_{} ({}) ON COMMIT DELETE ROWS", table.name, columns)));
    SPUR_TRY(copy(table, names, values));
    SPUR_TRY(execute(fmt::format("INSERT INTO {} ({}) SELECT {} FROM new_{} ON CONFLICT ({}) DO UPDATE SET {}",
                                 table.name, names, names, table.name, keys, sets)));
    // A transaction may write the same table twice.
    return execute(fmt::format("DELETE FROM new_{}", table.name));
  }

 private:
  Status copy(const SqlTable& table, const std::string& names, std::span<const SqlValue> values) {
    const ResultPtr begun(
        PQexec(connection_, fmt::format("COPY new_{} ({}) FROM STDIN (FORMAT binary)", table.name, names).c_str()));
    if (PQresultStatus(begun.get()) != PGRES_COPY_IN) return check(begun.get());
    CopyBuffer buffer;
    const auto put = [&] {
      auto& text = buffer.text();
      const bool ok = PQputCopyData(connection_, text.data(), static_cast<int>(text.size())) == 1;
      text.clear();
      return ok;
    };
    const std::size_t width = table.columns.size();
    bool ok = true;
    for (std::size_t row = 0; ok && row + width <= values.size(); row += width) {
      buffer.number16(static_cast<std::uint16_t>(width));
      for (std::size_t i = 0; i < width; ++i) buffer.value(values[row + i]);
      if (buffer.text().size() > kCopyChunk) ok = put();
    }
    buffer.number16(0xffff);
    ok = ok && put() && PQputCopyEnd(connection_, nullptr) == 1;
    Status status;
    while (const ResultPtr result{PQgetResult(connection_)})
      if (status) status = check(result.get());
    if (!ok && status)
      return fail(ErrorCode::Unreachable, fmt::format("PostgreSQL: {}", first_line(PQerrorMessage(connection_))));
    return status;
  }

  Status send(std::string_view sql, std::span<const SqlValue> values) {
    std::vector<Oid> types;
    std::vector<const char*> data;
    std::vector<int> lengths, formats(values.size(), 1);
    std::vector<std::uint64_t> numbers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const auto* number = std::get_if<std::int64_t>(&values[i])) {
        numbers[i] = htobe64(static_cast<std::uint64_t>(*number));
        types.push_back(kBigint);
        data.push_back(reinterpret_cast<const char*>(&numbers[i]));
        lengths.push_back(8);
      } else {
        const auto bytes = std::get<std::string_view>(values[i]);
        types.push_back(kBytea);
        data.push_back(bytes.data() ? bytes.data() : "");
        lengths.push_back(static_cast<int>(bytes.size()));
      }
    }
    const std::string text(sql);
    if (PQsendQueryParams(connection_, text.c_str(), static_cast<int>(values.size()), types.data(), data.data(),
                          lengths.data(), formats.data(), 1) != 1) {
      broken_ = true;
      return fail(ErrorCode::Unreachable, fmt::format("PostgreSQL: {}", first_line(PQerrorMessage(connection_))));
    }
    return {};
  }

  void cancel() {
    char error[256];
    if (PGcancel* cancel = PQgetCancel(connection_)) {
      PQcancel(cancel, error, sizeof error);
      PQfreeCancel(cancel);
    }
  }

  Status check(const PGresult* result) {
    const auto status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN) return {};
    const char* code = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
    const std::string state(code ? code : "");
    std::string text = result ? first_line(PQresultErrorMessage(result)) : std::string();
    if (text.empty()) text = first_line(PQerrorMessage(connection_));
    ErrorCode ours = ErrorCode::Internal;
    // 08: connection; 57: shutting down; 53100: disk full; 40: try again; 42501 and 28: may not.
    if (state.empty() || state.starts_with("08") || state.starts_with("57P") || state.starts_with("40"))
      ours = ErrorCode::Unreachable;
    else if (state.starts_with("53"))
      ours = ErrorCode::OutOfSpace;
    else if (state == "42501" || state.starts_with("28"))
      ours = ErrorCode::PermissionDenied;
    else if (state == "XX001" || state == "XX002")
      ours = ErrorCode::Corrupt;
    if (ours == ErrorCode::Unreachable) broken_ = true;
    return fail(ours, fmt::format("PostgreSQL: {}", text));
  }

  PGconn* connection_;
  bool broken_ = false;
};

}  // namespace

Result<std::unique_ptr<SqlConnection>> open_postgres(const std::string& url) {
  // The URL comes last, so that what it says of the others counts.
  const char* keywords[] = {"connect_timeout", "application_name", "keepalives_idle", "dbname", nullptr};
  const char* values[] = {"10", "spurdbd", "30", url.c_str(), nullptr};
  PGconn* connection = PQconnectdbParams(keywords, values, 1);
  auto out = std::make_unique<PostgresSql>(connection);
  if (PQstatus(connection) != CONNECTION_OK) {
    const std::string why = first_line(PQerrorMessage(connection));
    const bool refused =
        why.find("authentication") != std::string::npos || why.find("no password") != std::string::npos;
    return fail(refused ? ErrorCode::PermissionDenied : ErrorCode::Unreachable,
                fmt::format("cannot use the PostgreSQL database: {}", why));
  }
  PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
  SPUR_TRY(out->execute("SET client_min_messages = warning"));
  return std::unique_ptr<SqlConnection>(std::move(out));
}

}  // namespace spur::os
