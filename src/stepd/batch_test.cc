// SPDX-License-Identifier: Apache-2.0
// Whole batch jobs through the real launcher and the real spurstepd. Each test that is about rights says that it
// needs root.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "stepd/test_agent.h"
#include "wire/agent_codec.h"

namespace spur::stepd {
namespace {

using Batch = TestAgent;

TEST_P(Batch, ExitCodesAndSignals) {
  struct Row {
    const char* body;
    ExitStatus exit;
  };
  for (const Row& row : {Row{"true", {0, 0}}, Row{"exit 3", {3, 0}}, Row{"exit 255", {255, 0}},
                         Row{"kill -9 $$", {0, 9}}, Row{"kill -SEGV $$", {0, 11}}, Row{"nosuchcommand", {127, 0}}}) {
    const auto& ended = end_of(launch(script(row.body)));
    EXPECT_EQ(ended.exit, row.exit) << row.body;
    EXPECT_FALSE(ended.launch_failed) << ended.error;
    EXPECT_FALSE(ended.out_of_memory);
  }
}

TEST_P(Batch, EnvironmentArgumentsAndFiles) {
  auto spec = script(
      "echo \"args $1 $2 of $#\"; echo \"$SLURM_JOB_ID $SLURM_PROCID $SLURM_LOCALID $MINE $SPUR_TEST_NODE_ENTRY\"\n"
      "[ \"$SLURM_TASK_PID\" = $$ ] && echo pid ok; read line; echo \"in $line\"; echo problem >&2; pwd; ls "
      "/proc/self/fd | wc -l");
  spec->arguments = {"a b", "c"};
  spec->std_in = "in-%j";
  spec->std_err = "err-%x-%j";
  std::ofstream(dir_ / "out/in-1") << "hello\n";
  const auto run = launch(spec);
  EXPECT_EQ(end_of(run).exit, ExitStatus{});
  EXPECT_EQ(output(), "args a b c of 2\n1 0 0 1 yes\npid ok\nin hello\n" + (dir_ / "out") + "\n4\n");
  EXPECT_EQ(output("err-test-1"), "problem\n");
}

TEST_P(Batch, SignalsAreAsAfterLogin) {
  end_of(launch(script("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2 | uniq; cat /proc/self/oom_score_adj")));
  EXPECT_EQ(output(), "0000000000000000\n0\n");
}

TEST_P(Batch, DefaultOutputNames) {
  auto spec = script("echo plain");
  spec->std_out.clear();
  end_of(launch(launch_of(7, spec)));
  auto array = launch_of(9, spec);
  array.array_job = JobId{8};
  array.array_task = 3;
  end_of(launch(array));
  EXPECT_EQ(output("slurm-7.out"), "plain\n");
  EXPECT_EQ(output("slurm-8_3.out"), "plain\n");
}

TEST_P(Batch, OpenModes) {
  auto spec = script("echo again");
  std::ofstream(dir_ / "out/out") << "before\n";
  ::chmod((dir_ / "out/out").c_str(), 0666);
  spec->open_append = true;
  end_of(launch(spec));
  EXPECT_EQ(output(), "before\nagain\n");
  spec = script("echo anew");
  end_of(launch(spec));
  EXPECT_EQ(output(), "anew\n");
}

TEST_P(Batch, UmaskAndLimits) {
  auto spec = script("umask; touch made; ulimit -Sn; ulimit -Sc; ulimit -Hn");
  spec->umask = 027;
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  spec->rlimits = {{.resource = RLIMIT_NOFILE, .soft = 123, .hard = 456},
                   {.resource = RLIMIT_CORE, .soft = 0, .hard = 0}};
  end_of(launch(spec));
  EXPECT_EQ(output(), fmt::format("0027\n123\n0\n{}\n",
                                  now.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(now.rlim_max)));
  struct stat info{};
  ASSERT_EQ(::stat((dir_ / "out/made").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(info.st_uid, job_uid().value);
  // More than the node allows is cut to what it allows, not refused.
  spec = script("ulimit -Sn");
  spec->rlimits = {{.resource = RLIMIT_NOFILE, .soft = RLIM_INFINITY, .hard = RLIM_INFINITY}};
  end_of(launch(spec));
  EXPECT_EQ(output(), fmt::format("{}\n", now.rlim_max));
}

TEST_P(Batch, RightsAreReallyDropped) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  end_of(
      launch(script("id -u; id -g; id -G; grep -E 'Cap(Prm|Eff|Inh|Amb)|^Uid|^Gid' /proc/self/status; cat "
                    "/etc/shadow 2>&1 | head -c 3 | wc -c")));
  const std::string zero = "\t0000000000000000\n";
  const std::string ids = "\t65534\t65534\t65534\t65534\n";
  EXPECT_EQ(output(), "65534\n65534\n65534\nUid:" + ids + "Gid:" + ids + "CapInh:" + zero + "CapPrm:" + zero +
                          "CapEff:" + zero + "CapAmb:" + zero + "3\n");
}

TEST_P(Batch, FilesAreOpenedAsTheUser) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  std::ofstream(dir_ / "secret") << "root's\n";
  ::chmod((dir_ / "secret").c_str(), 0600);
  ASSERT_EQ(::symlink((dir_ / "secret").c_str(), (dir_ / "out/link").c_str()), 0);
  for (const char* field : {"out", "err", "in"}) {
    auto spec = script("touch ran");
    (field == std::string("out")   ? spec->std_out
     : field == std::string("err") ? spec->std_err
                                   : spec->std_in) = "link";
    const auto& ended = end_of(launch(spec));
    EXPECT_FALSE(ended.launch_failed) << field;  // the user's mistake: no reason to try again
    EXPECT_EQ(ended.exit, (ExitStatus{0, 53}));
    EXPECT_EQ(ended.error, fmt::format("Could not open std{} file {}/link: Permission denied", field, dir_ / "out"));
  }
  EXPECT_EQ(contents(dir_ / "secret"), "root's\n");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/ran"));
}

TEST_P(Batch, TheStepDaemonsMemoryIsOutOfReach) {
  // The process that opens the file is wholly the user's: there is nothing of root's behind /proc/self.
  auto spec = script("true");
  spec->std_out = "/proc/self/mem";
  end_of(launch(spec));
  spec = script("cat /proc/$PPID/environ /proc/$PPID/mem 2>&1 | head -c 1000 | grep -c SPURSTEPD_IDENTITY");
  end_of(launch(spec));
  if (!is_root()) return;
  EXPECT_EQ(output(), "0\n");
}

TEST_P(Batch, MissingOutputDirectory) {
  auto spec = script("touch ran");
  spec->std_out = "/nonexistent/x.out";
  const auto& ended = end_of(launch(spec));
  EXPECT_FALSE(ended.launch_failed);
  EXPECT_EQ(ended.exit, (ExitStatus{0, 53}));
  EXPECT_EQ(ended.error, "Could not open stdout file /nonexistent/x.out: No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/ran"));
}

TEST_P(Batch, MissingWorkingDirectory) {
  auto spec = script("pwd");
  spec->work_dir = "/nonexistent";
  spec->std_out = dir_ / "out/out";
  EXPECT_EQ(end_of(launch(spec)).exit, ExitStatus{});
  EXPECT_EQ(output(),
            "slurmstepd: error: couldn't chdir to `/nonexistent': No such file or directory: going to /tmp "
            "instead\n/tmp\n");
  spec = script("pwd");  // the output file is there, too
  spec->work_dir = "/nonexistent";
  const auto& ended = end_of(launch(spec));
  EXPECT_FALSE(ended.launch_failed);
  EXPECT_EQ(ended.exit, (ExitStatus{0, 53}));
}

TEST_P(Batch, BadInterpreterAndNoProgram) {
  auto spec = script("");
  spec->script = std::make_shared<const std::string>("#!/nonexistent/sh\necho hi\n");
  auto run = launch(spec);
  EXPECT_EQ(end_of(run).exit, (ExitStatus{2, 0}));
  EXPECT_FALSE(end_of(run).launch_failed);
  EXPECT_EQ(output(), "slurmstepd: error: execve(): bad interpreter(/nonexistent/sh): No such file or directory\n");
  spec = script("");
  spec->script = std::make_shared<const std::string>(std::string("\0\1\2binary", 9));
  EXPECT_EQ(end_of(launch(spec)).exit, (ExitStatus{8, 0}));
}

TEST_P(Batch, UnusableTmpDir) {
  auto spec = script("echo $TMPDIR");
  spec->environment = std::make_shared<const std::string>(std::string("PATH=/bin\0TMPDIR=/proc/nope\0", 28));
  end_of(launch(spec));
  EXPECT_EQ(output(),
            "slurmstepd: error: Unable to create TMPDIR [/proc/nope]: No such file or directory\n"
            "slurmstepd: error: Setting TMPDIR to /tmp\n/tmp\n");
}

TEST_P(Batch, OnlyKnownUsersRun) {
  auto spec = script("touch ran");
  spec->uid = Uid{is_root() ? 3999999999u : ::getuid() + 1};
  const auto& ended = end_of(launch(spec));
  EXPECT_TRUE(ended.launch_failed);
  EXPECT_NE(ended.error.find(std::to_string(spec->uid.value)), std::string::npos) << ended.error;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/ran"));
}

TEST_P(Batch, ScriptIsTheUsersAlone) {
  const auto run = launch(script("echo $0; stat -c '%a %u' $0; while [ ! -e go ]; do sleep 0.05; done"));
  wait_for_text("out", "700");
  const std::string path = dir_ / "spool/job1.1";
  EXPECT_EQ(output(), fmt::format("{}/slurm_script\n700 {}\n", path, job_uid().value));
  struct stat info{};
  for (const char* name : {"/run", "/ctl"}) {
    ASSERT_EQ(::stat((path + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
  ::stat(path.c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0711u);
  std::ofstream(dir_ / "out/go") << "";
  end_of(run);
  launcher_->forget(run);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(Batch, NoticesAreInTheOutputOnce) {
  const auto run = launch(script("echo ready; until [ -e go ]; do sleep 0.02; done; echo end"));
  wait_for_text("out", "ready");
  launcher_->notify(run, "hello there");
  launcher_->notify(run, "two\nlines");
  wait_for_text("out", "lines");
  launcher_->notify({JobId{99}, Epoch{1}}, "nobody");
  std::ofstream(dir_ / "out/go") << "";
  end_of(run);
  EXPECT_EQ(output(), "ready\nslurmstepd: error: hello there\nslurmstepd: error: two\nlines\nend\n");
  launcher_->forget(run);
  // The directory is used again: nothing of it is left.
  std::filesystem::remove(dir_ / "out/go");
  const auto next = launch(script("echo second; until [ -e go ]; do sleep 0.02; done"));
  wait_for_text("out", "second");
  launcher_->notify(next, "only this");
  wait_for_text("out", "only this");
  std::ofstream(dir_ / "out/go") << "";
  end_of(next);
  EXPECT_TRUE(output().ends_with("second\nslurmstepd: error: only this\n")) << output();
}

TEST_P(Batch, CancelTermThenKill) {
  auto run = launch(script("trap 'echo got term; sleep 0.3; exit 3' TERM; echo ready; sleep 100 & wait"));
  wait_for_text("out", "ready");
  for (int i = 0; i < 5; ++i) {  // repeated by the controller: said and done once
    launcher_->end(run, false, JobState::Cancelled);
    loop_->run_once(milliseconds(10));
  }
  EXPECT_EQ(end_of(run).exit, (ExitStatus{3, 0}));
  EXPECT_EQ(output().find("ready\nslurmstepd: error: *** JOB 1 ON n1 CANCELLED AT "), 0u) << output();
  EXPECT_TRUE(output().ends_with(" ***\ngot term\n")) << output();
  EXPECT_EQ(std::ranges::count(output(), '\n'), 3) << output();

  run = launch(script("trap '' TERM; echo second; while true; do sleep 0.1; done"));
  wait_for_text("out", "second");
  launcher_->end(run, false, JobState::Timeout);  // and KILL after kill_wait, by itself
  EXPECT_EQ(end_of(run).exit, (ExitStatus{0, SIGKILL}));
  EXPECT_NE(output().find(" DUE TO TIME LIMIT ***\n"), std::string::npos) << output();

  run = launch(script("trap '' TERM; echo third; sleep 100"));
  wait_for_text("out", "third");
  launcher_->end(run, true, JobState::Cancelled);
  EXPECT_EQ(end_of(run).exit, (ExitStatus{0, SIGKILL}));
}

TEST_P(Batch, EndRightAfterLaunchIsNotLost) {
  for (int i = 0; i < 20; ++i) {
    const auto run = launch(script("sleep 100"));
    if (i % 2) loop_->run_once(milliseconds(i));
    launcher_->end(run, i % 4 < 2, JobState::Cancelled);
    EXPECT_NE(end_of(run).exit.signal, 0) << i;
  }
}

TEST_P(Batch, Signals) {
  const std::string body =
      "trap 'echo shell' USR1; bash -c 'trap \"echo child\" USR1; echo up; while [ ! -e go ]; do sleep 0.05; done' & "
      "wait; "
      "while [ ! -e go ]; do sleep 0.05; done; wait";
  auto run = launch(script(body));
  wait_for_text("out", "up");
  launcher_->signal(run, SIGUSR1, false, true);  // steps only: a batch script's own children are no step
  launcher_->signal(run, SIGUSR1, true, false);
  wait_for_text("out", "shell");
  EXPECT_EQ(output(), "up\nshell\n");
  launcher_->signal(run, SIGUSR1, false, false);
  wait_for_text("out", "child");
  std::ofstream(dir_ / "out/go") << "";
  EXPECT_EQ(end_of(run).exit, ExitStatus{});
}

TEST_P(Batch, SuspendAndResume) {
  const auto run = launch(script("for i in $(seq 1000); do echo $i; [ -e go ] && exit 4; sleep 0.01; done"));
  wait_for_text("out", "3\n");
  launcher_->suspend(run, false);
  std::string before;
  wait_for([&] {
    return std::exchange(before, output()) == output() && (loop_->run_once(milliseconds(100)), before == output());
  });
  std::ofstream(dir_ / "out/go") << "";
  loop_->run_once(milliseconds(100));
  EXPECT_FALSE(ended_.contains(run));
  launcher_->suspend(run, true);
  EXPECT_EQ(end_of(run).exit, (ExitStatus{4, 0}));
}

TEST_P(Batch, SuspendedJobsCanBeEnded) {
  const auto run = launch(script("echo ready; while true; do sleep 0.01; done"));
  wait_for_text("out", "ready");
  launcher_->suspend(run, false);
  launcher_->end(run, false, JobState::Cancelled);
  EXPECT_EQ(end_of(run).exit, (ExitStatus{0, SIGTERM}));
}

TEST_P(Batch, WhatIsLeftBehindIsEnded) {
  // A daemon that forked twice, has its own session, no environment, and ignores TERM.
  const auto run = launch(script(
      "( setsid env -i /bin/bash -c 'trap \"\" TERM HUP; echo $BASHPID; exec sleep 1000' & ) ; sleep 0.1; exit 5"));
  EXPECT_EQ(end_of(run).exit, (ExitStatus{5, 0}));
  const pid_t daemon = std::atoi(output().c_str());
  ASSERT_GT(daemon, 0);
  EXPECT_FALSE(is_alive(daemon)) << "the daemon survived its job";
}

TEST_P(Batch, DoubleLaunchIsOneRun) {
  auto launch_message = launch_of(1, script("echo once >> log"));
  launch(launch_message);
  EXPECT_TRUE(launcher_->launch(launch_message));
  end_of({JobId{1}, Epoch{1}});
  EXPECT_TRUE(launcher_->launch(launch_message));  // ended, not yet forgotten
  loop_->run_once(milliseconds(200));
  EXPECT_EQ(output("log"), "once\n");
}

TEST_P(Batch, RunsOfDifferentEpochsDoNotMeet) {
  auto first = launch(launch_of(1, script("trap '' TERM; echo ready; sleep 100")));
  wait_for_text("out", "ready");
  auto spec = script("sleep 0.3; exit 6");
  spec->std_out = "second";
  launcher_->end(first, true, JobState::Pending);
  auto second = launch(launch_of(1, spec, 2));
  EXPECT_EQ(end_of(first).exit, (ExitStatus{0, SIGKILL}));
  EXPECT_EQ(end_of(second).exit, (ExitStatus{6, 0}));
}

TEST_P(Batch, PartsWithoutScriptEndWhenTold) {
  auto held = launch_of(3, script("touch ran"));
  held.this_part = 1;
  held.whole = {.nodes = "n[0-1]", .node_count = 2, .cpus_per_node = "2(x2)"};
  const auto run = launch(held);
  loop_->run_once(milliseconds(50));
  EXPECT_FALSE(ended_.contains(run));
  stop_agent();
  start_agent();
  ASSERT_EQ(known_.size(), 1u);
  EXPECT_TRUE(known_[0].running);
  EXPECT_FALSE(known_[0].is_batch_host);
  ASSERT_TRUE(known_[0].launch);
  EXPECT_EQ(known_[0].launch->whole.nodes, "n[0-1]");
  launcher_->end(run, false, JobState::Completed);
  EXPECT_EQ(end_of(run).exit, ExitStatus{});
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/ran"));
}

TEST_P(Batch, KilledStepDaemonIsADefinedEnd) {
  const auto run = launch(script("echo $$; setsid sleep 1000 & echo $!; wait"));
  wait_for([&] { return std::ranges::count(output(), '\n') == 2; });
  ASSERT_EQ(::kill(stepd_of(run), SIGKILL), 0);
  const auto& ended = end_of(run);
  EXPECT_EQ(ended.exit, (ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(ended.launch_failed);
  EXPECT_EQ(ended.error, "spurstepd was killed");
  std::istringstream pids(output());
  for (pid_t pid; pids >> pid;) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST_P(Batch, AgentRestartFindsRunningAndEndedRuns) {
  std::vector<JobRun> runs;
  for (int i = 0; i < 10; ++i) {
    auto spec =
        script(fmt::format("echo up; while [ ! -e go{} ]; do sleep 0.02; done; exit {}", i < 5 ? 1 : 2, 10 + i));
    spec->std_out = fmt::format("out{}", i);
    runs.push_back(launch(spec));
  }
  for (int i = 0; i < 10; ++i) wait_for_text(fmt::format("out{}", i), "up");
  std::vector<pid_t> stepds;
  for (const auto run : runs) stepds.push_back(stepd_of(run));
  const auto killed = launch(script("echo ready; sleep 100"));
  wait_for_text("out", "ready");
  const pid_t victim = stepd_of(killed);
  stop_agent();
  ::kill(victim, SIGKILL);
  std::ofstream(dir_ / "out/go1") << "";
  // They have ended when the processes are gone (zombies of ours here: with a real restart init reaps them).
  for (int i = 0; i < 5; ++i) wait_for([&] { return !is_alive(stepds[static_cast<std::size_t>(i)]); });
  start_agent();
  ASSERT_EQ(known_.size(), 11u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(known_[static_cast<std::size_t>(i)].running, i >= 5) << i;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(end_of(runs[static_cast<std::size_t>(i)]).exit.code, 10 + i);
  EXPECT_EQ(end_of(killed).error, "spurstepd was killed");
  std::ofstream(dir_ / "out/go2") << "";
  for (int i = 5; i < 10; ++i) EXPECT_EQ(end_of(runs[static_cast<std::size_t>(i)]).exit.code, 10 + i);
  // Orders reach a spurstepd that another agent started.
  for (const auto& [run, ended] : std::exchange(ended_, {})) launcher_->forget(run);
  const auto late = launch(script("echo late; sleep 100"));
  wait_for_text("out", "late");
  stop_agent();
  start_agent();
  launcher_->end(late, false, JobState::Cancelled);
  EXPECT_EQ(end_of(late).exit, (ExitStatus{0, SIGTERM}));
}

TEST_P(Batch, AgentThatDiedBeforeStartingLeavesTheStartToTheNext) {
  const auto run = launch(script("echo started"));
  stop_agent();  // the note is there; the ledger had no time to answer
  ended_.clear();
  start_agent();
  ASSERT_EQ(known_.size(), 1u);
  EXPECT_TRUE(known_[0].running);
  EXPECT_EQ(end_of(run).exit, ExitStatus{});
  EXPECT_EQ(output(), "started\n");
}

TEST_P(Batch, DamagedNotesAreDropped) {
  stop_agent();
  for (const char* name : {"job5.1", "job6.1", "job7.1"}) std::filesystem::create_directory(dir_ / "spool/" + name);
  std::ofstream(dir_ / "spool/job6.1/run") << "garbage";
  std::ofstream(dir_ / "spool/job7.1/run") << "";
  std::filesystem::create_directory(dir_ / "spool/jobs");  // somebody else's
  start_agent();
  EXPECT_TRUE(known_.empty());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "spool/job6.1"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "spool/jobs"));
}

TEST_P(Batch, APowerCutLosesNoRunThatWasStarted) {
  const auto ended = launch(script("exit 7"));
  EXPECT_EQ(end_of(ended).exit, (ExitStatus{7, 0}));
  stop_agent();
  ended_.clear();
  // The machine starts again: the last directories did not reach the disk, the ledger did.
  std::filesystem::remove_all(dir_ / "spool/job1.1");
  const JobRun started{JobId{2}, Epoch{1}}, unstarted{JobId{3}, Epoch{1}}, lost{JobId{4}, Epoch{1}};
  {
    auto spool = os::Spool::open(dir_ / "spool");
    auto ledger = os::RunLedger::open(*loop_, dir_ / "spool/ledger");
    ASSERT_TRUE(spool && ledger);
    for (const auto run : {started, unstarted}) {
      const auto bytes = wire::encode_controller_message(launch_of(run.job.value, script("touch ran")));
      const os::RunHeader header{
          .run = run, .is_batch_host = true, .has_script = true, .boot_id = "another", .cgroup = {}};
      ASSERT_TRUE(spool->create(header, bytes));
    }
    (*ledger)->note(started, true, {});
    (*ledger)->note(lost, false, {});
  }
  start_agent();
  ASSERT_EQ(known_.size(), 3u);
  EXPECT_EQ(end_of(ended).exit, (ExitStatus{7, 0}));
  for (const auto run : {started, lost}) {
    EXPECT_EQ(end_of(run).exit, (ExitStatus{0, SIGKILL}));
    EXPECT_EQ(end_of(run).error, "the node was restarted");
  }
  EXPECT_TRUE(known_[1].is_batch_host);
  EXPECT_FALSE(known_[2].is_batch_host);
  // What had not been started is launched again by the controller, and runs.
  EXPECT_EQ(end_of(launch(launch_of(3, script("touch ran")))).exit, ExitStatus{});
  EXPECT_TRUE(std::filesystem::exists(dir_ / "out/ran"));
}

TEST_P(Batch, MarksOfAnOuterJobAreReplaced) {
  auto spec = script("env | grep -c SPUR_JOB_TOKEN; env | grep -c outer");
  spec->environment =
      std::make_shared<const std::string>(std::string("PATH=/usr/bin:/bin\0SPUR_JOB_TOKEN=outer.1.1\0", 44));
  end_of(launch(spec));
  EXPECT_EQ(output(), "1\n0\n");
}

TEST_P(Batch, TheTemplateMayDie) {
  const auto before = launch(script("echo up; while [ ! -e go ]; do sleep 0.02; done; exit 3"));
  wait_for_text("out", "up");
  const auto kill_template = [] {
    int killed = 0;
    for (const auto& process : os::all_processes())
      if (process.parent == ::getpid() && process.state != 'Z') killed += ::kill(process.pid, SIGKILL) == 0;
    return killed;
  };
  EXPECT_EQ(kill_template(), 1) << "it is the agent's only child";
  EXPECT_EQ(end_of(launch(script("exit 4"))).exit, (ExitStatus{4, 0}));
  EXPECT_EQ(kill_template(), 1);
  // Right in the middle: requests that it took with it are made again, none runs twice. It dies twice and not more,
  // as a launch that met a death three times is given up, and on a slow machine one launch can meet them all.
  for (int i = 0; i < 30; ++i) {
    auto spec = script("echo once >> log-$SLURM_JOB_ID");
    spec->std_out = "/dev/null";
    launch(spec);
    loop_->run_once(milliseconds(1));
    if (i == 9 || i == 19) kill_template();
  }
  wait_for([&] { return ended_.size() == 31; });
  for (std::uint32_t job = 3; job <= 32; ++job) {
    const auto& ended = ended_[{JobId{job}, Epoch{1}}];
    EXPECT_EQ(ended.exit, ExitStatus{}) << job << ' ' << ended.error;
    EXPECT_EQ(output(fmt::format("log-{}", job)), "once\n");
  }
  std::ofstream(dir_ / "out/go") << "";
  EXPECT_EQ(end_of(before).exit, (ExitStatus{3, 0})) << "its daemon is not the template's";
}

TEST_P(Batch, OtherPeoplesSpoolIsRefused) {
  ::mkdir((dir_ / "open").c_str(), 0777);
  ::chmod((dir_ / "open").c_str(), 0777);
  const auto opened = os::StepLauncher::open(*loop_, {.spool = dir_ / "open", .stepd = "/bin/true", .node = "n1"});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("writable by others"), std::string::npos) << opened.error().message;
}

TEST_P(Batch, OutputToAPipeThatNobodyReadsCanBeCancelled) {
  ASSERT_EQ(::mkfifo((dir_ / "out/pipe").c_str(), 0666), 0);
  ::chmod((dir_ / "out/pipe").c_str(), 0666);
  auto spec = script("true");
  spec->std_out = "pipe";
  const auto run = launch(spec);
  stepd_of(run);
  launcher_->end(run, false, JobState::Cancelled);
  EXPECT_NE(end_of(run).exit.signal, 0);
}

TEST_P(Batch, ManyQuickJobs) {
  for (int i = 0; i < 200; ++i) {
    auto spec = script(fmt::format("exit {}", i % 7));
    spec->std_out = "/dev/null";
    launch(spec);
    if (i % 10 == 0) loop_->run_once(Duration{0});
  }
  wait_for([&] { return ended_.size() == 200; }, seconds(120));
  for (const auto& [run, ended] : ended_) {
    EXPECT_EQ(ended.exit, (ExitStatus{static_cast<std::uint16_t>((run.job.value - 1) % 7), 0}));
    EXPECT_GT(ended.usage.max_rss_kib, 0u);
    launcher_->forget(run);
  }
  ended_.clear();
  const auto left = std::filesystem::directory_iterator(dir_ / "spool");
  for (const auto& entry : left) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "ledger" || name == "usage" || name == "steps.sock" || name.starts_with("spare")) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cgroups, Batch, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "with" : "without"; });

}  // namespace
}  // namespace spur::stepd
