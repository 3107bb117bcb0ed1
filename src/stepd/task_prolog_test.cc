// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_prolog.h"

#include <gtest/gtest.h>

namespace spur::stepd {
namespace {

TEST(TaskProlog, ItsOutputChangesTheEnvironment) {
  std::vector<std::string> environment{"A=1", "B=2", "BB=3"};
  EXPECT_EQ(
      apply_prolog_output("export A=x y\nprint hello  world\nunset B\nnoise\nexport C=\"q\"\nexport =bad\nprint last",
                          environment),
      "hello  world\nlast\n");
  EXPECT_EQ(environment, (std::vector<std::string>{"A=x y", "BB=3", "C=q"}));
}

TEST(TaskProlog, OneThatIsNotThere) {
  std::vector<std::string> environment;
  const auto ran = run_task_prolog("/nonexistent", environment);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "Could not run task_prolog [/nonexistent]: No such file or directory");
}

}  // namespace
}  // namespace spur::stepd
