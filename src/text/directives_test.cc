// SPDX-License-Identifier: Apache-2.0
#include "text/directives.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

using Words = std::vector<std::string>;

TEST(Directives, SplitsWordsWithSlurmsQuoting) {
  const struct {
    const char* line;
    Words words;
  } rows[] = {
      {"", {}},
      {"  ", {}},
      {" -J abc -t 5 -N2", {"-J", "abc", "-t", "5", "-N2"}},
      {"\t--job-name\tabc", {"--job-name", "abc"}},
      {"--job-name=abc", {"--job-name=abc"}},
      {" --job-name=\"a b\"", {"--job-name=a b"}},
      {" --error='/a b/%j_0_log.err'", {"--error=/a b/%j_0_log.err"}},
      {" --exclude=''", {"--exclude="}},
      {" '' x", {"", "x"}},
      {" a\"b c\"d", {"ab cd"}},
      {" --job-name=abc # comment \"here", {"--job-name=abc"}},
      {" --job-name=abc#comment", {"--job-name=abc"}},
      {" --job-name=\"a # b\" --comment=x", {"--job-name=a # b", "--comment=x"}},
      {" a\\#b", {"a#b"}},
      {" a\\nb", {"anb"}},
      {" a\\\"b", {"a\"b"}},
      {" \"a\\\"b\"", {"a\"b"}},
      {" \"a\\\\b\"", {"a\\b"}},
      {" 'a\\b'", {"ab"}},
      {" 'a\"b' \"a'b\"", {"a\"b", "a'b"}},
      {" ab\\ --comment=x", {"ab", "--comment=x"}},
      {" \"a\\ b\"", {"a b"}},
      {" a \\", {"a"}},
      {" \xc3\xa4", {"\xc3\xa4"}},
  };
  for (const auto& row : rows) {
    const auto words = split_directive(row.line);
    ASSERT_TRUE(words) << row.line;
    EXPECT_EQ(*words, row.words) << row.line;
  }
  EXPECT_EQ(split_directive(" -J \"abc").error().message, "Unmatched `\"` in [\"abc]");
  EXPECT_EQ(split_directive(" A='b").error().message, "Unmatched `'` in [A='b]");
}

TEST(Directives, ReadsUpToTheFirstCommand) {
  const struct {
    const char* script;
    std::vector<Words> components;
  } rows[] = {
      {"", {{}}},
      {"#!/bin/sh", {{}}},
      {"#!/bin/sh\n#SBATCH -J a\n#SBATCH -t 5", {{"-J", "a", "-t", "5"}}},
      {"#!/bin/sh\n# x\n\n  \n #y\n#SBATCH -J a\n", {{"-J", "a"}}},
      {"#!/bin/sh\necho\n#SBATCH -J late\n", {{}}},
      {"#!/bin/sh\n  :\n#SBATCH -J late\n", {{}}},
      {"#!/bin/sh\n# SBATCH -J a\n #SBATCH -J b\n##SBATCH -J c\n#sbatch -J d\n", {{}}},
      {"#!/bin/sh\n#SBATCH--job-name=a\n#SBATCH\n#SBATCHX\n", {{"--job-name=a", "X"}}},
      {"#!/bin/sh\n#SLURM -J a\n#SPUR -t 1\n", {{"-J", "a", "-t", "1"}}},
      {"#!/bin/sh\n#SBATCH -J a\n#SBATCH hetjob\n#SBATCH -J b\n", {{"-J", "a"}, {"-J", "b"}}},
      {"#!/bin/sh\n#SBATCH packjob\n#SBATCH hetjob\n", {{}, {}, {}}},
      {"#!/bin/sh\n#PBS -N p\n#SBATCH -J s\n", {{"-J", "s", "--job-name=p"}}},
      {"#!/bin/sh\n#BSUB -J lsf\n", {{}}},
      {"#!/bin/sh\n#SBATCH -J a\\\n#SBATCH --comment=z\n", {{"-J", "a", "--comment=z"}}},
  };
  for (const auto& row : rows) {
    const auto directives = parse_directives(row.script, "job.sh");
    ASSERT_TRUE(directives) << row.script << directives.error().message;
    EXPECT_EQ(directives->components, row.components) << row.script;
  }
}

TEST(Directives, NamesTheBadLine) {
  EXPECT_EQ(parse_directives("#!/bin/sh\n#SBATCH -J \"abc\n", "d.sh").error().message,
            "d.sh: line 2: Unmatched `\"` in [\"abc]");
  EXPECT_FALSE(parse_directives("#!/bin/sh\n#PBS -Z\n", "d.sh"));
}

}  // namespace
}  // namespace spur::text
