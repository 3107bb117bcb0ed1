// SPDX-License-Identifier: Apache-2.0
// What one `true` batch job costs on the node side, from launch() to forget(). Prints one JSON line: jobs per second
// and the CPU of this process, which is the agent's share. With SPUR_BENCH_CPUACCT naming a directory that has a
// cpuacct.usage or cpu.stat of a cgroup in which only this bench runs, also the CPU of everything: the agent,
// spurstepd and the script.
//   launcher_bench SPURSTEPD [JOBS] [AT_ONCE] [SPOOL]
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/event_loop.h"
#include "os/step_launcher.h"

namespace {

using namespace spur;

// Of all in the bench's cgroup; 0 where there is none.
double group_cpu_seconds() {
  const char* dir = std::getenv("SPUR_BENCH_CPUACCT");
  if (dir == nullptr) return 0;
  double value = 0;
  std::string word;
  if (std::ifstream v1(std::string(dir) + "/cpuacct.usage"); v1 >> value) return value / 1e9;
  std::ifstream v2(std::string(dir) + "/cpu.stat");
  return v2 >> word >> value ? value / 1e6 : 0;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

model::ControllerLaunch launch_of(std::uint32_t job) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "bench";
  spec->uid = Uid{::getuid()};
  spec->gid = Gid{::getgid()};
  spec->script = std::make_shared<const std::string>("#!/bin/sh\ntrue\n");
  std::string environment;
  for (int i = 0; i < 30; ++i) environment += fmt::format("VARIABLE_{}=some value of the usual length", i) + '\0';
  spec->environment = std::make_shared<const std::string>(environment);
  spec->work_dir = "/tmp";
  spec->std_out = "/dev/null";
  model::ControllerLaunch out;
  out.run = {JobId{job}, Epoch{1}};
  out.spec = spec;
  out.partition = "debug";
  out.cluster_name = "bench";
  out.parts = {{.node = "bench", .cpus = {0}, .memory_mib = 0, .tasks = 1, .devices = {}}};
  out.addresses = {""};
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "usage: launcher_bench SPURSTEPD [JOBS] [AT_ONCE] [SPOOL]\n"), 1;
  const std::uint32_t jobs = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 2000;
  const std::uint32_t at_once = argc > 3 ? static_cast<std::uint32_t>(std::atoi(argv[3])) : 8;
  std::string spool = argc > 4 ? argv[4] : "/tmp/spur-launcher-bench.XXXXXX";
  if (argc <= 4 && ::mkdtemp(spool.data()) == nullptr) return 1;
  auto loop = os::EventLoop::open();
  auto launcher =
      os::StepLauncher::open(**loop, {.spool = spool,
                                      .stepd = argv[1],
                                      .node = "bench",
                                      .job_environment = {},
                                      .use_cgroups = std::getenv("NO_CGROUPS") == nullptr,
                                      .warn = [](const std::string& text) { fmt::print(stderr, "{}\n", text); }});
  if (!launcher) return fmt::print(stderr, "{}\n", launcher.error().message), 1;
  std::uint32_t next = 1, done = 0, failed = 0;
  const auto fill = [&] {
    while (next <= jobs && next - 1 - done < at_once)
      if (auto started = (*launcher)->launch(launch_of(next++)); !started)
        fmt::print(stderr, "{}\n", started.error().message), std::exit(1);
  };
  (*launcher)->on_ended = [&](const io::Launcher::Ended& ended) {
    ++done;
    if (ended.exit != model::ExitStatus{} || ended.launch_failed) {
      if (failed++ == 0)
        fmt::print(stderr, "job {}: {}:{} {}\n", ended.run.job.value, ended.exit.code, ended.exit.signal,
                   ended.error);
    }
    (*loop)->post([&, run = ended.run] {
      (*launcher)->forget(run);
      if (done == jobs) return (*loop)->stop();
      fill();
    });
  };
  if (auto known = (*launcher)->recover(); !known) return 1;
  const double self = cpu_seconds(), all = group_cpu_seconds();
  const Duration began = os::EventLoop::now();
  fill();
  (*loop)->run();
  const double wall = std::chrono::duration<double>(os::EventLoop::now() - began).count();
  fmt::print(
      "{{\"bench\":\"launcher\",\"jobs\":{},\"at_once\":{},\"failed\":{},\"jobs_per_s\":{:.0f},\"agent_us\":{:.0f},"
      "\"all_us\":{:.0f}}}\n",
      jobs, at_once, failed, jobs / wall, (cpu_seconds() - self) * 1e6 / jobs,
      (group_cpu_seconds() - all) * 1e6 / jobs);
  launcher->reset();
  if (argc <= 4) std::filesystem::remove_all(spool);
  return failed != 0;
}
