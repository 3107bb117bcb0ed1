// SPDX-License-Identifier: Apache-2.0
#include "acct/ingest.h"

#include <gtest/gtest.h>

#include "spur/v1/accounting.pb.h"

namespace spur::acct {
namespace {

std::string job(std::uint64_t number, std::uint32_t id, std::uint32_t epoch, std::uint32_t state) {
  v1::AcctRecord record;
  record.set_number(number);
  record.mutable_job()->set_job(id);
  record.mutable_job()->set_epoch(epoch);
  record.mutable_job()->set_submitted_us(1000 * epoch);
  record.mutable_job()->set_state(state);
  record.mutable_job()->set_account("a\n\xff");
  return record.SerializeAsString();
}
std::string node(std::uint64_t number, const std::string& name, const std::string& state) {
  v1::AcctRecord record;
  record.set_number(number);
  record.mutable_node()->set_node(name);
  record.mutable_node()->set_at_us(static_cast<std::int64_t>(number));
  record.mutable_node()->set_state(state);
  return record.SerializeAsString();
}

Result<io::AcctChunk> chunk_of(const std::vector<std::string>& records) {
  return make_chunk("c", from_micros(5), {records.begin(), records.end()});
}

TEST(Ingest, KeysOfJobsAreTrackedWhereThatIsWanted) {
  v1::AcctRecord record;
  record.set_number(1);
  record.mutable_job()->set_job(1);
  record.mutable_job()->set_user("ann");
  const std::string without = record.SerializeAsString();
  record.set_number(2);
  record.mutable_job()->set_job(2);
  record.mutable_job()->set_wckey("tests");
  const std::string with = record.SerializeAsString();
  std::set<WckeyUse> used;
  const auto wckey = [](const Result<io::AcctChunk>& chunk, std::size_t at) {
    v1::AcctJob job;
    EXPECT_TRUE(chunk && job.ParseFromString(chunk->jobs.at(at).record));
    return job.wckey();
  };
  const auto tracked = make_chunk("c", {}, {without, with}, &used);
  EXPECT_EQ(wckey(tracked, 0), "*");
  EXPECT_EQ(wckey(tracked, 1), "tests");
  EXPECT_EQ(used, (std::set<WckeyUse>{{"ann", "*"}, {"ann", "tests"}}));
  const auto untracked = make_chunk("c", {}, {without, with});
  EXPECT_EQ(wckey(untracked, 0), "");
  EXPECT_EQ(wckey(untracked, 1), "tests");
}

TEST(Ingest, OnlyTheLastRecordOfARunCounts) {
  const auto chunk = chunk_of({job(3, 1, 1, 0), job(4, 2, 1, 0), job(5, 1, 1, 1), job(7, 1, 2, 0), job(8, 1, 1, 3)});
  ASSERT_TRUE(chunk) << chunk.error().message;
  EXPECT_EQ(chunk->first, 3u);
  EXPECT_EQ(chunk->last, 8u);
  ASSERT_EQ(chunk->jobs.size(), 3u);
  EXPECT_EQ(chunk->jobs[0].job, 1u);
  EXPECT_EQ(chunk->jobs[0].epoch, 1u);
  EXPECT_EQ(chunk->jobs[0].state, 3u);
  EXPECT_EQ(chunk->jobs[0].account, "a\n\xff");
  EXPECT_EQ(chunk->jobs[1].job, 2u);
  EXPECT_EQ(chunk->jobs[2].epoch, 2u);
}

TEST(Ingest, EventsStayInOrder) {
  const auto chunk = chunk_of({node(1, "n1", "DOWN"), node(2, "n1", ""), node(3, "n1", "DRAIN")});
  ASSERT_TRUE(chunk);
  ASSERT_EQ(chunk->events.size(), 3u);
  EXPECT_FALSE(chunk->events[0].in_order);
  EXPECT_TRUE(chunk->events[1].in_order);
  EXPECT_EQ(chunk->events[2].started, from_micros(3));
}

TEST(Ingest, RefusesWhatItCannotRead) {
  EXPECT_EQ(chunk_of({"garbage\xff"}).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(chunk_of({job(2, 1, 1, 0), job(2, 1, 1, 0)}).error().code, ErrorCode::Corrupt);
  v1::AcctRecord later;  // of a kind that is not known here
  later.set_number(9);
  EXPECT_EQ(chunk_of({later.SerializeAsString()}).error().code, ErrorCode::VersionMismatch);
}

}  // namespace
}  // namespace spur::acct
