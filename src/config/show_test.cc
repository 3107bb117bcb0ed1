// SPDX-License-Identifier: Apache-2.0
#include "config/show.h"

#include <fmt/format.h>
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
  EXPECT_EQ(value_of(*loaded, "UsePam"), "yes");
  EXPECT_EQ(value_of(*loaded, "PriorityWeightFairShare"), "5");
  EXPECT_EQ(value_of(*loaded, "BatchStartTimeout"), "20 sec");
  EXPECT_EQ(value_of(*loaded, "SelectTypeParameters"), "CR_CPU_MEMORY");
  const std::pair<const char*, const char*> kSelect[] = {
      {"", "CR_CORE_MEMORY"},
      {"SelectTypeParameters=LL_SHARED_GRES,CR_Pack_Nodes,CR_LLN,CR_Core,CR_ONE_TASK_PER_CORE",
       "CR_CORE,CR_ONE_TASK_PER_CORE,CR_LLN,CR_PACK_NODES,LL_SHARED_GRES"},
      {"SelectType=select/linear", "<absent>"},
      {"SelectType=select/linear\nSelectTypeParameters=CR_Memory", "CR_MEMORY"}};
  for (const auto& [text, shown] : kSelect) {
    const auto other = load_text(fmt::format("SlurmctldHost=a\n{}\n", text), "slurm.conf");
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(value_of(*other, "SelectTypeParameters"), shown) << text;
  }
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

// As Debian's slurmctld shows the same file, apart from what 25.05 writes in another way (yes and no).
TEST(Show, ValuesHaveSlurmsForm) {
  const std::pair<const char*, const char*> kCases[] = {
      {"AccountingStoragePort=7031", "AccountingStoragePort=7031"},
      {"CpuFreqGovernors=UserSpace,OnDemand", "CpuFreqGovernors=OnDemand,UserSpace"},
      {"DebugFlags=Triggers,Steps,Backfill,Gres", "DebugFlags=Backfill,Gres,Steps,Triggers"},
      {"DefCpuPerGPU=2", "JobDefaults=DefCpuPerGPU=2"},
      {"DefMemPerNode=0", "DefMemPerNode=UNLIMITED"},
      {"DisableRootJobs=1", "DisableRootJobs=yes"},
      {"HealthCheckNodeState=MIXED,CYCLE,IDLE,ALLOC", "HealthCheckNodeState=CYCLE,IDLE,ALLOC,MIXED"},
      {"OverTimeLimit=UNLIMITED", "OverTimeLimit=UNLIMITED"},
      {"OverTimeLimit=4", "OverTimeLimit=4 min"},
      {"PriorityFlags=SMALL_RELATIVE_TO_TIME,NO_NORMAL_TRES,NO_NORMAL_QOS,NO_NORMAL_PART,NO_NORMAL_ASSOC,MAX_TRES,"
       "NO_FAIR_TREE,ACCRUE_ALWAYS",
       "PriorityFlags=ACCRUE_ALWAYS,SMALL_RELATIVE_TO_TIME,NO_FAIR_TREE,MAX_TRES,NO_NORMAL_ALL"},
      {"PriorityUsageResetPeriod=weekly", "PriorityUsageResetPeriod=WEEKLY"},
      {"PrivateData=usage,jobs,accounts", "PrivateData=accounts,jobs,usage"},
      {"PrologFlags=Serial,Contain", "PrologFlags=Alloc,Contain,Serial"},
      {"PropagateResourceLimitsExcept=MEMLOCK", "PropagateResourceLimits=(null)"},
      {"SuspendTime=-1", "SuspendTime=INFINITE"},
      {"SuspendTime=100", "SuspendTime=100 sec"},
      {"TaskPluginParam=Verbose,Sockets,SlurmdOffSpec", "TaskPluginParam=verbose,sockets"},
      {"TopologyPlugin=topology/tree", "TopologyPlugin=topology/tree"},
      {"TopologyParam=TopoOptional", "TopologyParam=TopoOptional"},
      {"TrackWCKey=NO", "TrackWCKey=no"},
      {"UsePAM=yes", "UsePam=yes"},
  };
  for (const auto& [line, want] : kCases) {
    const auto loaded = load_text(std::string("ClusterName=c\n") + line + "\n", "slurm.conf");
    ASSERT_TRUE(loaded) << loaded.error().message;
    const std::string_view row = want;
    const std::string name(row.substr(0, row.find('='))), value(row.substr(row.find('=') + 1));
    EXPECT_EQ(value_of(*loaded, name), value) << line;
  }
}

// A key that is in force is shown as it is in force, not as if nothing had been said.
TEST(Show, NothingInForceHidesBehindItsDefault) {
  const auto plain = load_text("ClusterName=c\n", "slurm.conf");
  ASSERT_TRUE(plain);
  for (const char* line :
       {"AccountingStorageEnforce=limits", "AccountingStorageTRES=gres/gpu", "CompleteWait=3", "EnforcePartLimits=ALL",
        "FirstJobId=7", "GresTypes=gpu", "HealthCheckInterval=3", "HealthCheckProgram=/x", "InactiveLimit=3",
        "JobAcctGatherFrequency=7", "JobRequeue=0", "KillWait=3", "Licenses=a:1", "MaxArraySize=9", "MaxBatchRequeue=9",
        "MaxJobCount=9", "MaxMemPerCPU=9", "MessageTimeout=9", "MinJobAge=9", "MpiDefault=pmix", "OverTimeLimit=9",
        "PriorityMaxAge=1-0", "PriorityWeightQOS=9", "PriorityWeightTRES=cpu=9", "ResvOverRun=9", "ReturnToService=2",
        "SchedulerParameters=defer", "SelectTypeParameters=CR_CPU", "SlurmctldDebug=debug", "SlurmctldParameters=enable_configless",
        "SlurmdParameters=config_overrides", "SlurmdTimeout=9", "SrunProlog=/x", "TaskPlugin=task/cgroup", "TaskProlog=/x",
        "MailProg=/x", "TmpFS=/x", "TreeWidth=9", "WaitTime=9", "StateSaveLocation=/x"}) {
    const auto loaded = load_text(std::string("ClusterName=c\n") + line + "\n", "slurm.conf");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_NE(loaded->cluster.shown, plain->cluster.shown) << line;
  }
}

}  // namespace
}  // namespace spur::config
