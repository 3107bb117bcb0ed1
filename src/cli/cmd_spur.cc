// SPDX-License-Identifier: Apache-2.0
// spur WORD ...: the native commands. They are Slurm's commands under plain names, with wider tables where a person
// reads them; `spur squeue ...` and its like are Slurm's commands as they are.
#include <algorithm>

#include "cli/cmd_report.h"
#include "cli/cmd_translate.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/terminal.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;

bool has_any(const Words& words, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return word.starts_with(beginning); });
  });
}

// --color[=WHEN], which Slurm's commands do not have, is taken off the line. False: it is wrong, and has been told.
bool take_style(Context& context) {
  ColorWish wish = ColorWish::Auto;
  Words rest;
  for (std::string& word : context.arguments) {
    if (word != "--color" && !word.starts_with("--color=")) {
      rest.push_back(std::move(word));
      continue;
    }
    const auto given = parse_color_wish(word == "--color" ? std::string_view{} : std::string_view(word).substr(8));
    if (!given) {
      context.error("Invalid --color: {} (auto, always or never)", word.substr(8));
      return false;
    }
    wish = *given;
  }
  context.arguments = std::move(rest);
  context.style = {.people = is_terminal(context.out) || wish == ColorWish::Always,
                   .colors = wants_color(context, wish)};
  return true;
}

int queue(Context& context) {
  if (!take_style(context)) return 1;
  const bool own_format = has_any(context.arguments, {"-l", "-o", "-O", "--long", "--format", "--Format", "--start",
                                                      "--json", "--yaml", "--only"});
  const bool as_lines = has_any(context.arguments, {"--watch"}) && !is_terminal(context.out);
  if (!own_format && context.style.people) {
    context.arguments.insert(context.arguments.begin(),
                             "--Format=JobArrayID:.14 ,Partition:.10 ,Name:.20 ,UserName:.10 ,State:.10 ,"
                             "TimeUsed:.11 ,TimeLimit:.11 ,NumNodes:.5 ,Why:0");
  } else if (!own_format && !as_lines) {
    context.arguments.insert(context.arguments.begin(), "--format=%.18i %.12P %.24j %.12u %.11T %.12M %.12l %.6D %R");
  }
  return cmd_squeue(context);
}

int nodes(Context& context) {
  if (!take_style(context)) return 1;
  const bool own_format = has_any(context.arguments, {"-l", "-o", "-O", "-s", "-R", "--long", "--format", "--Format",
                                                      "--sum", "--list", "--json"});
  if (!own_format) {
    const Words native = {"-N", "--format=%20N %.12P %.10T %.6c %.16C %.10m %.20G %E"};
    context.arguments.insert(context.arguments.begin(), native.begin(), native.end());
  }
  return cmd_sinfo(context);
}

template <const char* const& Keyword>
int control(Context& context) {
  context.arguments.insert(context.arguments.begin(), Keyword);
  return cmd_scontrol(context);
}
constexpr const char* kShow = "show";
constexpr const char* kHold = "hold";
constexpr const char* kRelease = "release";
constexpr const char* kRequeue = "requeue";

int version(Context& context) {
  context.out.print("spur {}\n", context.spur_version);
  return 0;
}
int help(Context& context);
int top(Context& context) {
  return take_style(context) ? cmd_top(context) : 1;
}
int completion(Context& context);
int manual(Context& context);

struct Native {
  const char* name;
  int (*run)(Context& context);
  const char* help;
};
constexpr Native kNative[] = {
    {"submit", cmd_sbatch, "submit a batch script (sbatch)"},
    {"run", cmd_srun, "run a program in a new allocation, or a step in this job (srun)"},
    {"queue", queue, "show jobs (squeue)"},
    {"accounting", cmd_accounting, "say how the accounting service stands"},
    {"cancel", cmd_scancel, "end or signal jobs (scancel)"},
    {"controllers", cmd_controllers, "list, add and remove controllers; move the state into etcd and back"},
    {"efficiency", cmd_efficiency, "say how much a job used of what it had"},
    {"explain", cmd_explain, "say why a job waits and what would start it sooner"},
    {"export", cmd_export, "write spur.conf as slurm.conf and the files beside it"},
    {"history", cmd_history, "show jobs of the past (sacct), or with --events what was done to one"},
    {"image", cmd_image, "import, list and remove container images"},
    {"import", cmd_import, "write slurm.conf and the files beside it as spur.conf"},
    {"nodes", nodes, "show nodes (sinfo)"},
    {"show", control<kShow>, "show one job, node, partition or the configuration (scontrol show)"},
    {"hold", control<kHold>, "keep jobs from starting"},
    {"release", control<kRelease>, "let held jobs start"},
    {"report", cmd_report, "hours, cost, waits, idle GPUs and efficiency, as text, CSV, JSON or charts"},
    {"requeue", control<kRequeue>, "put jobs back into the queue"},
    {"wait", cmd_wait, "wait until jobs have ended"},
    {"top", top, "show cluster and jobs, live, on the whole screen"},
    {"completion", completion, "print completions for bash, zsh or fish"},
    {"man", manual, "show or write the manual page of a command"},
    {"simulate", cmd_simulate, "replay a workload, or ask what would become of the queue"},
    {"version", version, "print Spur's version"},
    {"help", help, "print this text"},
};

int help(Context& context) {
  context.out.write("Usage: spur COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
  for (const Native& native : kNative) context.out.print("  {:<11} {}\n", native.name, native.help);
  context.out.write("\nSlurm's commands, by these names or as \"spur NAME\":\n ");
  for (const Command& command : slurm_commands()) context.out.print(" {}", command.name);
  context.out.write("\n\n\"spur COMMAND --help\" lists the options of a command.\n");
  return 0;
}

// All commands, by the names that they are called by.
std::vector<NamedCommand> all_commands() {
  std::vector<NamedCommand> commands;
  for (const Native& native : kNative) commands.push_back({native.name, true, native.run, native.help});
  for (const Command& command : slurm_commands())
    commands.push_back({std::string(command.name), false, command.run, command.help});
  return commands;
}
int completion(Context& context) {
  return cmd_completion(context, all_commands());
}
int manual(Context& context) {
  return cmd_manual(context, all_commands());
}

}  // namespace

int cmd_spur(Context& context) {
  if (context.arguments.empty()) {
    help(context);
    return 1;
  }
  const std::string word = context.arguments.front();
  if (word == "--version" || word == "-V") return version(context);
  if (word == "--help" || word == "-h") return help(context);
  context.arguments.erase(context.arguments.begin());
  if (word == "complete-values") return cmd_complete_values(context);  // for shells, not for people
  if (const Command* command = find_command(word)) {
    context.program = word;
    return command->run(context);
  }
  const auto native = std::ranges::find_if(kNative, [&](const Native& known) { return known.name == word; });
  if (native == std::end(kNative)) {
    context.plain("spur: \"{}\" is no command; \"spur help\" lists them", word);
    return 1;
  }
  context.program = "spur " + word;
  return native->run(context);
}

}  // namespace spur::cli
