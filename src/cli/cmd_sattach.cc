// SPDX-License-Identifier: Apache-2.0
// sattach: shows, from now on, what the tasks of a running step write, and sends them what is typed. It comes and
// goes as it likes: the step belongs to its srun.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/srun_exits.h"
#include "cli/srun_output.h"
#include "cli/srun_signals.h"
#include "cli/srun_terminal.h"
#include "cli/step_runner.h"
#include "text/decimal.h"
#include "text/hostlist.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Sattach {
  std::optional<std::uint32_t> only_in, only_out, only_err;
  bool label = false, layout = false, pty = false, quiet = false, help = false, usage = false, version = false;
  int verbose = 0;
};

template <bool Sattach::* Field>
OptionStatus flag(Sattach& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_verbose(Sattach& s, Value) {
  ++s.verbose;
  return {};
}
OptionStatus set_rank(std::optional<std::uint32_t>& rank, std::string_view name, Value value) {
  rank = text::parse_decimal32(value);
  if (!rank) return bad_option(fmt::format("Invalid numeric value \"{}\" for {}.", value, name), 1);
  return {};
}
OptionStatus set_input(Sattach& s, Value value) {
  return set_rank(s.only_in, "input-filter", value);
}
OptionStatus set_output(Sattach& s, Value value) {
  return set_rank(s.only_out, "output-filter", value);
}
OptionStatus set_error(Sattach& s, Value value) {
  return set_rank(s.only_err, "error-filter", value);
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sattach> kOptions[] = {
    {{"error-filter", 0, V, "taskid", "only print stderr from the specified task"}, set_error},
    {{"help", 'h', N, nullptr, "print this help message"}, flag<&Sattach::help>},
    {{"input-filter", 0, V, "taskid", "send stdin to only the specified task"}, set_input},
    {{"label", 'l', N, nullptr, "prepend task number to lines of stdout & stderr"}, flag<&Sattach::label>},
    {{"layout", 0, N, nullptr, "print task layout info and exit (does not attach to tasks)"}, flag<&Sattach::layout>},
    {{"output-filter", 0, V, "taskid", "only print stdout from the specified task"}, set_output},
    {{"pty", 0, N, nullptr, "the step has a terminal: type into it"}, flag<&Sattach::pty>},
    {{"quiet", 'Q', N, nullptr, "quiet mode (suppress informational messages)"}, flag<&Sattach::quiet>},
    {{"usage", 'u', N, nullptr, "print a brief usage message"}, flag<&Sattach::usage>},
    {{"version", 'V', N, nullptr, "print the Slurm version and exit"}, flag<&Sattach::version>},
    {{"verbose", 'v', N, nullptr, "verbose mode (multiple -v's increase verbosity)"}, set_verbose},
};
// clang-format on

constexpr std::string_view kUsage = "Usage: sattach [options] <jobid.stepid>\n";

struct StepName {
  JobId job;
  std::uint32_t step = 0;
};

std::optional<StepName> parse_step(std::string_view word) {
  const auto dot = word.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto job = text::parse_decimal32(word.substr(0, dot)), step = text::parse_decimal32(word.substr(dot + 1));
  if (!job || !step || *job == 0) return std::nullopt;
  return StepName{JobId{*job}, *step};
}

class Attached {
 public:
  Attached(Context& context, const Sattach& options, StepRunner& runner)
      : context_(context), options_(options), runner_(runner) {}

  wire::StepEvents events() {
    wire::StepEvents events;
    events.layout = [this](const std::vector<wire::StepEvents::Part>& parts) { on_layout(parts); };
    events.output = [this](std::uint32_t rank, std::string_view data, bool is_stderr) {
      auto& to = is_stderr ? err_ : out_;
      if (to && !options_.layout) to->add(rank, data);
    };
    events.exited = [this](const wire::StepEvents::Exit& exit) { exits_.add(exit); };
    events.failed = [this](const std::string& node, const Error& error) {
      context_.error("{}{}{}", node, node.empty() ? "" : ": ", error.message);
    };
    return events;
  }

  int run() {
    bool input_open = !options_.layout;
    while (!runner_.ended() && !(options_.layout && out_)) {
      const bool wants = input_open && out_ && !runner_.input_is_full();
      if (runner_.turn(wants ? context_.input : -1, seconds(60))) input_open = forward_input();
      exits_.report(context_);
      // What the terminal sends ends the looking on, not the step.
      while (const auto signal = SignalWatch::take())
        if (*signal != SIGWINCH && *signal != SIGCONT && *signal != SIGUSR1 && *signal != SIGUSR2 && *signal != SIGALRM)
          return leave();
    }
    leave();
    if (options_.layout && out_) return 0;
    if (const Status ended = runner_.result(); !ended && !out_) {
      context_.error("Could not get job step info: {}", words(ended.error()));
      return 1;
    }
    return exits_.status();
  }

 private:
  int leave() {
    if (out_) out_->finish();
    if (err_) err_->finish();
    exits_.report(context_);
    return 0;
  }

  bool forward_input() {
    static std::array<char, 64 * 1024> buffer;
    const ssize_t got = ::read(context_.input, buffer.data(), buffer.size());
    if (got > 0) runner_.send_input({buffer.data(), static_cast<std::size_t>(got)}, options_.only_in);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));  // its end is not that of the tasks' input
  }

  void on_layout(const std::vector<wire::StepEvents::Part>& parts) {
    std::uint64_t tasks = 0;
    for (const auto& part : parts) tasks += part.ranks.size();
    if (options_.layout) print_layout(parts, tasks);
    out_.emplace(context_.out, static_cast<std::uint32_t>(tasks), options_.label, false, options_.only_out);
    err_.emplace(context_.err, static_cast<std::uint32_t>(tasks), options_.label, false, options_.only_err);
  }

  void print_layout(const std::vector<wire::StepEvents::Part>& parts, std::uint64_t tasks) {
    std::vector<std::string> nodes;
    for (const auto& part : parts) nodes.push_back(part.node);
    context_.out.print("Job step layout:\n  {} tasks, {} nodes ({})\n\n", tasks, nodes.size(),
                       text::compress_hostlist(nodes));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      context_.out.print("  Node {} ({}), {} task(s): ", i, parts[i].node, parts[i].ranks.size());
      for (const auto& range : parts[i].ranks.ranges())
        for (std::uint64_t rank = range.first; rank <= range.last; ++rank) context_.out.print("{} ", rank);
      context_.out.print("\n");
    }
  }

  Context& context_;
  const Sattach& options_;
  StepRunner& runner_;
  std::optional<TaskOutput> out_, err_;  // once the step is known
  TaskExits exits_;
};

int attach(Context& context, const Sattach& options, const StepName& name) {
  const auto controller = context.controller();
  if (!controller) {
    context.error("Could not get job step info: {}", words(controller.error()));
    return 1;
  }
  const auto ticket = (*controller)->step_ticket(name.job);
  if (!ticket) {
    context.error("Could not get job step info: {}", words(ticket.error()));
    return 1;
  }
  wire::StepRequest request;
  request.ticket = ticket->ticket;
  request.watch = name.step;
  SignalWatch watch;
  std::optional<RawTerminal> raw;
  if (options.pty && ::isatty(context.input)) raw.emplace(context.input);
  const std::unique_ptr<StepRunner> runner = context.make_step_runner();
  Attached attached(context, options, *runner);
  if (const Status started = runner->start(ticket->addresses.front(), request, attached.events()); !started) {
    context.error("Could not get job step info: {}", words(started.error()));
    return 1;
  }
  return attached.run();
}

}  // namespace

int cmd_sattach(Context& context) {
  Sattach options;
  const auto rest = read_line<Sattach>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  context.quiet = options.quiet;
  context.verbosity = options.verbose;
  if (options.version) return print_version(context);
  if (options.usage || options.help) {
    context.out.write(options.usage ? std::string(kUsage)
                                    : std::string(kUsage) + help_text(rows_of<Sattach>(kOptions)));
    return 0;
  }
  const auto misused = [&](std::string_view why) {
    context.out.write(kUsage);
    context.error("{}", why);
    return 1;
  };
  if (options.pty && (options.only_in || options.only_out || options.only_err)) {
    context.error("don't specify both --pty and I/O filtering");
    return 1;
  }
  if (rest->size() != 1) return misused("too many parameters");
  const auto name = parse_step(rest->front());
  if (!name) return misused("Failed to parse stepid from command line options");
  return attach(context, options, *name);
}

}  // namespace spur::cli
