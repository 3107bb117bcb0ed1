// SPDX-License-Identifier: Apache-2.0
#include "stepd/job_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "model/distribution.h"

namespace spur::stepd {
namespace {

using model::ControllerLaunch;
using model::GresRequest;
using model::JobSpec;

struct Case {
  ControllerLaunch launch;
  std::shared_ptr<JobSpec> spec = std::make_shared<JobSpec>();
  std::vector<std::string> user;
  GpuVendor vendor = GpuVendor::Unknown;
  const StepLayout* step = nullptr;
  std::vector<std::string> of_node;
  bool preserve_size = false;

  Case() {
    spec->name = "nam";
    spec->uid = Uid{1000};
    spec->gid = Gid{100};
    spec->work_dir = "/home/alice";
    launch.run = {JobId{12}, Epoch{1}};
    launch.partition = "debug";
    launch.cluster_name = "baseline";
    launch.started = from_unix_seconds(1000);
    launch.parts = {part("n1", 1)};
  }
  static model::LaunchPart part(std::string node, std::uint16_t cpus, std::uint32_t tasks = 1) {
    model::LaunchPart out{.node = std::move(node), .cpus = {}, .memory_mib = 0, .tasks = tasks, .devices = {}};
    for (std::uint16_t i = 0; i < cpus; ++i) out.cpus.push_back(i);
    return out;
  }
  std::vector<std::string> make() {
    launch.spec = spec;
    return job_environment(
        {.launch = launch,
         .user_name = "alice",
         .vendor = vendor,
         .step = step,
         .of_node = of_node,
         .preserve_size = preserve_size},
        user);
  }
};

std::string value(const std::vector<std::string>& entries, std::string_view name) {
  const char* found = find_entry(entries, name);
  return found == nullptr ? "(unset)" : found;
}

struct Expected {
  const char* name;
  const char* value;
};
void expect_all(const std::vector<std::string>& entries, std::initializer_list<Expected> expected) {
  for (const auto& [name, wanted] : expected) EXPECT_EQ(value(entries, name), wanted) << name;
}

TEST(JobEnvironment, PlainJobIsAsMeasured) {
  Case c;
  expect_all(c.make(), {{"SLURM_JOB_ID", "12"},
                        {"SLURM_JOBID", "12"},
                        {"SPUR_JOB_ID", "12"},
                        {"SLURM_JOB_NAME", "nam"},
                        {"SLURM_JOB_USER", "alice"},
                        {"SLURM_JOB_UID", "1000"},
                        {"SLURM_JOB_GID", "100"},
                        {"SLURM_JOB_NODELIST", "n1"},
                        {"SLURM_NODELIST", "n1"},
                        {"SLURM_JOB_NUM_NODES", "1"},
                        {"SLURM_NNODES", "1"},
                        {"SLURM_JOB_CPUS_PER_NODE", "1"},
                        {"SLURM_TASKS_PER_NODE", "1"},
                        {"SLURM_CPUS_ON_NODE", "1"},
                        {"SLURM_JOB_PARTITION", "debug"},
                        {"SLURM_CLUSTER_NAME", "baseline"},
                        {"SLURM_SUBMIT_DIR", "/home/alice"},
                        {"SLURMD_NODENAME", "n1"},
                        {"SLURM_NODEID", "0"},
                        {"SLURM_GTIDS", "0"},
                        {"SLURM_PRIO_PROCESS", "0"},
                        {"SLURM_TOPOLOGY_ADDR", "n1"},
                        {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
                        {"ENVIRONMENT", "BATCH"},
                        {"HOSTNAME", "n1"},
                        {"TMPDIR", "/tmp"},
                        {"SLURM_JOB_START_TIME", "1000"},
                        {"SLURM_JOB_END_TIME", "(unset)"},
                        {"SLURM_NTASKS", "(unset)"},
                        {"SLURM_CPUS_PER_TASK", "(unset)"},
                        {"SLURM_MEM_PER_NODE", "(unset)"},
                        {"SLURM_RESTART_COUNT", "(unset)"},
                        {"SLURM_ARRAY_TASK_ID", "(unset)"},
                        {"SLURM_STEP_ID", "(unset)"},
                        {"SLURM_JOB_ACCOUNT", "(unset)"},
                        {"CUDA_VISIBLE_DEVICES", "(unset)"}});
}

TEST(JobEnvironment, SizesGivenAreShown) {
  Case c;
  c.spec->tasks = 7;
  c.spec->tasks_per_node = 2;
  c.spec->cpus_per_task = 2;
  c.spec->cpus_per_task_given = true;
  c.spec->memory_per_node_mib = 100;
  c.spec->account = "phys";
  c.spec->qos = "normal";
  c.spec->reservation = "maint";
  c.spec->overcommit = true;
  c.launch.restarts = 2;
  c.launch.time_limit = TimeLimit::of_minutes(5);
  c.launch.parts = {Case::part("n1", 4, 2), Case::part("n2", 4, 2), Case::part("n3", 4, 2), Case::part("x9", 2, 1)};
  expect_all(c.make(), {{"SLURM_JOB_NODELIST", "n[1-3],x9"},
                        {"SLURM_JOB_NUM_NODES", "4"},
                        {"SLURM_JOB_CPUS_PER_NODE", "4(x3),2"},
                        {"SLURM_TASKS_PER_NODE", "2(x3),1"},
                        {"SLURM_NTASKS", "7"},
                        {"SLURM_NPROCS", "7"},
                        {"SPUR_NTASKS", "7"},
                        {"SLURM_NTASKS_PER_NODE", "2"},
                        {"SLURM_CPUS_PER_TASK", "2"},
                        {"SLURM_CPUS_ON_NODE", "4"},
                        {"SLURM_MEM_PER_NODE", "100"},
                        {"SLURM_JOB_ACCOUNT", "phys"},
                        {"SLURM_JOB_QOS", "normal"},
                        {"SLURM_JOB_RESERVATION", "maint"},
                        {"SLURM_OVERCOMMIT", "1"},
                        {"SLURM_RESTART_COUNT", "2"},
                        {"SLURM_JOB_END_TIME", "1300"}});
}

TEST(JobEnvironment, ArrayTask) {
  Case c;
  c.launch.array_job = JobId{9};
  c.launch.array_task = 5;
  c.launch.array_count = 3;
  c.launch.array_min = 3;
  c.launch.array_max = 7;
  c.launch.array_step = 2;
  expect_all(c.make(), {{"SLURM_ARRAY_JOB_ID", "9"},
                        {"SLURM_ARRAY_TASK_ID", "5"},
                        {"SPUR_ARRAY_TASK_ID", "5"},
                        {"SLURM_ARRAY_TASK_COUNT", "3"},
                        {"SLURM_ARRAY_TASK_MIN", "3"},
                        {"SLURM_ARRAY_TASK_MAX", "7"},
                        {"SLURM_ARRAY_TASK_STEP", "2"}});
}

TEST(JobEnvironment, GpusByVendor) {
  struct Row {
    GpuVendor vendor;
    const char *cuda, *rocr, *ze;
  };
  for (const Row& row :
       {Row{GpuVendor::Unknown, "1,3,4", "1,3,4", "1,3,4"}, Row{GpuVendor::Nvidia, "1,3,4", "(unset)", "(unset)"},
        Row{GpuVendor::Amd, "(unset)", "1,3,4", "(unset)"}, Row{GpuVendor::Intel, "(unset)", "(unset)", "1,3,4"}}) {
    Case c;
    c.vendor = row.vendor;
    c.spec->gres = {{.name = "gpu", .type = "mi300x", .count = 2, .per = GresRequest::Per::Node},
                    {.name = "gpu", .type = "", .count = 8, .per = GresRequest::Per::Job},
                    {.name = "fpga", .type = "", .count = 1, .per = GresRequest::Per::Node}};
    c.launch.parts[0].devices = {{"gpu", "mi300x", {3, 4}}, {"fpga", "", {0}}, {"gpu", "", {1}}};
    expect_all(c.make(), {{"SLURM_JOB_GPUS", "1,3,4"},
                          {"SLURM_GPUS_ON_NODE", "3"},
                          {"SLURM_GPUS_PER_NODE", "(unset)"},  // sbatch tells it where it was asked for so
                          {"SLURM_GPUS", "8"},
                          {"GPU_DEVICE_ORDINAL", "1,3,4"},
                          {"CUDA_VISIBLE_DEVICES", row.cuda},
                          {"ROCR_VISIBLE_DEVICES", row.rocr},
                          {"ZE_AFFINITY_MASK", row.ze}});
  }
}

TEST(JobEnvironment, SharesOfGpus) {
  Case c;
  c.spec->gres = {{.name = "shard", .type = "", .count = 3, .per = GresRequest::Per::Node}};
  c.launch.parts[0].devices = {{"shard", "", {2}, {3}}};
  expect_all(c.make(), {{"SLURM_SHARDS_ON_NODE", "3"},
                        {"SLURM_GPUS_ON_NODE", "1"},
                        {"SLURM_JOB_GPUS", "2"},
                        {"CUDA_VISIBLE_DEVICES", "2"},
                        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "(unset)"}});
  c.launch.parts[0].devices = {{"mps", "", {1}, {150}}};
  c.of_node = {"SPUR_NODE_MPS=100,300"};
  expect_all(c.make(), {{"SLURM_SHARDS_ON_NODE", "(unset)"},
                        {"CUDA_VISIBLE_DEVICES", "1"},
                        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}});
}

TEST(JobEnvironment, TasksAreToldAsTheyAreDealtOut) {
  Case c;
  c.launch.parts = {Case::part("n1", 8, 8), Case::part("n2", 2, 1)};
  c.spec->tasks = 9;
  expect_all(c.make(), {{"SLURM_TASKS_PER_NODE", "7,2"}});
  c.spec->distribution.pack = true;
  expect_all(c.make(), {{"SLURM_TASKS_PER_NODE", "8,1"}, {"SLURM_DISTRIBUTION", "(unset)"}});
  c.launch.parts = {Case::part("n1", 16, 5), Case::part("n2", 16, 4)};
  expect_all(c.make(), {{"SLURM_TASKS_PER_NODE", "8,1"}});
}

TEST(JobEnvironment, ThreadsThatTasksMayNotUseAreNotTold) {
  Case c;
  c.launch.parts[0] = Case::part("n1", 6, 3);
  c.launch.parts[0].threads_per_core = 2;
  c.spec->tasks = 3;
  expect_all(c.make(), {{"SLURM_JOB_CPUS_PER_NODE", "6"}, {"SLURM_CPUS_ON_NODE", "6"}});
  c.spec->hint = model::Hint::NoMultithread;
  expect_all(c.make(), {{"SLURM_JOB_CPUS_PER_NODE", "3"}, {"SLURM_CPUS_ON_NODE", "3"}});
}

TEST(JobEnvironment, TheUsersEntriesStayAndAnOuterJobsGo) {
  Case c;
  c.user = {"FOO=bar",
            "PATH=/bin",
            "SLURM_JOB_ID=1",
            "SLURM_ARRAY_TASK_ID=7",
            "SLURM_RESTART_COUNT=1",
            "SLURM_STEP_ID=0",
            "SPUR_NTASKS=9",
            "TMPDIR=/scratch",
            "CUDA_VISIBLE_DEVICES=0",
            "SLURM_SUBMIT_DIR=/elsewhere",
            "SLURM_CONF=/x",
            "FOO=second",
            "SLURM_PRIO_PROCESS=5",
            "SLURM_EXPORT_ENV=ALL",
            "SLURM_PROCID=3"};
  c.of_node = {"SLURM_CONF=/etc/slurm.conf", "SPUR_CONTROLLER=unix:/run/x"};
  const auto made = c.make();
  expect_all(made, {{"FOO", "bar"},
                    {"PATH", "/bin"},
                    {"SLURM_JOB_ID", "12"},
                    {"SLURM_ARRAY_TASK_ID", "(unset)"},
                    {"SLURM_RESTART_COUNT", "(unset)"},
                    {"SLURM_STEP_ID", "(unset)"},
                    {"SLURM_PROCID", "(unset)"},
                    {"SPUR_NTASKS", "(unset)"},
                    {"TMPDIR", "/scratch"},
                    {"CUDA_VISIBLE_DEVICES", "0"},
                    {"SLURM_SUBMIT_DIR", "/elsewhere"},
                    {"SPUR_SUBMIT_DIR", "/elsewhere"},
                    {"SLURM_PRIO_PROCESS", "5"},
                    {"SLURM_EXPORT_ENV", "ALL"},
                    {"SLURM_CONF", "/etc/slurm.conf"},
                    {"SPUR_CONTROLLER", "unix:/run/x"}});
  // Each name once: a shell and getenv() need not agree on which of two counts.
  std::vector<std::string> names;
  for (const auto& entry : made) names.push_back(entry.substr(0, entry.find('=')));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << *std::ranges::adjacent_find(names);
}

TEST(JobEnvironment, StepTasks) {
  Case c;
  c.launch.parts = {Case::part("n2", 1, 1)};
  c.launch.this_part = 1;
  c.launch.whole = {.nodes = "n[1-2]", .node_count = 2, .cpus_per_node = "2,1"};
  c.user = {"SLURM_NTASKS=9", "HOSTNAME=n1", "ENVIRONMENT=BATCH", "SLURM_DISTRIBUTION=plane"};
  const StepLayout step{.step = 4,
                        .task_count = 5,
                        .nodes = {"n1", "n2"},
                        .tasks_per_node = {3, 2},
                        .node_id = 1,
                        .first_rank = 3,
                        .ranks = {1, 3},
                        .distribution = *model::parse_distribution("cyclic", {}),
                        .cpus_per_task = 2,
                        .umask = 077,
                        .cpus = {5},
                        .devices = {}};
  c.step = &step;
  expect_all(c.make(), {{"SLURM_STEP_ID", "4"},
                        {"SLURM_STEPID", "4"},
                        {"SPUR_STEP_ID", "4"},
                        {"SLURM_STEP_NODELIST", "n[1-2]"},
                        {"SLURM_STEP_NUM_NODES", "2"},
                        {"SLURM_STEP_NUM_TASKS", "5"},
                        {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                        {"SLURM_TASKS_PER_NODE", "3,2"},
                        {"SLURM_NTASKS", "5"},
                        {"SLURM_NPROCS", "5"},
                        {"SLURM_NODEID", "1"},
                        {"SLURM_GTIDS", "1,3"},
                        {"SLURM_CPUS_PER_TASK", "2"},
                        {"SLURM_UMASK", "0077"},
                        {"SLURMD_NODENAME", "n2"},
                        {"SLURM_JOB_NODELIST", "n[1-2]"},
                        {"SLURM_JOB_NUM_NODES", "2"},
                        {"SLURM_JOB_CPUS_PER_NODE", "2,1"},
                        {"SLURM_CPUS_ON_NODE", "1"},
                        {"SLURM_DISTRIBUTION", "cyclic"},
                        {"HOSTNAME", "n1"},
                        {"ENVIRONMENT", "BATCH"}});
  const auto task = task_entries(4, 1, 777);
  expect_all(task, {{"SLURM_PROCID", "4"}, {"SLURM_LOCALID", "1"}, {"SLURM_TASK_PID", "777"}, {"SPUR_PROCID", "4"}});
}

TEST(JobEnvironment, SplitLeavesOutWhatIsNoEntry) {
  using namespace std::string_literals;
  EXPECT_EQ(split_environment("A=1\0B=\0junk\0=x\0\0C=a=b\0D=last"s),
            (std::vector<std::string>{"A=1", "B=", "C=a=b", "D=last"}));
  EXPECT_TRUE(split_environment("").empty());
}

// srun -E: the shell of an allocation knows how large that is, not how large its own step.
TEST(JobEnvironment, NumbersOfNodesAndTasksMayBeTheUsers) {
  Case c;
  StepLayout layout;
  layout.nodes = {"n1"};
  layout.tasks_per_node = {1};
  c.step = &layout;
  c.user = {"SLURM_NTASKS=8", "SLURM_JOB_NUM_NODES=3", "SLURM_STEP_NUM_TASKS=9"};
  expect_all(c.make(), {{"SLURM_NTASKS", "1"}, {"SLURM_JOB_NUM_NODES", "1"}});
  c.preserve_size = true;
  expect_all(c.make(), {{"SLURM_NTASKS", "8"},
                        {"SPUR_NTASKS", "8"},
                        {"SLURM_JOB_NUM_NODES", "3"},
                        {"SLURM_NPROCS", "1"},
                        {"SLURM_STEP_NUM_TASKS", "1"}});
}

// As measured with Slurm 22.05: sbatch -N2 on a node with one thread a core and one with two.
TEST(JobEnvironment, WithoutANumberOfTasksTheCpusSay) {
  Case c;
  c.launch.parts = {Case::part("n1", 1), Case::part("n2", 4)};
  expect_all(c.make(), {{"SLURM_TASKS_PER_NODE", "1,4"}, {"SLURM_NTASKS", "(unset)"}});
  c.spec->cpus_per_task = 2;
  expect_all(c.make(), {{"SLURM_TASKS_PER_NODE", "1,2"}});
  c.spec->tasks = 2;
  expect_all(c.make(), {{"SLURM_TASKS_PER_NODE", "1(x2)"}});
}

}  // namespace
}  // namespace spur::stepd
