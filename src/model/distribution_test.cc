// SPDX-License-Identifier: Apache-2.0
#include "model/distribution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace spur::model {
namespace {

// As SLURM_DISTRIBUTION would have it, or what is wrong.
std::string read(std::string_view text, std::optional<std::uint32_t> plane = {}) {
  const auto got = parse_distribution(text, plane);
  if (!got) return got.error() == DistributionFault::PlaneSize ? "bad plane" : "bad";
  return distribution_text(*got) + (got->plane_size ? fmt::format("={}", got->plane_size) : "");
}

TEST(Distribution, IsReadAsSlurmReadsIt) {
  const std::pair<const char*, const char*> rows[] = {
      {"block", "block"},
      {"CYCLIC:BLOCK", "cyclic:block"},
      {"block:cyclic:fcyclic", "block:cyclic:fcyclic"},
      {"*", ""},
      {"*:*", ""},
      {"*:block", "block:block"},
      {"block:", "block"},
      {"cyclic:*:block", "cyclic:cyclic:block"},
      {"plane=2", "plane=2"},
      {"arbitrary", "arbitrary"},
      {"Pack", "pack"},
      {"block,NoPack", "block,nopack"},
      {"block:block:block,pack", "block:block:block,pack"},
      {"plane", "bad plane"},
      {"plane=0", "bad plane"},
      {"plane=-1", "bad plane"},
      {"plane=2:block", "bad plane"},
      {"plane=2,pack", "bad plane"},
      {"", "bad"},
      {"foo", "bad"},
      {"bl", "bad"},
      {"fcyclic", "bad"},
      {"block:foo", "bad"},
      {"block,foo", "bad"},
      {"arbitrary:block", "bad"},
      {"block:block:block:block", "bad"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(read(text), expected) << text;
  EXPECT_EQ(read("plane", 3), "plane=3");
}

std::string dealt(std::string_view text, std::uint32_t tasks, const std::vector<std::uint32_t>& room) {
  return fmt::format("{}", fmt::join(deal_tasks(*parse_distribution(text, {}), tasks, room), " "));
}

TEST(Distribution, DealsTasksOutOverNodes) {
  EXPECT_EQ(dealt("*", 5, {4, 4, 4}), "2 2 1");
  EXPECT_EQ(dealt("block", 5, {4, 4, 4}), "2 2 1");
  EXPECT_EQ(dealt("cyclic", 7, {4, 2, 1}), "4 2 1");
  EXPECT_EQ(dealt("block,pack", 5, {4, 4, 4}), "3 1 1");
  EXPECT_EQ(dealt("cyclic,pack", 5, {4, 4, 4}), "2 2 1");
  EXPECT_EQ(dealt("plane=3", 8, {4, 4, 4}), "3 3 2");
  EXPECT_EQ(dealt("plane=2", 9, {4, 1, 4}), "4 1 4");
  EXPECT_EQ(dealt("block", 9, {2, 2}), "5 4");
}

TEST(Distribution, NumbersTasks) {
  const auto numbers = [](std::string_view text, const std::vector<std::uint32_t>& tasks) {
    return fmt::format("{}", task_numbers(*parse_distribution(text, {}), tasks));
  };
  EXPECT_EQ(numbers("block", {3, 2}), "[]");
  EXPECT_EQ(numbers("cyclic", {4, 2, 1}), "[[0, 3, 5, 6], [1, 4], [2]]");
  EXPECT_EQ(numbers("plane=2", {4, 3, 2}), "[[0, 1, 6, 7], [2, 3, 8], [4, 5]]");
  EXPECT_EQ(fmt::format("{}", task_numbers(std::vector<std::uint32_t>{2, 0, 2, 1}, 3)), "[[1], [3], [0, 2]]");
}

TEST(ProcessMapping, IsReadAgain) {
  const std::vector<std::vector<std::uint32_t>> ranks{{0, 1, 5}, {2, 3, 6}, {4}};
  EXPECT_EQ(parse_process_mapping(process_mapping(ranks), 3, 7), ranks);
  EXPECT_EQ(parse_process_mapping(process_mapping(ranks), 3, 6), std::nullopt);
  EXPECT_EQ(parse_process_mapping(process_mapping(ranks), 2, 7), std::nullopt);
  for (const char* text : {"", "(vector", "(vector,(0,1)", "(vector,(0,1,1)", "(vector,(0,1,1))x", "(vector,(-1,1,1))",
                           "(vector,(0,4294967295,1))", "(vector,(0,1,4294967295))", "(vector,(9,0,1))"})
    EXPECT_EQ(parse_process_mapping(text, 3, 100), std::nullopt) << text;
}

TEST(ProcessMapping, TellsWhichRanksShareANode) {
  EXPECT_EQ(process_mapping({{0, 1}, {2, 3}, {4, 5}}), "(vector,(0,3,2))");
  EXPECT_EQ(process_mapping({{0, 2}, {1, 3}}), "(vector,(0,2,1),(0,2,1))");
  EXPECT_EQ(process_mapping({{0, 1, 2}, {3}}), "(vector,(0,1,3),(1,1,1))");
  EXPECT_EQ(process_mapping({{0}}), "(vector,(0,1,1))");
}

}  // namespace
}  // namespace spur::model
