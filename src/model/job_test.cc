// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace spur::model {
namespace {

Time at(std::int64_t s) {
  return from_unix_seconds(1000 + s);
}

TEST(Job, DisplayId) {
  Job job;
  job.id = JobId{8};
  EXPECT_EQ(display_id(job), "8");
  job.array_job = JobId{8};
  IndexSet tasks;
  tasks.insert_range(1, 5);
  job.array_pending = std::make_shared<const IndexSet>(tasks);
  EXPECT_EQ(display_id(job), "8_[1-5]");
  job.array_max_running = 2;
  EXPECT_EQ(display_id(job), "8_[1-5%2]");
  tasks.erase(3);
  job.array_pending = std::make_shared<const IndexSet>(tasks);
  EXPECT_EQ(display_id(job), "8_[1-2,4-5%2]");
  job.array_pending = nullptr;
  job.array_task = 3;
  job.id = JobId{12};
  EXPECT_EQ(display_id(job), "8_3");
}

TEST(Job, RunTime) {
  struct Row {
    const char* what;
    Time started, ended, suspended_at;
    Duration suspended_total;
    Time now;
    Duration expected;
  };
  const Row rows[] = {
      {"pending", {}, {}, {}, {}, at(50), seconds(0)},
      {"running", at(10), {}, {}, {}, at(50), seconds(40)},
      {"over", at(10), at(30), {}, {}, at(50), seconds(20)},
      {"was suspended", at(10), {}, {}, seconds(5), at(50), seconds(35)},
      {"is suspended", at(10), {}, at(20), seconds(3), at(50), seconds(7)},
      {"ended while suspended", at(10), at(40), at(20), {}, at(90), seconds(10)},
      {"clock behind", at(10), {}, {}, {}, at(5), seconds(0)},
  };
  for (const Row& row : rows) {
    Job job;
    job.started = row.started;
    job.ended = row.ended;
    job.suspended_at = row.suspended_at;
    job.suspended_total = row.suspended_total;
    EXPECT_EQ(run_time(job, row.now), row.expected) << row.what;
  }
}

TEST(Job, LimitEnd) {
  Job job;
  job.state = JobState::Running;
  job.started = at(0);
  job.time_limit = TimeLimit::of_minutes(2);
  EXPECT_EQ(limit_end(job), at(120));
  job.suspended_total = seconds(30);
  EXPECT_EQ(limit_end(job), at(150));
  job.flags = kCompleting;
  EXPECT_FALSE(is_set(limit_end(job)));
  job.flags = 0;
  job.state = JobState::Suspended;
  EXPECT_FALSE(is_set(limit_end(job)));
  job.state = JobState::Running;
  job.time_limit = TimeLimit::unlimited();
  EXPECT_FALSE(is_set(limit_end(job)));
  job.time_limit = {};
  EXPECT_FALSE(is_set(limit_end(job)));
}

TEST(Reason, NamesAreWordsAndComeBack) {
  std::set<std::string> seen;
  for (int r = 0; r <= static_cast<int>(Reason::Preempted); ++r) {
    const auto reason = static_cast<Reason>(r);
    const std::string name(reason_name(reason));
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find(' '), std::string::npos);
    EXPECT_TRUE(seen.insert(name).second) << name;
    Reason back = Reason::None;
    EXPECT_TRUE(parse_reason(name, &back));
    EXPECT_EQ(back, reason);
  }
  Reason out = Reason::Priority;
  EXPECT_TRUE(parse_reason("jobhelduser", &out));
  EXPECT_EQ(out, Reason::JobHeldUser);
  EXPECT_FALSE(parse_reason("Bogus", &out));
  EXPECT_FALSE(parse_reason("", &out));
  EXPECT_EQ(out, Reason::JobHeldUser);
}

TEST(Allocation, TotalCpus) {
  Allocation a;
  EXPECT_EQ(a.total_cpus(), 0u);
  a.nodes.push_back({NodeIndex{0}, {0, 1, 2}, 0, 1, {}});
  a.nodes.push_back({NodeIndex{1}, {7}, 0, 1, {}});
  EXPECT_EQ(a.total_cpus(), 4u);
}

}  // namespace
}  // namespace spur::model
