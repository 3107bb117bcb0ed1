// SPDX-License-Identifier: Apache-2.0
#include "wire/accounting_query.h"

#include <gtest/gtest.h>

#include "model/job_state.h"
#include "spur/v1/accounting.pb.h"

namespace spur::wire {
namespace {

using model::JobState;

constexpr std::int64_t kHour = 3'600'000'000;

// Submitted at 1 h, eligible at 2 h, ran from 3 h to 5 h.
v1::AcctJob job() {
  v1::AcctJob out;
  out.set_job(7);
  out.set_uid(1000);
  out.set_state(static_cast<std::uint32_t>(JobState::Completed));
  out.set_submitted_us(1 * kHour);
  out.set_eligible_us(2 * kHour);
  out.set_started_us(3 * kHour);
  out.set_ended_us(5 * kHour);
  out.set_partition("debug");
  out.set_nodes("n[1-3]");
  out.set_cpus_allocated(4);
  return out;
}

bool matches(const v1::AcctJobQuery& query, const v1::AcctJob& of) {
  return AccountingQuery::make(query)->matches(of);
}

v1::AcctJobQuery window(std::int64_t from, std::int64_t until) {
  v1::AcctJobQuery query;
  query.set_from_us(from * kHour);
  query.set_until_us(until * kHour);
  return query;
}

TEST(AccountingQuery, Windows) {
  EXPECT_TRUE(matches(window(0, 0), job()));
  EXPECT_TRUE(matches(window(4, 6), job()));
  EXPECT_TRUE(matches(window(5, 6), job()));
  EXPECT_FALSE(matches(window(6, 7), job()));
  EXPECT_FALSE(matches(window(1, 2), job()));  // not eligible before its end
  v1::AcctJob held = job();
  held.clear_eligible_us();
  EXPECT_FALSE(matches(window(0, 0), held));
  v1::AcctJobQuery named;
  named.add_jobs()->set_job(7);
  EXPECT_TRUE(matches(named, held));  // who names it sees it
}

TEST(AccountingQuery, StatesInAWindow) {
  const struct {
    JobState state;
    std::int64_t from, until;
    bool want;
  } rows[] = {
      {JobState::Pending, 2, 3, true},    {JobState::Pending, 4, 5, false}, {JobState::Running, 4, 4, true},
      {JobState::Running, 1, 2, false},   {JobState::Running, 6, 7, false}, {JobState::Completed, 4, 6, true},
      {JobState::Completed, 3, 4, false}, {JobState::Failed, 4, 6, false},
  };
  for (const auto& row : rows) {
    auto query = window(row.from, row.until);
    query.add_states(static_cast<std::uint32_t>(row.state));
    EXPECT_EQ(matches(query, job()), row.want) << model::base_name(row.state) << " " << row.from;
  }
}

TEST(AccountingQuery, Targets) {
  v1::AcctJob task = job();
  task.set_job(12);
  task.set_array_job(7);
  task.set_array_task(3);
  v1::AcctJobQuery whole, one, other;
  whole.add_jobs()->set_job(7);
  one.add_jobs()->set_job(7);
  one.mutable_jobs(0)->set_array_task(3);
  other.add_jobs()->set_job(7);
  other.mutable_jobs(0)->set_array_task(4);
  EXPECT_TRUE(matches(whole, task));
  EXPECT_TRUE(matches(one, task));
  EXPECT_FALSE(matches(other, task));
  EXPECT_FALSE(matches(one, job()));
}

TEST(AccountingQuery, Properties) {
  v1::AcctJobQuery query;
  query.set_nodes("n[2,9]");
  EXPECT_TRUE(matches(query, job()));
  query.set_nodes("n4");
  EXPECT_FALSE(matches(query, job()));
  query.set_nodes("n[");
  EXPECT_FALSE(AccountingQuery::make(query));
  query.clear_nodes();
  query.set_min_cpus(5);
  EXPECT_FALSE(matches(query, job()));
  query.set_min_cpus(4);
  query.add_partitions("other");
  EXPECT_FALSE(matches(query, job()));
  query.add_partitions("debug");
  EXPECT_TRUE(matches(query, job()));
  query.add_uids(1);
  EXPECT_FALSE(matches(query, job()));
}

}  // namespace
}  // namespace spur::wire
