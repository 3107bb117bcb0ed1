// SPDX-License-Identifier: Apache-2.0
// The file that scontrol write config makes, from the frozen cluster of fake_cluster.h.
#include <gtest/gtest.h>

#include "cli/fake_cluster.h"
#include "cli/scontrol_records.h"

namespace spur::cli {
namespace {

std::string file_of(FakeController& controller) {
  return config_file_text(*controller.config(), *controller.cluster(), "2026-11-15T18:25:48");
}

TEST(WriteConfig, SectionsUnitsAndWhatIsNotSet) {
  FakeController controller;
  fill(controller);
  controller.cluster_config.shown = {{"BOOT_TIME", "1"},
                                     {"BatchStartTimeout", "10 sec"},
                                     {"ClusterName", "test"},
                                     {"CpuFreqDef", "Unknown"},
                                     {"DefMemPerNode", "UNLIMITED"},
                                     {"EpilogMsgTime", "2000 usec"},
                                     {"Epilog", ""},
                                     {"InteractiveStepOptions", "--interactive --pty $SHELL"},
                                     {"MaxMemPerNode", "UNLIMITED"},
                                     {"NEXT_JOB_ID", "7"},
                                     {"OverTimeLimit", "0 min"},
                                     {"ResumeRate", "300 nodes/min"},
                                     {"SLURM_CONF", "/etc/slurm/slurm.conf"},
                                     {"SlurmUser", "root(0)"},
                                     {"SlurmctldHost[0]", "a(10.0.0.1)"},
                                     {"SlurmctldHost[1]", "b"},
                                     {"SlurmdPort", "6818"},
                                     {"TaskPluginParam", "(null type)"},
                                     {"TaskProlog", "(null)"},
                                     {"", "Cgroup Support Configuration:"},
                                     {"AllowedRAMSpace", "100.0%"}};
  const std::string text = file_of(controller);
  EXPECT_EQ(text.find("########################################################\n"
                      "#  Configuration file for Slurm - 2026-11-15T18:25:48  #\n"
                      "########################################################\n#\n#\n#\n"
                      "################################################\n"
                      "#                   CONTROL                    #\n"
                      "################################################\n"
                      "ClusterName=test\nSlurmUser=root\nSlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b\n"
                      "SlurmdPort=6818\n#\n"),
            0u)
      << text;
  for (const char* line : {"\nBatchStartTimeout=10\nEpilogMsgTime=2000\n", "\nResumeRate=300\n",
                           "\n#Epilog=\n#TaskProlog=\n", "\n#TaskPluginParam=\n",
                           "#                    OTHER                     #\n"
                           "################################################\n"
                           "#CpuFreqDef=\n#DefMemPerNode=\nInteractiveStepOptions=--interactive --pty $SHELL\n"
                           "MaxMemPerNode=UNLIMITED\nOverTimeLimit=0\n#\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  for (const char* word : {"BOOT_TIME", "NEXT_JOB_ID", "SLURM_CONF", "AllowedRAMSpace"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
}

TEST(WriteConfig, NodesAndPartitionsAsTheyAre) {
  FakeController controller;
  fill(controller);
  controller.cluster_config.shown = {{"SlurmdPort", "6818"}};
  wire::ClusterTable& table = controller.cluster_table;
  table.nodes.resize(3);
  const auto node = [&](std::size_t at, auto&& change) {
    auto copy = std::make_shared<model::Node>(*table.nodes[at]);
    copy->features.clear();
    copy->hardware = {};
    copy->weight = 1;
    copy->hardware.sockets = 2;
    copy->hardware.cores_per_socket = 4;
    copy->hardware.threads_per_core = 1;
    copy->hardware.memory_mib = 1000;
    change(*copy);
    table.nodes[at] = copy;
  };
  for (const std::size_t at : {0, 1})
    node(at, [](model::Node& n) {
      n.address = "";
      n.hostname = n.name;
    });
  node(2, [](model::Node& n) {
    n.address = "10.0.0.3:6820";
    n.hostname = "vm";
    n.weight = 5;
    n.features = {"big", "intel"};
    n.hardware.tmp_disk_mib = 200;
  });
  table.partitions = {fake_partition("debug", {0, 1, 2}), fake_partition("short", {0})};
  model::PartitionConfig& first = table.partitions[0].config;
  first.is_default = true;
  first.default_memory_per_cpu_mib = 100;
  first.billing_weights = {{"cpu", 1000, 1}, {"mem", 250, 1u << 10}};
  model::PartitionConfig& second = table.partitions[1].config;
  second.max_time = TimeLimit::of_minutes(30);
  second.allow_groups = {"adm", "staff"};
  second.min_nodes = 1;
  second.oversubscribe = model::OverSubscribe::Exclusive;
  second.state = model::PartitionState::Drain;
  const std::string text = file_of(controller);
  EXPECT_NE(text.find("#                    NODES                     #\n"
                      "################################################\n"
                      "NodeName=n3 NodeHostName=vm NodeAddr=10.0.0.3 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 "
                      "RealMemory=1000 TmpDisk=200 Weight=5 Feature=big,intel Port=6820\n"
                      "NodeName=n[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000\n#\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("PartitionName=debug Default=YES DefMemPerCPU=100 MinNodes=0 Nodes=n[1-3] State=UP "
                             "TRESBillingWeights=cpu=1,mem=0.25G\n"
                             "PartitionName=short AllowGroups=adm,staff MaxTime=00:30:00 Nodes=n1 "
                             "OverSubscribe=EXCLUSIVE State=DRAIN\n"))
      << text;
}

}  // namespace
}  // namespace spur::cli
