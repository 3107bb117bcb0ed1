// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_prolog.h"

#include <gtest/gtest.h>

namespace spur::stepd {
namespace {

TEST(TaskProlog, ItsOutputChangesTheEnvironment) {
  std::vector<std::string> environment{"A=1", "B=2", "BB=3"};
  EXPECT_EQ(apply_prolog_output("export A=x y \nprint hello  world\nunset B \nnoise\nexport  C=\"q\"\nexport =bad\n"
                                " export D=1\n print no\nexported E=1\nexport F\nprint last",
                                environment),
            "hello  world\nlast\n");
  EXPECT_EQ(environment, (std::vector<std::string>{"A=x y ", "BB=3", "C=\"q\""}));
}

TEST(TaskProlog, OneThatIsNotThere) {
  std::vector<std::string> environment;
  const auto ran = run_task_prolog("/nonexistent", HookOf::Site, environment);
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.lines,
            (std::vector<std::string>{
                "run_command: slurm task_prolog can not be executed (/nonexistent) No such file or directory",
                "slurm task_prolog did not exit normally. reason: Run command failed - configuration error",
                "TaskProlog failed status=1"}));
  EXPECT_EQ(run_task_prolog("/nonexistent", HookOf::User, environment).lines.back(), "--task-prolog failed status=1");
}

TEST(TaskProlog, OneThatFails) {
  std::vector<std::string> environment;
  const auto ran = run_task_prolog("/bin/false", HookOf::User, environment);
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.lines, std::vector<std::string>{"--task-prolog failed status=1"});
  EXPECT_EQ(run_task_prolog("/bin/true", HookOf::Site, environment).exit, 0);
}

TEST(TaskProlog, WhatIsSaidOfEpilogs) {
  EXPECT_EQ(epilog_denied("/e", HookOf::User), "Could not run user task_epilog [/e]: access denied");
  EXPECT_EQ(epilog_failed(768, HookOf::Site), "--task-epilog failed status=768");
  EXPECT_EQ(epilog_failed(9, HookOf::User), "TaskEpilog failed status=9");
}

}  // namespace
}  // namespace spur::stepd
