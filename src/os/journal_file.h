// SPDX-License-Identifier: Apache-2.0
// The journal's database file before and when SQLite first opens it: made in one piece, and recognised by its first
// bytes, so that a file of another program, another version or another kind is refused untouched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/sqlite_db.h"

namespace spur::os {

// What to tell the administrator whose journal cannot be used.
inline constexpr std::string_view kJournalAdvice =
    "restore the state directory from a backup, or move it away to start with an empty cluster";

std::uint32_t journal_chain(std::uint32_t before, std::uint64_t index, std::string_view entry);

// A new, empty journal at `path`, which must not exist. A crash leaves either the whole file or none.
Status create_journal_file(const std::string& path);
// Corrupt, VersionMismatch or fine, from the first bytes alone.
Status check_journal_header(const std::string& path);
// Opened for this process alone, every commit synced.
Result<SqliteDb> open_journal_file(const std::string& path);

}  // namespace spur::os
