// SPDX-License-Identifier: Apache-2.0
// Reading the journal at start. Nothing is skipped: what does not fit exactly makes the whole journal refused.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "os/crc32c.h"
#include "os/journal_file.h"
#include "os/journal_store.h"

namespace spur::os {
namespace {

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::Corrupt, std::string(what));
}

}  // namespace

Result<io::Journal::Recovery> JournalStore::load() {
  Result<io::Journal::Recovery> recovery = load_checked();
  if (recovery) return recovery;
  Error error = recovery.error();
  // Whatever SQLite objects to in a file that passed the header check is damage.
  if (error.code == ErrorCode::Internal || error.code == ErrorCode::Corrupt)
    error = {ErrorCode::Corrupt,
             fmt::format("the journal in {} is damaged: {}: {}", directory_.path(), error.message, kJournalAdvice)};
  return std::unexpected(std::move(error));
}

Result<io::Journal::Recovery> JournalStore::load_checked() {
  SPUR_ASSIGN(const std::string mode, db_.query_text("PRAGMA journal_mode"));
  if (mode != "wal") return damaged(fmt::format("its log is off (journal mode {})", mode));
  SPUR_ASSIGN(const std::string check, db_.query_text("PRAGMA quick_check(1)"));
  if (check != "ok") return damaged(check);

  SPUR_TRY(load_meta());
  io::Journal::Recovery recovery;
  SPUR_ASSIGN(recovery.snapshot, load_snapshot());
  recovery.snapshot_index = head_.index;
  SPUR_TRY(load_entries(recovery));
  SPUR_TRY(check_mark(notice_));

  SPUR_ASSIGN(insert_entry_, db_.prepare("INSERT INTO entry VALUES (?1, ?2, ?3)"));
  SPUR_ASSIGN(set_last_, db_.prepare("UPDATE meta SET last = ?1, chain = ?2"));
  SPUR_ASSIGN(insert_chunk_, db_.prepare("INSERT INTO chunk VALUES (?1, ?2)"));
  // A fresh log generation: what a crash left behind the last commit must not be met again by examine_wal().
  SPUR_TRY(db_.checkpoint(true));
  SPUR_ASSIGN(mark_, SyncedMark::create(directory_ / "journal.mark", {id_, last_}));
  recovery.notice = std::exchange(notice_, {});
  return recovery;
}

Status JournalStore::load_meta() {
  SPUR_ASSIGN(SqliteStatement meta, db_.prepare("SELECT journal, last, chain FROM meta"));
  SPUR_ASSIGN(const bool row, meta.step());
  if (!row || meta.column_blob(0).size() != id_.size() || meta.column(1) < 0)
    return damaged("its table meta is wrong");
  std::memcpy(id_.data(), meta.column_blob(0).data(), id_.size());
  last_ = static_cast<std::uint64_t>(meta.column(1));
  chain_ = static_cast<std::uint32_t>(meta.column(2));
  SPUR_ASSIGN(const std::int64_t top, db_.query_number("SELECT max(id) FROM chunk"));
  next_chunk_ = top + 1;
  return {};
}

Result<std::string> JournalStore::load_snapshot() {
  SPUR_ASSIGN(SqliteStatement row, db_.prepare("SELECT number, first_chunk, chunks, size, chain, crc FROM snapshot"));
  SPUR_ASSIGN(const bool found, row.step());
  if (!found) return std::string();
  Head head{.index = static_cast<std::uint64_t>(row.column(0)),
            .size = static_cast<std::uint64_t>(row.column(3)),
            .first_chunk = row.column(1),
            .chunks = row.column(2),
            .chain = static_cast<std::uint32_t>(row.column(4)),
            .crc = static_cast<std::uint32_t>(row.column(5))};
  SPUR_ASSIGN(const bool second, row.step());
  if (second) return damaged("it has two snapshots");

  std::string data;
  SPUR_ASSIGN(SqliteStatement chunks, db_.prepare("SELECT data FROM chunk WHERE id >= ?1 AND id < ?2 ORDER BY id"));
  chunks.bind(1, head.first_chunk).bind(2, head.first_chunk + head.chunks);
  std::int64_t count = 0;
  for (;; ++count) {
    SPUR_ASSIGN(const bool more, chunks.step());
    if (!more) break;
    data.append(chunks.column_blob(0));
  }
  if (count != head.chunks || data.size() != head.size || checksum(head, crc32c(data)) != head.crc)
    return damaged(fmt::format("the snapshot at entry {} does not match its checksum", head.index));
  head_ = head;
  return data;
}

Status JournalStore::load_entries(io::Journal::Recovery& recovery) {
  SPUR_ASSIGN(const std::int64_t lowest, db_.query_number("SELECT min(number) FROM entry"));
  first_ = lowest > 0 ? static_cast<std::uint64_t>(lowest) : last_ + 1;
  SPUR_ASSIGN(SqliteStatement rows,
              db_.prepare("SELECT number, chain, data FROM entry WHERE number > ?1 ORDER BY number"));
  rows.bind(1, static_cast<std::int64_t>(head_.index));
  std::uint64_t next = head_.index + 1;
  std::uint32_t chain = head_.chain;
  for (;; ++next) {
    SPUR_ASSIGN(const bool more, rows.step());
    if (!more) break;
    if (static_cast<std::uint64_t>(rows.column(0)) != next)
      return damaged(fmt::format("entry {} is missing (the next one there is {})", next, rows.column(0)));
    chain = journal_chain(chain, next, rows.column_blob(2));
    if (chain != static_cast<std::uint32_t>(rows.column(1)))
      return damaged(fmt::format("entry {} does not match its checksum", next));
    recovery.entries.emplace_back(rows.column_blob(2));
  }
  if (next - 1 != last_) return damaged(fmt::format("entry {} is missing (the last one written is {})", next, last_));
  if (chain != chain_) return damaged(fmt::format("entry {} does not match the checksum of the last entry", last_));
  return {};
}

Status JournalStore::check_mark(std::string& notice) {
  const std::string path = directory_ / "journal.mark";
  const auto note = [&](const std::string& text) { notice += (notice.empty() ? "" : "; ") + text; };
  Result<std::optional<SyncedMark::Value>> mark = SyncedMark::read(path);
  if (!mark && mark.error().code != ErrorCode::Corrupt) return std::unexpected(mark.error());
  if (!mark) {
    note(fmt::format("{}: it could not be checked that the journal's last entries are there", mark.error().message));
    return {};
  }
  if (!*mark) {
    if (last_ > 0)
      note(fmt::format("{} is missing: it could not be checked that the journal's last entries are there", path));
    return {};
  }
  const SyncedMark::Value& value = **mark;
  if (value.index == 0) return {};
  if (value.journal != id_)
    return damaged(
        fmt::format("{} belongs to another journal (remove it if journal.sqlite was put in place on purpose)", path));
  if (value.index > last_)
    return damaged(
        fmt::format("entry {} is missing: the journal ends with entry {}, but entries up to {} had been "
                    "acknowledged (if an older backup was put in place on purpose, remove {})",
                    last_ + 1, last_, value.index, path));
  return {};
}

}  // namespace spur::os
