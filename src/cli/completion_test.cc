// SPDX-License-Identifier: Apache-2.0
// Completions and manual pages of every command, from the commands' own tables.
#include "cli/completion.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/manual.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct CompletionAnswer {
  int status = 0;
  std::string out, err;
};

CompletionAnswer spur(std::vector<std::string> arguments) {
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = "spur";
  context.arguments = std::move(arguments);
  context.spur_version = "0.1.0";
  static const char* const kNothing[] = {nullptr};
  context.environment = kNothing;
  context.now = [] { return Time{}; };
  context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return fail(ErrorCode::Unreachable); };
  const int status = cmd_spur(context);
  return {status, out.text(), err.text()};
}

TEST(Completion, EveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const CompletionAnswer answer = spur({"completion", shell});
    ASSERT_EQ(answer.status, 0) << answer.err;
    for (const Command& command : slurm_commands()) {
      NamedCommand named{std::string(command.name), false, command.run, command.help};
      const auto options = options_of(named);
      EXPECT_FALSE(options.empty()) << command.name << " has no options";
      for (const auto& option : options) {
        const std::string shown = std::string_view(shell) == "fish" ? std::string("-l ") + option.row.name
                                                                     : std::string("--") + option.row.name;
        EXPECT_NE(answer.out.find(shown), std::string::npos) << shell << " " << command.name << " " << option.row.name;
      }
    }
    for (const char* native : {"queue", "nodes", "wait", "top", "explain"})
      EXPECT_NE(answer.out.find(native), std::string::npos) << shell << " " << native;
  }
}

TEST(Completion, QuotesAreBalanced) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string out = spur({"completion", shell}).out;
    for (const std::string_view line : text::split(out, '\n')) {
      if (line.starts_with("#")) continue;
      EXPECT_EQ(std::ranges::count(line, '\'') % 2, 0) << shell << ": " << line;
    }
  }
}

TEST(Completion, AnotherShellIsRefused) {
  EXPECT_EQ(spur({"completion", "csh"}).status, 1);
  EXPECT_EQ(spur({"completion"}).status, 1);
  EXPECT_EQ(spur({"complete-values", "nonsense"}).status, 1);
  EXPECT_EQ(spur({"complete-values", "partitions"}).status, 1) << "there is no controller";
  EXPECT_NE(spur({"complete-values", "jobstates"}).out.find("PENDING"), std::string::npos);
}

TEST(Manual, EveryCommandHasAPage) {
  for (const Command& command : slurm_commands()) {
    const CompletionAnswer answer = spur({"man", std::string(command.name)});
    ASSERT_EQ(answer.status, 0) << command.name;
    EXPECT_NE(find_manual_text(command.name), nullptr) << command.name << " has no text in manual_texts.cc";
    EXPECT_NE(command.help, nullptr) << command.name;
    for (const char* section : {".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH ENVIRONMENT",
                                ".SH EXIT STATUS", ".SH SEE ALSO"})
      EXPECT_NE(answer.out.find(section), std::string::npos) << command.name << " " << section;
  }
  for (const char* native : {"queue", "wait", "top", "completion", "man", "image", "accounting", "help", "version", "show",
                             "hold", "release", "requeue", "submit", "run", "cancel", "history", "explain", "simulate",
                             "nodes"})
    EXPECT_NE(find_manual_text(native), nullptr) << native;
  EXPECT_NE(spur({"man", "squeue"}).out.find("SQUEUE_PARTITION"), std::string::npos);
  EXPECT_NE(spur({"man", "sbatch"}).out.find("SBATCH_PARTITION"), std::string::npos);
  EXPECT_NE(spur({"man", "salloc"}).out.find("SALLOC_PARTITION"), std::string::npos);
  EXPECT_NE(spur({"man", "spur"}).out.find("spur\\-queue"), std::string::npos);
  EXPECT_EQ(spur({"man", "nosuch"}).status, 1);
}

TEST(Manual, NoLineIsTakenForACommandOfRoff) {
  const std::string out = spur({"man", "scontrol"}).out;
  for (const std::string_view line : text::split(out, '\n')) {
    if (!line.starts_with('.') && !line.starts_with('\'')) continue;
    const bool known = line.starts_with(".TH") || line.starts_with(".SH") || line.starts_with(".TP") ||
                       line.starts_with(".PP") || line.starts_with(".\\\"");
    EXPECT_TRUE(known) << line;
  }
}

}  // namespace
}  // namespace spur::cli
