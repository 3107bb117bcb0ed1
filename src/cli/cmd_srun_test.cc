// SPDX-License-Identifier: Apache-2.0
// srun: layout of steps, output of tasks, exits, and the whole command against scripted events.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/fake_cluster.h"
#include "cli/srun_exits.h"
#include "cli/srun_layout.h"
#include "cli/srun_multi_prog.h"
#include "cli/srun_output.h"
#include "cli/step_runner.h"
#include "text/directives.h"

namespace spur::cli {
namespace {

// ---- layout

struct LayoutCase {
  const char* what;
  StepSize size;
  std::vector<std::size_t> nodes;
  std::vector<std::uint32_t> tasks_per_node;
  std::uint32_t tasks;
};

TEST(SrunLayout, ChoosesNodesAndTasks) {
  const std::vector<std::string> names = {"n1", "n2", "n3"};
  const std::vector<std::uint32_t> slots = {3, 1, 2};
  const LayoutCase cases[] = {
      {"as the job", {}, {0, 1, 2}, {3, 1, 2}, 6},
      {"all tasks of the job", {.tasks = 6, .nodes = {}, .required = {}, .excluded = {}}, {0, 1, 2}, {3, 1, 2}, 6},
      {"-n1", {.tasks = 1, .nodes = {}, .required = {}, .excluded = {}}, {0}, {}, 1},
      {"-n5", {.tasks = 5, .nodes = {}, .required = {}, .excluded = {}}, {0, 1, 2}, {}, 5},
      {"-N2", {.tasks = {}, .nodes = 2, .required = {}, .excluded = {}}, {0, 1}, {}, 2},
      {"-N1 -n4", {.tasks = 4, .nodes = 1, .required = {}, .excluded = {}}, {0}, {}, 4},
      {"--ntasks-per-node=2",
       {.tasks = {}, .nodes = {}, .tasks_per_node = 2, .required = {}, .excluded = {}},
       {0, 1, 2},
       {2, 2, 2},
       6},
      {"-N2 -n3 --ntasks-per-node=2",
       {.tasks = 3, .nodes = 2, .tasks_per_node = 2, .required = {}, .excluded = {}},
       {0, 1},
       {2, 1},
       3},
      {"-w n3", {.tasks = {}, .nodes = {}, .required = {"n3"}, .excluded = {}}, {2}, {}, 2},
      {"-w n3 -N2", {.tasks = {}, .nodes = 2, .required = {"n3"}, .excluded = {}}, {0, 2}, {}, 2},
      {"-x n1", {.tasks = {}, .nodes = {}, .required = {}, .excluded = {"n1"}}, {1, 2}, {}, 3},
  };
  for (const LayoutCase& test : cases) {
    const auto layout = lay_out_step(names, slots, test.size);
    ASSERT_TRUE(layout) << test.what;
    EXPECT_EQ(layout->nodes, test.nodes) << test.what;
    EXPECT_EQ(layout->tasks_per_node, test.tasks_per_node) << test.what;
    EXPECT_EQ(layout->tasks, test.tasks) << test.what;
    EXPECT_FALSE(layout->fewer_nodes) << test.what;
  }
  StepSize range{.tasks = {}, .nodes = 1, .max_nodes = 2, .required = {}, .excluded = {}};
  EXPECT_EQ(lay_out_step(names, slots, range)->nodes.size(), 2u);
  range.tasks = 1;
  EXPECT_EQ(lay_out_step(names, slots, range)->nodes.size(), 1u);
  EXPECT_TRUE(lay_out_step(names, slots, {.tasks = 1, .nodes = 2, .required = {}, .excluded = {}})->fewer_nodes);
  EXPECT_TRUE(
      lay_out_step(names, slots, {.tasks = 5, .nodes = 2, .tasks_per_node = 1, .required = {}, .excluded = {}})
          ->ignored_tasks_per_node);
  EXPECT_EQ(lay_out_step(names, slots, {.tasks = {}, .nodes = 4, .required = {}, .excluded = {}}).error().message,
            "Only allocated 3 nodes asked for 4");
  EXPECT_FALSE(lay_out_step(names, slots, {.tasks = {}, .nodes = {}, .required = {"n9"}, .excluded = {}}));
  EXPECT_FALSE(
      lay_out_step(names, slots, {.tasks = {}, .nodes = {}, .required = {}, .excluded = {"n1", "n2", "n3"}}));
}

TEST(SrunLayout, PutsTasksWhereTheListSays) {
  const std::vector<std::string> names = {"n1", "n2", "n3"};
  const std::vector<std::uint32_t> slots = {3, 1, 2};
  StepSize size;
  size.distribution.nodes = model::Distribution::Nodes::Arbitrary;
  size.required = {"n3", "n1", "n3", "n2"};
  auto layout = lay_out_step(names, slots, size);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->nodes, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(layout->tasks_per_node, (std::vector<std::uint32_t>{1, 1, 2}));
  EXPECT_EQ(layout->task_nodes, (std::vector<std::uint32_t>{2, 0, 2, 1}));
  size.tasks = 2;
  layout = lay_out_step(names, slots, size);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->nodes, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(layout->task_nodes, (std::vector<std::uint32_t>{1, 0}));
  size.tasks = 5;
  EXPECT_EQ(lay_out_step(names, slots, size).error().message, "You asked for 5 tasks but hostlist specified 4 nodes");
}

// ---- output

struct OutputCase {
  std::uint32_t tasks;
  bool label, unbuffered;
  std::optional<std::uint32_t> only;
  const char* text;
};

TEST(TaskOutput, KeepsLinesWhole) {
  const OutputCase cases[] = {
      {1, false, false, {}, "ab\ncde"},
      {2, false, false, {}, "ab\nXY\ncdeZ"},
      {2, false, true, {}, "aXb\ncY\nZde"},
      {2, true, false, {}, "0: ab\n1: XY\n0: cde\n1: Z\n"},
      {12, true, false, {}, " 0: ab\n 1: XY\n 0: cde\n 1: Z\n"},
      {2, false, false, 1, "XY\nZ"},
  };
  for (const OutputCase& test : cases) {
    Output out(-1);
    TaskOutput output(out, test.tasks, test.label, test.unbuffered, test.only);
    output.add(0, "a");
    if (test.tasks > 1) output.add(1, "X");
    output.add(0, "b\nc");
    if (test.tasks > 1) output.add(1, "Y\nZ");
    output.add(0, "de");
    output.finish();
    EXPECT_EQ(out.text(), test.text);
  }
}

// ---- exits

TEST(TaskExits, GroupsAndTakesTheHighest) {
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = "srun";
  TaskExits exits;
  exits.add({.rank = 0, .node = "n1", .code = 0});
  exits.report(context);
  EXPECT_EQ(err.text(), "");
  EXPECT_EQ(exits.status(), 0);
  for (const std::uint32_t rank : {1u, 2u, 5u}) exits.add({.rank = rank, .node = "n1", .code = 3});
  exits.add({.rank = 3, .node = "n2", .code = 3});
  exits.add({.rank = 4, .node = "n2", .code = 0, .signal = SIGSEGV, .core_dumped = true});
  exits.add({.rank = 6, .node = "n2", .code = 0, .signal = SIGKILL, .out_of_memory = true});
  exits.report(context);
  exits.report(context);
  EXPECT_EQ(err.text(),
            "srun: error: n1: tasks 1-2,5: Exited with exit code 3\n"
            "srun: error: n2: task 3: Exited with exit code 3\n"
            "srun: error: n2: task 6: Out Of Memory\n"
            "srun: error: n2: task 4: Segmentation fault (core dumped)\n");
  EXPECT_EQ(exits.status(), 139);
  EXPECT_EQ(exits.count(), 7u);
}

// ---- the command

// Hands out one scripted event per turn and writes down what it was asked to do.
class FakeRunner : public StepRunner {
 public:
  struct Seen {
    std::string address, input;
    wire::StepRequest request;
    bool input_ended = false;
    std::vector<int> signals;
    std::optional<std::uint32_t> input_rank;
  };
  using Event = std::function<void(wire::StepEvents& events, FakeRunner& runner)>;
  FakeRunner(std::vector<Event> script, Status result, Seen& seen)
      : script_(std::move(script)), result_(std::move(result)), seen_(seen) {}

  Status start(const std::string& address, const wire::StepRequest& request, wire::StepEvents events) override {
    seen_.address = address;
    seen_.request = request;
    events_ = std::move(events);
    return {};
  }
  bool turn(int input, Duration) override {
    if (input >= 0 && !seen_.input_ended) return true;
    if (next_ < script_.size()) script_[next_++](events_, *this);
    return false;
  }
  bool ended() const override { return next_ >= script_.size(); }
  Status result() const override { return result_; }
  void send_input(std::string_view data, std::optional<std::uint32_t> rank) override {
    seen_.input.append(data);
    seen_.input_rank = rank;
  }
  void end_input() override { seen_.input_ended = true; }
  bool input_is_full() const override { return false; }
  void send_signal(int signal) override { seen_.signals.push_back(signal); }
  void resize(std::uint32_t, std::uint32_t) override {}

 private:
  std::vector<Event> script_;
  std::size_t next_ = 0;
  Status result_;
  Seen& seen_;
  wire::StepEvents events_;
};

class Srun : public testing::Test {
 protected:
  using Event = FakeRunner::Event;
  static Event started() {
    return [](wire::StepEvents& events, FakeRunner&) { events.started("n1", 0, {}); };
  }
  static Event output(std::uint32_t rank, const char* text, bool is_stderr = false) {
    return [=](wire::StepEvents& events, FakeRunner&) { events.output(rank, text, is_stderr); };
  }
  static Event exit(std::uint32_t rank, std::uint32_t code, std::uint32_t signal = 0) {
    return [=](wire::StepEvents& events, FakeRunner&) {
      events.exited({.rank = rank, .node = "n1", .code = code, .signal = signal});
    };
  }
  static Event raise(int signal) {
    return [=](wire::StepEvents&, FakeRunner&) { ::raise(signal); };
  }

  int run(const std::string& line, std::vector<Event> script, std::vector<std::string> environment = {},
          const char* input = "/dev/null") {
    auto controller = std::make_unique<FakeController>();
    fill(*controller);
    FakeJob job(101, "x");
    if (starts_) job.running(seconds(1), {{0, {0, 1}}});
    job.job->reason = reason_;
    controller->job_table.jobs.push_back(job.done());
    controller->on_wait = on_wait_;
    controller->ticket = {"ticket", {"n1", "n2"}, {"host1:1", "host2:2"}, slots_};
    controller->refuse_job[99999] = ErrorCode::InvalidJobId;
    controller->site = defaults_;
    Output out(-1), err(-1);
    Context context(out, err);
    context.program = "srun";
    context.arguments = text::split_directive(line).value();
    std::vector<const char*> pointers;
    for (const std::string& entry : environment) pointers.push_back(entry.c_str());
    pointers.push_back(nullptr);
    context.environment = pointers.data();
    context.input = ::open(input, O_RDONLY);
    FakeController* asked = controller.get();
    context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(controller); };
    context.make_step_runner = [&] { return std::make_unique<FakeRunner>(std::move(script), result_, seen_); };
    context.now = [this] { return now_ += milliseconds(1); };
    seen_ = {};
    const int status = cmd_srun(context);
    ::close(context.input);
    out_ = out.text();
    err_ = err.text();
    calls_ = controller ? std::vector<std::string>() : asked->calls;
    spec_ = controller || asked->specs.empty() ? model::JobSpec() : asked->specs.back();
    return status;
  }

  bool starts_ = true;
  model::Reason reason_ = model::Reason::Resources;
  std::vector<std::uint32_t> slots_ = {1, 1};
  std::function<void(FakeController&)> on_wait_;
  config::CommandDefaults defaults_;
  Status result_;
  Time now_ = kTestNow;
  FakeRunner::Seen seen_;
  std::string out_, err_;
  std::vector<std::string> calls_;
  model::JobSpec spec_;
};

TEST_F(Srun, RunsInAFreshAllocation) {
  EXPECT_EQ(run("-N2 -n2 -t5 /bin/echo 'a b'",
                {started(), output(0, "hi\n"), output(1, "err\n", true), exit(0, 0), exit(1, 0)}, {"A=1", "HOME=/h"}),
            0);
  EXPECT_EQ(out_, "hi\n");
  EXPECT_EQ(err_, "err\n");
  EXPECT_EQ(calls_, (std::vector<std::string>{"ticket 101", "complete 101 0:0"}));
  EXPECT_EQ(spec_.kind, model::JobKind::Interactive);
  EXPECT_EQ(spec_.name, "echo");
  EXPECT_EQ(spec_.min_nodes, 2u);
  EXPECT_EQ(spec_.time_limit, TimeLimit::of_minutes(5));
  EXPECT_EQ(seen_.address, "host1:1");
  EXPECT_EQ(seen_.request.ticket, "ticket");
  EXPECT_EQ(seen_.request.arguments, (std::vector<std::string>{"/bin/echo", "a b"}));
  EXPECT_EQ(seen_.request.nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(seen_.request.tasks, 2u);
  EXPECT_EQ(seen_.request.environment, (std::vector<std::string>{"A=1", "HOME=/h",
                                     "SLURM_PRIO_PROCESS=" + std::to_string(::getpriority(PRIO_PROCESS, 0)),
                                     "SRUN_DEBUG=3", "SLURM_JOB_NAME=echo"}));
  EXPECT_TRUE(seen_.input_ended);
}

TEST_F(Srun, TakesWhatTheSiteHasChosen) {
  const std::vector<Event> script = {started(), exit(0, 0), exit(1, 0)};
  defaults_.mpi = "pmix_v4";
  EXPECT_EQ(run("-n2 x", script), 0);
  EXPECT_EQ(seen_.request.mpi, "pmix");
  EXPECT_EQ(run("-n2 --mpi=none x", script), 0);
  EXPECT_EQ(seen_.request.mpi, "");
  EXPECT_EQ(run("-n2 x", script, {"SLURM_MPI_TYPE=pmi2"}), 0);
  EXPECT_EQ(seen_.request.mpi, "pmi2");
  defaults_.mpi = "none";
  EXPECT_EQ(run("-n2 x", script), 0);
  EXPECT_EQ(seen_.request.mpi, "");
}

struct ExitCase {
  std::uint32_t code, signal;
  int status;
  const char* message;
  const char* given_back;
};
TEST_F(Srun, PassesExitCodesOn) {
  const ExitCase cases[] = {
      {0, 0, 0, "", "complete 101 0:0"},
      {3, 0, 3, "srun: error: n1: task 0: Exited with exit code 3\n", "complete 101 3:0"},
      {0, SIGKILL, 137, "srun: error: n1: task 0: Killed\nsrun: Force Terminated StepId=101.0\n", "complete 101 0:9"},
      {0, SIGSEGV, 139, "srun: error: n1: task 0: Segmentation fault\n", "complete 101 0:11"},
  };
  for (const ExitCase& test : cases) {
    EXPECT_EQ(run("x", {started(), exit(0, test.code, test.signal)}), test.status);
    EXPECT_EQ(err_, test.message);
    EXPECT_EQ(calls_.back(), test.given_back);
  }
}

TEST_F(Srun, RunsAStepOfTheJobAround) {
  EXPECT_EQ(run("-l -n2 x", {started(), output(1, "b\n"), output(0, "a\n"), exit(0, 0), exit(1, 0)},
                {"SLURM_JOB_ID=55", "SLURM_JOB_NAME=outer", "SLURM_NTASKS=8", "SLURM_JOB_NUM_NODES=2"}),
            0);
  EXPECT_EQ(out_, "1: b\n0: a\n");
  EXPECT_EQ(calls_, std::vector<std::string>{"ticket 55"});  // nothing submitted, nothing given back
  EXPECT_EQ(seen_.request.name, "x");
  EXPECT_EQ(seen_.request.tasks, 2u);
  EXPECT_EQ(run("--jobid=99999 x", {}), 1);
  EXPECT_EQ(err_,
            "srun: error: Unable to confirm allocation for job 99999: Invalid job id specified\n"
            "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999\n");
  EXPECT_EQ(run("-N3 x", {}, {"SLURM_JOB_ID=55"}), 1);
  EXPECT_EQ(err_, "srun: error: Only allocated 2 nodes asked for 3\n");
}

// The variable is as old as the job.
TEST_F(Srun, GoesOnWithTheNodesThatTheJobStillHas) {
  EXPECT_EQ(run("x", {started(), exit(0, 0), exit(1, 0)}, {"SLURM_JOB_ID=55", "SLURM_JOB_NUM_NODES=3"}), 0);
  EXPECT_EQ(err_, "srun: error: SLURM_JOB_NUM_NODES environment variable conflicts with allocated node count (3 != 2).\n");
  EXPECT_EQ(seen_.request.tasks, 2u);
  EXPECT_EQ(run("-n2 x", {started(), exit(0, 0), exit(1, 0)}, {"SLURM_JOB_ID=55", "SLURM_JOB_NUM_NODES=3"}), 0);
  EXPECT_EQ(err_, "srun: Warning: can't run 2 processes on 3 nodes, setting nnodes to 2\n");
  EXPECT_EQ(run("-N3 x", {}, {"SLURM_JOB_ID=55", "SLURM_JOB_NUM_NODES=3"}), 1);
  EXPECT_EQ(err_, "srun: error: Only allocated 2 nodes asked for 3\n");
}

TEST_F(Srun, ForwardsInput) {
  const std::string file = std::filesystem::temp_directory_path() / fmt::format("spur-srun-in-{}", ::getpid());
  std::ofstream(file) << "line\n";
  EXPECT_EQ(run("cat", {started(), exit(0, 0)}, {}, file.c_str()), 0);
  EXPECT_EQ(seen_.input, "line\n");
  EXPECT_FALSE(seen_.input_rank);
  EXPECT_TRUE(seen_.input_ended);
  EXPECT_EQ(run("-n2 -i 1 cat", {started(), exit(0, 0), exit(1, 0)}, {}, file.c_str()), 0);
  EXPECT_EQ(seen_.input_rank, 1u);
  EXPECT_EQ(run("-i none cat", {started(), exit(0, 0)}, {}, file.c_str()), 0);
  EXPECT_EQ(seen_.input, "");
  EXPECT_EQ(run("-i " + file + " cat", {started(), exit(0, 0)}), 0);
  EXPECT_EQ(seen_.input, "line\n");
  EXPECT_EQ(run("-i /nonexistent/x cat", {started(), exit(0, 0)}), 1);
  EXPECT_EQ(err_, "srun: error: Could not open stdin file: No such file or directory\n");
  std::filesystem::remove(file);
}

TEST_F(Srun, WritesFiles) {
  const std::string base = std::filesystem::temp_directory_path() / fmt::format("spur-srun-{}", ::getpid());
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::vector<Event> script = {started(), output(0, "out\n"), output(0, "err\n", true), exit(0, 0)};
  EXPECT_EQ(run("-o " + base + "-%j.out x", script), 0);
  EXPECT_EQ(read(base + "-101.out"), "out\nerr\n");
  EXPECT_EQ(out_ + err_, "");
  EXPECT_EQ(run("-o " + base + "-101.out -e " + base + ".err --open-mode=append x", script), 0);
  EXPECT_EQ(read(base + "-101.out"), "out\nerr\nout\n");
  EXPECT_EQ(read(base + ".err"), "err\n");
  // A file for each task is the nodes' to open.
  EXPECT_EQ(run("-o " + base + "-%t x", {started(), exit(0, 0)}), 0);
  EXPECT_EQ(seen_.request.std_out, base + "-%t");
  std::filesystem::remove(base + "-101.out");
  std::filesystem::remove(base + ".err");
}

TEST_F(Srun, SaysWhenItHasToWait) {
  starts_ = false;
  on_wait_ = [](FakeController& controller) {
    FakeJob job(101, "x");
    job.running(seconds(0), {{0, {0}}});
    controller.job_table.jobs.back() = job.done();
  };
  EXPECT_EQ(run("x", {started(), exit(0, 0)}), 0);
  EXPECT_EQ(err_, "srun: job 101 queued and waiting for resources\nsrun: job 101 has been allocated resources\n");
  reason_ = model::Reason::PartitionNodeLimit;
  on_wait_ = [](FakeController& controller) {
    FakeJob job(101, "x");
    job.job->state = model::JobState::Cancelled;
    controller.job_table.jobs.back() = job.done();
  };
  EXPECT_EQ(run("-N9 x", {}), 1);
  EXPECT_EQ(
      err_,
      "srun: Requested partition configuration not available now\nsrun: job 101 queued and waiting for resources\n"
      "srun: Job allocation 101 has been revoked\n");
  EXPECT_EQ(run("-Q --immediate=1 x", {}), 1);
  EXPECT_EQ(err_, "srun: error: Unable to allocate resources: Requested nodes are busy\n");
}

TEST_F(Srun, GivesUpTheAllocationWhenInterrupted) {
  starts_ = false;
  on_wait_ = [](FakeController&) { ::raise(SIGINT); };  // the wait comes back with the job still pending
  EXPECT_EQ(run("x", {}), 1);
  EXPECT_EQ(err_, "srun: job 101 queued and waiting for resources\nsrun: Job allocation 101 has been revoked\n");
  EXPECT_EQ(calls_, (std::vector<std::string>{"wait 101 start", "cancel 101 signal=0"}));
}

TEST_F(Srun, HandlesSignals) {
  EXPECT_EQ(run("-n2 x", {started(), exit(1, 0), raise(SIGINT), raise(SIGINT), exit(0, 0, SIGINT)}), 130);
  EXPECT_EQ(seen_.signals, (std::vector<int>{SIGINT, SIGKILL}));
  EXPECT_EQ(err_,
            "srun: interrupt (one more within 1 sec to abort)\nsrun: StepId=101.0 task 0: running\n"
            "srun: StepId=101.0 task 1: exited\n"
            "srun: sending Ctrl-C to StepId=101.0\nsrun: forcing job termination\n");
  EXPECT_EQ(run("-X x", {started(), raise(SIGINT), exit(0, 0)}), 0);
  EXPECT_EQ(seen_.signals, std::vector<int>{SIGINT});
  EXPECT_EQ(run("--quit-on-interrupt x", {started(), raise(SIGINT), exit(0, 0)}), 0);
  EXPECT_EQ(seen_.signals, (std::vector<int>{SIGINT, SIGKILL}));
  EXPECT_EQ(run("x", {started(), raise(SIGUSR1), raise(SIGTERM), exit(0, 0)}), 0);
  EXPECT_EQ(seen_.signals, (std::vector<int>{SIGUSR1, SIGKILL}));
  EXPECT_EQ(run("x", {started(), raise(SIGALRM), raise(SIGCONT), exit(0, 0)}), 0);  // are srun's own
  EXPECT_EQ(seen_.signals, std::vector<int>{});
  EXPECT_EQ(err_, "srun: got SIGCONT\n");
  EXPECT_EQ(run("x", {started(), raise(SIGQUIT), exit(0, 0, SIGKILL)}), 137);
  EXPECT_EQ(err_,
            "srun: Quit\nsrun: forcing job termination\nsrun: error: n1: task 0: Killed\n"
            "srun: Force Terminated StepId=101.0\n");
}

TEST_F(Srun, TellsOfTasksThatEndTogetherInOneLine) {
  EXPECT_EQ(run("-n4 x", {started(), exit(0, 7), exit(2, 7), exit(1, 0), exit(3, 7)}), 7);
  EXPECT_EQ(err_, "srun: error: n1: tasks 0,2-3: Exited with exit code 7\n");
}

TEST_F(Srun, TellsOnceThatAStepIsAborted) {
  const Event notice = [](wire::StepEvents& events, FakeRunner&) {
    events.notice("Job step aborted: Waiting up to 32 seconds for job step to finish.");
  };
  EXPECT_EQ(run("x", {started(), notice, notice, exit(0, 0, SIGKILL)}), 137);
  EXPECT_EQ(err_,
            "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
            "srun: error: n1: task 0: Killed\n");
}

TEST_F(Srun, SaysWhatWentWrong) {
  result_ = fail(ErrorCode::StepTooLarge, "More processors requested than permitted");
  EXPECT_EQ(run("-n5 x", {[](wire::StepEvents&, FakeRunner&) {}}, {"SLURM_JOB_ID=57"}), 1);
  EXPECT_EQ(err_, "srun: error: Unable to create step for job 57: More processors requested than permitted\n");
  const auto refuses = [](const char* node) -> Event {
    return [=](wire::StepEvents& events, FakeRunner&) {
      events.failed(node, {ErrorCode::InvalidArgument, "cannot do that"});
    };
  };
  EXPECT_EQ(run("x", {refuses("n1"), refuses("n2")}), 1);
  EXPECT_EQ(err_, "srun: error: Unable to create step for job 101: cannot do that\n");
  result_ = fail(ErrorCode::Unreachable, "the agent of n1 is gone");
  EXPECT_EQ(run("x", {started()}), 1);
  EXPECT_EQ(err_, "srun: error: the agent of n1 is gone\n");
  EXPECT_EQ(calls_.back(), "complete 101 1:0");
}

struct ErrorCase {
  const char* line;
  int status;
  const char* message;
};
TEST_F(Srun, RefusesBadLines) {
  const ErrorCase cases[] = {
      {"", 1, "srun: fatal: No command given to execute.\n"},
      {"-t banana x", 255, "srun: error: Invalid --time specification\n"},
      {"-n0 x", 1, "srun: error: Invalid numeric value \"0\" for --ntasks.\n"},
      {"--bogus x", 255, "srun: unrecognized option '--bogus'\nTry \"srun --help\" for more information\n"},
      {"-p nosuch x", 1,
       "srun: error: invalid partition specified: nosuch\nsrun: error: Unable to allocate resources: Invalid "
       "partition name specified\n"},
      {"--mpi=lam x", 1, "srun: error: Invalid MPI type 'lam', --mpi=list for acceptable types\n"},
      {"--cpu-bind=foo x", 1, "srun: error: unrecognized --cpu-bind argument \"foo\"\n"},
      {"--gpu-bind=nearest x", 255, "srun: error: Invalid --gpu-bind argument: nearest\n"},
      {"--multi-prog /nonexistent", 1, "srun: error: Could not open multi_prog config file /nonexistent\n"},
      {"--jobid=x x", 1, "srun: error: Invalid numeric value \"x\" for --jobid.\n"},
  };
  for (const ErrorCase& test : cases) {
    EXPECT_EQ(run(test.line, {}), test.status) << test.line;
    EXPECT_EQ(err_, test.message) << test.line;
  }
}

TEST(MultiProg, Files) {
  const auto parsed = parse_multi_prog("# which does what\n0 a b  c\n\n2-3 d %t %o\n* e\n", "f", 5);
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 3u);
  EXPECT_EQ((*parsed)[0].arguments, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ((*parsed)[1].ranks.to_string(), "2-3");
  EXPECT_EQ((*parsed)[2].ranks.to_string(), "0-4");  // those that are left, counted from the first
  EXPECT_EQ(parse_multi_prog("0 a\n", "f", 2).error(), "Configuration file f invalid, no record for task id 1");
  EXPECT_EQ(parse_multi_prog("0 a\n0-1 b\n", "f", 2).error(),
            "Duplicate record for task 0\nLine 2 of configuration file f invalid");
  EXPECT_EQ(parse_multi_prog("foo a\n", "f", 2).error(),
            "Invalid task range specification (foo)\nLine 1 of configuration file f invalid");
  EXPECT_EQ(parse_multi_prog("0\n", "f", 1).error(), "Line 1 of configuration file f invalid");
  EXPECT_EQ(parse_multi_prog("0-5 a\n", "f", 2).error(),
            "Invalid task id, 5 >= ntasks\nLine 1 of configuration file f invalid");
  EXPECT_EQ(parse_multi_prog("1-0 a\n", "f", 2).error(),
            "Invalid task range, 1-0\nLine 1 of configuration file f invalid");
  const auto joined = parse_multi_prog("0 a \\\nb\n1 c\n", "f", 2);
  ASSERT_TRUE(joined);
  EXPECT_EQ((*joined)[0].arguments, (std::vector<std::string>{"a", "b"}));
}

TEST_F(Srun, SaysThatTasksCannotBeBound) {
  const auto refused = [](wire::StepEvents& events, FakeRunner&) {
    events.not_bound("n1", 3, "CPU binding outside.");
  };
  EXPECT_EQ(run("--cpu-bind=map_cpu:99 x", {refused}), 192);
  EXPECT_EQ(err_,
            "srun: error: CPU binding outside.\n"
            "srun: error: Task launch for StepId=101.3 failed on node n1: Unable to satisfy cpu bind request\n"
            "srun: error: Application launch failed: Unable to satisfy cpu bind request\n"
            "srun: Job step aborted\n");
}

TEST_F(Srun, SaysThatAStepWaits) {
  const auto busy = [](wire::StepEvents& events, FakeRunner&) { events.waiting(ErrorCode::NodesBusy); };
  EXPECT_EQ(run("x", {busy, busy, started(), exit(0, 0)}), 0);
  EXPECT_EQ(err_,
            "srun: Job 101 step creation temporarily disabled, retrying (Requested nodes are busy)\n"
            "srun: Step created for StepId=101.0\n");
  now_ = kTestNow;
  const auto later = [this](wire::StepEvents&, FakeRunner&) { now_ += seconds(2); };
  EXPECT_EQ(run("-I x", {busy, later, started(), exit(0, 0)}), 1);
  EXPECT_EQ(err_, "srun: error: Unable to create step for job 101: Requested nodes are busy\n");
}

TEST_F(Srun, KillsTheRestAfterTheWait) {
  const auto wait = [](wire::StepEvents&, FakeRunner&) {};
  now_ = kTestNow;
  EXPECT_EQ(run("-n2 -W1 x", {started(), exit(0, 0), wait,
                              [this](wire::StepEvents&, FakeRunner&) { now_ += seconds(2); }, exit(1, 0, SIGKILL)}),
            137);
  EXPECT_EQ(seen_.signals, std::vector<int>{SIGKILL});
  EXPECT_TRUE(err_.starts_with(
      "srun: First task exited 1s ago\nsrun: StepId=101.0 task 1: running\nsrun: StepId=101.0 task 0: exited\n"
      "srun: Terminating StepId=101.0\n"))
      << err_;
}

// What the site says counts where the line says nothing.
TEST_F(Srun, TakesWhatItDoesNotSayFromTheSite) {
  defaults_.kill_on_bad_exit = true;
  defaults_.wait_seconds = 30;
  defaults_.append_output = true;
  defaults_.task_binding = "cores";
  defaults_.limits = {"CORE"};
  EXPECT_EQ(run("-n1 hostname", {started(), exit(0, 0)}), 0);
  EXPECT_TRUE(seen_.request.kill_on_bad_exit);
  EXPECT_TRUE(seen_.request.open_append);
  EXPECT_EQ(seen_.request.cpu_bind, "cores");
  ASSERT_EQ(seen_.request.rlimits.size(), 1u);
  EXPECT_EQ(seen_.request.rlimits[0].resource, RLIMIT_CORE);
  EXPECT_EQ(spec_.rlimits.size(), 1u);

  EXPECT_EQ(run("-n1 -K0 --open-mode=truncate --cpu-bind=none --propagate=STACK,CORE hostname",
                {started(), exit(0, 0)}),
            0);
  EXPECT_FALSE(seen_.request.kill_on_bad_exit);
  EXPECT_FALSE(seen_.request.open_append);
  EXPECT_EQ(seen_.request.cpu_bind, "none");
  EXPECT_EQ(seen_.request.rlimits.size(), 2u);

  defaults_.limits = {"ALL"};
  defaults_.limits_except = {"CORE", "MEMLOCK"};
  EXPECT_EQ(run("-n1 hostname", {started(), exit(0, 0)}), 0);
  EXPECT_EQ(seen_.request.rlimits.size(), 8u);
  for (const auto& limit : seen_.request.rlimits) EXPECT_NE(limit.resource, RLIMIT_CORE);
  EXPECT_NE(std::ranges::find_if(seen_.request.environment,
                                 [](const auto& entry) { return entry.starts_with("SLURM_PRIO_PROCESS="); }),
            seen_.request.environment.end());
}

// The shell of salloc with use_interactive_step.
TEST_F(Srun, AnInteractiveStepIsOneTaskOnTheFirstNodeBesideAllOthers) {
  slots_ = {4, 4};
  EXPECT_EQ(run("--interactive --preserve-env --pty sh", {started(), exit(0, 0)},
                {"SLURM_JOB_ID=101", "SLURM_NTASKS=8", "SLURM_JOB_NUM_NODES=2"}),
            0);
  EXPECT_EQ(seen_.request.tasks, 1u);
  EXPECT_TRUE(seen_.request.overlap);
  EXPECT_TRUE(seen_.request.preserve_environment);
  ASSERT_FALSE(seen_.request.nodes.empty());
  EXPECT_EQ(seen_.request.nodes[0], "n1");
  EXPECT_EQ(seen_.request.node_count == 0 ? seen_.request.nodes.size() : seen_.request.node_count, 1u);
}

}  // namespace
}  // namespace spur::cli
