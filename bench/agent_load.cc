// SPDX-License-Identifier: Apache-2.0
// Many nodes in one process, for measuring the controller alone: the real agent logic over real streams, one per
// node, with a launcher that starts no processes. A run ends as soon as it has begun, or never (--hold).
//   spur-agent-load --nodes n[1-1000] [--hold]
// Prints "ready" when every node is registered. Then answers each line on standard input with one of its own:
//   launched=N ended=N first=SECONDS last=SECONDS cpu=SECONDS
// counted since the last "reset": launches taken, ends that the controller has confirmed as durable, when the first
// launch came and the last launch or confirmation (CLOCK_MONOTONIC), and the CPU time of this process.
#include <fmt/format.h>
#include <getopt.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "config/load.h"
#include "os/controller_link.h"
#include "os/daemon.h"
#include "os/event_loop.h"
#include "os/system_clock.h"
#include "text/hostlist.h"
#include "wire/credential_client.h"

namespace spur {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Counters {
  long launched = 0, ended = 0;
  double first = 0, last = 0;

  void count(long& what) {
    last = seconds_now();
    if (launched == 0) first = last;
    ++what;
  }
};

// What one dial needs; one signature serves all nodes that dial within its life.
class Credential {
 public:
  explicit Credential(std::string socket) : socket_(std::move(socket)) {}
  Result<wire::Metadata> metadata() {
    if (text_.empty() || seconds_now() > until_) {
      SPUR_ASSIGN(text_, wire::ask_credential(socket_, "controller", seconds(10)));
      until_ = seconds_now() + 20;
    }
    return wire::Metadata{{"spur-credential-bin", text_}};
  }

 private:
  std::string socket_, text_;
  double until_ = 0;
};

// Notes nothing and starts nothing. An end is reported from the loop: a real one is never reported from within
// launch.
class NoProcesses final : public io::Launcher {
 public:
  NoProcesses(os::EventLoop& loop, Counters& counters, bool hold) : loop_(loop), counters_(counters), hold_(hold) {}
  Result<std::vector<Known>> recover() override { return std::vector<Known>{}; }
  Status launch(const model::ControllerLaunch& launch) override {
    counters_.count(counters_.launched);
    if (!hold_) report(launch.run);
    return {};
  }
  void end(model::JobRun run, bool, model::JobState) override { report(run); }
  void signal(model::JobRun, int, bool, bool) override {}
  void suspend(model::JobRun, bool) override {}
  void forget(model::JobRun) override { counters_.count(counters_.ended); }

 private:
  void report(model::JobRun run) {
    loop_.post([this, run] { on_ended({.run = run, .exit = {}, .error = {}}); });
  }
  os::EventLoop& loop_;
  Counters& counters_;
  bool hold_;
};

class Node {
 public:
  Node(os::EventLoop& loop, io::Clock& clock, Credential& credential, Counters& counters,
       const config::ClientEndpoints& endpoints, const std::string& name, bool hold, std::function<void()> welcomed)
      : loop_(loop),
        launcher_(loop, counters, hold),
        link_(loop, {.addresses = [&endpoints] { return endpoints.controllers; },
                     .metadata = [&credential] { return credential.metadata(); },
                     .on_connected =
                         [this] {
                           agent_.on_connected();
                           arm_timer();
                         },
                     .on_disconnected = [this] { agent_.on_disconnected(); },
                     .on_message = [this](const model::ControllerMessage& message) { take(message); },
                     .log = [name](const std::string& line) { fmt::print(stderr, "{}: {}\n", name, line); }}),
        agent_(identity(name), clock, launcher_, link_),
        welcomed_(std::move(welcomed)) {}

  Status start() {
    SPUR_TRY(agent_.start());
    link_.start();
    return {};
  }

 private:
  static agent::AgentIdentity identity(const std::string& name) {
    agent::AgentIdentity who;
    who.node = name;
    who.address = "127.0.0.1:9";  // no steps are served
    who.hostname = name;
    who.version = "load";
    who.os = "Linux";
    who.arch = "x86_64";
    who.found.cpus = 1;  // the configuration's word counts
    return who;
  }

  void take(const model::ControllerMessage& message) {
    agent_.on_message(message);
    if (const auto* welcome = std::get_if<model::ControllerWelcome>(&message); welcome && !welcome->hello_again)
      if (welcomed_) std::exchange(welcomed_, nullptr)();
    arm_timer();
  }

  void arm_timer() {
    const Duration due = agent_.next_timer();
    // One that is due earlier stays: it costs a look, setting another one costs more.
    if (due == Duration::max() || (timer_ && timer_.at <= due)) return;
    if (timer_) loop_.cancel(timer_);
    timer_ = loop_.call_at(due, [this] {
      timer_ = {};
      agent_.on_timer();
      arm_timer();
    });
  }

  os::EventLoop& loop_;
  NoProcesses launcher_;
  os::ControllerLink link_;
  agent::Agent agent_;
  std::function<void()> welcomed_;
  os::EventLoop::TimerId timer_;
};

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto value = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return value(usage.ru_utime) + value(usage.ru_stime);
}

// False when nobody is left to answer.
bool answer(Counters& counters) {
  char buffer[4096];
  const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
  if (n <= 0) return false;
  const std::string_view text(buffer, static_cast<std::size_t>(n));
  for (long lines = std::ranges::count(text, '\n'); lines > 0; --lines)
    fmt::print("launched={} ended={} first={:.6f} last={:.6f} cpu={:.3f}\n", counters.launched, counters.ended,
               counters.first, counters.last, own_cpu_seconds());
  std::fflush(stdout);
  if (text.find("reset") != text.npos) counters = {};
  return true;
}

Status run(const std::string& list, bool hold) {
  SPUR_ASSIGN(const auto names, text::expand_hostlist(list));
  SPUR_ASSIGN(const auto endpoints, config::client_options());
  SPUR_ASSIGN(const auto loop, os::EventLoop::open());
  os::SystemClock clock;
  Counters counters;
  Credential credential(endpoints.auth_socket);
  std::vector<std::unique_ptr<Node>> nodes;
  // A few at a time: a thousand connections at once are more than a listening socket keeps waiting.
  constexpr std::size_t kDialling = 64;
  std::size_t ready = 0;
  std::function<Status()> dial = [&]() -> Status {
    nodes.push_back(
        std::make_unique<Node>(*loop, clock, credential, counters, endpoints, names[nodes.size()], hold, [&] {
          if (++ready == names.size()) fmt::print("ready\n"), std::fflush(stdout);
          loop->post([&] {
            if (nodes.size() < names.size()) (void)dial();
          });
        }));
    return nodes.back()->start();
  };
  while (nodes.size() < std::min(kDialling, names.size())) SPUR_TRY(dial());
  SPUR_TRY(loop->watch(STDIN_FILENO, EPOLLIN, [&](std::uint32_t) {
    if (!answer(counters)) loop->stop();
  }));
  loop->run();
  return {};
}

}  // namespace
}  // namespace spur

int main(int argc, char** argv) {
  std::string nodes;
  bool hold = false;
  static const option kOptions[] = {
      {"nodes", required_argument, nullptr, 'n'}, {"hold", no_argument, nullptr, 'h'}, {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 'n')
      nodes = optarg;
    else if (c == 'h')
      hold = true;
    else
      return 2;
  }
  spur::os::raise_open_file_limit();
  if (auto ok = spur::run(nodes, hold); !ok) return std::fprintf(stderr, "%s\n", ok.error().message.c_str()), 1;
  return 0;
}
