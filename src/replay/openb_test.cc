// SPDX-License-Identifier: Apache-2.0
#include "replay/openb.h"

#include <gtest/gtest.h>

namespace spur::replay {
namespace {

TEST(Openb, ReadsNodes) {
  const auto nodes = parse_openb_nodes(
      "sn,cpu_milli,memory_mib,gpu,model\r\n"
      "a,64000,262144,2,P100\r\n"
      "b,96000,1,0,\n"
      "c,96000,1\n"
      "d,96000,1,65,G\n");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->rows.size(), 2u);
  EXPECT_EQ(nodes->rows[0], (OpenbNode{"a", 64000, 262144, 2, "P100"}));
  EXPECT_EQ(nodes->rows[1], (OpenbNode{"b", 96000, 1, 0, ""}));
  EXPECT_EQ(nodes->broken_lines, 2u);
  EXPECT_EQ(nodes->first_broken, 4u);
}

TEST(Openb, ReadsPodsByTheNamesOfColumns) {
  const auto pods = parse_openb_pods(
      "gpu_milli,num_gpu,name,cpu_milli,memory_mib,gpu_spec,creation_time,deletion_time,scheduled_time\n"
      "460,1,p,12000,16384,V100M16|V100M32,5,90,\n"
      "1000,8,q,1,2,,0,1,2\n"
      "0,0,r,1,2,,,,\n"
      "0,1,no-share,1,2,,,,\n"
      "1001,1,too-much,1,2,,,,\n");
  ASSERT_TRUE(pods);
  ASSERT_EQ(pods->rows.size(), 3u);
  EXPECT_EQ(pods->rows[0], (OpenbPod{"p", 12000, 16384, 1, 460, {"V100M16", "V100M32"}, "", 5, 90, -1}));
  EXPECT_EQ(pods->rows[1].gpus, 8u);
  EXPECT_EQ(pods->rows[2].gpus, 0u);
  EXPECT_EQ(pods->broken_lines, 2u);
  EXPECT_EQ(pods->first_broken, 5u);
}

TEST(Openb, NamesTheMissingColumn) {
  const auto pods = parse_openb_pods("name,cpu_milli,memory_mib,gpu_milli\n");
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().message, "no column \"num_gpu\" in the first line");
  EXPECT_FALSE(parse_openb_nodes(""));
}

}  // namespace
}  // namespace spur::replay
