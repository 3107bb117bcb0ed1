// SPDX-License-Identifier: Apache-2.0
// spur-ha-load: submits batch jobs at a steady pace through the client that commands use, which moves from controller
// to controller by itself, and notes every answer. Ends on SIGTERM, or after --count.
//   spur-ha-load --out FILE [--rate N] [--threads N] [--count N] [--run-every N] [--script TEXT] [--gres NAME:N]
// A line per submit: when it began and was answered (microseconds, CLOCK_MONOTONIC), its name, the job's id, or "-"
// and the error. All jobs are held but every N-th.
#include <fmt/format.h>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/load.h"
#include "wire/controller_client.h"

namespace {

using namespace spur;
using std::chrono::steady_clock;

std::atomic<bool> stop{false};

struct Load {
  wire::ClientOptions options;
  long rate = 500, threads = 4, count = 0, run_every = 0;
  std::string out, gres, script = "#!/bin/sh\ntrue\n";
  std::FILE* file = nullptr;
  std::mutex mutex;
  std::atomic<long> next{0};

  static long micros(steady_clock::time_point t) {
    return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
  }

  void run(steady_clock::time_point begin) {
    wire::ControllerClient client(options);
    const auto pause = std::chrono::nanoseconds(rate > 0 ? 1'000'000'000 / rate : 0);
    while (!stop) {
      const long number = next.fetch_add(1);
      if (count > 0 && number >= count) return;
      // What is late is not made up for: the pace is that of users, not of a queue.
      const auto due = begin + number * pause;
      if (const auto now = steady_clock::now(); rate > 0 && now < due) std::this_thread::sleep_for(due - now);
      model::JobSpec spec;
      spec.name = fmt::format("l{}", number);
      const bool runs = run_every > 0 && number % run_every == 0;
      spec.hold = !runs;
      spec.script = std::make_shared<const std::string>(script);
      spec.environment = std::make_shared<const std::string>(std::string("PATH=/usr/bin:/bin\0", 19));
      spec.work_dir = "/tmp";
      spec.std_out = "/dev/null";
      if (const std::size_t colon = gres.find(':'); runs && colon != std::string::npos) {
        auto& wanted = spec.gres.emplace_back();
        wanted.name = gres.substr(0, colon);
        wanted.count = std::strtoull(gres.c_str() + colon + 1, nullptr, 10);
      }
      const auto from = steady_clock::now();
      const auto job = client.submit(spec, fmt::format("{}-{}", ::getpid(), number));
      const auto to = steady_clock::now();
      const std::lock_guard lock(mutex);
      fmt::print(file, "{} {} {} {}\n", micros(from), micros(to), spec.name,
                 job ? std::to_string(job->value) : "- " + job.error().message);
    }
  }
};

bool parse(int argc, char** argv, Load& load) {
  static const option kOptions[] = {{"out", required_argument, nullptr, 'o'},
                                    {"rate", required_argument, nullptr, 'r'},
                                    {"threads", required_argument, nullptr, 't'},
                                    {"count", required_argument, nullptr, 'c'},
                                    {"run-every", required_argument, nullptr, 'e'},
                                    {"script", required_argument, nullptr, 's'},
                                    {"gres", required_argument, nullptr, 'g'},
                                    {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 'o')
      load.out = optarg;
    else if (c == 'r')
      load.rate = std::atol(optarg);
    else if (c == 't')
      load.threads = std::atol(optarg);
    else if (c == 'c')
      load.count = std::atol(optarg);
    else if (c == 'e')
      load.run_every = std::atol(optarg);
    else if (c == 's')
      load.script = optarg;
    else if (c == 'g')
      load.gres = optarg;
    else
      return false;
  }
  return !load.out.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Load load;
  if (!parse(argc, argv, load)) return 2;
  const auto endpoints = config::client_options();
  if (!endpoints) return std::fprintf(stderr, "%s\n", endpoints.error().message.c_str()), 1;
  load.options.controllers = endpoints->controllers;
  load.options.local_socket = endpoints->local_socket;
  load.options.auth_socket = endpoints->auth_socket;
  load.options.timeout = endpoints->timeout;
  load.file = std::fopen(load.out.c_str(), "w");
  if (!load.file) return std::perror(load.out.c_str()), 1;
  struct sigaction action{};
  action.sa_handler = [](int) { stop = true; };
  ::sigaction(SIGTERM, &action, nullptr);
  std::vector<std::thread> threads;
  const auto begin = steady_clock::now();
  for (long i = 0; i < load.threads; ++i) threads.emplace_back([&] { load.run(begin); });
  for (auto& thread : threads) thread.join();
  std::fclose(load.file);
  return 0;
}
