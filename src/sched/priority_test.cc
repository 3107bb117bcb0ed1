// SPDX-License-Identifier: Apache-2.0
#include "sched/priority.h"

#include <gtest/gtest.h>

#include <limits>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

constexpr std::uint32_t kBase = 100'000;  // PriorityConfig::base

model::Qos qos(std::string name, std::uint32_t priority) {
  model::Qos out;
  out.name = std::move(name);
  out.priority = priority;
  return out;
}

TEST(Priority, OfAJob) {
  TestCluster cluster;
  cluster.config->age_weight = 1000;
  cluster.config->age_full = hours(10);
  const auto at = [&](const model::Job& job, int hour) {
    const model::View view = cluster.view();
    return PriorityScale(view).priority(job, at_minute(60 * hour));
  };

  const auto& plain = cluster.submit({});
  EXPECT_EQ(at(plain, 0), kBase);
  EXPECT_EQ(at(plain, 1), kBase + 100);
  EXPECT_EQ(at(plain, 10), kBase + 1000);
  EXPECT_EQ(at(plain, 1000), kBase + 1000);

  model::JobSpec nice;
  nice.nice = 30;
  EXPECT_EQ(at(cluster.submit(nice), 1), kBase + 70);
  nice.nice = 2'000'000'000;
  EXPECT_EQ(at(cluster.submit(nice), 1), 1u);  // never 0: that is held
  nice.nice = -2'000'000'000;
  EXPECT_EQ(at(cluster.submit(nice), 1), 2'000'000'000 + kBase + 100);

  model::JobSpec by_hand;
  by_hand.priority = 7;
  EXPECT_EQ(at(cluster.submit(by_hand), 5), 7u);

  auto& held = cluster.submit({});
  held.hold = model::Hold::User;
  EXPECT_EQ(at(held, 5), 0u);

  auto& not_yet = cluster.submit({});
  not_yet.eligible = not_yet.accrue = {};  // a dependency: it does not age
  EXPECT_EQ(at(not_yet, 5), kBase);
  cluster.config->priority.flags = {"ACCRUE_ALWAYS"};
  not_yet.submitted = at_minute(0);
  EXPECT_EQ(at(not_yet, 5), kBase + 500);

  auto& favoured = cluster.submit({});
  favoured.site_factor = 42;
  EXPECT_EQ(at(favoured, 0), kBase + 42);
}

TEST(Priority, LargeNumbersDoNotOverflow) {
  TestCluster cluster;
  auto& c = *cluster.config;
  c.age_weight = c.priority.fairshare_weight = c.priority.job_size_weight = c.priority.partition_weight = 0xffffffffu;
  c.priority.tres_weights = {{"cpu", std::numeric_limits<std::int64_t>::max()}};
  c.priority.flags = {"NO_NORMAL_ALL"};
  c.age_full = seconds(1);
  cluster.add_node("n1", 4);
  cluster.add_partition("p");
  const auto& job = cluster.submit({});
  const model::View high = cluster.view();
  EXPECT_EQ(PriorityScale(high).priority(job, at_minute(100)), kMaxPriority);
  c.age_full = seconds(0);
  c.priority.fairshare_weight = c.priority.job_size_weight = c.priority.partition_weight = 0;
  c.priority.tres_weights[0].thousandths = std::numeric_limits<std::int64_t>::min();
  const model::View low = cluster.view();
  EXPECT_EQ(PriorityScale(low).priority(job, at_minute(100)), 1u);
}

// Four nodes of 4 CPUs and 1000 MiB in "debug" (factor 10), two of them in "low" (factor 5) too; memory is not handed
// out. The numbers are what sprio of Slurm 22.05.8 printed for the same cluster and the same jobs.
class AsSlurm : public testing::Test {
 protected:
  AsSlurm() {
    for (const char* name : {"n1", "n2", "n3", "n4"}) cluster.add_node(name, 4, 1000);
    cluster.add_partition("debug").priority_job_factor = 10;
    cluster.add_partition("low", {0, 1}).priority_job_factor = 5;
    cluster.add_partition("acc", {0, 1});
    auto& c = *cluster.config;
    c.age_weight = 10'000;
    c.age_full = minutes(10);
    c.priority.base = 0;
    c.priority.job_size_weight = 2000;
    c.priority.partition_weight = 500;
    c.priority.tres_weights = {{"cpu", 1'000'000}, {"mem", 3'000'000}};
  }
  std::uint32_t fresh(model::JobSpec spec, std::size_t partition = 0) {
    const model::Job& job = cluster.submit(std::move(spec));
    const model::View view = cluster.view();
    return PriorityScale(view).priority(job, (*view.partitions)[partition], job.accrue);
  }
  TestCluster cluster;
};

TEST_F(AsSlurm, Sums) {
  model::JobSpec spec;
  EXPECT_EQ(fresh(spec), 1625u);     // 312.5 + 500 + 62.5 + 750
  EXPECT_EQ(fresh(spec, 2), 1987u);  // TRES are measured against the partition: 312.5 + 50 + 125 + 1500
  spec.nice = 100;
  EXPECT_EQ(fresh(spec), 1525u);
  spec.nice = -50;
  EXPECT_EQ(fresh(spec), 1675u);
  spec.nice = 100'000;
  EXPECT_EQ(fresh(spec), 1u);
  spec.nice = 0;
  spec.memory_per_node_mib = 100;
  EXPECT_EQ(fresh(spec), 950u);
  model::JobSpec wide;
  wide.min_nodes = 3;
  EXPECT_EQ(fresh(wide), 3875u);
  wide.tasks = 7;
  EXPECT_EQ(fresh(wide), 4375u);
  EXPECT_EQ(fresh(wide, 1), 6812u);  // 1187.5 + 250 + 875 + 4500: a factor may exceed 1
}

TEST_F(AsSlurm, Factors) {
  model::JobSpec wide;
  wide.min_nodes = 3;
  wide.tasks = 7;
  const model::Job& job = cluster.submit(wide);
  const model::View view = cluster.view();
  const PriorityFactors f = PriorityScale(view).factors(job, (*view.partitions)[1], job.accrue + minutes(1));
  EXPECT_EQ(f.age, 100'000'000);
  EXPECT_EQ(f.job_size, 593'750'000);
  EXPECT_EQ(f.partition, 500'000'000);
  EXPECT_EQ(f.tres, (std::vector<std::int64_t>{875'000'000, 1'500'000'000}));
}

TEST_F(AsSlurm, FavoursSmallJobsAndShortOnes) {
  cluster.config->priority.favor_small = true;
  model::JobSpec spec;
  EXPECT_EQ(fresh(spec), 1625u - 312 - 313 + 2000);
  cluster.config->priority.favor_small = false;
  cluster.config->priority.flags = {"SMALL_RELATIVE_TO_TIME"};
  spec.time_limit = TimeLimit::of_minutes(2);
  EXPECT_EQ(fresh(spec), 500u + 62 + 750 + 250);  // a node's four CPUs of 16, over two minutes; .5 is cut off
}

TEST_F(AsSlurm, ShareQosAndAssociation) {
  auto& weights = cluster.config->priority;
  weights.fairshare_weight = 1000;
  weights.qos_weight = 100;
  weights.assoc_weight = 10;
  weights.job_size_weight = weights.partition_weight = 0;
  weights.tres_weights.clear();
  model::JobSpec spec;
  spec.account = "a";
  spec.uid = Uid{1000};
  spec.qos = "high";
  const model::Job& job = cluster.submit(spec);
  model::View view = cluster.view();
  view.qos =
      std::make_shared<const std::vector<model::Qos>>(std::vector<model::Qos>{qos("high", 50), qos("top", 100)});
  view.shares = std::make_shared<const std::vector<model::FairShare>>(std::vector<model::FairShare>{
      {"a", Uid{1000}, "", 250'000'000, 4}, {"a", Uid{1000}, "low", 500'000'000, 8}, {"b", Uid{1}, "", 0, 16}});
  const PriorityScale scale(view);
  EXPECT_EQ(scale.priority(job, (*view.partitions)[0], job.accrue), 250u + 50 + 2);
  EXPECT_EQ(scale.priority(job, (*view.partitions)[1], job.accrue), 500u + 50 + 5);
  weights.flags = {"NO_NORMAL_QOS", "NO_NORMAL_ASSOC"};
  view.config = cluster.config;
  EXPECT_EQ(PriorityScale(view).priority(job, (*view.partitions)[0], job.accrue), 250u + 5000 + 40);
}

TEST_F(AsSlurm, EqualPointsKeepTheirPlaces) {
  const model::Job& first = cluster.submit({});
  const model::Job& second = cluster.submit({}, at_minute(3));
  const model::View view = cluster.view();
  const PriorityScale scale(view);
  const auto& partition = view.partitions->front();
  const Rank a = scale.rank(first, partition), b = scale.rank(second, partition);
  EXPECT_EQ(a.points, b.points);
  EXPECT_LT(a.order, b.order);
  for (int m = 0; m < 30; ++m) {
    const Time now = first.accrue + minutes(m);
    EXPECT_GE(scale.priority(a, now), scale.priority(b, now));
    EXPECT_LE(scale.priority(a, now), scale.priority(a, now + minutes(1)));
    EXPECT_EQ(scale.priority(a, now), scale.priority(first, now));
  }
}

TEST_F(AsSlurm, BasicIsTheOrderOfArrival) {
  cluster.config->priority.multifactor = false;
  model::JobSpec spec;
  const model::Job& first = cluster.submit(spec);
  spec.nice = 100;
  const model::Job& later = cluster.submit(spec);
  spec.nice = 0;
  spec.priority = 5;
  const model::Job& by_hand = cluster.submit(spec);
  const model::View view = cluster.view();
  const PriorityScale scale(view);
  EXPECT_EQ(scale.priority(first, at_minute(50)), 4294901760u - first.id.value);  // Slurm: 4294901759 for job 1
  EXPECT_EQ(scale.priority(later, at_minute(50)), 4294901760u - later.id.value - 100);
  EXPECT_EQ(scale.priority(by_hand, at_minute(50)), 5u);
}

}  // namespace
}  // namespace spur::sched
