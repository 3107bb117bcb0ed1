// SPDX-License-Identifier: Apache-2.0
#include "text/export_spec.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

using Entries = std::vector<std::string>;

TEST(ExportSpec, PicksFromTheEnvironment) {
  const Entries environment{"A=1", "B=2", "SLURM_FOO=9", "C=3", "SPUR_BAR=8", "odd", "=x"};
  const struct {
    const char* text;
    Entries result;
    bool login;
  } rows[] = {
      {"ALL", {"A=1", "B=2", "SLURM_FOO=9", "C=3", "SPUR_BAR=8"}, false},
      {"all", {"A=1", "B=2", "SLURM_FOO=9", "C=3", "SPUR_BAR=8"}, false},
      {"NONE", {"SLURM_FOO=9", "SPUR_BAR=8"}, true},
      {"NIL", {"SLURM_FOO=9", "SPUR_BAR=8"}, false},
      {"", {"SLURM_FOO=9", "SPUR_BAR=8"}, true},
      {"A", {"A=1", "SLURM_FOO=9", "SPUR_BAR=8"}, true},
      {"B,D=5", {"B=2", "SLURM_FOO=9", "SPUR_BAR=8", "D=5"}, true},
      {",A,,B,", {"A=1", "B=2", "SLURM_FOO=9", "SPUR_BAR=8"}, true},
      {"ZZZ", {"SLURM_FOO=9", "SPUR_BAR=8"}, true},
      {"ALL,D=5", {"A=1", "B=2", "SLURM_FOO=9", "C=3", "SPUR_BAR=8", "D=5"}, true},
      {"D=5,ALL", {"A=1", "B=2", "SLURM_FOO=9", "C=3", "SPUR_BAR=8", "D=5"}, true},
      {"ALL,A=9", {"A=9", "B=2", "SLURM_FOO=9", "C=3", "SPUR_BAR=8"}, true},
      {"SLURM_FOO=10", {"SLURM_FOO=9", "SPUR_BAR=8"}, true},
      {"D='x,y',E=2", {"SLURM_FOO=9", "SPUR_BAR=8", "D='x,y'", "E=2"}, true},
      {"D=\"x,y\"", {"SLURM_FOO=9", "SPUR_BAR=8", "D=\"x,y\""}, true},
      {"D=x y", {"SLURM_FOO=9", "SPUR_BAR=8", "D=x y"}, true},
      {"D=", {"SLURM_FOO=9", "SPUR_BAR=8", "D="}, true},
      {"D=a=b", {"SLURM_FOO=9", "SPUR_BAR=8", "D=a=b"}, true},
      {"D=1,D=2", {"SLURM_FOO=9", "SPUR_BAR=8", "D=2"}, true},
  };
  for (const auto& row : rows) {
    const auto spec = parse_export(row.text);
    ASSERT_TRUE(spec) << row.text << ": " << spec.error().message;
    EXPECT_EQ(apply_export(*spec, environment), row.result) << row.text;
    EXPECT_EQ(spec->wants_login_environment, row.login) << row.text;
  }
}

TEST(ExportSpec, RefusesBadEntries) {
  EXPECT_EQ(parse_export("D='a b").error().message, "Improperly formed environment variable (D='a b)");
  EXPECT_FALSE(parse_export("A,=5"));
  EXPECT_FALSE(parse_export("D=\"x"));
  EXPECT_FALSE(parse_export(std::string_view("D=a\0b", 5)));
}

TEST(ExportSpec, BlocksReadBack) {
  const Entries entries{"A=1", "B=", "C=x\ny"};
  EXPECT_EQ(join_environment(entries), std::string("A=1\0B=\0C=x\ny\0", 13));
  EXPECT_EQ(split_environment(join_environment(entries)), entries);
  EXPECT_EQ(split_environment(""), Entries{});
  EXPECT_EQ(split_environment(std::string_view("A=1\0B", 5)), (Entries{"A=1", "B"}));
}

}  // namespace
}  // namespace spur::text
