// SPDX-License-Identifier: Apache-2.0
// What the tests of the journal share: entries whose text follows from their number, and waiting for durability.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "os/sqlite_journal.h"

namespace spur::os {

inline std::string entry_text(std::uint64_t index, std::size_t size = 0) {
  std::string text = "entry " + std::to_string(index) + " " + std::to_string(index * 2654435761u);
  if (text.size() < size) text.resize(size, '.');
  return text;
}

inline std::unique_ptr<SqliteJournal> open_journal(const std::string& directory) {
  auto journal = SqliteJournal::open(directory);
  if (!journal) {
    ADD_FAILURE() << journal.error().message;
    std::abort();
  }
  return *std::move(journal);
}

inline Status append_and_wait(io::Journal& journal, std::uint64_t index, std::string entry) {
  std::promise<Status> done;
  journal.append(index, std::move(entry), [&](Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

// Entries first to last, and waits for the last.
inline void append_many(io::Journal& journal, std::uint64_t first, std::uint64_t last, std::size_t size = 0) {
  for (std::uint64_t i = first; i < last; ++i)
    journal.append(i, entry_text(i, size), [](Status status) { EXPECT_TRUE(status); });
  EXPECT_TRUE(append_and_wait(journal, last, entry_text(last, size)));
}

inline Status snapshot_and_wait(io::Journal& journal, std::uint64_t index, std::string snapshot) {
  std::promise<Status> done;
  journal.save_snapshot(index, std::move(snapshot), [&](Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

}  // namespace spur::os
