// SPDX-License-Identifier: Apache-2.0
// All that a command may touch: its arguments, the environment, where it writes, the controller, the clock.
// main/spur.cc fills it with the real things, tests with their own. Commands are functions `int cmd_x(Context&)` that
// return the exit status.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/accounting.h"
#include "cli/accounts.h"
#include "cli/controller.h"
#include "cli/output.h"

namespace spur::cli {

class StepRunner;

inline constexpr std::string_view kSlurmVersion = "25.05.0";  // whose behaviour the commands show

// How the native commands write for people, on a terminal. Slurm's own names never do.
struct Style {
  bool people = false;  // plain words instead of Slurm's, and how far arrays are
  bool colors = false;
};

// The rows of a command's table of options, for who asks for them instead of running it (see options.h).
struct OptionsAsked;

struct Context {
  Context(Output& standard_output, Output& standard_error) : out(standard_output), err(standard_error) {}

  std::string program;                       // "sbatch": what messages begin with
  std::vector<std::string> arguments;        // without the program's own name
  const char* const* environment = nullptr;  // NAME=VALUE, ended by a null pointer
  Output& out;
  Output& err;
  int input = 0;  // descriptor of standard input
  std::string spur_version;
  bool is_root = false;  // sees partitions that are hidden from others
  // Reads the configuration and makes a client; called at most once, and only by commands that need the controller.
  std::function<Result<std::unique_ptr<Controller>>()> connect;
  // The same for the accounting service. RequestDisabled: there is none.
  std::function<Result<std::unique_ptr<Accounting>>()> connect_accounting;
  std::function<Result<std::unique_ptr<Accounts>>()> connect_accounts;
  // Runs job steps on the agents; only srun needs it.
  std::function<std::unique_ptr<StepRunner>()> make_step_runner;
  std::function<Time()> now;
  std::function<void(seconds)> pause;  // sleeps; between attempts and iterations

  Style style;
  OptionsAsked* options_asked = nullptr;  // set: the command only says what options it has

  int verbosity = 0;   // -v raises it
  bool quiet = false;  // -Q: no informational lines
  // --consistent, $SPUR_CONSISTENT: the leading controller is asked, not the nearest. Before the first call.
  bool consistent = false;
  std::string stale;  // why what was shown may be old, once that is known; empty: it is not

  Result<Controller*> controller();
  // What the configuration says of commands. If it cannot be read, whoever asks for the controller hears of that.
  config::CommandDefaults defaults();
  std::optional<std::string_view> env(std::string_view name) const;

  // "sbatch: error: ..." and "sbatch: ..." on stderr. What is printed is made terminal-safe.
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    message(": error: ", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    if (!quiet) message(": ", fmt::format(format, std::forward<Args>(args)...));
  }
  // Also with --quiet.
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    message(": Warning: ", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void fatal(fmt::format_string<Args...> format, Args&&... args) {
    message(": fatal: ", fmt::format(format, std::forward<Args>(args)...));
  }
  // A line on stderr with nothing in front.
  template <class... Args>
  void plain(fmt::format_string<Args...> format, Args&&... args) {
    message({}, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void message(std::string_view mark, const std::string& sentence);
  std::unique_ptr<Controller> controller_;
};

// What the user reads for an error of the controller: Slurm's sentence where Slurm has one, else the error's own.
std::string words(const Error& error);

}  // namespace spur::cli
