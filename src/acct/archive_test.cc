// SPDX-License-Identifier: Apache-2.0
#include "acct/archive.h"

#include <gtest/gtest.h>

#include "spur/v1/accounting.pb.h"

namespace spur::acct {
namespace {

TEST(Archive, ComesBackAsItWas) {
  v1::AcctJob job;
  job.set_job(7);
  job.set_epoch(2);
  job.set_submitted_us(123);
  job.set_ended_us(456);
  job.set_name("n\xff");
  v1::AcctStep step;
  step.set_job(7);
  step.set_epoch(2);
  step.set_submitted_us(123);
  step.set_step(3);
  io::AccountingStore::Old old;
  old.job.record = job.SerializeAsString();
  old.steps = {{7, 2, from_micros(123), 3, step.SerializeAsString()}};
  const std::string bytes = encode_archive("c", {old, old});
  const auto back = decode_archive(bytes);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->jobs.size(), 2u);
  const auto& row = back->jobs.at(1).row;
  EXPECT_EQ(back->jobs.at(1).cluster, "c");
  EXPECT_EQ(row.job.job, 7u);
  EXPECT_EQ(row.job.ended, from_micros(456));
  EXPECT_EQ(row.job.record, old.job.record);
  ASSERT_EQ(row.steps.size(), 1u);
  EXPECT_EQ(row.steps[0].record, old.steps[0].record);
  EXPECT_EQ(decode_archive(bytes.substr(0, bytes.size() - 1)).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(decode_archive("something else").error().code, ErrorCode::Corrupt);
}

TEST(Archive, KeepsOtherKindsToo) {
  v1::AcctStep step;
  step.set_job(7);
  step.set_submitted_us(123);
  step.set_step(3);
  io::AccountingStore::OldRows rows;
  rows.steps = {{7, 0, from_micros(123), 3, step.SerializeAsString()}};
  rows.events = {{"n1", from_micros(1), from_micros(2), false, "down"}};
  rows.reservations = {{"r", from_micros(3), from_micros(4), "reserved"}};
  rows.transactions = {{9, from_micros(5), 1406, "root", "c", "who", "what\n'; DROP TABLE job"}};
  const auto back = decode_archive(encode_archive("c", rows));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->jobs.empty());
  const auto& got = back->rows.at("c");
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got.steps[0].step, 3u);
  EXPECT_EQ(got.events[0].node, "n1");
  EXPECT_EQ(got.events[0].ended, from_micros(2));
  EXPECT_EQ(got.reservations[0].record, "reserved");
  EXPECT_EQ(got.transactions[0].info, rows.transactions[0].info);
  EXPECT_EQ(got.transactions[0].id, 9);
}

}  // namespace
}  // namespace spur::acct
