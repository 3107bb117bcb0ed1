// SPDX-License-Identifier: Apache-2.0
#include "os/history_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <random>

#include "os/files.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

using Store = io::HistoryStore;

Time second(std::int64_t n) {
  return from_unix_seconds(1'800'000'000 + n);
}
Store::Part part_of(std::uint64_t first, std::uint64_t last, std::size_t bytes = 100) {
  Store::Part part;
  for (std::uint64_t i = first; i <= last; ++i) {
    const Time at = second(static_cast<std::int64_t>(i));
    part.entries.push_back({i, at, std::string(bytes, static_cast<char>('a' + i % 26))});
    part.events.push_back(
        {JobId(static_cast<std::uint32_t>(i % 10)), i, at, {}, "scheduler", "started", "on n1"});
  }
  return part;
}
std::vector<std::uint64_t> numbers(HistoryFile& file, std::uint64_t after, std::size_t bytes = 1 << 20) {
  std::vector<std::uint64_t> out;
  const auto entries = file.read(after, bytes).value();
  for (const auto& entry : entries) out.push_back(entry.index);
  return out;
}
std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> out(last - first + 1);
  std::iota(out.begin(), out.end(), first);
  return out;
}
std::unique_ptr<HistoryFile> open(const TestDirectory& directory) {
  auto file = HistoryFile::open(directory.path());
  EXPECT_TRUE(file) << file.error().message;
  return *std::move(file);
}

TEST(HistoryFile, EntriesAndImagesComeBack) {
  TestDirectory directory;
  {
    auto file = open(directory);
    EXPECT_FALSE(is_set(file->held()->since));
    ASSERT_TRUE(file->save({0, second(0), ""}));
    ASSERT_TRUE(file->append(part_of(1, 7)));
    ASSERT_TRUE(file->append(part_of(8, 8)));
    ASSERT_TRUE(file->save({8, second(9), "state"}));
    ASSERT_TRUE(file->append(part_of(9, 12)));
    ASSERT_TRUE(file->sync());
  }
  auto file = open(directory);
  EXPECT_EQ(numbers(*file, 0), range(1, 12));
  EXPECT_EQ(numbers(*file, 3), range(4, 12));
  EXPECT_EQ(numbers(*file, 8), range(9, 12));
  EXPECT_TRUE(numbers(*file, 12).empty());
  EXPECT_EQ(file->read(4, 1)->front().bytes, std::string(100, 'f'));
  EXPECT_EQ(file->read(4, 1)->front().shown, second(5));
  EXPECT_EQ((*file->image_before(second(8)))->index, 0u);
  EXPECT_EQ((*file->image_before(second(9)))->bytes, "state");
  EXPECT_FALSE(file->image_before(second(-1))->has_value());
  EXPECT_EQ(*file->next_image(0), second(9));
  EXPECT_FALSE(is_set(*file->next_image(8)));
  const auto held = file->held().value();
  EXPECT_EQ(held.since, second(0));
  EXPECT_EQ(held.newest_image, second(9));
  EXPECT_EQ(held.last, 12u);
  EXPECT_GT(held.bytes, 0u);
}

TEST(HistoryFile, AGapShowsInTheNumbers) {
  TestDirectory directory;
  auto file = open(directory);
  ASSERT_TRUE(file->save({0, second(0), ""}));
  ASSERT_TRUE(file->append(part_of(1, 3)));
  ASSERT_TRUE(file->save({10, second(10), "later"}));
  EXPECT_EQ(file->held()->last, 10u);
  ASSERT_TRUE(file->append(part_of(11, 12)));
  EXPECT_EQ(numbers(*file, 2), (std::vector<std::uint64_t>{3, 11, 12}));
  // Also within one write.
  auto torn = part_of(13, 14);
  const auto more = part_of(20, 21);
  torn.entries.insert(torn.entries.end(), more.entries.begin(), more.entries.end());
  ASSERT_TRUE(file->append(torn));
  EXPECT_EQ(numbers(*file, 12), (std::vector<std::uint64_t>{13, 14, 20, 21}));
}

TEST(HistoryFile, EventsAreFoundByJobInOrder) {
  TestDirectory directory;
  auto file = open(directory);
  ASSERT_TRUE(file->append(part_of(1, 50)));
  auto part = part_of(51, 51);
  part.events = {{JobId(3), 51, second(51), Uid(0), "", "held", ""},
                 {JobId(3), 51, second(51), {}, "node n1", "ended", "x"}};
  part.records = {{JobId(3), Uid(1000), {}, {}, false}, {JobId(4), Uid(1000), JobId(3), 7u, false}};
  ASSERT_TRUE(file->append(part));
  const JobId jobs[] = {JobId(3), JobId(4)};
  const auto events = file->events(jobs, 100).value();
  ASSERT_EQ(events.size(), 12u);
  EXPECT_TRUE(std::ranges::is_sorted(events, {}, &Store::Event::index));
  EXPECT_EQ(events[10].what, "held");
  EXPECT_EQ(events[10].by, Uid(0));
  EXPECT_EQ(events[11].what, "ended");
  EXPECT_EQ(events[11].source, "node n1");
  EXPECT_FALSE(events[11].by);
  EXPECT_EQ(file->events(jobs, 4)->size(), 4u);
  const auto records = file->records(JobId(3)).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].part, 7u);
  EXPECT_EQ(records[1].group, JobId(3));
  EXPECT_EQ(file->records(JobId(4))->size(), 1u);
}

TEST(HistoryFile, TrimmingDropsWholeStretches) {
  TestDirectory directory;
  auto file = open(directory);
  ASSERT_TRUE(file->save({0, second(0), ""}));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(file->append(part_of(1 + 10 * i, 10 + 10 * i)));
    ASSERT_TRUE(file->save({10 + 10 * i, second(static_cast<std::int64_t>(10 + 10 * i)), "state"}));
  }
  // What lies before the newest image of that time goes, and no more.
  EXPECT_TRUE(*file->trim(second(35), 1 << 30));
  EXPECT_EQ(file->held()->since, second(30));
  EXPECT_EQ(numbers(*file, 0).front(), 31u);
  const JobId job[] = {JobId(5)};
  EXPECT_EQ(file->events(job, 100)->front().index, 35u);
  // Too large: image by image.
  std::string noise(1 << 20, ' ');
  std::mt19937 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  ASSERT_TRUE(file->save({102, second(102), noise}));
  ASSERT_TRUE(file->save({103, second(103), "x"}));
  EXPECT_GT(file->held()->bytes, 1'000'000u);
  EXPECT_TRUE(*file->trim(second(0), 400'000));
  EXPECT_EQ(file->held()->since, second(103));
  EXPECT_FALSE(*file->trim(second(0), 1));  // one image always stays
  EXPECT_TRUE(is_set(file->held()->since));
  ASSERT_TRUE(file->clear());
  EXPECT_FALSE(is_set(file->held()->since));
}

// What was appended survives the process, and comes back whole or not at all.
TEST(HistoryFile, AKilledWriterLeavesWholeParts) {
  for (int round = 0; round < 5; ++round) {
    TestDirectory directory;
    ASSERT_TRUE(open(directory)->save({0, second(0), ""}));
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto file = HistoryFile::open(directory.path());
      for (std::uint64_t i = 0;; ++i) {
        if (!(*file)->append(part_of(1 + 5 * i, 5 + 5 * i, 3000))) ::_exit(1);
        const char byte = 1;
        if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
      }
    }
    std::uint64_t acknowledged = 0;
    char byte = 0;
    while (acknowledged < 20u + static_cast<unsigned>(round) && ::read(ready[0], &byte, 1) == 1) ++acknowledged;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]), ::close(ready[1]);
    const auto found = numbers(*open(directory), 0, 1 << 30);
    ASSERT_GE(found.size(), 5 * acknowledged);
    EXPECT_EQ(found.size() % 5, 0u);
    EXPECT_EQ(found, range(1, found.size()));
  }
}

TEST(HistoryFile, DamageIsRefused) {
  TestDirectory directory;
  ASSERT_TRUE(write_file_durably(directory.path() + "/history.sqlite", std::string(8192, 'x'), 0600));
  const auto file = HistoryFile::open(directory.path());
  ASSERT_FALSE(file);
}

}  // namespace
}  // namespace spur::os
