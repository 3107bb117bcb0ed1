// SPDX-License-Identifier: Apache-2.0
// The journal under kill -9 and on a full disk: every acknowledged entry is there afterwards, in order.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "os/journal_test_support.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

constexpr std::uint64_t kInFlight = 200;

// In a child: appends for ever, reports each acknowledged number through `report`, saves snapshots now and then.
[[noreturn]] void append_for_ever(const std::string& directory, int report) {
  SqliteJournal::Options options;
  options.snapshot_chunk_bytes = 8 << 10;
  options.trim_entries = 100;
  options.checkpoint_pages = 300;
  auto journal = SqliteJournal::open(directory, options);
  if (!journal) ::_exit(2);
  auto recovery = (*journal)->recover();
  if (!recovery) ::_exit(3);
  std::uint64_t index = recovery->snapshot_index + recovery->entries.size();
  std::atomic<std::uint64_t> acked = index;
  for (;;) {
    ++index;
    while (index > acked + kInFlight) std::this_thread::yield();
    (*journal)->append(index, entry_text(index, index % 900), [&acked, index, report](Status status) {
      if (!status) ::_exit(4);
      if (::write(report, &index, sizeof index) != sizeof index) ::_exit(5);
      acked = index;
    });
    if (index % 3000 == 0) {
      while (acked < index) std::this_thread::yield();
      (*journal)->save_snapshot(index, "state at " + std::to_string(index) + std::string(100'000, '#'),
                                [](Status status) {
                                  if (!status) ::_exit(6);
                                });
    }
  }
}

struct Child {
  pid_t pid;
  int reports;
};
Child start_appending(const std::string& directory) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    append_for_ever(directory, ends[1]);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

// Reads reports until `stop_after` of them have come, kills, reads the rest. Returns the last acknowledged number.
std::uint64_t kill_after(const Child& child, std::uint64_t stop_after, std::uint64_t last) {
  std::uint64_t index = 0, count = 0;
  bool killed = false;
  while (::read(child.reports, &index, sizeof index) == sizeof index) {
    EXPECT_EQ(index, last + 1);
    last = index;
    if (++count >= stop_after && !killed) {
      ::kill(child.pid, SIGKILL);
      killed = true;
    }
  }
  ::close(child.reports);
  int status = 0;
  EXPECT_EQ(::waitpid(child.pid, &status, 0), child.pid);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
  return last;
}

TEST(JournalCrash, NothingAcknowledgedIsLostByKill) {
  TestDirectory dir;
  std::mt19937 random(20240607);
  std::uint64_t last = 0;
  for (int round = 0; round < 30; ++round) {
    const std::uint64_t acked = kill_after(start_appending(dir.path()), 1 + random() % 5000, last);
    auto journal = open_journal(dir.path());
    const auto recovery = journal->recover();
    ASSERT_TRUE(recovery) << "round " << round << ": " << recovery.error().message;
    last = recovery->snapshot_index + recovery->entries.size();
    ASSERT_GE(last, acked) << "round " << round;
    ASSERT_LE(last, acked + kInFlight);
    if (recovery->snapshot_index > 0) {
      ASSERT_TRUE(recovery->snapshot.starts_with("state at " + std::to_string(recovery->snapshot_index) + "#"));
    }
    for (std::size_t i = 0; i < recovery->entries.size(); ++i) {
      const std::uint64_t index = recovery->snapshot_index + 1 + i;
      ASSERT_EQ(recovery->entries[i], entry_text(index, index % 900));
    }
  }
  EXPECT_GT(last, 10'000u);
}

// In a child: a file size limit stands in for a full disk. Exit status 0 if all behaved.
int fill_the_disk(const std::string& directory, rlim_t limit_bytes, std::uint64_t& acked) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit_bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  auto journal = SqliteJournal::open(directory);
  if (!journal) return 2;
  if (!(*journal)->recover()) return 3;
  std::uint64_t index = 0;
  for (;;) {
    ++index;
    const Status status = append_and_wait(**journal, index, entry_text(index, 5000));
    if (!status) {
      if (status.error().code != ErrorCode::OutOfSpace) return 4;
      break;
    }
    acked = index;
    if (index > 100'000) return 5;
  }
  // The same again, to the same end. With space the same number gets another entry, and the journal goes on.
  for (int i = 0; i < 3; ++i) {
    const Status again = append_and_wait(**journal, index, entry_text(index, 5000));
    if (again || again.error().code != ErrorCode::OutOfSpace) return 6;
  }
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  if (!append_and_wait(**journal, index, "room again")) return 7;
  return append_and_wait(**journal, index + 1, "and on") ? 0 : 8;
}

TEST(JournalCrash, FullDiskLosesNothingAcknowledged) {
  for (const rlim_t limit : {rlim_t{200'000}, rlim_t{1'000'000}, rlim_t{7'654'321}}) {
    TestDirectory dir;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::uint64_t acked = 0;
      const int result = fill_the_disk(dir.path(), limit, acked);
      if (::write(ends[1], &acked, sizeof acked) != sizeof acked) ::_exit(9);
      ::_exit(result);
    }
    std::uint64_t acked = 0;
    ASSERT_EQ(::read(ends[0], &acked, sizeof acked), static_cast<ssize_t>(sizeof acked));
    ::close(ends[0]);
    ::close(ends[1]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_GT(acked, 5u);
    auto journal = open_journal(dir.path());
    const auto recovery = journal->recover();
    ASSERT_TRUE(recovery) << recovery.error().message;
    ASSERT_EQ(recovery->entries.size(), acked + 2);
    for (std::size_t i = 0; i < acked; ++i) ASSERT_EQ(recovery->entries[i], entry_text(i + 1, 5000));
    EXPECT_EQ(recovery->entries[acked], "room again");
    EXPECT_EQ(recovery->entries[acked + 1], "and on");
    EXPECT_TRUE(append_and_wait(*journal, acked + 3, "after a restart"));
  }
}

// In a child: a disk of its own, seen by nobody else. Needs user namespaces or root.
bool mount_small_disk(const std::string& directory) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (uid != 0) {  // without a map the files would belong to nobody
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return ::mount("small", directory.c_str(), "tmpfs", 0, "size=40m,mode=0700") == 0;
}

int overfill_with_snapshots(const std::string& directory) {
  if (!mount_small_disk(directory)) return 77;
  auto journal = SqliteJournal::open(directory);
  if (!journal || !(*journal)->recover()) return 2;
  for (std::uint64_t i = 1; i <= 100; ++i)
    if (!append_and_wait(**journal, i, entry_text(i))) return 3;
  const Status stored = snapshot_and_wait(**journal, 100, std::string(35'000'000, 's'));
  if (stored || stored.error().code != ErrorCode::OutOfSpace) return 4;
  for (std::uint64_t i = 101; i <= 200; ++i)
    if (!append_and_wait(**journal, i, entry_text(i))) return 5;
  if (!snapshot_and_wait(**journal, 150, "small")) return 6;
  // Now really full, with the kernel's own ENOSPC.
  std::uint64_t index = 200;
  Status status;
  while (status && index < 1000) {
    ++index;
    status = append_and_wait(**journal, index, entry_text(index, 500'000));
  }
  if (status || status.error().code != ErrorCode::OutOfSpace) return 7;
  journal->reset();
  journal = SqliteJournal::open(directory);
  if (!journal) return 8;
  const auto recovery = (*journal)->recover();
  // Too full even to fold the log in: then it says so, and nothing is changed.
  if (!recovery) return recovery.error().code == ErrorCode::OutOfSpace ? 0 : 9;
  return recovery->snapshot == "small" && recovery->snapshot_index + recovery->entries.size() >= index - 1 ? 0 : 10;
}

TEST(JournalCrash, SnapshotThatDoesNotFitLeavesAppendingAlone) {
  TestDirectory dir;
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(overfill_with_snapshots(dir.path()));
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no private mounts here";
  EXPECT_EQ(status, 0) << "exit " << WEXITSTATUS(status);
}

TEST(JournalCrash, AnotherProcessIsNamed) {
  TestDirectory dir;
  const Child child = start_appending(dir.path());
  std::uint64_t index = 0;
  ASSERT_EQ(::read(child.reports, &index, sizeof index), static_cast<ssize_t>(sizeof index));
  const auto second = SqliteJournal::open(dir.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Busy);
  EXPECT_NE(second.error().message.find("process " + std::to_string(child.pid)), std::string::npos)
      << second.error().message;
  kill_after(child, 0, index);
  EXPECT_TRUE(SqliteJournal::open(dir.path()));
}

}  // namespace
}  // namespace spur::os
