// SPDX-License-Identifier: Apache-2.0
// The one program behind all commands: the name it is called by says which (sbatch, squeue, ...), or its first word
// (spur squeue, spur queue). Gives the command the real controller, clock, environment and terminal.
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <string_view>
#include <thread>

#include "cli/commands.h"
#include "cli/srun_signals.h"
#include "cli/step_runner.h"
#include "config/load.h"

namespace {

// "14:03:22", as of when an answer is.
std::string clock_time(spur::Time at) {
  const std::time_t seconds = spur::to_unix_seconds(at);
  std::tm parts{};
  char text[16];
  ::localtime_r(&seconds, &parts);
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &parts)};
}

spur::Result<std::unique_ptr<spur::cli::Controller>> connect(spur::cli::Context& context) {
  SPUR_ASSIGN(auto endpoints, spur::config::client_options());
  spur::wire::ClientOptions options;
  options.controllers = std::move(endpoints.controllers);
  options.local_socket = std::move(endpoints.local_socket);
  options.auth_socket = std::move(endpoints.auth_socket);
  options.ticket_socket = std::move(endpoints.ticket_socket);
  options.timeout = endpoints.timeout;
  options.interrupted = spur::cli::interrupted;
  options.consistent = context.consistent || context.env("SPUR_CONSISTENT").value_or("").size() > 0;
  options.on_stale = [&context](const spur::wire::FollowerNote& note) {
    context.stale = fmt::format("as of {}: no controller leads, and {} shows what it knew then",
                                clock_time(context.now() - note.silence), note.name);
    context.info("warning: {}", context.stale);
  };
  return spur::cli::make_wire_controller(std::move(options), std::move(endpoints.defaults));
}

spur::Result<std::unique_ptr<spur::cli::Accounting>> connect_accounting() {
  SPUR_ASSIGN(auto endpoints, spur::config::accounting_options());
  return spur::cli::make_wire_accounting({.addresses = std::move(endpoints.addresses),
                                          .auth_socket = std::move(endpoints.auth_socket),
                                          .timeout = endpoints.timeout,
                                          .interrupted = spur::cli::interrupted},
                                         std::move(endpoints.cluster));
}

spur::Result<std::unique_ptr<spur::cli::Accounts>> connect_accounts() {
  SPUR_ASSIGN(auto endpoints, spur::config::accounting_options());
  return spur::cli::make_wire_accounts({.addresses = std::move(endpoints.addresses),
                                        .auth_socket = std::move(endpoints.auth_socket),
                                        .timeout = endpoints.timeout,
                                        .interrupted = spur::cli::interrupted},
                                       std::move(endpoints.cluster));
}

int run(int argc, char** argv) {
  using namespace spur;
  cli::Output out(STDOUT_FILENO), err(STDERR_FILENO, true);
  cli::Context context(out, err);
  const std::string_view path = argc > 0 ? argv[0] : "spur";
  context.program = std::string(path.substr(path.rfind('/') + 1));
  for (int i = 1; i < argc; ++i) context.arguments.emplace_back(argv[i]);
  context.environment = environ;
  context.spur_version = SPUR_VERSION;
  context.is_root = ::geteuid() == 0;
  context.connect = [&context] { return connect(context); };
  context.connect_accounting = connect_accounting;
  context.connect_accounts = connect_accounts;
  context.make_step_runner = cli::make_wire_step_runner;
  context.now = [] { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); };
  context.pause = [](seconds span) { std::this_thread::sleep_for(span); };
  const cli::Command* command = cli::find_command(context.program);
  return command != nullptr ? command->run(context) : cli::cmd_spur(context);
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run(argc, argv);
  // All output is written and all connections are closed. The destructors of a thousand static messages, each on a page of
  // its own, would only cost time; sanitizers report from there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return status;
#else
  ::_exit(status);
#endif
}
