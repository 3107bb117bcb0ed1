// SPDX-License-Identifier: Apache-2.0
#include "model/spent_minutes.h"

#include <gtest/gtest.h>

#include "model/counting.h"

namespace spur::model {
namespace {

// Jobs 1 and 2 of one account, on two CPUs each; 1 has the QOS q.
struct SpentSite {
  ClusterConfig config;
  Association lab, user;
  Qos qos;

  SpentSite() {
    config.accounting.limits = true;
    PartitionConfig partition;
    partition.name = "p";
    partition.is_default = true;
    config.partitions.push_back(partition);
    lab.id = 1, lab.account = "lab";
    user.id = 2, user.parent = 1, user.account = "lab", user.user = "ann", user.uid = 7;
    qos.name = "q", qos.id = 1;
  }
  std::vector<std::uint32_t> over(int minute) const {
    View view;
    view.config = std::make_shared<const ClusterConfig>(config);
    view.partitions = std::make_shared<const std::vector<Partition>>(
        std::vector<Partition>{Partition{config.partitions.front(), {}}});
    view.tres = std::make_shared<const TresTable>(config);
    view.accounts = *AccountBook::make(
        1, {std::make_shared<const Association>(lab), std::make_shared<const Association>(user)}, {});
    view.qos = std::make_shared<const std::vector<Qos>>(std::vector<Qos>{qos});
    const Time start = Time(seconds(60'000));
    for (std::uint32_t id = 1; id <= 2; ++id) {
      JobSpec spec;
      spec.uid = Uid{7};
      spec.account = "lab";
      if (id == 1) spec.qos = "q";
      auto job = std::make_shared<Job>();
      job->id = JobId{id};
      job->spec = std::make_shared<const JobSpec>(spec);
      job->state = JobState::Running;
      job->started = job->counted_from = start;
      job->time_limit = TimeLimit::of_minutes(1000);
      job->association = 2;
      auto allocation = std::make_shared<Allocation>();
      allocation->partition = "p";
      allocation->nodes.push_back({NodeIndex{0}, {0, 1}, 0, 1, {}});
      job->allocation = allocation;
      view.jobs.set(id, job);
      view.active.set(id, job);
      recount(view, nullptr, job.get(), start);
    }
    std::vector<std::uint32_t> out;
    for (const JobId id : jobs_out_of_minutes(view, start + minutes(minute))) out.push_back(id.value);
    return out;
  }
};

using Jobs = std::vector<std::uint32_t>;

TEST(SpentMinutes, OfAGroupEndAllItsJobs) {
  SpentSite site;
  EXPECT_EQ(site.over(1000), Jobs{});
  site.lab.group.tres_minutes = {{"cpu", 40}};
  EXPECT_EQ(site.over(9), Jobs{});
  EXPECT_EQ(site.over(10), (Jobs{1, 2}));
  site.config.accounting.limits = false;
  EXPECT_EQ(site.over(10), Jobs{});
}

TEST(SpentMinutes, OnTheWallCountJobs) {
  SpentSite site;
  site.lab.group.wall_minutes = 40;
  EXPECT_EQ(site.over(19), Jobs{});
  EXPECT_EQ(site.over(20), (Jobs{1, 2}));
}

TEST(SpentMinutes, OfAQosHideThoseOfTheAccount) {
  SpentSite site;
  site.lab.group.tres_minutes = {{"cpu", 40}};
  site.qos.group.tres_minutes = {{"cpu", 100}};
  EXPECT_EQ(site.over(10), Jobs{2});
  EXPECT_EQ(site.over(49), Jobs{2});
  EXPECT_EQ(site.over(50), (Jobs{1, 2}));
  site.lab.group.tres_minutes = {};
  EXPECT_EQ(site.over(50), Jobs{1});
}

TEST(SpentMinutes, OfWhatAJobDoesNotUseAreNoMatter) {
  SpentSite site;
  site.config.gres_types = {"gpu"};
  site.lab.group.tres_minutes = {{"gres/gpu", 0}};
  EXPECT_EQ(site.over(100), Jobs{});
}

TEST(SpentMinutes, OfOneJobEndIt) {
  SpentSite site;
  site.user.max_tres_minutes_per_job = {{"cpu", 40}};
  EXPECT_EQ(site.over(20), Jobs{});
  EXPECT_EQ(site.over(21), (Jobs{1, 2}));
  site.qos.max_tres_minutes_per_job = {{"cpu", 100}};
  EXPECT_EQ(site.over(21), Jobs{2});
}

}  // namespace
}  // namespace spur::model
