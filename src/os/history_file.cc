// SPDX-License-Identifier: Apache-2.0
#include "os/history_file.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "wire/envelope.h"

namespace spur::os {
namespace {

constexpr int kLevel = 1;  // faster than the disk
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;  // of entries that lie together
constexpr std::size_t kMostPlain = std::size_t{4} << 30;

// A stretch that goes is deleted in pieces: whoever writes waits no longer than for one.
constexpr std::int64_t kDropAtOnce = 20'000;

constexpr const char* kHistorySchema = R"(
CREATE TABLE IF NOT EXISTS block (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, entries BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS image (number INTEGER PRIMARY KEY, shown INTEGER NOT NULL, state BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS image_shown ON image (shown);
CREATE TABLE IF NOT EXISTS event (entry INTEGER NOT NULL, job INTEGER NOT NULL, seq INTEGER NOT NULL,
  at INTEGER NOT NULL, uid INTEGER NOT NULL, source BLOB NOT NULL, what BLOB NOT NULL, details BLOB NOT NULL,
  PRIMARY KEY (entry, job, seq)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS event_job ON event (job);
CREATE TABLE IF NOT EXISTS record (job INTEGER PRIMARY KEY, owner INTEGER NOT NULL, family INTEGER NOT NULL,
  part INTEGER NOT NULL, component INTEGER NOT NULL, entry INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS record_family ON record (family);
CREATE TABLE IF NOT EXISTS synced (only_row INTEGER PRIMARY KEY, times INTEGER NOT NULL);
INSERT OR IGNORE INTO synced VALUES (1, 0);
)";

std::int64_t as_stored(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

void put_number(std::uint64_t value, std::string* to) {
  for (int i = 0; i < 8; ++i) to->push_back(static_cast<char>(value >> (8 * i)));
}
std::uint64_t take_number(std::string_view from) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(from[static_cast<std::size_t>(i)]);
  return value;
}

// Length and checksum of the plain bytes, then the bytes.
std::string packed(std::string_view plain) {
  std::string out;
  put_number(plain.size(), &out);
  put_number(wire::checksum_of(plain), &out);
  const std::size_t head = out.size();
  out.resize(head + ZSTD_compressBound(plain.size()));
  const std::size_t size = ZSTD_compress(out.data() + head, out.size() - head, plain.data(), plain.size(), kLevel);
  out.resize(ZSTD_isError(size) ? head : head + size);
  return out;
}

Result<std::string> unpacked(std::string_view bytes) {
  const auto damaged = [] { return fail(ErrorCode::Corrupt, "history.sqlite is damaged"); };
  if (bytes.size() < 16 || take_number(bytes) > kMostPlain) return damaged();
  std::string plain(take_number(bytes), '\0');
  const std::size_t size = ZSTD_decompress(plain.data(), plain.size(), bytes.data() + 16, bytes.size() - 16);
  if (ZSTD_isError(size) || size != plain.size() || wire::checksum_of(plain) != take_number(bytes.substr(8)))
    return damaged();
  return plain;
}

}  // namespace

Result<std::unique_ptr<HistoryFile>> HistoryFile::open(const std::string& state_directory) {
  const std::string path = state_directory + "/history.sqlite";
  SPUR_ASSIGN(auto writer, open_sqlite(path, false));
  SPUR_TRY(writer->execute(kHistorySchema));
  // The journal has what a loss of power takes from here; sync() says from when on it need not.
  SPUR_TRY(writer->execute("PRAGMA synchronous=NORMAL"));
  SPUR_ASSIGN(auto reader, open_sqlite(path, true));
  return std::unique_ptr<HistoryFile>(new HistoryFile(std::move(writer), std::move(reader)));
}

// ---- writing

Status HistoryFile::append_entries(const std::vector<Entry>& entries) {
  for (std::size_t i = 0; i < entries.size();) {
    const std::uint64_t first = entries[i].index;
    std::string plain;
    std::uint64_t last = first;
    for (; i < entries.size() && plain.size() < kBlockBytes && entries[i].index <= last + 1; ++i) {
      last = entries[i].index;
      put_number(last, &plain);
      put_number(static_cast<std::uint64_t>(to_micros(entries[i].shown)), &plain);
      put_number(entries[i].bytes.size(), &plain);
      plain += entries[i].bytes;
    }
    const std::string block = packed(plain);
    const SqlValue values[] = {as_stored(first), as_stored(last), std::string_view(block)};
    SPUR_TRY(writer_->run("INSERT OR IGNORE INTO block VALUES ($1, $2, $3)", values));
  }
  return {};
}

Status HistoryFile::append(const Part& part) {
  const std::lock_guard lock(write_mutex_);
  SPUR_ASSIGN(auto transaction, SqlTransaction::begin(*writer_));
  SPUR_TRY(append_entries(part.entries));
  std::int64_t seq = 0;
  for (const Event& event : part.events) {
    const SqlValue values[] = {as_stored(event.index),
                               std::int64_t{event.job.value},
                               seq++,
                               to_micros(event.at),
                               event.by ? std::int64_t{event.by->value} : -1,
                               std::string_view(event.source),
                               std::string_view(event.what),
                               std::string_view(event.details)};
    SPUR_TRY(writer_->run("INSERT OR IGNORE INTO event VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", values));
  }
  const std::int64_t last = part.entries.empty() ? 0 : as_stored(part.entries.back().index);
  for (const Record& record : part.records) {
    const SqlValue values[] = {std::int64_t{record.job.value},
                               std::int64_t{record.owner.value},
                               std::int64_t{record.group.value},
                               record.part ? std::int64_t{*record.part} : -1,
                               std::int64_t{record.is_component},
                               last};
    SPUR_TRY(writer_->run("INSERT OR REPLACE INTO record VALUES ($1, $2, $3, $4, $5, $6)", values));
  }
  return transaction.commit();
}

Status HistoryFile::save(const Image& image) {
  const std::string state = packed(image.bytes);
  const std::lock_guard lock(write_mutex_);
  const SqlValue values[] = {as_stored(image.index), to_micros(image.shown), std::string_view(state)};
  return writer_->run("INSERT OR IGNORE INTO image VALUES ($1, $2, $3)", values);
}

// A commit that waits for the disk takes all those before it along.
Status HistoryFile::sync() {
  const std::lock_guard lock(write_mutex_);
  SPUR_TRY(writer_->execute("PRAGMA synchronous=FULL"));
  const Status status = writer_->execute("UPDATE synced SET times = times + 1");
  SPUR_TRY(writer_->execute("PRAGMA synchronous=NORMAL"));
  return status;
}

Status HistoryFile::drop_before(std::int64_t index) {
  const SqlValue values[] = {index};
  SPUR_TRY(writer_->run("DELETE FROM image WHERE number < $1", values));
  for (const char* statement : {"DELETE FROM block WHERE last <= $1 AND first IN (SELECT first FROM block WHERE last "
                                "<= $1 ORDER BY first LIMIT 2000)",
                                "DELETE FROM event WHERE (entry, job, seq) IN (SELECT entry, job, seq FROM event WHERE "
                                "entry <= $1 ORDER BY entry LIMIT 20000)",
                                "DELETE FROM record WHERE job IN (SELECT job FROM record AS r WHERE r.entry <= $1 AND "
                                "NOT EXISTS (SELECT 1 FROM event WHERE event.job = r.job) LIMIT 20000)"}) {
    std::int64_t changed = kDropAtOnce;
    while (changed > 0) {
      SPUR_TRY(writer_->run(statement, values));
      SPUR_TRY(writer_->query("SELECT changes()", {}, [&](const SqlRow& row) {
        changed = row.number(0);
        return true;
      }));
    }
  }
  return {};
}

Result<std::uint64_t> HistoryFile::used_bytes(SqlConnection& connection) {
  std::int64_t pages[3] = {0, 0, 0};
  const char* const questions[] = {"PRAGMA page_count", "PRAGMA freelist_count", "PRAGMA page_size"};
  for (int i = 0; i < 3; ++i)
    SPUR_TRY(connection.query(questions[i], {}, [&](const SqlRow& row) {
      pages[i] = row.number(0);
      return true;
    }));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, pages[0] - pages[1]) * pages[2]);
}

Result<bool> HistoryFile::trim(Time then, std::uint64_t max_bytes) {
  const std::lock_guard lock(write_mutex_);
  const auto number_of = [&](const char* question, std::span<const SqlValue> values) -> Result<std::int64_t> {
    std::int64_t found = -1;
    SPUR_TRY(writer_->query(question, values, [&](const SqlRow& row) {
      found = row.number(0);
      return true;
    }));
    return found;
  };
  const SqlValue by_then[] = {to_micros(then)};
  SPUR_ASSIGN(const std::int64_t newest,
              number_of("SELECT number FROM image WHERE shown <= $1 ORDER BY number DESC LIMIT 1", by_then));
  if (newest > 0) SPUR_TRY(drop_before(newest));
  while (true) {
    SPUR_ASSIGN(const std::uint64_t used, used_bytes(*writer_));
    if (used <= max_bytes) return true;
    SPUR_ASSIGN(const std::int64_t second, number_of("SELECT number FROM image ORDER BY number LIMIT 1 OFFSET 1", {}));
    if (second < 0) return false;
    SPUR_TRY(drop_before(second));
  }
}

Status HistoryFile::clear() {
  const std::lock_guard lock(write_mutex_);
  return writer_->execute("DELETE FROM block; DELETE FROM image; DELETE FROM event; DELETE FROM record");
}

// ---- reading

Result<io::HistoryStore::Held> HistoryFile::held() {
  const std::lock_guard lock(read_mutex_);
  Held out;
  std::int64_t last = 0;
  SPUR_TRY(reader_->query("SELECT min(shown), max(shown), max(number) FROM image", {}, [&](const SqlRow& row) {
    out.since = from_micros(row.number(0));
    out.newest_image = from_micros(row.number(1));
    last = row.number(2);
    return true;
  }));
  SPUR_TRY(reader_->query("SELECT max(last) FROM block WHERE first = (SELECT max(first) FROM block)", {},
                          [&](const SqlRow& row) {
                            last = std::max(last, row.number(0));
                            return true;
                          }));
  out.last = static_cast<std::uint64_t>(last);
  SPUR_ASSIGN(out.bytes, used_bytes(*reader_));
  return out;
}

Result<std::optional<io::HistoryStore::Image>> HistoryFile::image_before(Time then) {
  const std::lock_guard lock(read_mutex_);
  std::optional<Image> out;
  const SqlValue values[] = {to_micros(then)};
  Status status;
  SPUR_TRY(reader_->query("SELECT number, shown, state FROM image WHERE shown <= $1 ORDER BY number DESC LIMIT 1",
                          values, [&](const SqlRow& row) {
                            auto bytes = unpacked(row.bytes(2));
                            if (!bytes) return status = std::unexpected(bytes.error()), false;
                            out = Image{static_cast<std::uint64_t>(row.number(0)), from_micros(row.number(1)),
                                        *std::move(bytes)};
                            return true;
                          }));
  SPUR_TRY(std::move(status));
  return out;
}

Result<Time> HistoryFile::next_image(std::uint64_t index) {
  const std::lock_guard lock(read_mutex_);
  Time out;
  const SqlValue values[] = {as_stored(index)};
  SPUR_TRY(reader_->query("SELECT shown FROM image WHERE number > $1 ORDER BY number LIMIT 1", values,
                          [&](const SqlRow& row) {
                            out = from_micros(row.number(0));
                            return true;
                          }));
  return out;
}

Result<std::vector<io::HistoryStore::Entry>> HistoryFile::read(std::uint64_t after, std::size_t max_bytes) {
  const std::lock_guard lock(read_mutex_);
  std::vector<Entry> out;
  std::size_t bytes = 0;
  Status status;
  const auto take = [&](std::string_view plain) -> Status {
    while (!plain.empty()) {
      if (plain.size() < 24 || take_number(plain.substr(16)) > plain.size() - 24)
        return fail(ErrorCode::Corrupt, "history.sqlite is damaged");
      const std::uint64_t size = take_number(plain.substr(16));
      if (const std::uint64_t index = take_number(plain); index > after)
        out.push_back({index, from_micros(static_cast<std::int64_t>(take_number(plain.substr(8)))),
                       std::string(plain.substr(24, size))});
      plain.remove_prefix(24 + size);
      bytes += size;
    }
    return {};
  };
  // The block that `after` lies in, or the first behind it.
  const SqlValue values[] = {as_stored(after)};
  SPUR_TRY(reader_->query("SELECT entries FROM block WHERE first >= coalesce((SELECT max(first) FROM block WHERE first "
                          "<= $1), 0) AND last > $1 ORDER BY first",
                          values, [&](const SqlRow& row) {
                            auto plain = unpacked(row.bytes(0));
                            status = plain ? take(*plain) : Status(std::unexpected(plain.error()));
                            return status && (out.empty() || bytes < max_bytes);
                          }));
  SPUR_TRY(std::move(status));
  return out;
}

Result<std::vector<io::HistoryStore::Record>> HistoryFile::records(JobId job) {
  const std::lock_guard lock(read_mutex_);
  std::vector<Record> out;
  const SqlValue values[] = {std::int64_t{job.value}};
  SPUR_TRY(reader_->query("SELECT job, owner, family, part, component FROM record WHERE job = $1 OR family = $1 "
                          "ORDER BY job",
                          values, [&](const SqlRow& row) {
                            Record record{.job = JobId(static_cast<std::uint32_t>(row.number(0))),
                                          .owner = Uid(static_cast<std::uint32_t>(row.number(1))),
                                          .group = JobId(static_cast<std::uint32_t>(row.number(2))),
                                          .part = {},
                                          .is_component = row.number(4) != 0};
                            if (row.number(3) >= 0) record.part = static_cast<std::uint32_t>(row.number(3));
                            out.push_back(record);
                            return true;
                          }));
  return out;
}

Result<std::vector<io::HistoryStore::Event>> HistoryFile::events(std::span<const JobId> jobs, std::size_t most) {
  const std::lock_guard lock(read_mutex_);
  struct Placed {
    std::int64_t seq;
    Event event;
  };
  std::vector<Placed> found;
  const auto before = [](const Placed& a, const Placed& b) {
    return std::pair(a.event.index, a.seq) < std::pair(b.event.index, b.seq);
  };
  for (const JobId job : jobs) {
    const SqlValue values[] = {std::int64_t{job.value}, as_stored(most)};
    SPUR_TRY(reader_->query("SELECT entry, seq, at, uid, source, what, details FROM event WHERE job = $1 ORDER BY "
                            "entry, seq LIMIT $2",
                            values, [&](const SqlRow& row) {
                              Event event{.job = job,
                                          .index = static_cast<std::uint64_t>(row.number(0)),
                                          .at = from_micros(row.number(2)),
                                          .by = {},
                                          .source = std::string(row.bytes(4)),
                                          .what = std::string(row.bytes(5)),
                                          .details = std::string(row.bytes(6))};
                              if (row.number(3) >= 0) event.by = Uid(static_cast<std::uint32_t>(row.number(3)));
                              found.push_back({row.number(1), std::move(event)});
                              return true;
                            }));
    if (found.size() < 2 * most + 1000) continue;
    std::ranges::sort(found, before);
    found.resize(most);
  }
  std::ranges::sort(found, before);
  if (found.size() > most) found.resize(most);
  std::vector<Event> out;
  out.reserve(found.size());
  for (Placed& placed : found) out.push_back(std::move(placed.event));
  return out;
}

}  // namespace spur::os
