// SPDX-License-Identifier: Apache-2.0
// What the launcher does around a job besides starting it: the site's prolog and epilog, samples of usage.
#include <filesystem>
#include <fstream>

#include "stepd/test_agent.h"

namespace spur::stepd {
namespace {

class NodeSide : public TestAgent {
 protected:
  void tune(os::StepLauncher::Options& options) override {
    options.hooks.prolog = {hook("prolog")};
    options.hooks.epilog = {hook("epilog")};
    options.hooks.prolog_timeout = options.hooks.epilog_timeout = seconds(20);
    options.sample_every = seconds(1);
    options.gpu_load = [this](const model::LaunchPart& part) {
      ++gpu_samples_;
      return os::GpuLoad{.memory_mib = 100 * part.devices.front().indices.size(), .percent = 50};
    };
  }
  // Fails, or waits until it may go on, if the test says so; leaves its environment and a line in the order of
  // things.
  std::string hook(const std::string& name) {
    const std::string path = dir_ / name;
    std::ofstream(path) << "#!/bin/sh\n[ -e " << dir_ / (name + ".fails") << " ] && exit 1\ntouch "
                        << dir_ / (name + ".runs") << "\nwhile [ -e " << dir_ / (name + ".waits")
                        << " ]; do sleep 0.01; done\nenv > " << dir_ / (name + ".env") << "\necho " << name << " >> "
                        << dir_ / "order" << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  void flag(const std::string& name) { std::ofstream(dir_ / name) << "x"; }
  bool exists(const std::string& name) { return std::filesystem::exists(dir_ / name); }
  int gpu_samples_ = 0;
};

TEST_P(NodeSide, PrologBeforeAndEpilogAfter) {
  flag("order");
  std::filesystem::permissions(dir_ / "order", std::filesystem::perms::all);
  const auto& ended = end_of(launch(script("echo job >> " + (dir_ / "order") + "; exit 3")));
  EXPECT_EQ(ended.exit, (ExitStatus{3, 0}));
  EXPECT_EQ(ended.drain, "");
  EXPECT_EQ(contents(dir_ / "order"), "xprolog\njob\nepilog\n");
  const std::string prolog = contents(dir_ / "prolog.env"), epilog = contents(dir_ / "epilog.env");
  EXPECT_NE(prolog.find("SLURM_JOB_ID=1\n"), std::string::npos) << prolog;
  EXPECT_NE(prolog.find("SLURM_SCRIPT_CONTEXT=prolog_slurmd\n"), std::string::npos) << prolog;
  EXPECT_EQ(prolog.find("HOME="), std::string::npos) << prolog;
  EXPECT_EQ(prolog.find("EXIT_CODE"), std::string::npos) << prolog;
  EXPECT_NE(epilog.find("SLURM_JOB_EXIT_CODE2=3:0\n"), std::string::npos) << epilog;
}

TEST_P(NodeSide, APrologThatFailsIsAFailedLaunch) {
  flag("prolog.fails");
  const auto& ended = end_of(launch(script("touch ran")));
  EXPECT_TRUE(ended.launch_failed && ended.prolog_failed);
  EXPECT_FALSE(exists("out/ran"));
  EXPECT_TRUE(exists("epilog.env"));  // as in Slurm
}

TEST_P(NodeSide, AnEpilogThatFailsLeavesTheJobAlone) {
  flag("epilog.fails");
  const auto& ended = end_of(launch(script("true")));
  EXPECT_EQ(ended.exit, ExitStatus{});
  EXPECT_EQ(ended.drain, "Epilog error");
}

TEST_P(NodeSide, EndedWhileItsPrologRuns) {
  flag("prolog.waits");
  const auto run = launch(script("touch ran"));
  wait_for([&] { return exists("prolog.runs"); });
  launcher_->end(run, false, JobState::Cancelled);
  launcher_->end(run, true, JobState::Cancelled);
  loop_->run_once(Duration{0});
  EXPECT_FALSE(ended_.contains(run));  // not before the prolog is through: the epilog comes after it
  std::filesystem::remove(dir_ / "prolog.waits");
  EXPECT_EQ(end_of(run).exit.signal, SIGTERM);
  EXPECT_FALSE(exists("out/ran"));
  EXPECT_EQ(contents(dir_ / "order"), "prolog\nepilog\n");
}

TEST_P(NodeSide, AnAgentThatDiesDuringTheEpilogRunsItAgain) {
  flag("epilog.waits");
  const auto run = launch(script("exit 4"));
  wait_for([&] { return exists("epilog.runs"); });
  stop_agent();
  EXPECT_FALSE(ended_.contains(run));
  std::filesystem::remove(dir_ / "epilog.waits");
  start_agent();
  EXPECT_EQ(end_of(run).exit, (ExitStatus{4, 0}));
  EXPECT_NE(contents(dir_ / "order").find("epilog\n"), std::string::npos);
}

TEST_P(NodeSide, UsageIsSampledWhileItRuns) {
  auto what = launch_of(next_job_++, script("touch up; while [ ! -e stop ]; do sleep 0.02; done"));
  what.parts.front().devices = {{.gres = "gpu", .type = "", .indices = {0, 1}}};
  const auto run = launch(what);
  const auto sample = [&]() -> const os::StepSample* {
    static std::vector<os::StepSample> samples;
    samples = launcher_->usage(run.job);
    return samples.size() == 1 && samples[0].tasks.size() == 1 ? &samples[0] : nullptr;
  };
  wait_for([&] { return exists("out/up") && sample() && sample()->tasks[0].usage.max_rss_kib > 0; });
  EXPECT_EQ(sample()->step, "batch");
  wait_for([&] { return gpu_samples_ > 1; });
  flag("out/stop");
  const auto& ended = end_of(run);
  EXPECT_GT(ended.usage.max_rss_kib, 0u);
  EXPECT_EQ(ended.usage.gpu_memory_mib, 200u);
  EXPECT_EQ(ended.usage.gpu_utilization, 50u);
  EXPECT_TRUE(launcher_->usage(run.job).empty());
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "spool/usage"));
}

INSTANTIATE_TEST_SUITE_P(Cgroups, NodeSide, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "with" : "without"; });

}  // namespace
}  // namespace spur::stepd
