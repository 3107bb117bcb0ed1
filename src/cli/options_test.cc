// SPDX-License-Identifier: Apache-2.0
// The reading of command lines, and the tables themselves: that they hold every option of Slurm 25.05 and contradict
// nothing.
#include "cli/options.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/commands.h"
#include "cli/job_options.h"

namespace spur::cli {
namespace {

constexpr OptionRow kRows[] = {
    {"name", 'n', Takes::Value},
    {"names", 0, Takes::Value},
    {"flag", 'f'},
    {"maybe", 'm', Takes::Maybe},
    {"nodes", 'N', Takes::Value},
    {"tasks-per-node", 0, Takes::Value, nullptr, nullptr, "ntasks-per-node"},
};

struct Case {
  std::vector<std::string> words;
  std::string seen;     // "name=x flag" and so on, then "| rest"
  std::string message;  // where it is an error
};

std::string describe(const ParsedLine& line) {
  std::string text;
  for (const GivenOption& given : line.options)
    text += std::string(kRows[given.row].name) + (given.has_value ? "=" + given.value : "") + " ";
  text += "|";
  for (const std::string& word : line.rest) text += " " + word;
  return text;
}

TEST(ParseWords, ReadsAsGetoptDoes) {
  const Case cases[] = {
      {{}, "|", ""},
      {{"-n", "x", "a"}, "name=x | a", ""},
      {{"-nx", "--flag"}, "name=x flag |", ""},
      {{"-fn", "x"}, "flag name=x |", ""},
      {{"-fnx"}, "flag name=x |", ""},
      {{"a", "-f", "b"}, "flag | a b", ""},  // permutation
      {{"--", "-f"}, "| -f", ""},
      {{"--maybe", "x", "-m", "-my"}, "maybe maybe maybe=y | x", ""},
      {{"--maybe="}, "maybe= |", ""},
      {{"--no=1"}, "nodes=1 |", ""},               // unique beginning
      {{"--name=1"}, "name=1 |", ""},              // exact, though it begins another
      {{"--ntasks=2"}, "tasks-per-node=2 |", ""},  // beginning of the other name
      {{"--nam=1"}, "", "cmd: option '--nam=1' is ambiguous; possibilities: '--name' '--names'\n"},
      {{"--bogus=1"}, "", "cmd: unrecognized option '--bogus=1'\n"},
      {{"-x"}, "", "cmd: invalid option -- 'x'\n"},
      {{"-n"}, "", "cmd: option requires an argument -- 'n'\n"},
      {{"--nod"}, "", "cmd: option '--nodes' requires an argument\n"},
      {{"--flag=1"}, "", "cmd: option '--flag' doesn't allow an argument\n"},
  };
  for (const Case& test : cases) {
    Output out(-1), err(-1);
    Context context(out, err);
    context.program = "cmd";
    const auto line = parse_words(context, kRows, test.words, Order::Anywhere, 77);
    if (test.message.empty()) {
      ASSERT_TRUE(line) << err.text();
      EXPECT_EQ(describe(*line), test.seen);
      EXPECT_EQ(err.text(), "");
    } else {
      ASSERT_FALSE(line);
      EXPECT_EQ(line.error(), 77);
      EXPECT_EQ(err.text(), test.message + "Try \"cmd --help\" for more information\n");
    }
  }
}

TEST(ParseWords, OptionsFirstStopsAtTheFirstOtherWord) {
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = "cmd";
  const auto line =
      parse_words(context, kRows, std::vector<std::string>{"-f", "program", "-f", "--bogus"}, Order::OptionsFirst, 1);
  ASSERT_TRUE(line);
  EXPECT_EQ(describe(*line), "flag | program -f --bogus");
}

TEST(HelpText, AlignsAndContinues) {
  constexpr OptionRow kHelp[] = {{"flag", 'f', Takes::Nothing, nullptr, "first\nsecond"},
                                 {"hidden", 0, Takes::Nothing},
                                 {"very-long-name-of-option", 0, Takes::Value, "value", "text"}};
  EXPECT_EQ(help_text(kHelp),
            "  -f, --flag                    first\n"
            "                                second\n"
            "      --very-long-name-of-option=value text\n");
}

// ---- the job options

// Every long option of sbatch and srun in Slurm 25.05's manual pages.
constexpr std::string_view kCommonNames[] = {"account",
                                             "acctg-freq",
                                             "bb",
                                             "bbf",
                                             "begin",
                                             "chdir",
                                             "cluster-constraint",
                                             "clusters",
                                             "comment",
                                             "constraint",
                                             "container",
                                             "container-id",
                                             "contiguous",
                                             "core-spec",
                                             "cores-per-socket",
                                             "cpu-freq",
                                             "cpus-per-gpu",
                                             "cpus-per-task",
                                             "deadline",
                                             "delay-boot",
                                             "dependency",
                                             "distribution",
                                             "error",
                                             "exclude",
                                             "exclusive",
                                             "export",
                                             "extra",
                                             "extra-node-info",
                                             "gid",
                                             "gpu-bind",
                                             "gpu-freq",
                                             "gpus",
                                             "gpus-per-node",
                                             "gpus-per-socket",
                                             "gpus-per-task",
                                             "gres",
                                             "gres-flags",
                                             "help",
                                             "hint",
                                             "hold",
                                             "input",
                                             "job-name",
                                             "licenses",
                                             "mail-type",
                                             "mail-user",
                                             "mcs-label",
                                             "mem",
                                             "mem-bind",
                                             "mem-per-cpu",
                                             "mem-per-gpu",
                                             "mincpus",
                                             "network",
                                             "nice",
                                             "no-kill",
                                             "nodefile",
                                             "nodelist",
                                             "nodes",
                                             "ntasks",
                                             "ntasks-per-core",
                                             "ntasks-per-gpu",
                                             "ntasks-per-node",
                                             "ntasks-per-socket",
                                             "oom-kill-step",
                                             "open-mode",
                                             "output",
                                             "overcommit",
                                             "oversubscribe",
                                             "partition",
                                             "prefer",
                                             "priority",
                                             "profile",
                                             "propagate",
                                             "qos",
                                             "quiet",
                                             "reboot",
                                             "reservation",
                                             "resv-ports",
                                             "segment",
                                             "signal",
                                             "sockets-per-node",
                                             "spread-job",
                                             "stepmgr",
                                             "switches",
                                             "test-only",
                                             "thread-spec",
                                             "threads-per-core",
                                             "time",
                                             "time-min",
                                             "tmp",
                                             "tres-bind",
                                             "tres-per-task",
                                             "usage",
                                             "use-min-nodes",
                                             "verbose",
                                             "version",
                                             "wait",
                                             "wckey"};
constexpr std::string_view kSbatchNames[] = {
    "array",      "batch",    "export-file", "get-user-env", "ignore-pbs",     "kill-on-invalid-dep",
    "no-requeue", "parsable", "requeue",     "uid",          "wait-all-nodes", "wrap"};
constexpr std::string_view kSrunNames[] = {"bcast",
                                           "bcast-exclude",
                                           "compress",
                                           "cpu-bind",
                                           "disable-status",
                                           "epilog",
                                           "exact",
                                           "external-launcher",
                                           "het-group",
                                           "immediate",
                                           "jobid",
                                           "kill-on-bad-exit",
                                           "label",
                                           "mpi",
                                           "msg-timeout",
                                           "multi-prog",
                                           "no-allocate",
                                           "overlap",
                                           "preserve-env",
                                           "prolog",
                                           "pty",
                                           "quit-on-interrupt",
                                           "relative",
                                           "send-libs",
                                           "slurmd-debug",
                                           "task-epilog",
                                           "task-prolog",
                                           "threads",
                                           "treewidth",
                                           "unbuffered",
                                           "whole",
                                           "x11"};

TEST(JobOptions, HoldsEveryOptionOfSlurm) {
  for (const auto& [command, own] :
       {std::pair{kSbatch, std::span<const std::string_view>(kSbatchNames)}, {kSrun, kSrunNames}}) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const Option<JobRequest>& option : job_options_of(command)) {
      EXPECT_TRUE(names.insert(option.row.name).second) << option.row.name;
      if (option.row.alias != nullptr) {
        EXPECT_TRUE(names.insert(option.row.alias).second) << option.row.alias;
      }
      if (option.row.letter != 0) {
        EXPECT_TRUE(letters.insert(option.row.letter).second) << option.row.letter;
      }
      // What works is in the help, what does not is not.
      EXPECT_EQ(option.set != nullptr, option.row.help != nullptr) << option.row.name;
    }
    for (const std::string_view name : kCommonNames) EXPECT_TRUE(names.contains(name)) << name;
    for (const std::string_view name : own) EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(JobOptions, EnvironmentNamesBelongToTheirCommand) {
  std::set<std::string_view> seen;
  for (const JobOption& row : all_job_options()) {
    if (row.sbatch_env != nullptr) {
      EXPECT_TRUE(std::string_view(row.sbatch_env).starts_with("SBATCH_")) << row.sbatch_env;
      EXPECT_TRUE(seen.insert(row.sbatch_env).second) << row.sbatch_env;
    }
    if (row.srun_env != nullptr) {
      EXPECT_FALSE(std::string_view(row.srun_env).starts_with("SBATCH_")) << row.srun_env;
      EXPECT_TRUE(seen.insert(row.srun_env).second) << row.srun_env;
    }
  }
}

}  // namespace
}  // namespace spur::cli
