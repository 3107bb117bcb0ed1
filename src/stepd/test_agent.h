// SPDX-License-Identifier: Apache-2.0
// For tests: an agent's launcher over a temporary spool, and the real spurstepd. Jobs run as uid 65534 when the tests
// run as root, as the caller otherwise; the parameter says whether cgroups are used.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "os/process.h"
#include "os/step_launcher.h"
#include "os/test_directory.h"

namespace spur::stepd {

using io::Launcher;
using model::ExitStatus;
using model::JobRun;
using model::JobState;

inline bool is_root() {
  return ::geteuid() == 0;
}
inline Uid job_uid() {
  return Uid{is_root() ? 65534 : ::getuid()};
}
inline Gid job_gid() {
  return Gid{is_root() ? 65534 : ::getgid()};
}

inline bool is_alive(pid_t pid) {
  const auto stat = os::process_stat(pid);
  return stat && stat->state != 'Z';  // whoever inherited it may be slow to reap it
}

inline std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// One agent after another over the same spool, as spurd's restarts make them.
class TestAgent : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ::chmod(dir_.path().c_str(), 0755);
    ::mkdir((dir_ / "out").c_str(), 0777);
    ::chmod((dir_ / "out").c_str(), 0777);
    auto loop = os::EventLoop::open();
    ASSERT_TRUE(loop);
    loop_ = std::move(*loop);
    start_agent();
  }
  void TearDown() override {
    if (!launcher_) return;
    for (const auto& run : running_) launcher_->end(run, true, JobState::Cancelled);
    wait_for([&] { return running_.empty(); });
    for (const auto& [run, ended] : ended_) launcher_->forget(run);
    launcher_.reset();
  }

  void start_agent() {
    os::StepLauncher::Options options{.spool = dir_ / "spool",
                                      .stepd = std::string(SPUR_BINARY_DIR) + "/spurstepd",
                                      .node = "n1",
                                      .job_environment = {"SPUR_TEST_NODE_ENTRY=yes"},
                                      .use_cgroups = GetParam(),
                                      .warn = [this](const std::string& text) { warnings_.push_back(text); }};
    tune(options);
    auto opened = os::StepLauncher::open(*loop_, std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    launcher_ = std::move(*opened);
    launcher_->on_ended = [this](const Launcher::Ended& ended) {
      EXPECT_TRUE(ended_.emplace(ended.run, ended).second) << "a second end for job " << ended.run.job.value;
      running_.erase(std::remove(running_.begin(), running_.end(), ended.run), running_.end());
    };
    auto known = launcher_->recover();
    ASSERT_TRUE(known) << known.error().message;
    known_ = std::move(*known);
    for (const auto& k : known_)
      if (!k.running) launcher_->on_ended(k.ended);
  }
  virtual void tune(os::StepLauncher::Options&) {}  // what else the agent is to do
  // As kill -9 of spurd: nothing is told to anybody.
  void stop_agent() { launcher_.reset(); }

  template <class Condition>
  void wait_for(Condition condition, seconds limit = seconds(30)) {
    const Duration end = os::EventLoop::now() + limit;
    while (!condition()) {
      ASSERT_LT(os::EventLoop::now(), end) << "nothing happens";
      loop_->run_once(milliseconds(20));
    }
  }
  void wait_for_text(const std::string& file, const std::string& text) {
    wait_for([&] { return contents(dir_ / "out/" + file).find(text) != std::string::npos; });
  }

  std::shared_ptr<model::JobSpec> script(const std::string& body) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = "test";
    spec->uid = job_uid();
    spec->gid = job_gid();
    spec->script = std::make_shared<const std::string>("#!/bin/bash\n" + body + "\n");
    spec->environment = std::make_shared<const std::string>(std::string("PATH=/usr/bin:/bin\0MINE=1\0", 26));
    spec->work_dir = dir_ / "out";
    spec->std_out = "out";
    return spec;
  }
  static model::ControllerLaunch launch_of(std::uint32_t job, std::shared_ptr<model::JobSpec> spec,
                                           std::uint32_t epoch = 1) {
    model::ControllerLaunch out;
    out.run = {JobId{job}, Epoch{epoch}};
    out.spec = std::move(spec);
    out.partition = "debug";
    out.cluster_name = "test";
    out.parts = {{.node = "n1", .cpus = {0, 1}, .memory_mib = 0, .tasks = 1, .devices = {}}};
    out.addresses = {""};
    out.kill_wait = seconds(1);
    return out;
  }
  JobRun launch(model::ControllerLaunch what) {
    const auto started = launcher_->launch(what);
    EXPECT_TRUE(started) << started.error().message;
    running_.push_back(what.run);
    return what.run;
  }
  JobRun launch(std::shared_ptr<model::JobSpec> spec) { return launch(launch_of(next_job_++, std::move(spec))); }
  const Launcher::Ended& end_of(JobRun run) {
    wait_for([&] { return ended_.contains(run); });
    return ended_[run];
  }
  std::string output(const std::string& name = "out") { return contents(dir_ / "out/" + name); }
  // The job's spurstepd, once it has said so.
  pid_t stepd_of(JobRun run) {
    auto spool = os::Spool::open(dir_ / "spool");
    pid_t pid = 0;
    wait_for([&] {
      auto file = spool->open_run(run);
      if (file) pid = file->started().value_or(0);
      return pid > 0;
    });
    return pid;
  }

  os::TestDirectory dir_;
  std::unique_ptr<os::EventLoop> loop_;
  std::unique_ptr<os::StepLauncher> launcher_;
  std::vector<Launcher::Known> known_;
  std::map<JobRun, Launcher::Ended> ended_;
  std::vector<JobRun> running_;
  std::vector<std::string> warnings_;
  std::uint32_t next_job_ = 1;
};

}  // namespace spur::stepd
