// SPDX-License-Identifier: Apache-2.0
// spur WORD ...: the native commands. They are Slurm's commands under plain names, with wider tables where a person
// reads them; `spur squeue ...` and its like are Slurm's commands as they are.
#include <algorithm>

#include "cli/commands.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;

bool has_any(const Words& words, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return word.starts_with(beginning); });
  });
}

int queue(Context& context) {
  const bool own_format =
      has_any(context.arguments, {"-l", "-o", "-O", "--long", "--format", "--Format", "--start", "--json", "--only"});
  if (!own_format)
    context.arguments.insert(context.arguments.begin(), "--format=%.18i %.12P %.24j %.12u %.11T %.12M %.12l %.6D %R");
  return cmd_squeue(context);
}

int nodes(Context& context) {
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
    {"explain", cmd_explain, "say why a job waits and what would start it sooner"},
    {"history", cmd_sacct, "show jobs of the past (sacct)"},
    {"image", cmd_image, "import, list and remove container images"},
    {"nodes", nodes, "show nodes (sinfo)"},
    {"show", control<kShow>, "show one job, node, partition or the configuration (scontrol show)"},
    {"hold", control<kHold>, "keep jobs from starting"},
    {"release", control<kRelease>, "let held jobs start"},
    {"requeue", control<kRequeue>, "put jobs back into the queue"},
    {"simulate", cmd_simulate, "replay a workload, or ask what would become of the queue"},
    {"version", version, "print Spur's version"},
    {"help", help, "print this text"},
};

int help(Context& context) {
  context.out.write("Usage: spur COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
  for (const Native& native : kNative) context.out.print("  {:<10} {}\n", native.name, native.help);
  context.out.write("\nSlurm's commands, by these names or as \"spur NAME\":\n ");
  for (const Command& command : slurm_commands()) context.out.print(" {}", command.name);
  context.out.write("\n\n\"spur COMMAND --help\" lists the options of a command.\n");
  return 0;
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
