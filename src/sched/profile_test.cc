// SPDX-License-Identifier: Apache-2.0
#include "sched/profile.h"

#include <gtest/gtest.h>

#include <list>

#include "sched/start_search.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

class ProfileTest : public testing::Test {
 protected:
  // Two nodes of 4 CPUs; n1 runs 3 CPUs until minute 30, n2 1 CPU until minute 50.
  ProfileTest() {
    cluster_.add_nodes(2, 4);
    cluster_.add_partition("p");
    run("n1", 3, 30);
    run("n2", 1, 50);
    view_ = cluster_.view();
    profile_.emplace(view_);
    profile_->begin(at_minute(10));
  }
  void run(const std::string& node, std::uint32_t cpus, std::uint32_t limit) {
    auto spec = wants_tasks(1, limit);
    spec.cpus_per_task = cpus;
    spec.required_nodes = node;
    cluster_.submit(spec);
    cluster_.carry_out(plan(cluster_.view(), {}, at_minute(0)), at_minute(0));
  }
  Request request(const model::JobSpec& spec) {
    return *make_request(view_, profile_->capacity().columns(), spec, 0, spec.time_limit);
  }
  Amount free_cpus(NodeNumber node, int from, int to) {
    return profile_->least(node, at_minute(from), at_minute(to))[Columns::kCpu];
  }
  std::optional<Hold> earliest(const Request& wish) { return search(wish, profile_->now()); }
  std::optional<Hold> search(const Request& wish, Time from) {
    // All nodes are of one sort.
    const auto cpus = static_cast<std::int32_t>(std::max(wish.cpus_per_task, wish.min_cpus));
    const Reach reach{{cpus}, cpus};
    return StartSearch(wish, reach, *profile_).find(from);
  }

  TestCluster cluster_;
  model::View view_;
  std::optional<Profile> profile_;
};

TEST_F(ProfileTest, RunningJobsEndAtTheirLimits) {
  EXPECT_EQ(free_cpus(0, 10, 100), 1);
  EXPECT_EQ(free_cpus(0, 29, 31), 1);
  EXPECT_EQ(free_cpus(0, 30, 31), 4);
  EXPECT_EQ(free_cpus(1, 49, 60), 3);
  EXPECT_EQ(free_cpus(1, 50, 60), 4);
}

TEST_F(ProfileTest, EarliestStart) {
  const struct {
    std::uint32_t nodes, cpus, minute;
  } rows[] = {{1, 3, 10}, {1, 4, 30}, {2, 1, 10}, {2, 3, 30}, {2, 4, 50}};
  for (const auto& row : rows) {
    model::JobSpec spec;
    spec.min_nodes = row.nodes;
    spec.cpus_per_task = row.cpus;
    spec.time_limit = TimeLimit::of_minutes(60);
    const auto hold = earliest(request(spec));
    ASSERT_TRUE(hold);
    EXPECT_EQ(hold->start, at_minute(row.minute)) << row.nodes << 'x' << row.cpus;
    EXPECT_EQ(hold->shares.size(), row.nodes);
  }
}

TEST_F(ProfileTest, HoldsAreKeptFree) {
  model::JobSpec wide;
  wide.min_nodes = 2;
  wide.cpus_per_task = 4;
  wide.time_limit = TimeLimit::of_minutes(10);
  const Hold hold = *earliest(request(wide));
  profile_->add(hold);
  EXPECT_EQ(free_cpus(0, 10, 50), 1);
  EXPECT_EQ(free_cpus(0, 30, 51), 0);
  EXPECT_EQ(free_cpus(0, 60, 61), 4);
  // 20 minutes fit on n1 between minute 30 and the hold, 21 only behind it.
  auto spec = wants_tasks(1, 20);
  spec.cpus_per_task = 4;
  EXPECT_EQ(earliest(request(spec))->start, at_minute(30));
  spec.time_limit = TimeLimit::of_minutes(21);
  EXPECT_EQ(earliest(request(spec))->start, at_minute(60));
  profile_->lift(hold);
  EXPECT_EQ(earliest(request(spec))->start, at_minute(30));
  profile_->restore(hold);
  EXPECT_EQ(earliest(request(spec))->start, at_minute(60));
  const auto gains = profile_->gains().end();
  profile_->remove(hold);
  EXPECT_EQ(earliest(request(spec))->start, at_minute(30));
  EXPECT_EQ(profile_->gains().since(gains)->size(), 2u);
  EXPECT_TRUE(profile_->held_nodes().empty());
}

TEST_F(ProfileTest, StartsTakeFromNowOn) {
  auto spec = wants_tasks(3, 15);
  const Request wish = request(spec);
  const std::vector<Share> shares{{1, 3, {}}};
  const Capacity& capacity = profile_->capacity();
  std::vector<Amount> rows(capacity.width());
  take_of_share(wish, capacity, shares[0], kAllRails, capacity.free(1), rows.data());
  profile_->start(wish, shares, rows);
  EXPECT_EQ(free_cpus(1, 10, 11), 0);
  EXPECT_EQ(free_cpus(1, 25, 26), 3);
  // What was only proposed is forgotten with the next call.
  profile_->begin(at_minute(11));
  EXPECT_EQ(free_cpus(1, 11, 12), 3);
  EXPECT_EQ(profile_->gains().end(), 1u);
}

TEST_F(ProfileTest, Deadline) {
  auto spec = wants_tasks(1, 20);
  spec.cpus_per_task = 4;
  spec.deadline = at_minute(50);
  EXPECT_EQ(earliest(request(spec))->start, at_minute(30));
  spec.deadline = at_minute(49);
  EXPECT_FALSE(earliest(request(spec)));
}

TEST_F(ProfileTest, TheNextOfALaneComesBehindTheLast) {
  auto spec = wants_tasks(1, 20);
  spec.cpus_per_task = 2;
  const Request wish = request(spec);
  std::vector<std::int64_t> minutes_found;
  std::list<Hold> holds;
  for (int i = 0; i < 6; ++i) {
    const auto hold = search(wish, holds.empty() ? profile_->now() : holds.back().start);
    ASSERT_TRUE(hold);
    ASSERT_EQ(*hold, *earliest(wish));
    profile_->add(holds.emplace_back(*hold));
    minutes_found.push_back((hold->start - at_minute(0)) / minutes(1));
  }
  EXPECT_EQ(minutes_found, (std::vector<std::int64_t>{10, 30, 30, 30, 50, 50}));
}

TEST(NodeEnds, ExpectedEnds) {
  TestCluster cluster;
  cluster.add_nodes(1, 4);
  cluster.add_partition("p");
  auto& job = cluster.submit(wants_tasks(1, 30));
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  EXPECT_EQ(expected_end(job, at_minute(10)), at_minute(30));
  EXPECT_EQ(expected_end(job, at_minute(40)), at_minute(40) + seconds(1));  // overdue: in a moment
  job.time_limit = TimeLimit::unlimited();
  EXPECT_EQ(expected_end(job, at_minute(10)), kNever);
  job.state = model::JobState::Suspended;
  EXPECT_EQ(expected_end(job, at_minute(10)), kNever);
  job.state = model::JobState::Completed;
  job.flags = model::kCompleting;
  EXPECT_EQ(expected_end(job, at_minute(10)), at_minute(10) + seconds(1));
}

}  // namespace
}  // namespace spur::sched
