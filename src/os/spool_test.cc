// SPDX-License-Identifier: Apache-2.0
#include "os/spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "os/test_directory.h"

namespace spur::os {
namespace {

constexpr model::JobRun kRun{JobId{12}, Epoch{3}};

RunHeader header() {
  return {.run = kRun,
          .is_batch_host = true,
          .has_script = true,
          .boot_id = "boot-1",
          .cgroup = "/sys/fs/cgroup/x/job_12.3"};
}

EndRecord some_end() {
  EndRecord out;
  out.exit = {7, 9};
  out.out_of_memory = true;
  out.error = "it broke\nin two sum lines\nsum 00000000";
  out.ended = from_micros(1'234'567);
  out.usage.user_cpu_us = 11;
  out.usage.system_cpu_us = 22;
  out.usage.max_rss_kib = 33;
  return out;
}

TEST(Spool, WhatIsWrittenIsReadBack) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool/");
  ASSERT_TRUE(spool) << spool.error().message;
  EXPECT_EQ(spool->path(), dir / "spool");
  std::string launch = "any bytes";
  launch += '\0';
  launch += std::string(100'000, 'x');
  {
    auto file = spool->create(header(), launch);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_FALSE(file->started());
    EXPECT_FALSE(file->end());
    ASSERT_TRUE(file->note_started(4711));
    ASSERT_TRUE(file->note_end(some_end()));
    ASSERT_TRUE(file->sync());
  }
  EXPECT_EQ(*spool->list(), std::vector<model::JobRun>{kRun});
  auto file = spool->open_run(kRun);
  ASSERT_TRUE(file);
  const auto back = file->header();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->run, kRun);
  EXPECT_TRUE(back->is_batch_host && back->has_script);
  EXPECT_EQ(back->boot_id, "boot-1");
  EXPECT_EQ(back->cgroup, "/sys/fs/cgroup/x/job_12.3");
  EXPECT_EQ(*file->launch(), launch);
  EXPECT_EQ(file->started(), 4711);
  const auto end = file->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit, (model::ExitStatus{7, 9}));
  EXPECT_TRUE(end->out_of_memory);
  EXPECT_FALSE(end->launch_failed);
  EXPECT_EQ(end->error, "it broke in two sum lines sum 00000000");
  EXPECT_EQ(end->ended, from_micros(1'234'567));
  EXPECT_EQ(end->usage.user_cpu_us + end->usage.system_cpu_us + end->usage.max_rss_kib, 66u);
  spool->remove(kRun);
  EXPECT_TRUE(spool->list()->empty());
}

TEST(Spool, DamageIsSeenInEveryPart) {
  struct Row {
    const char* part;
    off_t at;
    bool header, launch, start, end;  // still readable
  };
  for (const Row& row : {Row{"header", 20, false, false, true, true}, Row{"start", 1026, true, true, false, true},
                         Row{"end", 1540, true, true, true, false}, Row{"launch", 4100, true, false, true, true}}) {
    const TestDirectory dir;
    auto spool = Spool::open(dir / "spool");
    auto file = spool->create(header(), "the launch of a job");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->note_started(1) && file->note_end(some_end()));
    ASSERT_EQ(::pwrite(file->fd(), "#", 1, row.at), 1);
    EXPECT_EQ(file->header().has_value(), row.header) << row.part;
    EXPECT_EQ(file->launch().has_value(), row.launch) << row.part;
    EXPECT_EQ(file->started().has_value(), row.start) << row.part;
    EXPECT_EQ(file->end().has_value(), row.end) << row.part;
  }
}

TEST(Spool, ShortFilesAreDamaged) {
  for (const off_t size : {0, 10, 1023, 4096, 4100}) {
    const TestDirectory dir;
    auto spool = Spool::open(dir / "spool");
    auto file = spool->create(header(), "the launch of a job");
    ASSERT_TRUE(file);
    ASSERT_EQ(::ftruncate(file->fd(), size), 0);
    EXPECT_FALSE(file->launch()) << size;
    EXPECT_FALSE(file->end()) << size;
  }
}

TEST(Spool, TheLockTellsWhetherSomebodySupervises) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  auto created = spool->create(header(), "x");
  ASSERT_TRUE(created);
  auto other = spool->open_run(kRun);
  EXPECT_FALSE(other->try_lock());
  EXPECT_TRUE(created->try_lock()) << "one's own lock can be taken again";
  // A copy, as a child process inherits it, keeps the lock.
  UniqueFd inherited(::fcntl(created->fd(), F_DUPFD_CLOEXEC, 3));
  created = fail(ErrorCode::Internal);
  EXPECT_FALSE(other->try_lock());
  inherited.reset();
  EXPECT_TRUE(other->try_lock());
}

TEST(Spool, ARunIsCreatedOnce) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  ASSERT_TRUE(spool->create(header(), "x"));
  const auto again = spool->create(header(), "y");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(*spool->open_run(kRun)->launch(), "x");
}

TEST(Spool, DirectoriesAreUsedAgainAndRememberNothing) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  const auto inode = [&](const std::string& name) {
    struct stat info{};
    return ::stat((dir / name).c_str(), &info) == 0 ? info.st_ino : 0;
  };
  {
    auto file = spool->create(header(), "the secret of the first job, longer than what comes after");
    ASSERT_TRUE(file && file->note_started(1) && file->note_end(some_end()));
    std::ofstream(dir / "spool/job12.3/slurm_script") << "script";
  }
  const auto directory = inode("spool/job12.3"), record = inode("spool/job12.3/run");
  spool->remove(kRun);
  EXPECT_TRUE(spool->list()->empty());
  auto next = header();
  next.run = {JobId{13}, Epoch{1}};
  auto file = spool->create(next, "short");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(inode("spool/job13.1"), directory);
  EXPECT_EQ(inode("spool/job13.1/run"), record);
  EXPECT_EQ(inode("spool/job13.1/slurm_script"), 0u) << "its user may still have it open";
  EXPECT_EQ(file->header()->run, next.run);
  EXPECT_EQ(*file->launch(), "short");
  EXPECT_FALSE(file->started());
  EXPECT_FALSE(file->end());
  struct stat info{};
  ASSERT_EQ(::fstat(file->fd(), &info), 0);
  EXPECT_EQ(info.st_size, 4096 + 5);
}

TEST(Spool, WhatIsStillLockedIsNotUsedAgain) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  auto held = spool->create(header(), "x");  // by a supervisor that lives on
  ASSERT_TRUE(held);
  spool->remove(kRun);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "spool"), {}), 0);
  auto again = spool->create(header(), "y");
  ASSERT_TRUE(again);
  ASSERT_TRUE(held->note_end(some_end()));
  EXPECT_FALSE(again->end());
}

TEST(Spool, SparesOfAnEarlierAgentGo) {
  const TestDirectory dir;
  {
    auto spool = Spool::open(dir / "spool");
    (void)spool->create(header(), "x");
    spool->remove(kRun);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "spool"), {}), 1);
  }
  auto spool = Spool::open(dir / "spool");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "spool"), {}), 0);
}

TEST(Spool, ForeignNamesAreLeftAlone) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  for (const char* name :
       {"job", "job1", "job1.", "job1.x", "job01.1", "job1.1x", "jobs1.1", "job99999999999.1", "job-1.1"})
    std::filesystem::create_directory(dir / "spool/" + name);
  std::filesystem::create_directory(dir / "spool/job2.1");
  EXPECT_EQ(*spool->list(), (std::vector<model::JobRun>{{JobId{2}, Epoch{1}}}));
}

TEST(Spool, ModesLetOnlyTheScriptThrough) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  const auto old = ::umask(077);
  auto file = spool->create(header(), "x");
  ::umask(old);
  ASSERT_TRUE(file);
  const auto mode = [&](const std::string& name) {
    struct stat info{};
    EXPECT_EQ(::stat((dir / name).c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  EXPECT_EQ(mode("spool"), 0711u);
  EXPECT_EQ(mode("spool/job12.3"), 0711u);
  EXPECT_EQ(mode("spool/job12.3/run"), 0600u);
}

TEST(Spool, TooLongAPathIsRefusedWithoutATrace) {
  const TestDirectory dir;
  auto spool = Spool::open(dir / "spool");
  auto long_one = header();
  long_one.cgroup = "/" + std::string(2000, 'x');
  EXPECT_FALSE(spool->create(long_one, "x"));
  EXPECT_TRUE(spool->list()->empty());
}

TEST(Spool, BootId) {
  EXPECT_EQ(current_boot_id().size(), 36u);
  EXPECT_EQ(current_boot_id(), current_boot_id());
}

}  // namespace
}  // namespace spur::os
