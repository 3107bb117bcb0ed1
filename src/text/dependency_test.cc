// SPDX-License-Identifier: Apache-2.0
#include "text/dependency.h"

#include <string>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(Dependency, ParsesAndPrints) {
  const struct {
    const char *text, *printed;
    bool any;
  } rows[] = {
      {"", "", false},
      {"0", "", false},
      {"12", "afterany:12", false},
      {"12,13", "afterany:12,afterany:13", false},
      {"afterok:1", "afterok:1", false},
      {"afterok:1:2,afterany:3", "afterok:1,afterok:2,afterany:3", false},
      {"AFTEROK:1", "afterok:1", false},
      {"after:5+10", "after:5+10", false},
      {"after:5+10:6:7+1", "after:5+10,after:6,after:7+1", false},
      {"singleton", "singleton", false},
      {"Singleton", "singleton", false},
      {"afterok:1,singleton", "afterok:1,singleton", false},
      {"afterok:12_3", "afterok:12_3", false},
      {"afterok:12_0", "afterok:12_0", false},
      {"afterok:12_*", "afterok:12_*", false},
      {"after:12_3+5", "after:12_3+5", false},
      {"afterok:12_[1-3]", "afterok:12_1,afterok:12_2,afterok:12_3", false},
      {"afterok:12_[1,7]:5,after:6_[4]+2", "afterok:12_1,afterok:12_7,afterok:5,after:6_4+2", false},
      {"12_[0-4:2]", "afterany:12_0,afterany:12_2,afterany:12_4", false},
      {"afterok:1_[1,2]?afterok:3", "afterok:1_1?afterok:1_2?afterok:3", true},
      {"afternotok:4", "afternotok:4", false},
      {"aftercorr:4", "aftercorr:4", false},
      {"afterburstbuffer:4", "afterburstbuffer:4", false},
      {"expand:4", "expand:4", false},
      {"afterok:1?afterany:2", "afterok:1?afterany:2", true},
      {"afterok:1:2?singleton", "afterok:1?afterok:2?singleton", true},
      {"afterok:1,afterok:1:1,afterany:1", "afterok:1,afterany:1", false},
      {"afterok:2147483647", "afterok:2147483647", false},
  };
  for (const auto& row : rows) {
    const auto spec = parse_dependency(row.text);
    ASSERT_TRUE(spec) << row.text << ": " << spec.error().message;
    EXPECT_EQ(format_dependency(*spec), row.printed) << row.text;
    EXPECT_EQ(spec->any, row.any) << row.text;
    EXPECT_EQ(parse_dependency(format_dependency(*spec)), *spec) << row.text;
  }
}

TEST(Dependency, FillsInTheParts) {
  const auto spec = parse_dependency("after:12_3+5");
  ASSERT_TRUE(spec);
  ASSERT_EQ(spec->terms.size(), 1u);
  const DependencyTerm& term = spec->terms[0];
  EXPECT_EQ(term.kind, DependencyTerm::Kind::After);
  EXPECT_EQ(term.job, 12u);
  EXPECT_EQ(term.array_task, 3u);
  EXPECT_FALSE(term.whole_array);
  EXPECT_EQ(term.delay_minutes, 5u);
}

TEST(Dependency, RefusesTheRest) {
  for (const char* text : {",",
                           "?",
                           "afterok",
                           "afterok:",
                           "afterok:1:",
                           "afterok:1,",
                           ",afterok:1",
                           "afterok:1,,afterok:2",
                           "afterok:abc",
                           "whenever:1",
                           "afterok:0",
                           "afterok:-1",
                           "afterok:1:afterany:2",
                           "1:2",
                           "afterok:12_",
                           "afterok:12_x",
                           "afterok:_3",
                           "afterok:12_[",
                           "afterok:12_[]",
                           "afterok:12_[1",
                           "afterok:12_[x]",
                           "afterok:12_[1-3%2]",
                           "afterok:12_[1-3]x",
                           "afterok:12_[0-20000]",
                           "afterok:12]_[1",
                           "after:1+",
                           "after:1+-1",
                           "afterok:1+5",
                           "singleton:5",
                           "singleton,",
                           "expand:1:2",
                           "afterok:1 afterok:2",
                           "none",
                           "afterok:1,afterany:2?afterok:3",
                           "afterok:1?afterany:2,singleton",
                           "afterok:99999999999",
                           "afterok:4294967296",
                           "afterok:2147483648",
                           "afterok:12_99999999999",
                           "after:1+99999999999"}) {
    const auto spec = parse_dependency(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::InvalidDependency);
    EXPECT_NE(spec.error().message.find(text), std::string::npos);
  }
}

TEST(Dependency, ManyTermsAreNoProblem) {
  std::string text = "afterok";
  for (int i = 0; i < 200'000; ++i) text += ":" + std::to_string(1 + i % 100'000);
  const auto spec = parse_dependency(text);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->terms.size(), 100'000u);
  EXPECT_EQ(spec->terms.front().job, 1u);
  EXPECT_EQ(spec->terms.back().job, 100'000u);
}

}  // namespace
}  // namespace spur::text
