// SPDX-License-Identifier: Apache-2.0
#include "config/show.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/load.h"
#include "config/slurm_keys.h"

namespace spur::config {
namespace {

std::string value_of(const Loaded& loaded, std::string_view name) {
  for (const auto& [key, value] : loaded.cluster.shown)
    if (key == name) return value;
  return "<absent>";
}

TEST(Show, WhatClientsRead) {
  const auto loaded = load(SPUR_SOURCE_DIR "/src/config/testdata/baseline.slurm.conf", Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const struct {
    const char *name, *want;
  } kCases[] = {
      {"ClusterName", "baseline"},
      {"MinJobAge", "2 sec"},
      {"MaxArraySize", "100001"},
      {"MaxJobCount", "200000"},
      {"MaxJobId", "67043328"},
      {"ProctrackType", "proctrack/linuxproc"},
      {"SelectType", "select/cons_tres"},
      {"SelectTypeParameters", "CR_CORE"},
      {"SlurmctldHost[0]", "vm(127.0.0.1)"},
      {"SlurmctldHost[1]", "<absent>"},
      {"SLURM_CONF", SPUR_SOURCE_DIR "/src/config/testdata/baseline.slurm.conf"},
      {"SLURM_VERSION", "25.05.0"},
      {"SlurmctldPort", "16817"},
      {"SlurmdPort", "6818"},
      {"StateSaveLocation", "/tmp/base/state"},
      {"SlurmUser", "root(0)"},
      {"SlurmdSpoolDir", "/tmp/base/spool/%n"},
      {"SlurmdPidFile", "/tmp/base/run/slurmd.%n.selfpid"},
      {"SlurmctldTimeout", "300 sec"},
      {"SlurmdTimeout", "300 sec"},
      {"KillWait", "30 sec"},
      {"OverTimeLimit", "0 min"},
      {"JobRequeue", "1"},
      {"TaskPlugin", "task/none"},
      {"AccountingStorageType", "accounting_storage/none"},
      {"SlurmdParameters", "config_overrides"},
      {"CommunicationParameters", "NoInAddrAny,NoCtldInAddrAny"},
      {"DefMemPerNode", "UNLIMITED"},
      {"DefMemPerCPU", "<absent>"},
      {"Licenses", "(null)"},
      {"MaxNodeCount", "4"},
      {"ReturnToService", "2"},
      {"SlurmctldDebug", "error"},
      {"PriorityMaxAge", "7-00:00:00"},
      {"MpiDefault", "none"},
      {"Prolog", "<absent>"},
      {"AccountingStoragePass", "<absent>"},
  };
  for (const auto& c : kCases) EXPECT_EQ(value_of(*loaded, c.name), c.want) << c.name;
}

TEST(Show, OtherValues) {
  const auto loaded = load_text(
      "SlurmctldHost=a\nSlurmctldHost=b(10.0.0.2)\nDefMemPerCPU=100\nMaxMemPerNode=5000\nLicenses=x:2,y\nProlog=/"
      "p1\nProlog=/p2\n"
      "SchedulerParameters=bf_continue,kill_invalid_depend\nEnforcePartLimits=ANY\nGresTypes=gpu,nic\nUsePAM=1\n"
      "PriorityWeightFairshare=5\nJobCompPass=secret\nAccountingStoragePass=secret\nBatchStartTimeout="
      "20\nSelectTypeParameters=CR_CPU_Memory\n",
      "slurm.conf");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(value_of(*loaded, "SlurmctldHost[0]"), "a");
  EXPECT_EQ(value_of(*loaded, "SlurmctldHost[1]"), "b(10.0.0.2)");
  EXPECT_EQ(value_of(*loaded, "DefMemPerCPU"), "100");
  EXPECT_EQ(value_of(*loaded, "DefMemPerNode"), "<absent>");
  EXPECT_EQ(value_of(*loaded, "MaxMemPerNode"), "5000");
  EXPECT_EQ(value_of(*loaded, "Licenses"), "x:2,y:1");
  EXPECT_EQ(value_of(*loaded, "Prolog[1]"), "/p2");
  EXPECT_EQ(value_of(*loaded, "SchedulerParameters"), "bf_continue,kill_invalid_depend");
  EXPECT_EQ(value_of(*loaded, "EnforcePartLimits"), "ANY");
  EXPECT_EQ(value_of(*loaded, "GresTypes"), "gpu,nic");
  EXPECT_EQ(value_of(*loaded, "UsePam"), "1");
  EXPECT_EQ(value_of(*loaded, "PriorityWeightFairShare"), "5");
  EXPECT_EQ(value_of(*loaded, "BatchStartTimeout"), "20 sec");
  EXPECT_EQ(value_of(*loaded, "SelectTypeParameters"), "CR_CPU_MEMORY");
  for (const auto& [name, value] : loaded->cluster.shown) EXPECT_EQ(value.find("secret"), std::string::npos) << name;
}

// Loading the same file twice must not look like a change of configuration.
TEST(Show, IsStable) {
  const auto once = load_text("cluster_name = \"x\"\n[[nodes]]\nnames = \"a[1-3]\"\n", "spur.conf");
  const auto twice = load_text("cluster_name = \"x\"\n[[nodes]]\nnames = \"a[1-3]\"\n", "spur.conf");
  ASSERT_TRUE(once && twice);
  EXPECT_EQ(once->cluster, twice->cluster);
  EXPECT_GT(once->cluster.shown.size(), 180u);
}

}  // namespace
}  // namespace spur::config
