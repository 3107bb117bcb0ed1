// SPDX-License-Identifier: Apache-2.0
#include "os/outbox_file.h"

#include <gtest/gtest.h>

#include "os/test_directory.h"

namespace spur::os {
namespace {

using Record = io::OutboxSpool::Record;

std::vector<std::uint64_t> numbers(OutboxFile& file, std::uint64_t after, std::size_t bytes = 1 << 20) {
  std::vector<std::uint64_t> out;
  const auto records = file.read(after, bytes).value();
  for (const auto& record : records) out.push_back(record.number);
  return out;
}

TEST(OutboxFile, KeepsRecordsUntilTheyAreTrimmed) {
  TestDirectory directory;
  const Time born = from_micros(5);
  {
    auto file = OutboxFile::open(directory.path());
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE((*file)->append(born, std::vector<Record>{{1, "a"}, {2, "b"}}));
    // A replay brings what is here already, and more.
    ASSERT_TRUE((*file)->append(born, std::vector<Record>{{2, "other"}, {3, "c"}}));
  }
  auto file = OutboxFile::open(directory.path());
  ASSERT_TRUE(file);
  EXPECT_EQ(numbers(**file, 0), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ((*file)->read(1, 100)->front().bytes, "b");
  EXPECT_EQ(numbers(**file, 0, 1), (std::vector<std::uint64_t>{1}));
  ASSERT_TRUE((*file)->trim(2));
  EXPECT_EQ(numbers(**file, 0), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ((*file)->held()->count, 1u);
  EXPECT_EQ((*file)->held()->born, born);
  ASSERT_TRUE((*file)->trim(3));
  EXPECT_EQ((*file)->held()->count, 0u);
}

TEST(OutboxFile, AnotherOutboxTakesItsPlace) {
  TestDirectory directory;
  auto file = OutboxFile::open(directory.path());
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->append(from_micros(5), std::vector<Record>{{7, "old"}}));
  ASSERT_TRUE((*file)->append(from_micros(6), std::vector<Record>{{1, "new"}}));
  EXPECT_EQ(numbers(**file, 0), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ((*file)->held()->born, from_micros(6));
}

}  // namespace
}  // namespace spur::os
