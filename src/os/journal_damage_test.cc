// SPDX-License-Identifier: Apache-2.0
// Damaged, truncated, foreign and missing files: the journal gives back every acknowledged entry or refuses to start,
// and says what to do. It never gives back fewer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "os/files.h"
#include "os/journal_file.h"
#include "os/journal_test_support.h"
#include "os/sqlite_wal.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEntries = 600, kSnapshot = 200;
constexpr std::size_t kEntryBytes = 300;

std::string slurp(const std::string& path) {
  return read_file(path, std::size_t{1} << 30).value_or("");
}
void spit(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A state directory as a killed controller leaves it: a snapshot, entries in the database, and more in the log.
void make_used_journal(const std::string& directory) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    {
      auto journal = SqliteJournal::open(directory);
      if (!journal || !(*journal)->recover()) ::_exit(1);
      append_many(**journal, 1, kSnapshot, kEntryBytes);
      if (!snapshot_and_wait(**journal, kSnapshot, std::string(50'000, 'S'))) ::_exit(2);
      append_many(**journal, kSnapshot + 1, 400, kEntryBytes);
    }
    fs::copy_file(directory + "/journal.mark", directory + "/mark.at400");
    auto journal = SqliteJournal::open(directory);
    if (!journal || !(*journal)->recover()) ::_exit(3);
    for (std::uint64_t i = 401; i <= kEntries; ++i)
      if (!append_and_wait(**journal, i, entry_text(i, kEntryBytes))) ::_exit(4);
    ::_exit(0);  // no destructor: the log stays
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_EQ(status, 0);
}

class JournalDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    make_used_journal(dir_ / "pristine");
    ASSERT_GT(fs::file_size(dir_ / "pristine/journal.sqlite-wal"), 500'000u);
  }
  // A fresh copy to damage.
  std::string copy() {
    const std::string to = dir_ / "copy";
    fs::remove_all(to);
    fs::copy(dir_ / "pristine", to);
    return to;
  }
  struct Outcome {
    bool recovered = false;
    Error error;
    std::string notice;
  };
  // Fails the test if the journal comes back with less than everything.
  static Outcome open_and_check(const std::string& directory) {
    auto journal = SqliteJournal::open(directory);
    if (!journal) return {.error = journal.error(), .notice = {}};
    auto recovery = (*journal)->recover();
    if (!recovery) return {.error = recovery.error(), .notice = {}};
    EXPECT_EQ(recovery->snapshot_index, kSnapshot);
    EXPECT_EQ(recovery->snapshot, std::string(50'000, 'S'));
    EXPECT_EQ(recovery->entries.size(), kEntries - kSnapshot);
    for (std::size_t i = 0; i < recovery->entries.size(); ++i)
      EXPECT_EQ(recovery->entries[i], entry_text(kSnapshot + 1 + i, kEntryBytes));
    return {.recovered = true, .error = {}, .notice = recovery->notice};
  }
  TestDirectory dir_;
};

TEST_F(JournalDamage, TheUndamagedOneComesBackWithoutNotice) {
  const Outcome outcome = open_and_check(copy());
  EXPECT_TRUE(outcome.recovered) << outcome.error.message;
  EXPECT_EQ(outcome.notice, "");
}

TEST_F(JournalDamage, BitFlipsNeverLoseEntries) {
  std::mt19937_64 random(4711);
  for (const char* name : {"journal.sqlite", "journal.sqlite-wal"}) {
    const std::string pristine = slurp(dir_ / "pristine/" + name);
    int refused = 0;
    for (int round = 0; round < 200; ++round) {
      const std::string directory = copy();
      std::string bytes = pristine;
      const std::size_t at = random() % bytes.size();
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
      spit(directory + "/" + name, bytes);
      const Outcome outcome = open_and_check(directory);
      if (::testing::Test::HasFailure()) FAIL() << name << " byte " << at;
      if (outcome.recovered) continue;
      ++refused;
      EXPECT_TRUE(outcome.error.code == ErrorCode::Corrupt || outcome.error.code == ErrorCode::VersionMismatch)
          << name << " byte " << at << ": " << outcome.error.message;
      EXPECT_NE(outcome.error.message.find("restore"), std::string::npos) << outcome.error.message;
    }
    EXPECT_GT(refused, 20) << name;  // the test would be blind if nothing were found
  }
}

TEST_F(JournalDamage, EveryBitOfTheHeaderAndTheFirstPageCells) {
  const std::string pristine = slurp(dir_ / "pristine/journal.sqlite");
  for (std::size_t at = 0; at < 112; ++at) {
    const std::string directory = copy();
    std::string bytes = pristine;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    spit(directory + "/journal.sqlite", bytes);
    open_and_check(directory);
    if (::testing::Test::HasFailure()) FAIL() << "byte " << at;
  }
}

TEST_F(JournalDamage, TruncatedLogIsNoticed) {
  const std::string wal = slurp(dir_ / "pristine/journal.sqlite-wal");
  std::mt19937_64 random(99);
  for (int round = 0; round < 40; ++round) {
    const std::string directory = copy();
    spit(directory + "/journal.sqlite-wal", std::string_view(wal).substr(0, random() % wal.size()));
    const Outcome outcome = open_and_check(directory);
    EXPECT_FALSE(outcome.recovered);
    EXPECT_EQ(outcome.error.code, ErrorCode::Corrupt) << outcome.error.message;
    EXPECT_NE(outcome.error.message.find("is missing"), std::string::npos) << outcome.error.message;
  }
  const std::string directory = copy();
  fs::remove(directory + "/journal.sqlite-wal");
  EXPECT_EQ(open_and_check(directory).error.code, ErrorCode::Corrupt);
}

TEST_F(JournalDamage, RefusalChangesNothing) {
  const std::string directory = copy();
  std::string wal = slurp(directory + "/journal.sqlite-wal");
  wal.resize(wal.size() / 2);
  spit(directory + "/journal.sqlite-wal", wal);
  const std::string database = slurp(directory + "/journal.sqlite"), mark = slurp(directory + "/journal.mark");
  EXPECT_FALSE(open_and_check(directory).recovered);
  EXPECT_EQ(slurp(directory + "/journal.sqlite-wal"), wal);
  EXPECT_EQ(slurp(directory + "/journal.sqlite"), database);
  EXPECT_EQ(slurp(directory + "/journal.mark"), mark);
}

TEST_F(JournalDamage, DamagedMiddleOfTheLogIsFoundWithoutTheMark) {
  const std::string wal = slurp(dir_ / "pristine/journal.sqlite-wal");
  for (const std::size_t part : {10u, 40u, 75u, 95u}) {
    const std::string directory = copy();
    fs::remove(directory + "/journal.mark");
    std::string bytes = wal;
    bytes[bytes.size() * part / 100] ^= 0x10;
    spit(directory + "/journal.sqlite-wal", bytes);
    const Outcome outcome = open_and_check(directory);
    EXPECT_EQ(outcome.error.code, ErrorCode::Corrupt) << part;
    EXPECT_NE(outcome.error.message.find("-wal is damaged"), std::string::npos) << outcome.error.message;
  }
}

TEST_F(JournalDamage, WriteCutShortByACrashIsCutAndReported) {
  const std::string wal = slurp(dir_ / "pristine/journal.sqlite-wal");
  const auto frame = [&](std::size_t number) { return wal.substr(32 + number * 4120, 4120); };
  const std::size_t frames = (wal.size() - 32) / 4120;
  // The start of one more transaction: right salts, wrong checksum; whole and in pieces.
  for (const std::size_t bytes : {4120u, 4119u, 2000u, 20u}) {
    const std::string directory = copy();
    spit(directory + "/journal.sqlite-wal", wal + frame(frames - 2).substr(0, bytes));
    const Outcome outcome = open_and_check(directory);
    EXPECT_TRUE(outcome.recovered) << outcome.error.message;
    EXPECT_NE(outcome.notice.find("cut " + std::to_string(bytes) + " bytes"), std::string::npos) << outcome.notice;
    // Reported once.
    EXPECT_EQ(open_and_check(directory).notice, "");
  }
}

// After a power loss the mark may be older than the log, and the log may end anywhere behind the last sync.
TEST_F(JournalDamage, LogCutAnywhereBehindAnOlderMarkGivesAWholePrefix) {
  const std::string wal = slurp(dir_ / "pristine/journal.sqlite-wal");
  std::mt19937_64 random(5);
  std::size_t cut_reports = 0;
  for (int round = 0; round < 40; ++round) {
    const std::string directory = copy();
    fs::copy_file(dir_ / "pristine/mark.at400", directory + "/journal.mark", fs::copy_options::overwrite_existing);
    spit(directory + "/journal.sqlite-wal", std::string_view(wal).substr(0, 33 + random() % (wal.size() - 33)));
    auto journal = open_journal(directory);
    const auto recovery = journal->recover();
    ASSERT_TRUE(recovery) << recovery.error().message;
    const std::uint64_t last = recovery->snapshot_index + recovery->entries.size();
    EXPECT_GE(last, 400u);
    EXPECT_LE(last, kEntries);
    for (std::size_t i = 0; i < recovery->entries.size(); ++i)
      ASSERT_EQ(recovery->entries[i], entry_text(kSnapshot + 1 + i, kEntryBytes));
    cut_reports += recovery->notice.find("cut ") != std::string::npos;
    EXPECT_TRUE(append_and_wait(*journal, last + 1, "goes on"));
  }
  EXPECT_GT(cut_reports, 30u);
}

TEST_F(JournalDamage, LostOrDamagedMarkIsOnlyReported) {
  std::string directory = copy();
  fs::remove(directory + "/journal.mark");
  Outcome outcome = open_and_check(directory);
  EXPECT_TRUE(outcome.recovered);
  EXPECT_NE(outcome.notice.find("journal.mark is missing"), std::string::npos) << outcome.notice;
  EXPECT_EQ(open_and_check(directory).notice, "");

  directory = copy();
  std::string mark = slurp(directory + "/journal.mark");
  mark[26] ^= 1;
  spit(directory + "/journal.mark", mark);
  outcome = open_and_check(directory);
  EXPECT_TRUE(outcome.recovered);
  EXPECT_NE(outcome.notice.find("journal.mark is damaged"), std::string::npos) << outcome.notice;
}

TEST_F(JournalDamage, OlderBackupIsRefusedUntilTheMarkIsRemoved) {
  const std::string directory = copy();
  {
    auto journal = open_journal(directory);
    ASSERT_TRUE(journal->recover());
  }
  const std::string old = slurp(directory + "/journal.sqlite");
  {
    auto journal = open_journal(directory);
    ASSERT_TRUE(journal->recover());
    ASSERT_TRUE(append_and_wait(*journal, kEntries + 1, "newer"));
  }
  spit(directory + "/journal.sqlite", old);
  fs::remove(directory + "/journal.sqlite-wal");
  const Outcome refused = open_and_check(directory);
  EXPECT_FALSE(refused.recovered);
  EXPECT_NE(refused.error.message.find("remove"), std::string::npos) << refused.error.message;
  fs::remove(directory + "/journal.mark");
  EXPECT_TRUE(open_and_check(directory).recovered);
}

TEST_F(JournalDamage, MissingDatabaseIsNotAFreshStart) {
  std::string directory = copy();
  fs::remove(directory + "/journal.sqlite");
  EXPECT_EQ(open_and_check(directory).error.code, ErrorCode::Corrupt);
  fs::remove(directory + "/journal.sqlite-wal");
  EXPECT_EQ(open_and_check(directory).error.code, ErrorCode::Corrupt);
  EXPECT_FALSE(fs::exists(directory + "/journal.sqlite"));
  fs::remove(directory + "/journal.mark");
  EXPECT_TRUE(SqliteJournal::open(directory));
}

TEST_F(JournalDamage, AnotherJournalInThisOnesPlace) {
  const std::string directory = copy();
  {
    auto other = open_journal(dir_ / "other");
    ASSERT_TRUE(other->recover());
    append_many(*other, 1, 1000);
  }
  fs::remove(directory + "/journal.sqlite-wal");
  fs::copy_file(dir_ / "other/journal.sqlite", directory + "/journal.sqlite", fs::copy_options::overwrite_existing);
  const Outcome outcome = open_and_check(directory);
  EXPECT_EQ(outcome.error.code, ErrorCode::Corrupt);
  EXPECT_NE(outcome.error.message.find("another journal"), std::string::npos) << outcome.error.message;
}

TEST(JournalHeader, OtherProgramsAndVersions) {
  TestDirectory dir;
  const std::string path = dir / "journal.sqlite";
  ASSERT_TRUE(create_journal_file(path));
  EXPECT_TRUE(check_journal_header(path));
  const std::string good = slurp(path);
  struct Case {
    std::size_t at;
    char byte;
    ErrorCode code;
    const char* says;
  };
  for (const Case& c : {Case{63, 2, ErrorCode::VersionMismatch, "start the newer program"},
                        Case{63, 0, ErrorCode::VersionMismatch, "unknown format 0"},
                        Case{68, 'X', ErrorCode::Corrupt, "another program"},
                        Case{3, 'X', ErrorCode::Corrupt, "no journal"}, Case{19, 1, ErrorCode::Corrupt, "header"}}) {
    std::string bytes = good;
    bytes[c.at] = c.byte;
    spit(path, bytes);
    const auto opened = SqliteJournal::open(dir.path());
    ASSERT_FALSE(opened) << c.at;
    EXPECT_EQ(opened.error().code, c.code) << opened.error().message;
    EXPECT_NE(opened.error().message.find(c.says), std::string::npos) << opened.error().message;
  }
  for (const std::string& content : {std::string(), std::string("hello"), std::string(5000, 'x')}) {
    spit(path, content);
    EXPECT_EQ(SqliteJournal::open(dir.path()).error().code, ErrorCode::Corrupt);
  }
}

TEST(JournalHeader, InterruptedCreationStartsAnew) {
  TestDirectory dir;
  spit(dir / "journal.sqlite.new", "half a database");
  spit(dir / "journal.sqlite.new-wal", "half a log");
  auto journal = open_journal(dir.path());
  EXPECT_TRUE(journal->recover());
}

}  // namespace
}  // namespace spur::os
