// SPDX-License-Identifier: Apache-2.0
#include "cli/steps.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_cluster.h"

namespace spur::cli {
namespace {

struct StepAnswer {
  int status = 0;
  std::string out, err;
};

// Jobs 7 and 9, which is task 3 of array 8, run on n1; 7 also on n2.
std::unique_ptr<FakeController> cluster() {
  auto controller = std::make_unique<FakeController>();
  auto node = std::make_shared<model::Node>();
  node->name = "n1";
  node->address = "a1";
  controller->cluster_table.nodes = {node};
  controller->job_table.node_names = {"n1"};
  const auto job = [](std::uint32_t id) {
    auto out = std::make_shared<model::Job>();
    out->id = JobId(id);
    out->state = model::JobState::Running;
    out->spec = std::make_shared<model::JobSpec>();
    auto allocation = std::make_shared<model::Allocation>();
    allocation->nodes.emplace_back();
    out->allocation = allocation;
    return out;
  };
  auto task = job(9);
  task->array_job = JobId(8);
  task->array_task = 3;
  controller->job_table.jobs = {job(7), task};
  const auto step = [](std::uint32_t id, std::uint32_t number, std::string name, std::string nodes) {
    wire::StepInfo out;
    out.job = JobId(id);
    out.step = number;
    out.name = std::move(name);
    out.partition = "debug";
    out.nodes = std::move(nodes);
    out.tasks = number + 1;
    out.cpus = 4;
    out.started = Time(seconds(1000 - number));
    return out;
  };
  controller->running_steps = {step(7, 10, "wide", "n[1-2]"), step(7, 2, "small", "n1"), step(9, 0, "task", "n1"),
                               step(66, 0, "strange", "n1")};
  controller->running_steps[1].time_limit = TimeLimit::of_minutes(5);
  return controller;
}

StepAnswer squeue(std::vector<std::string> arguments) {
  auto controller = cluster();
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = "squeue";
  context.arguments = std::move(arguments);
  static const char* const kNothing[] = {nullptr};
  context.environment = kNothing;
  context.now = [] { return Time(seconds(1061)); };
  context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(controller); };
  StepAnswer answer;
  answer.status = cmd_squeue(context);
  answer.out = out.text();
  answer.err = err.text();
  return answer;
}

TEST(Steps, TheUsualTable) {
  EXPECT_EQ(squeue({"-s"}).out,
            "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
            "            7.2    small     debug     root      1:03 n1\n"
            "           7.10     wide     debug     root      1:11 n[1-2]\n"
            "          8_3.0     task     debug     root      1:01 n1\n");
}

TEST(Steps, Columns) {
  EXPECT_EQ(squeue({"-hs", "-o", "%i|%A|%l|%U|%b"}).out,
            "7.2|3|5:00|0|(null)\n7.10|11|UNLIMITED|0|(null)\n8_3.0|1|UNLIMITED|0|(null)\n");
  EXPECT_EQ(squeue({"-s", "-S-i", "-O", "jobid:4,stepid:.7,arraytaskid:5,numcpus"}).out,
            "JOB_ STEPIDARRAYNUM_CPUS            \n"
            "9     8_3.03    4                   \n"
            "7      7.10N/A  4                   \n"
            "7       7.2N/A  4                   \n");
  EXPECT_TRUE(squeue({"-s", "-o", "%all"})
                  .out.starts_with(
                      "TRES_PER_JOB|STEPID|NAME|TIME_LIMIT|USER|TASKS|TIME|NODELIST|PARTITION|START_TIME|UID|\n"));
  const auto odd = squeue({"-hs7.2", "-o", "%i %t"});
  EXPECT_EQ(odd.err, "squeue: error: Invalid job step format specification: t\n");
  EXPECT_EQ(odd.out, "7.2 %t\n");
}

TEST(Steps, WhichAndInWhichOrder) {
  EXPECT_EQ(squeue({"-hs7.2,8_3.0", "-o%i"}).out, "7.2\n8_3.0\n");
  EXPECT_EQ(squeue({"-h", "-s", "9.0", "-o%i"}).out, "8_3.0\n");
  EXPECT_EQ(squeue({"-hs", "-SN,-j,?", "-o%i"}).out, "8_3.0\n7.2\n7.10\n");
  EXPECT_EQ(squeue({"-hs", "-S-M", "-o%i"}).out, "7.10\n7.2\n8_3.0\n");
  for (const char* bad : {"7", "x"}) {
    const auto answer = squeue({"-s", bad});
    EXPECT_EQ(answer.status, 1);
    EXPECT_EQ(answer.err, std::string("squeue: error: Invalid job_step id: ") + bad + ".??\n");
  }
  EXPECT_EQ(squeue({"-s7.x"}).err, "squeue: error: Invalid job_step id: 7.x\n");
}

TEST(Steps, NamesOfSteps) {
  for (const char* bad : {"", ".", "x", "7.", "7_", "7_x.0", "7+.1", "7.0.1", "-1"})
    EXPECT_FALSE(parse_step_pick(bad)) << bad;
  EXPECT_EQ(parse_step_pick("7+2.1")->het_offset, 2u);
  EXPECT_FALSE(parse_step_pick("7_2")->step);
}

}  // namespace
}  // namespace spur::cli
