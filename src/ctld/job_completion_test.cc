// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_completion.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "state/test_world.h"

namespace spur::ctld {
namespace {

model::ClusterConfig logging_config() {
  model::ClusterConfig out;
  out.cluster_name = "lab";
  out.shown = {{"JobCompType", "jobcomp/filetxt"}, {"JobCompLoc", "/tmp/jobs.log"}};
  return out;
}

TEST(JobCompletion, AJobIsOneLineInSlurmsForm) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  state::World world(2, 4, 0, logging_config());
  auto spec = state::spec();
  spec.name = "solve";
  spec.work_dir = "/home/a";
  spec.account = "phys";
  spec.time_limit = TimeLimit::of_minutes(90);
  const auto id = world.submit(spec);
  const auto waits = world.submit(state::spec());
  world.start(id, state::World::on({0, 1}));
  EXPECT_FALSE(has_completed(nullptr, world.job(id)));
  const model::Job running = world.job(id);
  world.done(id, "n1", 3);
  EXPECT_FALSE(has_completed(&running, world.job(id))) << "the other node is not clean";
  world.done(id, "n2");
  const model::Job& job = world.job(id);
  EXPECT_TRUE(has_completed(&running, job));
  EXPECT_FALSE(has_completed(&job, job));
  const auto line = completion_of(world.view(), job);
  EXPECT_EQ(line.file, "/tmp/jobs.log");
  EXPECT_EQ(line.job, id);
  EXPECT_TRUE(line.rest.starts_with("Name=solve JobState=FAILED Partition=main TimeLimit=90 StartTime=1970-01-12T")) << line.rest;
  EXPECT_NE(line.rest.find(" NodeList=n[1-2] NodeCnt=2 ProcCnt=2 WorkDir=/home/a ReservationName= Tres=cpu=2,"),
            std::string::npos)
      << line.rest;
  EXPECT_NE(line.rest.find(" Account=phys QOS= WcKey= Cluster=unknown SubmitTime=1970-"), std::string::npos) << line.rest;
  EXPECT_TRUE(line.rest.ends_with(" DerivedExitCode=0:0 ExitCode=3:0 ")) << line.rest;

  const auto all = all_completions(world.view());
  ASSERT_EQ(all.size(), 1u) << "not that of " << waits;
  EXPECT_EQ(all[0].rest, line.rest);
  EXPECT_TRUE(all[0].unless_there);
}

TEST(JobCompletion, OnlyWhereTheSiteWantsIt) {
  model::ClusterConfig config;
  EXPECT_EQ(completion_file(config), "");
  config.shown = {{"JobCompType", "jobcomp/none"}, {"JobCompLoc", "/x"}};
  EXPECT_EQ(completion_file(config), "");
  config.shown = {{"JobCompType", "jobcomp/filetxt"}, {"JobCompLoc", "(null)"}};
  EXPECT_EQ(completion_file(config), "/var/log/slurm_jobcomp.log");
}

}  // namespace
}  // namespace spur::ctld
