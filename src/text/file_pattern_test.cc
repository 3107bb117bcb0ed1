// SPDX-License-Identifier: Apache-2.0
#include "text/file_pattern.h"

#include <string>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

PatternValues batch() {
  PatternValues v;
  v.job_id = 7, v.step = "batch", v.job_name = "train", v.user = "ada", v.node = "n1";
  return v;
}
PatternValues task() {
  PatternValues v = batch();
  v.array_job = 5, v.array_task = 13, v.step = "0", v.node_id = 2, v.task_id = 11;
  return v;
}

TEST(FilePattern, ReplacesLetters) {
  const struct {
    const char* pattern;
    PatternValues values;
    const char* name;
  } rows[] = {
      {"slurm-%j.out", batch(), "slurm-7.out"},
      {"slurm-%A_%a.out", task(), "slurm-5_13.out"},
      {"%A", batch(), "7"},
      {"%a", batch(), "4294967294"},
      {"%b", task(), "3"},
      {"%J", batch(), "7"},
      {"%J", task(), "7.0"},
      {"%4J", task(), "0007.0"},
      {"%s", batch(), "batch"},
      {"%4s", batch(), "batch"},
      {"%4s", task(), "0000"},
      {"%x-%u-%N-%n-%t", task(), "train-ada-n1-2-11"},
      {"%4j-%04j-%12j-%3t-%0j", task(), "0007-0007-0000000007-011-7"},
      {"%99999999999999999999j", task(), "0000000007"},
      {"%5x%5N", task(), "trainn1"},
      {"%%j", task(), "%j"},
      {"%%%j", task(), "%7"},
      {"a%", task(), "a%"},
      {"%4", task(), "%4"},
      {"%q%z%j", task(), "%q%z7"},
      {"%-4j", task(), "%-4j"},
      {"/dev/null", task(), "/dev/null"},
      {"", task(), ""},
      {"logs/%j/%j.out", task(), "logs/7/7.out"},
      // A backslash anywhere: no replacement at all.
      {"\\a-%j", task(), "a-%j"},
      {"a\\%j", task(), "a%j"},
      {"a\\\\-%j", task(), "a\\-%j"},
      {"a%j\\", task(), "a%j"},
  };
  for (const auto& row : rows) {
    const auto name = expand_pattern(row.pattern, row.values);
    ASSERT_TRUE(name) << row.pattern;
    EXPECT_EQ(*name, row.name) << row.pattern;
  }
}

TEST(FilePattern, ValuesAreNotReplacedAgain) {
  PatternValues v = task();
  v.job_name = "%j%x";
  EXPECT_EQ(expand_pattern("%x", v), "%j%x");
}

TEST(FilePattern, RefusesWhatCannotBeAPath) {
  PatternValues v = task();
  v.job_name = std::string(4000, 'x');
  EXPECT_TRUE(expand_pattern("%x", v));
  EXPECT_FALSE(expand_pattern("%x%x", v));
  EXPECT_FALSE(expand_pattern(std::string(5000, 'a'), v));
  EXPECT_FALSE(expand_pattern(std::string("a\0b", 3), v));
  std::string bomb;
  for (int i = 0; i < 10'000; ++i) bomb += "%x";
  EXPECT_FALSE(expand_pattern(bomb, v));
}

TEST(FilePattern, KnowsWhoMayShareAFile) {
  EXPECT_TRUE(differs_per_task("out-%t"));
  EXPECT_TRUE(differs_per_task("out-%4t"));
  EXPECT_FALSE(differs_per_task("out-%%t"));
  EXPECT_FALSE(differs_per_task("out-\\%t"));
  EXPECT_FALSE(differs_per_task("out-%j%"));
  EXPECT_TRUE(differs_per_node("out-%N"));
  EXPECT_TRUE(differs_per_node("out-%3n"));
  EXPECT_FALSE(differs_per_node("out-%t"));
}

}  // namespace
}  // namespace spur::text
