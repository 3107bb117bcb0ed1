// SPDX-License-Identifier: Apache-2.0
#include "config/slurm_lines.h"

#include <gtest/gtest.h>

namespace spur::config {
namespace {

// "1[a][b]" for each line: its number and its pairs as [key=value], or "!" and the error.
std::string show(std::string_view text) {
  std::string out;
  for (const SlurmLine& line : slurm_lines(text)) {
    out += std::to_string(line.number);
    if (const auto file = included_file(line.text); !file.empty()) {
      out += "<" + std::string(file) + ">";
      continue;
    }
    const auto pairs = slurm_pairs(line.text);
    if (!pairs) {
      out += "!" + pairs.error().message;
      continue;
    }
    for (const SlurmPair& pair : *pairs) out += "[" + std::string(pair.key) + "=" + std::string(pair.value) + "]";
  }
  return out;
}

TEST(SlurmLines, Table) {
  const struct {
    const char *text, *want;
  } kCases[] = {
      {"", ""},
      {"\n\n# nothing\n   # here\n", ""},
      {"A=1", "1[A=1]"},
      {"\nA = 1 \r\nB=2 # why\r\n", "2[A=1]3[B=2]"},
      {"A=x B=y\tC=z", "1[A=x][B=y][C=z]"},
      {"A=\"two words\" B=3", "1[A=two words][B=3]"},
      {"A=\"\" B=3", "1[A=][B=3]"},
      {"A=a\\#b # c", "1[A=a#b]"},
      {"N=n1 \\\n  CPUs=1 \\\n  S=2\nZ=9", "1[N=n1][CPUs=1][S=2]4[Z=9]"},
      {"N=n1 \\   \n  CPUs=1", "1[N=n1][CPUs=1]"},
      {"N=n1 # x \\\nZ=9", "1[N=n1]2[Z=9]"},
      {"A=1\\", "1[A=1]"},
      {"A=x=y", "1[A=x=y]"},
      {"Include  other.conf  # x", "1<other.conf>"},
      {"include /a/b", "1</a/b>"},
      {"Include", "1!Parse error: \"Include\""},
      {"IncludeX y", "1!Parse error: \"IncludeX y\""},
      {"foo bar", "1!Parse error: \"foo bar\""},
      {"A=1 foo", "1!Parse error: \"foo\""},
      {"A=", "1!Parse error: \"A=\""},
      {"=1", "1!Parse error: \"=1\""},
      {"A=\"open", "1!Parse error: \"A=\"open\""},
      {"A=\"x\"y", "1!Parse error: \"\"x\"y\""},
      {"A-=1", "1!Parse error: \"A-=1\""},
  };
  for (const auto& c : kCases) EXPECT_EQ(show(c.text), c.want) << c.text;
}

}  // namespace
}  // namespace spur::config
