// SPDX-License-Identifier: Apache-2.0
// A journal that begins with the state of another one.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "os/journal_store.h"
#include "os/sqlite_journal.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

TEST(JournalImport, GoesOnWhereTheOtherWas) {
  const TestDirectory directory;
  const std::string state(700'000, 's');
  {
    auto store = JournalStore::open(directory.path());
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->load());
    ASSERT_TRUE(store->import_state(41, state));
    EXPECT_EQ(store->import_state(42, state).error().code, ErrorCode::AlreadyExists);
    ASSERT_TRUE(store->close());
  }
  {
    auto journal = SqliteJournal::open(directory.path());
    ASSERT_TRUE(journal);
    const auto recovery = (*journal)->recover();
    ASSERT_TRUE(recovery) << recovery.error().message;
    EXPECT_EQ(recovery->snapshot_index, 41u);
    EXPECT_EQ(recovery->snapshot, state);
    EXPECT_TRUE(recovery->entries.empty());
    std::promise<Status> done;
    (*journal)->append(42, "next", [&](Status status) { done.set_value(std::move(status)); });
    EXPECT_TRUE(done.get_future().get());
  }
  auto journal = SqliteJournal::open(directory.path());
  ASSERT_TRUE(journal);
  const auto recovery = (*journal)->recover();
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_EQ(recovery->snapshot_index, 41u);
  EXPECT_EQ(recovery->entries, std::vector<std::string>{"next"});
}

}  // namespace
}  // namespace spur::os
