// SPDX-License-Identifier: Apache-2.0
#include "model/relative_qos.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

View two_nodes() {
  View view;
  ClusterConfig config;
  config.gres_types = {"gpu"};
  config.licenses = {{"lic", 10}};
  config.accounting.tres = {"license/lic"};
  view.config = std::make_shared<const ClusterConfig>(config);
  view.tres = std::make_shared<const TresTable>(config);
  for (std::uint32_t i = 0; i < 2; ++i) {
    Node node;
    node.index = NodeIndex{i};
    node.hardware.cpus = 8;
    node.hardware.memory_mib = 1000;
    node.hardware.gres = {{"gpu", "a100", 4, ""}};
    view.nodes.set(i, std::make_shared<const Node>(node));
  }
  PartitionConfig all, half;
  all.name = "all";
  half.name = "half", half.qos = "part";
  view.partitions = std::make_shared<const std::vector<Partition>>(
      std::vector<Partition>{{all, {NodeIndex{0}, NodeIndex{1}}}, {half, {NodeIndex{0}}}});
  return view;
}

Qos percents(const char* name, std::uint32_t flags) {
  Qos qos;
  qos.name = name;
  qos.flags = flags;
  qos.group.tres = {{"cpu", 50}, {"gres/gpu", 25}, {"license/lic", 30}};
  qos.max_tres_per_user = {{"mem", 10}, {"node", 50}};
  qos.max_tres_per_job = {{"cpu", 200}};
  qos.max_tres_per_node = {{"cpu", 3}};
  return qos;
}

TEST(RelativeQos, ArePercentsOfTheClusterOrOfThePartition) {
  View view = two_nodes();
  view.qos = std::make_shared<const std::vector<Qos>>(std::vector<Qos>{percents("own", kQosRelative)});
  view.qos_in_force = qos_with_amounts(view);
  const Qos& own = *find_qos(view, "own");
  EXPECT_EQ(own.group.tres, (TresCounts{{"cpu", 8}, {"gres/gpu", 2}, {"license/lic", 3}}));
  EXPECT_EQ(own.max_tres_per_user, (TresCounts{{"mem", 200}, {"node", 1}}));
  EXPECT_EQ(own.max_tres_per_job, (TresCounts{{"cpu", 16}}));  // more than all is all
  EXPECT_EQ(own.max_tres_per_node, (TresCounts{{"cpu", 3}}));  // an amount in any case

  view.qos = std::make_shared<const std::vector<Qos>>(std::vector<Qos>{percents("part", kQosRelative)});
  view.qos_in_force = qos_with_amounts(view);
  EXPECT_EQ(find_qos(view, "part")->group.tres, (TresCounts{{"cpu", 4}, {"gres/gpu", 1}, {"license/lic", 3}}));
}

TEST(RelativeQos, OthersStayAsTheyAre) {
  View view = two_nodes();
  view.qos = std::make_shared<const std::vector<Qos>>(std::vector<Qos>{percents("own", 0)});
  EXPECT_EQ(qos_with_amounts(view), nullptr);
  EXPECT_EQ(find_qos(view, "own")->group.tres.front().count, 50u);
}

}  // namespace
}  // namespace spur::model
