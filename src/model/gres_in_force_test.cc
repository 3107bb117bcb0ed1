// SPDX-License-Identifier: Apache-2.0
#include "model/gres_in_force.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

NodeGres row(std::string name, std::string type, std::uint64_t count, std::string file = {}, std::string links = {}) {
  return {.name = std::move(name),
          .type = std::move(type),
          .count = count,
          .file = std::move(file),
          .links = std::move(links)};
}

TEST(GresInForce, WithoutDeclarationsWhatWasFoundCounts) {
  const std::vector<NodeGres> found = {row("gpu", "mi300x", 1, "/dev/a")};
  EXPECT_EQ(gres_in_force({}, found), found);
}

TEST(GresInForce, DeclaredFilesAreLeftAlone) {
  const std::vector<NodeGres> declared = {row("gpu", "", 2, "/dev/nvidia[0-1]")};
  EXPECT_EQ(gres_in_force(declared, {row("gpu", "a100", 1, "/dev/nvidia0")}), declared);
}

TEST(GresInForce, ACountIsFilledWithWhatWasFound) {
  const std::vector<NodeGres> found = {row("gpu", "nvidia_a100", 1, "/dev/nvidia0", "-1,4"),
                                       row("gpu", "nvidia_a100", 1, "/dev/nvidia1", "4,-1"),
                                       row("gpu", "nvidia_t4", 1, "/dev/nvidia2")};
  const auto out = gres_in_force({row("gpu", "A100", 2), row("gpu", "t4", 2), row("lic", "", 5)}, found);
  const std::vector<NodeGres> expected = {row("gpu", "A100", 1, "/dev/nvidia0", "-1,4"),
                                          row("gpu", "A100", 1, "/dev/nvidia1", "4,-1"),
                                          row("gpu", "t4", 1, "/dev/nvidia2"), row("gpu", "t4", 1),  // is missing
                                          row("lic", "", 5)};
  EXPECT_EQ(out, expected);
}

TEST(GresInForce, SharesOfEachGpu) {
  const auto gpus = row("gpu", "", 2, "/dev/n[0-1]");
  using Shares = std::vector<std::uint64_t>;
  EXPECT_EQ(shares_by_gpu({gpus, row("mps", "", 200)}, "mps"), (Shares{100, 100}));
  EXPECT_EQ(shares_by_gpu({gpus, row("mps", "", 200, "/dev/n[0-1]")}, "mps"), (Shares{100, 100}));
  EXPECT_EQ(shares_by_gpu({gpus, row("mps", "", 300, "/dev/n1"), row("mps", "", 100, "/dev/n0")}, "mps"),
            (Shares{100, 300}));
  EXPECT_EQ(shares_by_gpu({gpus, row("mps", "", 300, "/dev/n1")}, "mps"), (Shares{1, 300}));
  EXPECT_EQ(shares_by_gpu({gpus, row("shard", "", 5)}, "shard"), (Shares{3, 2}));
  EXPECT_EQ(shares_by_gpu({row("gpu", "a", 1), row("gpu", "b", 2), row("shard", "b", 8)}, "shard"), (Shares{1, 4, 4}));
  EXPECT_TRUE(shares_by_gpu({gpus, row("shard", "", 5)}, "mps").empty());
}

}  // namespace
}  // namespace spur::model
