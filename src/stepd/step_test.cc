// SPDX-License-Identifier: Apache-2.0
// Steps through the real launcher and the real spurstepd: the test is the agent's end of the stream.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <filesystem>
#include <set>

#include "spur/v1/agent.pb.h"
#include "stepd/test_agent.h"
#include "wire/grpc_framing.h"

namespace spur::stepd {
namespace {

class Steps : public TestAgent {
 protected:
  void SetUp() override {
    TestAgent::SetUp();
    auto spec = script("");
    spec->kind = model::JobKind::Interactive;
    spec->script = nullptr;
    job_ = launch_of(42, spec);
    launch(job_);
  }

  static v1::StepStart command(const std::string& shell, std::uint32_t tasks = 1) {
    v1::StepStart start = program({"/bin/bash", "-c", shell}, tasks);
    return start;
  }
  static v1::StepStart program(const std::vector<std::string>& argv, std::uint32_t tasks = 1) {
    v1::StepStart start;
    for (const auto& a : argv) start.add_argv(a);
    start.add_env("PATH=/usr/bin:/bin");
    start.set_cwd("/");
    start.set_ntasks(tasks);
    start.add_nodes("n1");
    start.add_tasks_per_node(tasks);
    start.set_umask(022);
    return start;
  }

  void begin(const v1::StepStart& start) {
    open_stream();
    v1::StepInput first;
    *first.mutable_start() = start;
    tell(first);
  }
  void open_stream() {
    heard_ = {};
    reader_ = wire::FrameReader(16u << 20);
    bool ready = false;
    launcher_->start_step(job_, 3, [&](Result<os::UniqueFd> socket) {
      ASSERT_TRUE(socket) << socket.error().message;
      stream_ = std::move(*socket);
      ready = true;
    });
    wait_for([&] { return ready; });
  }
  void tell(const v1::StepInput& input) { tell_bytes(input.SerializeAsString()); }
  void tell_bytes(const std::string& message) {
    std::string frame;
    wire::append_frame(message, &frame);
    std::string_view rest = frame;
    while (!rest.empty()) {
      const ssize_t put = ::send(stream_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (put < 0 && (errno == EPIPE || errno == ECONNRESET))
        return;  // it is over; its last words can still be heard
      if (put < 0) {
        ASSERT_EQ(errno, EAGAIN);
        listen();
        continue;
      }
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  void tell_stdin(const std::string& data, bool eof, std::optional<std::uint32_t> task = {}) {
    v1::StepInput input;
    input.mutable_stdin_data()->set_data(data);
    input.mutable_stdin_data()->set_eof(eof);
    if (task) input.mutable_stdin_data()->set_task(*task);
    tell(input);
  }
  void tell_signal(int signal) {
    v1::StepInput input;
    input.mutable_signal()->set_signal(signal);
    tell(input);
  }

  // Takes what has come; false at the end of the stream.
  bool listen() {
    loop_->run_once(milliseconds(1));
    std::string buffer(65536, '\0');
    const ssize_t got = ::recv(stream_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) return true;
    if (got == 0) return false;
    EXPECT_TRUE(reader_.take({buffer.data(), static_cast<std::size_t>(got)}, [this](std::string_view bytes) {
      v1::StepOutput output;
      ASSERT_TRUE(output.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      hear(output);
    }));
    return true;
  }
  void hear(const v1::StepOutput& output) {
    if (output.seq() > 0) last_ = output.seq();
    if (output.has_taken()) return;
    EXPECT_FALSE(heard_.done) << "something came after the end";
    if (output.has_started()) heard_.ranks.assign(output.started().ranks().begin(), output.started().ranks().end());
    if (output.has_data())
      (output.data().is_stderr() ? heard_.err : heard_.out)[output.data().rank()] += output.data().data();
    if (output.has_task_exit())
      heard_.exits[output.task_exit().rank()] = {static_cast<std::uint16_t>(output.task_exit().code()),
                                                 static_cast<std::uint16_t>(output.task_exit().signal())};
    if (output.has_error()) heard_.error = output.error().text();
    if (output.has_done()) heard_.done = true;
  }
  template <class Condition>
  void hear_until(Condition condition) {
    wait_for([&] { return condition() || (listen(), condition()); });
  }
  void hear_all() {
    bool open = true;
    wait_for([&] { return !(open = listen()); }, seconds(60));
    EXPECT_TRUE(heard_.done);
  }
  void run(const v1::StepStart& start, const std::string& input = {}) {
    begin(start);
    tell_stdin(input, true);
    hear_all();
  }

  struct Heard {
    std::vector<std::uint32_t> ranks;
    std::map<std::uint32_t, std::string> out, err;
    std::map<std::uint32_t, model::ExitStatus> exits;
    std::string error;
    bool done = false;
  };
  Heard heard_;
  model::ControllerLaunch job_;
  os::UniqueFd stream_;
  std::uint64_t last_ = 0;
  wire::FrameReader reader_{16u << 20};
};

using model::ExitStatus;

TEST_P(Steps, TasksRanksAndExits) {
  auto start = command(
      "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_STEP_ID $SLURM_JOB_ID $SLURM_GTIDS "
      "$SPUR_TEST_NODE_ENTRY; exit $SLURM_PROCID",
      3);
  start.set_step(3);
  start.set_ntasks(5);
  start.clear_nodes();
  start.clear_tasks_per_node();
  for (const char* node : {"n0", "n1"}) start.add_nodes(node);
  start.add_tasks_per_node(2);
  start.add_tasks_per_node(3);
  start.set_first_rank(2);
  run(start);
  EXPECT_EQ(heard_.ranks, (std::vector<std::uint32_t>{2, 3, 4}));
  for (std::uint16_t i = 0; i < 3; ++i) {
    const std::uint16_t rank = static_cast<std::uint16_t>(i + 2);
    EXPECT_EQ(heard_.out[rank], fmt::format("{} {} 5 3 42 2,3,4 yes\n", rank, i));
    EXPECT_EQ(heard_.exits[rank], (ExitStatus{rank, 0}));
  }
}

TEST_P(Steps, WhatTheyUsedIsPartOfTheRunsEnd) {
  for (int i = 0; i < 2; ++i) {
    begin(command("for i in {1..3000}; do :; done", 2));
    hear_all();
  }
  launcher_->end(job_.run, true, JobState::Cancelled);
  const model::Usage& usage = end_of(job_.run).usage;
  EXPECT_GT(usage.max_rss_kib, 0u);
  EXPECT_GT(usage.user_cpu_us + usage.system_cpu_us, 0u);
}

TEST_P(Steps, ProgramsThatCannotBeExecuted) {
  struct Row {
    std::vector<std::string> argv;
    std::uint16_t code;
    const char* err;
  };
  for (const Row& row :
       {Row{{"/nonexistent"}, 2, "slurmstepd-n1: error: execve(): /nonexistent: No such file or directory\n"},
        Row{{"nosuchprogram"}, 2, "slurmstepd-n1: error: execve(): nosuchprogram: No such file or directory\n"},
        Row{{"/etc/passwd"}, 13, "slurmstepd-n1: error: execve(): /etc/passwd: Permission denied\n"},
        Row{{"true"}, 0, ""}}) {
    run(program(row.argv));
    EXPECT_EQ(heard_.exits[0], (ExitStatus{row.code, 0})) << row.argv[0];
    EXPECT_EQ(heard_.err[0], row.err);
  }
}

TEST_P(Steps, EndsBeforeItsInputComes) {
  begin(command("echo out; exit 3"));
  pollfd gone{.fd = stream_.get(), .events = 0, .revents = 0};
  wait_for([&] { return ::poll(&gone, 1, 0) == 1 && (gone.revents & POLLHUP); });
  tell_stdin("nobody reads this", true);
  tell_signal(SIGUSR1);
  hear_all();
  EXPECT_EQ(heard_.out[0], "out\n");
  EXPECT_EQ(heard_.exits[0], (ExitStatus{3, 0}));
}

TEST_P(Steps, SignalledTasks) {
  run(command("kill -SEGV $$"));
  EXPECT_EQ(heard_.exits[0], (ExitStatus{0, SIGSEGV}));
  begin(command("trap 'echo got; exit 4' USR1; echo ready; while true; do sleep 0.05; done"));
  hear_until([&] { return heard_.out[0] == "ready\n"; });
  tell_signal(SIGUSR1);
  hear_all();
  EXPECT_EQ(heard_.out[0], "ready\ngot\n");
  EXPECT_EQ(heard_.exits[0], (ExitStatus{4, 0}));
  begin(command("echo ready; sleep 1000", 2));
  hear_until([&] { return heard_.out.size() == 2; });
  tell_signal(SIGKILL);
  hear_all();
  EXPECT_EQ(heard_.exits[1], (ExitStatus{0, SIGKILL}));
}

// scontrol update StepId= TimeLimit=: counted from the start, so that a limit that has gone by is the end.
TEST_P(Steps, ANewLimitCounts) {
  begin(command("echo ready; sleep 1000"));
  hear_until([&] { return heard_.out[0] == "ready\n"; });
  v1::StepInput input;
  input.mutable_signal()->set_time_limit(10);
  tell(input);
  EXPECT_TRUE(heard_.exits.empty());
  input.mutable_signal()->set_time_limit(0);
  tell(input);
  hear_all();
  EXPECT_EQ(heard_.exits[0], (ExitStatus{0, SIGTERM}));
}

TEST_P(Steps, InputGoesToAllOrOne) {
  run(command("cat; echo -n err >&2", 2), "to all\n");
  EXPECT_EQ(heard_.out, (std::map<std::uint32_t, std::string>{{0, "to all\n"}, {1, "to all\n"}}));
  EXPECT_EQ(heard_.err, (std::map<std::uint32_t, std::string>{{0, "err"}, {1, "err"}}));
  begin(command("cat", 2));
  tell_stdin("to one\n", false, 1);
  tell_stdin("", true);
  hear_all();
  EXPECT_EQ(heard_.out[0], "");
  EXPECT_EQ(heard_.out[1], "to one\n");
}

TEST_P(Steps, MuchDataBothWaysIsWhole) {
  std::string big;
  for (int i = 0; i < 400'000; ++i) big += fmt::format("line {}\n", i);
  begin(command("cat"));
  for (std::size_t at = 0; at < big.size(); at += 50'000) tell_stdin(big.substr(at, 50'000), false);
  tell_stdin("", true);
  hear_all();
  EXPECT_TRUE(heard_.out[0] == big) << heard_.out[0].size() << " of " << big.size();
  run(command("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"));
  EXPECT_EQ(heard_.out[0].size(), 3'000'000u);
  EXPECT_EQ(heard_.err[0].size(), 3'000'000u);
}

TEST_P(Steps, TaskThatDoesNotReadItsInput) {
  run(command("exec 0<&-; sleep 0.1; echo done"), std::string(500'000, 'x'));
  EXPECT_EQ(heard_.out[0], "done\n");
  EXPECT_EQ(heard_.exits[0], ExitStatus{});
}

TEST_P(Steps, ClosedStreamEndsTheTasks) {
  begin(command("trap '' TERM HUP; echo $$; setsid sleep 1000 & echo $!; wait"));
  hear_until([&] { return std::ranges::count(heard_.out[0], '\n') == 2; });
  stream_.reset();
  std::istringstream pids(heard_.out[0]);
  for (pid_t pid; pids >> pid;) wait_for([&] { return !is_alive(pid); });
}

TEST_P(Steps, WhatTasksLeaveBehindIsEnded) {
  begin(command("( setsid bash -c 'trap \"\" TERM; echo $BASHPID; exec sleep 1000' & ); sleep 0.1; exit 2"));
  hear_all();
  EXPECT_EQ(heard_.exits[0], (ExitStatus{2, 0}));
  const pid_t daemon = std::atoi(heard_.out[0].c_str());
  ASSERT_GT(daemon, 0);
  EXPECT_FALSE(is_alive(daemon));
}

TEST_P(Steps, JobsEndReachesTheStep) {
  begin(command("trap 'echo term; exit 7' TERM; echo ready; while true; do sleep 0.05; done"));
  hear_until([&] { return heard_.out[0] == "ready\n"; });
  launcher_->end(job_.run, false, model::JobState::Timeout);
  hear_all();
  EXPECT_EQ(heard_.exits[0], (ExitStatus{7, 0}));
  EXPECT_EQ(heard_.err[0].find("slurmstepd-n1: error: *** STEP 42.0 ON n1 CANCELLED AT "), 0u) << heard_.err[0];
  EXPECT_NE(heard_.err[0].find(" DUE TO TIME LIMIT ***\n"), std::string::npos);
  EXPECT_EQ(end_of(job_.run).exit, ExitStatus{});  // and then the job's part itself
}

TEST_P(Steps, KillOfTheJobEndsItsSteps) {
  begin(command("trap '' TERM; echo ready; while true; do sleep 0.05; done"));
  hear_until([&] { return heard_.out[0] == "ready\n"; });
  launcher_->end(job_.run, true, model::JobState::Cancelled);
  hear_all();
  EXPECT_EQ(heard_.exits[0], (ExitStatus{0, SIGKILL}));
  end_of(job_.run);
}

TEST_P(Steps, SignalsOfTheJobReachItsSteps) {
  begin(command("trap 'echo usr1; exit' USR1; echo ready; while true; do sleep 0.05; done"));
  hear_until([&] { return heard_.out[0] == "ready\n"; });
  launcher_->signal(job_.run, SIGUSR1, false, true);
  hear_all();
  EXPECT_EQ(heard_.out[0], "ready\nusr1\n");
}

TEST_P(Steps, Terminal) {
  auto start = command(
      "test -t 0 && test -t 1 && echo tty; stty size; tty | cut -c1-8; read line; echo \"<$line>\"; stty size", 2);
  start.set_pty(true);
  start.set_pty_rows(33);
  start.set_pty_columns(111);
  begin(start);
  hear_until([&] { return heard_.out[0].find("/dev/pts") != std::string::npos; });
  v1::StepInput window;
  window.mutable_window()->set_rows(50);
  window.mutable_window()->set_columns(90);
  tell(window);
  tell_stdin("hello\n", false, 0);
  tell_stdin("", true, 1);
  hear_all();
  EXPECT_EQ(heard_.out[0].find("tty\r\n33 111\r\n/dev/pts\r\n"), 0u) << heard_.out[0];
  EXPECT_NE(heard_.out[0].find("<hello>\r\n50 90\r\n"), std::string::npos) << heard_.out[0];
  EXPECT_EQ(heard_.out[1].find("tty"), std::string::npos) << heard_.out[1];
}

TEST_P(Steps, FilesOnTheNode) {
  auto start = command("echo out $SLURM_PROCID; echo err >&2; cat", 3);
  start.set_cwd(dir_ / "out");
  start.set_std_out("file-%j.%s.%t");
  start.set_step(3);
  start.set_std_in("input");
  std::ofstream(dir_ / "out/input") << "from file\n";
  run(start);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(output(fmt::format("file-42.3.{}", i)), fmt::format("out {}\nerr\nfrom file\n", i));
  EXPECT_TRUE(heard_.out[0].empty());

  start = command("echo line >&2", 3);  // one for all
  start.set_cwd(dir_ / "out");
  start.set_std_out("shared");
  std::ofstream(dir_ / "out/shared") << "old\n";
  ::chmod((dir_ / "out/shared").c_str(), 0666);
  run(start);
  EXPECT_EQ(output("shared"), "line\nline\nline\n");

  start.set_std_out("/nonexistent/x");
  run(start);
  EXPECT_EQ(heard_.error, "Could not open stdout file /nonexistent/x: No such file or directory");
}

TEST_P(Steps, BadStartsAreAnsweredNotObeyed) {
  struct Row {
    const char* what;
    std::function<void(v1::StepStart&)> change;
    const char* error;
  };
  for (const Row& row :
       {Row{"no program", [](auto& s) { s.clear_argv(); }, "No command given to execute."},
        Row{"another node", [](auto& s) { s.set_nodes(0, "n9"); }, "the step has no task on node n1"},
        Row{"no tasks", [](auto& s) { s.set_tasks_per_node(0, 0); }, "0 tasks from rank 0 of 1 cannot be"},
        Row{"too many", [](auto& s) { s.set_tasks_per_node(0, 4'000'000'000u); },
            "4000000000 tasks from rank 0 of 1 cannot be"},
        Row{"labels in files", [](auto& s) { s.set_label(true), s.set_std_out("x"); },
            "labels in output files that are written on the nodes are not supported"},
        Row{"a CPU of others",
            [](auto& s) {
              s.mutable_grant()->mutable_cpus()->add_bounds(1);
              s.mutable_grant()->mutable_cpus()->add_bounds(2);
            },
            "the step was given what the job does not have on n1"},
        Row{"a GPU of others",
            [](auto& s) {
              auto* devices = s.mutable_grant()->add_devices();
              devices->set_gres("gpu");
              devices->add_indices(0);
            },
            "the step was given what the job does not have on n1"}}) {
    auto start = command("touch " + (dir_ / "out/ran"));
    row.change(start);
    run(start);
    EXPECT_EQ(heard_.error, row.error) << row.what;
    EXPECT_TRUE(heard_.exits.empty()) << row.what;
  }
  open_stream();
  tell_bytes("garbage that is no message");
  hear_all();
  EXPECT_EQ(heard_.error, "garbled step input");
  open_stream();
  tell_stdin("x", false);
  hear_all();
  EXPECT_EQ(heard_.error, "a step begins with its one start");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/ran"));
}

TEST_P(Steps, StepsOfAJobThatIsNotHereAreRefused) {
  auto other = job_;
  other.run.job = JobId{4711};
  std::string error;
  bool answered = false;
  launcher_->start_step(other, 0, [&](const Result<os::UniqueFd>& socket) {
    answered = true;
    if (!socket) error = socket.error().message;
  });
  wait_for([&] { return answered; });
  EXPECT_EQ(error, "job 4711 is not running on this node");
}

TEST_P(Steps, ManyTasks) {
  run(command("echo $SLURM_PROCID", 64));
  EXPECT_EQ(heard_.exits.size(), 64u);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(heard_.out[i], fmt::format("{}\n", i));
}

// ---- steps with a key

class KeptSteps : public Steps {
 protected:
  static v1::StepStart kept(const std::string& shell) {
    v1::StepStart start = command(shell);
    start.set_key("key");
    start.set_step(3);
    return start;
  }
  void resume(const std::string& key, std::uint64_t after) {
    std::optional<Result<os::UniqueFd>> got;
    launcher_->resume_step(job_.run, 3, key, [&](Result<os::UniqueFd> socket) { got = std::move(socket); });
    wait_for([&] { return got.has_value(); });
    error_ = *got ? "" : got->error().message;
    if (!*got) return;
    stream_ = std::move(**got);
    reader_ = wire::FrameReader(16u << 20);
    v1::StepInput attach;
    attach.mutable_attach()->set_key(key);
    attach.mutable_attach()->set_after(after);
    tell(attach);
  }
  void acknowledge(std::uint64_t seq) {
    v1::StepInput input;
    input.mutable_ack()->set_seq(seq);
    tell(input);
  }
  // The number of the last output.
  std::uint64_t hear_to_the_end() {
    hear_until([&] { return heard_.done; });
    return last_;
  }
  void go_on(const std::string& file) { std::ofstream(dir_ / "out/" + file) << "x"; }
  std::string error_;
};

TEST_P(KeptSteps, AStreamThatBreaksIsTakenUpAgain) {
  begin(kept("echo one; until [ -e " + (dir_ / "out/go") + " ]; do sleep 0.02; done; echo two; exit 4"));
  hear_until([&] { return heard_.out[0] == "one\n"; });
  stream_.reset();
  resume("wrong", 0);
  EXPECT_EQ(error_, "the step is not yours");
  resume("key", last_);
  EXPECT_EQ(error_, "");
  go_on("go");
  const auto last = hear_to_the_end();
  EXPECT_EQ(heard_.out[0], "one\ntwo\n");
  EXPECT_EQ(heard_.exits[0].code, 4);
  stream_.reset();  // before it was acknowledged: the end can be had again
  heard_ = {};
  resume("key", last - 1);
  hear_until([&] { return heard_.done; });
  acknowledge(last);
  wait_for([&] { return !listen(); });
}

TEST_P(KeptSteps, TheNextAgentFindsIt) {
  begin(kept("echo one; until [ -e " + (dir_ / "out/go2") + " ]; do sleep 0.02; done; echo two; exit 5"));
  hear_until([&] { return heard_.out[0] == "one\n"; });
  stop_agent();
  stream_.reset();
  go_on("go2");
  start_agent();
  heard_ = {};
  resume("key", 0);
  EXPECT_EQ(error_, "");
  const auto last = hear_to_the_end();
  EXPECT_EQ(heard_.out[0], "one\ntwo\n") << "nothing had been acknowledged";
  EXPECT_EQ(heard_.exits[0].code, 5);
  acknowledge(last);
  wait_for([&] { return !listen(); });
}

TEST_P(KeptSteps, TheEndOfTheJobIsTheEndOfAStepThatNobodyTakesUp) {
  begin(kept("sleep 100 & echo $$ $!; wait"));
  hear_until([&] { return heard_.out[0].ends_with("\n"); });
  int shell = 0, child = 0;
  ASSERT_EQ(std::sscanf(heard_.out[0].c_str(), "%d %d", &shell, &child), 2);
  stop_agent();
  stream_.reset();
  start_agent();
  launcher_->end(job_.run, false, JobState::Cancelled);
  EXPECT_EQ(end_of(job_.run).run, job_.run);
  EXPECT_FALSE(is_alive(shell) || is_alive(child));
}

TEST_P(KeptSteps, TheTasksOfAKilledDaemonAreEnded) {
  begin(kept("sleep 100 & echo $$ $! $PPID; wait"));
  hear_until([&] { return heard_.out[0].ends_with("\n"); });
  int shell = 0, child = 0, daemon = 0;
  ASSERT_EQ(std::sscanf(heard_.out[0].c_str(), "%d %d %d", &shell, &child, &daemon), 3);
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  wait_for([&] { return !listen(); });
  wait_for([&] { return !is_alive(shell) && !is_alive(child); });
  resume("key", 0);
  EXPECT_EQ(error_, "the step does not run on this node any more");
}

INSTANTIATE_TEST_SUITE_P(Cgroups, KeptSteps, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "with" : "without"; });

INSTANTIATE_TEST_SUITE_P(Cgroups, Steps, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "with" : "without"; });

}  // namespace
}  // namespace spur::stepd
