// SPDX-License-Identifier: Apache-2.0
// The journal's promises in one process. Crashes, damage and full disks: journal_crash_test.cc,
// journal_damage_test.cc.
#include "os/sqlite_journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "os/journal_test_support.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

TEST(SqliteJournal, StartsEmpty) {
  TestDirectory dir;
  auto journal = open_journal(dir / "state");
  const auto recovery = journal->recover();
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_EQ(recovery->snapshot_index, 0u);
  EXPECT_TRUE(recovery->entries.empty());
  EXPECT_EQ(recovery->notice, "");
}

TEST(SqliteJournal, GivesBackWhatWasAppended) {
  TestDirectory dir;
  const std::vector<std::string> entries = {"a", "", std::string("\0x\0", 3), std::string(3'000'000, 'z'), "end"};
  {
    auto journal = open_journal(dir.path());
    ASSERT_TRUE(journal->recover());
    for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_TRUE(append_and_wait(*journal, i + 1, entries[i]));
  }
  for (int round = 0; round < 3; ++round) {
    auto journal = open_journal(dir.path());
    const auto recovery = journal->recover();
    ASSERT_TRUE(recovery) << recovery.error().message;
    EXPECT_EQ(recovery->entries, entries);
    EXPECT_EQ(recovery->notice, "");
  }
}

TEST(SqliteJournal, CompletionsComeInOrderAndGoOnAfterReopen) {
  TestDirectory dir;
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::vector<std::uint64_t> completed;
    {
      auto journal = open_journal(dir.path());
      ASSERT_EQ(journal->recover()->entries.size(), round * 5000);
      for (std::uint64_t i = round * 5000 + 1; i <= (round + 1) * 5000; ++i)
        journal->append(i, entry_text(i), [&completed, i](Status status) {
          EXPECT_TRUE(status);
          completed.push_back(i);
        });
    }  // the destructor makes all of them durable
    ASSERT_EQ(completed.size(), 5000u);
    for (std::size_t i = 0; i < completed.size(); ++i) ASSERT_EQ(completed[i], round * 5000 + i + 1);
  }
}

// Appends entries until one is through before append() returns; the number of the last one.
std::uint64_t append_until_written_here(io::Journal& journal, std::uint64_t first) {
  for (std::uint64_t i = first; i < first + 10'000; ++i) {
    std::promise<void> done;
    bool here = false;
    const auto caller = std::this_thread::get_id();
    journal.append(i, entry_text(i), [&](Status status) {
      EXPECT_TRUE(status);
      here = std::this_thread::get_id() == caller;
      done.set_value();
    });
    done.get_future().get();
    if (here) return i;
  }
  ADD_FAILURE() << "no entry was written by its caller";
  return first + 9'999;
}

TEST(SqliteJournal, ACallerWritesHisEntryWhileTheThreadRests) {
  TestDirectory dir;
  SqliteJournal::Options options;
  options.quick = seconds(600);
  std::uint64_t last = 0;
  {
    auto journal = SqliteJournal::open(dir.path(), options);
    ASSERT_TRUE((*journal)->recover());
    last = append_until_written_here(**journal, 1);
    // The thread still does what is the thread's.
    ASSERT_TRUE(snapshot_and_wait(**journal, last, "state"));
    last = append_until_written_here(**journal, last + 1);
  }
  auto journal = open_journal(dir.path());
  const auto recovery = journal->recover();
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_EQ(recovery->snapshot, "state");
  ASSERT_EQ(recovery->snapshot_index + recovery->entries.size(), last);
  EXPECT_EQ(recovery->entries.back(), entry_text(last));
}

TEST(SqliteJournal, ASlowDiskAndLargeEntriesAreTheThreads) {
  for (const bool slow : {false, true}) {
    TestDirectory dir;
    SqliteJournal::Options options;
    if (slow)
      options.quick = Duration{0};
    else
      options.lone_bytes = 0;
    auto journal = SqliteJournal::open(dir.path(), options);
    ASSERT_TRUE((*journal)->recover());
    for (std::uint64_t i = 1; i <= 50; ++i) {
      std::promise<std::thread::id> writer;
      (*journal)->append(i, entry_text(i), [&](Status) { writer.set_value(std::this_thread::get_id()); });
      const bool here = writer.get_future().get() == std::this_thread::get_id();
      // That a disk is slow is learnt from the first write.
      if (!slow || i > 1) {
        EXPECT_FALSE(here) << i;
      }
    }
  }
}

TEST(SqliteJournal, WhatIsAppendedOnBeingToldFollows) {
  TestDirectory dir;
  {
    auto journal = open_journal(dir.path());
    ASSERT_TRUE(journal->recover());
    std::promise<void> through;
    std::function<void(std::uint64_t)> next = [&](std::uint64_t i) {
      journal->append(i, entry_text(i), [&, i](Status status) {
        EXPECT_TRUE(status);
        i < 500 ? next(i + 1) : through.set_value();
      });
    };
    next(1);
    through.get_future().get();
  }
  auto journal = open_journal(dir.path());
  EXPECT_EQ(journal->recover()->entries.size(), 500u);
}

TEST(SqliteJournal, GroupsStayWithinTheirLimits) {
  TestDirectory dir;
  SqliteJournal::Options options;
  options.max_group_entries = 3;
  options.max_group_bytes = 100;
  {
    auto journal = SqliteJournal::open(dir.path(), options);
    ASSERT_TRUE((*journal)->recover());
    for (std::uint64_t i = 1; i <= 100; ++i)
      (*journal)->append(i, std::string(i, 'x'), [](Status s) { EXPECT_TRUE(s); });
  }
  auto journal = open_journal(dir.path());
  EXPECT_EQ(journal->recover()->entries.size(), 100u);
}

TEST(SqliteJournal, SnapshotReplacesEntries) {
  TestDirectory dir;
  const std::string state(1'000'000, 's');
  {
    auto journal = open_journal(dir.path());
    ASSERT_TRUE(journal->recover());
    append_many(*journal, 1, 3000);
    ASSERT_TRUE(snapshot_and_wait(*journal, 2500, state));
  }
  for (int round = 0; round < 2; ++round) {
    auto journal = open_journal(dir.path());
    const auto recovery = journal->recover();
    ASSERT_TRUE(recovery) << recovery.error().message;
    EXPECT_EQ(recovery->snapshot_index, 2500u);
    EXPECT_EQ(recovery->snapshot, state);
    ASSERT_EQ(recovery->entries.size(), 500u);
    EXPECT_EQ(recovery->entries.front(), entry_text(2501));
  }
  // One more at the very end, empty, over the old one.
  {
    auto journal = open_journal(dir.path());
    ASSERT_TRUE(journal->recover());
    ASSERT_TRUE(snapshot_and_wait(*journal, 3000, ""));
    EXPECT_TRUE(append_and_wait(*journal, 3001, "after"));
  }
  auto journal = open_journal(dir.path());
  const auto recovery = journal->recover();
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_EQ(recovery->snapshot_index, 3000u);
  EXPECT_EQ(recovery->snapshot, "");
  EXPECT_EQ(recovery->entries, std::vector<std::string>{"after"});
}

TEST(SqliteJournal, ImpossibleSnapshotsAreRefusedAndHarmless) {
  TestDirectory dir;
  auto journal = open_journal(dir.path());
  ASSERT_TRUE(journal->recover());
  append_many(*journal, 1, 10);
  ASSERT_TRUE(snapshot_and_wait(*journal, 5, "five"));
  for (const std::uint64_t index : {0, 4, 11})
    EXPECT_EQ(snapshot_and_wait(*journal, index, "no").error().code, ErrorCode::InvalidArgument) << index;
  EXPECT_TRUE(snapshot_and_wait(*journal, 5, "five again"));
  EXPECT_TRUE(append_and_wait(*journal, 11, "x"));
  journal.reset();
  journal = open_journal(dir.path());
  const auto recovery = journal->recover();
  EXPECT_EQ(recovery->snapshot, "five again");
  EXPECT_EQ(recovery->entries.size(), 6u);
}

TEST(SqliteJournal, AppendsGoOnWhileASnapshotIsWritten) {
  TestDirectory dir;
  {
    SqliteJournal::Options options;
    options.snapshot_chunk_bytes = 16 << 10;
    auto journal = SqliteJournal::open(dir.path(), options);
    ASSERT_TRUE((*journal)->recover());
    append_many(**journal, 1, 100);
    std::promise<Status> stored;
    std::atomic<bool> finished = false;
    (*journal)->save_snapshot(100, std::string(4 << 20, 'q'), [&](Status status) {
      finished = true;
      stored.set_value(std::move(status));
    });
    std::uint64_t index = 100, during = 0;
    while (!finished) {
      ++index;
      ASSERT_TRUE(append_and_wait(**journal, index, entry_text(index)));
      during += !finished;
    }
    EXPECT_TRUE(stored.get_future().get());
    EXPECT_GT(during, 20u);  // 256 chunks, at most one between two groups
  }
  auto journal = open_journal(dir.path());
  const auto recovery = journal->recover();
  EXPECT_EQ(recovery->snapshot.size(), std::size_t{4} << 20);
  for (std::size_t i = 0; i < recovery->entries.size(); ++i) ASSERT_EQ(recovery->entries[i], entry_text(101 + i));
}

TEST(SqliteJournal, TheFileDoesNotGrowForEver) {
  TestDirectory dir;
  SqliteJournal::Options options;
  options.checkpoint_pages = 100;
  auto journal = SqliteJournal::open(dir.path(), options);
  ASSERT_TRUE((*journal)->recover());
  const std::string snapshot(1 << 20, 's');
  std::uint64_t index = 0;
  std::uintmax_t early = 0;
  for (int round = 1; round <= 12; ++round) {
    append_many(**journal, index + 1, index + 4000, 500);
    index += 4000;
    ASSERT_TRUE(snapshot_and_wait(**journal, index, snapshot));
    if (round == 4) early = std::filesystem::file_size(dir / "journal.sqlite");
  }
  EXPECT_LT(std::filesystem::file_size(dir / "journal.sqlite"), early * 2);
  // The log is folded in all the time: 24 MB of entries went through it.
  EXPECT_LT(std::filesystem::file_size(dir / "journal.sqlite-wal"), 8u << 20);
  journal->reset();
  // After a burst and its snapshot the file shrinks again.
  journal = SqliteJournal::open(dir.path(), options);
  ASSERT_TRUE((*journal)->recover());
  append_many(**journal, index + 1, index + 60'000, 500);
  index += 60'000;
  ASSERT_TRUE(snapshot_and_wait(**journal, index, snapshot));
  const auto size = [&] { return std::filesystem::file_size(dir / "journal.sqlite"); };
  for (int i = 0; i < 500 && size() > (16u << 20); ++i) {
    ++index;  // each append lets the journal take one more step
    ASSERT_TRUE(append_and_wait(**journal, index, "x"));
  }
  EXPECT_LT(size(), 16u << 20);
}

TEST(SqliteJournal, SecondOpenNamesTheHolder) {
  TestDirectory dir;
  auto journal = open_journal(dir.path());
  const auto second = SqliteJournal::open(dir.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Busy);
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos) << second.error().message;
  journal.reset();
  EXPECT_TRUE(SqliteJournal::open(dir.path()));
}

TEST(SqliteJournal, FilesArePrivate) {
  TestDirectory dir;
  auto journal = open_journal(dir.path());
  ASSERT_TRUE(journal->recover());
  ASSERT_TRUE(append_and_wait(*journal, 1, "secret"));
  for (const char* name : {"journal.sqlite", "journal.sqlite-wal", "journal.mark", "journal.lock"}) {
    struct stat info{};
    ASSERT_EQ(::stat((dir / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 077, 0u) << name;
  }
}

TEST(SqliteJournal, UnusableDirectories) {
  TestDirectory dir;
  std::ofstream(dir / "file") << "x";
  EXPECT_FALSE(SqliteJournal::open(dir / "file"));
  ASSERT_EQ(::mkdir((dir / "open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((dir / "open").c_str(), 0777), 0);
  EXPECT_EQ(SqliteJournal::open(dir / "open").error().code, ErrorCode::PermissionDenied);
  EXPECT_FALSE(SqliteJournal::open("/proc/spur"));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::mkdir((dir / "theirs").c_str(), 0700), 0);
  ASSERT_EQ(::chown((dir / "theirs").c_str(), 65534, 65534), 0);
  const auto theirs = SqliteJournal::open(dir / "theirs");
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().code, ErrorCode::PermissionDenied);
}

TEST(SqliteJournalDeathTest, MisuseIsABug) {
  TestDirectory dir;
  EXPECT_DEATH(
      {
        auto journal = open_journal(dir.path());
        journal->append(1, "x", [](Status) {});
      },
      "recover");
  EXPECT_DEATH(
      {
        auto journal = open_journal(dir.path());
        static_cast<void>(journal->recover());
        journal->append(2, "x", [](Status) {});
      },
      "without gaps");
}

}  // namespace
}  // namespace spur::os
