// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_cluster.h"

namespace spur::cli {
namespace {

struct SstatAnswer {
  int status = 0;
  std::string out, err;
};

SstatAnswer sstat(std::vector<std::string> arguments) {
  auto controller = std::make_unique<FakeController>();
  const auto task = [](std::uint32_t rank, std::uint64_t cpu_seconds, std::uint64_t rss_kib) {
    return wire::NodeUsage::Task{
        rank, 100 + rank, {.user_cpu_us = cpu_seconds * 1'000'000, .max_rss_kib = rss_kib, .read_bytes = 3'000'000}};
  };
  controller->usage = {{"n1", {{"batch", {task(0, 5, 2048)}}, {"10", {task(0, 1, 1)}}, {"2", {task(0, 3600, 1024)}}}},
                       {"n2", {{"2", {task(1, 90'061, 1500)}}}}};
  controller->refuse_job[99] = ErrorCode::InvalidJobId;
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = "sstat";
  context.arguments = std::move(arguments);
  static const char* const kNothing[] = {nullptr};
  context.environment = kNothing;
  context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(controller); };
  SstatAnswer answer;
  answer.status = cmd_sstat(context);
  answer.out = out.text();
  answer.err = err.text();
  return answer;
}

TEST(Sstat, TheLowestStepUnlessToldOtherwise) {
  const auto one = sstat({"-n", "-P", "-j", "7", "-o", "jobid,ntasks"});
  EXPECT_EQ(one.out, "7.2|2\n") << one.err;
  EXPECT_EQ(sstat({"-nPa", "-j", "7", "-o", "jobid"}).out, "7.2\n7.10\n7.batch\n");
  EXPECT_EQ(sstat({"-nP", "-j", "7.batch,7.10", "-o", "jobid"}).out, "7.batch\n7.10\n");
}

TEST(Sstat, PeaksAndAveragesOverTasksOfAllNodes) {
  const auto answer = sstat(
      {"-nP", "-j", "7.2", "-o", "MaxRSS,maxrssnode,MaxRSSTask,AveRSS,MinCPU,MinCPUNode,AveCPU,MaxDiskRead,pids"});
  EXPECT_EQ(answer.out, "1.46M|n2|1|1.23M|01:00:00|n1|13:00:30|2.86M|100,101\n") << answer.err;
  EXPECT_EQ(sstat({"-nP", "--noconvert", "-j", "7.2", "-o", "maxrss"}).out, "1536000\n");
  EXPECT_EQ(sstat({"-ni", "-P", "-j", "7.2"}).out, "7.2|n[1-2]|100,101\n");
}

TEST(Sstat, Columns) {
  const auto answer = sstat({"-j", "7.2", "-o", "jobid%5,maxrss%-8,ntasks"});
  EXPECT_EQ(answer.out, "JobID MaxRSS     NTasks \n----- -------- -------- \n  7.2 1.46M           2 \n")
      << answer.err;
  EXPECT_EQ(sstat({"-p", "-j", "7.2", "-o", "jobid,ntasks"}).out, "JobID|NTasks|\n7.2|2|\n");
}

TEST(Sstat, WhatCannotBe) {
  EXPECT_EQ(sstat({}).status, 1);
  EXPECT_EQ(sstat({}).err, "sstat: error: You didn't give me any jobs to stat.\n");
  EXPECT_EQ(sstat({"-j", "7,x"}).out, "") << "nothing is shown then";
  EXPECT_EQ(sstat({"-j", "7,x"}).err, "sstat: fatal: Bad job/step specified: x\n");
  EXPECT_EQ(sstat({"-j", "7.x"}).err, "sstat: fatal: Bad step specified: 7\n");
  EXPECT_EQ(sstat({"-j", "7.x"}).status, 1);
  EXPECT_EQ(sstat({"-j", "7", "-o", "nonsense"}).err, "sstat: error: Invalid field requested: \"nonsense\"\n");
  const auto gone = sstat({"-n", "-j", "99"});
  EXPECT_EQ(gone.status, 0) << "as in Slurm";
  EXPECT_EQ(gone.err, "sstat: error: couldn't get steps for job 99\n");
  EXPECT_EQ(sstat({"-n", "-j", "7.5"}).status, 0);
  EXPECT_EQ(sstat({"-n", "-j", "7.5"}).err, "sstat: error: StepId=7.5 not found running.\n");
}

}  // namespace
}  // namespace spur::cli
