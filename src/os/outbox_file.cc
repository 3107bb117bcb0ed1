// SPDX-License-Identifier: Apache-2.0
#include "os/outbox_file.h"

#include <utility>

namespace spur::os {
namespace {

// Deleted in one transaction: appends wait no longer than that.
constexpr std::int64_t kTrimAtOnce = 20'000;

constexpr const char* kOutboxSchema = R"(
CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS born (only_row INTEGER PRIMARY KEY, at INTEGER NOT NULL);
INSERT OR IGNORE INTO born VALUES (1, 0);
)";

}  // namespace

Result<std::unique_ptr<OutboxFile>> OutboxFile::open(const std::string& state_directory) {
  const std::string path = state_directory + "/outbox.sqlite";
  SPUR_ASSIGN(auto writer, open_sqlite(path, false));
  SPUR_TRY(writer->execute(kOutboxSchema));
  SPUR_ASSIGN(auto reader, open_sqlite(path, true));
  return std::unique_ptr<OutboxFile>(new OutboxFile(std::move(writer), std::move(reader)));
}

Status OutboxFile::append(Time born, std::span<const Record> records) {
  const std::lock_guard lock(write_mutex_);
  SPUR_ASSIGN(auto transaction, SqlTransaction::begin(*writer_));
  std::int64_t known = 0;
  SPUR_TRY(writer_->query("SELECT at FROM born", {}, [&](const SqlRow& row) {
    known = row.number(0);
    return true;
  }));
  if (known != to_micros(born)) {
    SPUR_TRY(writer_->execute("DELETE FROM outbox"));
    const SqlValue values[] = {to_micros(born)};
    SPUR_TRY(writer_->run("UPDATE born SET at = $1", values));
  }
  for (const Record& record : records) {
    const SqlValue values[] = {static_cast<std::int64_t>(record.number), std::string_view(record.bytes)};
    SPUR_TRY(writer_->run("INSERT OR IGNORE INTO outbox VALUES ($1, $2)", values));
  }
  return transaction.commit();
}

Result<std::vector<io::OutboxSpool::Record>> OutboxFile::read(std::uint64_t after, std::size_t max_bytes) {
  const std::lock_guard lock(read_mutex_);
  std::vector<Record> out;
  std::size_t bytes = 0;
  const SqlValue values[] = {static_cast<std::int64_t>(after)};
  SPUR_TRY(reader_->query("SELECT number, record FROM outbox WHERE number > $1 ORDER BY number", values,
                          [&](const SqlRow& row) {
                            out.push_back({static_cast<std::uint64_t>(row.number(0)), std::string(row.bytes(1))});
                            return (bytes += out.back().bytes.size()) < max_bytes;
                          }));
  return out;
}

Result<std::uint64_t> OutboxFile::count(std::uint64_t after, std::uint64_t until) {
  const std::lock_guard lock(read_mutex_);
  std::uint64_t out = 0;
  const SqlValue values[] = {static_cast<std::int64_t>(after), static_cast<std::int64_t>(until)};
  SPUR_TRY(reader_->query("SELECT count(*) FROM outbox WHERE number > $1 AND number <= $2", values,
                          [&](const SqlRow& row) {
                            out = static_cast<std::uint64_t>(row.number(0));
                            return true;
                          }));
  return out;
}

Status OutboxFile::trim(std::uint64_t number) {
  while (true) {
    const std::lock_guard lock(write_mutex_);
    std::int64_t first = 0;
    SPUR_TRY(writer_->query("SELECT min(number) FROM outbox", {}, [&](const SqlRow& row) {
      first = row.number(0);
      return true;
    }));
    if (first == 0 || first > static_cast<std::int64_t>(number)) return {};
    SPUR_ASSIGN(auto transaction, SqlTransaction::begin(*writer_));
    const SqlValue values[] = {std::min(first + kTrimAtOnce, static_cast<std::int64_t>(number))};
    SPUR_TRY(writer_->run("DELETE FROM outbox WHERE number <= $1", values));
    SPUR_TRY(transaction.commit());
  }
}

Result<io::OutboxSpool::Held> OutboxFile::held() {
  const std::lock_guard lock(read_mutex_);
  Held out;
  SPUR_TRY(reader_->query("SELECT at FROM born", {}, [&](const SqlRow& row) {
    out.born = from_micros(row.number(0));
    return true;
  }));
  SPUR_TRY(reader_->query("SELECT min(number), max(number), count(*) FROM outbox", {}, [&](const SqlRow& row) {
    out.first = static_cast<std::uint64_t>(row.number(0));
    out.last = static_cast<std::uint64_t>(row.number(1));
    out.count = static_cast<std::uint64_t>(row.number(2));
    return true;
  }));
  return out;
}

}  // namespace spur::os
