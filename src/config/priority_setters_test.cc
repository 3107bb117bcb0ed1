// SPDX-License-Identifier: Apache-2.0
// Keys of priority, preemption, reservations and the network, in both dialects.
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/test_files.h"

namespace spur::config {
namespace {

constexpr const char* kNodes =
    "NodeName=n[1-4] CPUs=4 RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\nSlurmctldHost=h\n";

model::ClusterConfig slurm(const std::string& lines, std::vector<std::string>* warnings = nullptr) {
  const auto loaded = load_text(lines + "\n" + kNodes, "slurm.conf", Want::All);
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  if (warnings) *warnings = loaded->warnings;
  return loaded->cluster;
}
std::string refusal(const std::string& lines) {
  const auto loaded = load_text(lines + "\n" + kNodes, "slurm.conf", Want::All);
  return loaded ? "taken" : loaded.error().message;
}

TEST(PriorityKeys, Slurm) {
  std::vector<std::string> warnings;
  const auto c = slurm(
      "PriorityType=priority/multifactor\nPriorityWeightFairshare=5\nPriorityWeightJobSize=6\n"
      "PriorityWeightPartition=7\nPriorityWeightQOS=8\nPriorityWeightAssoc=9\nPriorityFavorSmall=yes\n"
      "PriorityWeightTRES=CPU=1000,mem=2.5,GRES/gpu:A100=3\nPriorityFlags=accrue_always,NO_NORMAL_QOS\n"
      "PriorityMaxAge=1-0\nResvOverRun=5\n",
      &warnings);
  EXPECT_TRUE(c.priority.multifactor);
  EXPECT_EQ(c.priority.base, 0u);
  EXPECT_EQ(c.age_weight, 0u);  // as Slurm: what is not given weighs nothing
  EXPECT_EQ(c.priority.fairshare_weight, 5u);
  EXPECT_EQ(c.priority.job_size_weight, 6u);
  EXPECT_EQ(c.priority.partition_weight, 7u);
  EXPECT_EQ(c.priority.qos_weight, 8u);
  EXPECT_EQ(c.priority.assoc_weight, 9u);
  EXPECT_TRUE(c.priority.favor_small);
  EXPECT_EQ(c.priority.tres_weights,
            (std::vector<model::TresWeight>{{"cpu", 1'000'000}, {"mem", 2500}, {"gres/gpu:A100", 3000}}));
  EXPECT_EQ(c.priority.flags, (std::vector<std::string>{"ACCRUE_ALWAYS", "NO_NORMAL_QOS"}));
  EXPECT_EQ(c.age_full, hours(24));
  EXPECT_EQ(c.reservation_overrun, minutes(5));
  EXPECT_EQ(warnings, std::vector<std::string>{});

  EXPECT_EQ(slurm("PriorityType=priority/multifactor\nPriorityWeightAge=3").age_weight, 3u);
  EXPECT_FALSE(slurm("PriorityType=priority/basic").priority.multifactor);
  EXPECT_EQ(slurm("").age_weight, model::ClusterConfig().age_weight);
  EXPECT_GT(slurm("ResvOverRun=UNLIMITED").reservation_overrun, hours(24 * 365));
  EXPECT_EQ(refusal("PriorityType=priority/bogus"),
            "slurm.conf:1: PriorityType: Bad value \"priority/bogus\": it is priority/multifactor or priority/basic");
  EXPECT_EQ(refusal("PriorityFlags=bogus"), "slurm.conf:1: PriorityFlags: \"bogus\" is no flag of priorities");
  EXPECT_EQ(refusal("PriorityWeightTRES=foo=2"),
            "slurm.conf:1: PriorityWeightTRES: \"foo=2\" is no weight of cpu, mem, node, billing, gres/NAME or "
            "license/NAME");
}

TEST(PriorityKeys, Spur) {
  const auto loaded = load_text(
      "[priority]\ntype = \"multifactor\"\nbase = 500\nfairshare_weight = 10\ntres_weights = \"cpu=2\"\n"
      "[scheduler]\nplanned_jobs = 50\npromised_jobs = 7\npromise_after = \"1-0\"\nbackfill_order = "
      "\"priority\"\nresv_overrun_minutes = 3\nage_weight = 4\n",
      "spur.conf", Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cluster.priority.base, 500u);
  EXPECT_EQ(loaded->cluster.priority.fairshare_weight, 10u);
  EXPECT_EQ(loaded->cluster.age_weight, 4u);
  EXPECT_EQ(loaded->cluster.planned_jobs, 50u);
  EXPECT_EQ(loaded->cluster.promised_jobs, 7u);
  EXPECT_EQ(loaded->cluster.promise_after, hours(24));
  EXPECT_EQ(loaded->cluster.backfill_order, model::BackfillOrder::Priority);
  EXPECT_EQ(loaded->cluster.reservation_overrun, minutes(3));
}

TEST(PriorityKeys, SchedulerParametersAreSorted) {
  std::vector<std::string> warnings;
  const auto c =
      slurm("SchedulerParameters=bf_max_job_test=500,max_switch_wait=60,bf_window=1440,bf_continue,assoc_limit_stop",
            &warnings);
  EXPECT_EQ(c.planned_jobs, 500u);
  EXPECT_EQ(c.max_switch_wait, seconds(60));
  EXPECT_EQ(
      warnings,
      (std::vector<std::string>{
          "slurm.conf:1: SchedulerParameters: bf_window=1440 (no effect: scheduling follows events and looks at every job); "
          "bf_continue (no effect: scheduling follows events and looks at every job); "
          "assoc_limit_stop (not in force yet: jobs behind one that waits for a limit may start)"}));
  const auto delayed =
      load_text("SchedulerParameters=batch_sched_delay=20\n" + std::string(kNodes), "slurm.conf", Want::All);
  ASSERT_TRUE(delayed);
  EXPECT_EQ(delayed->daemon.batch_sched_delay, seconds(20));
  EXPECT_EQ(refusal("SchedulerParameters=bf_max_job_test=x"),
            "slurm.conf:1: SchedulerParameters: \"bf_max_job_test=x\" needs a number");
}

TEST(PreemptKeys, Slurm) {
  const auto c = slurm("PreemptType=preempt/qos\nPreemptMode=REQUEUE,GANG\nPreemptExemptTime=10:00");
  EXPECT_EQ(c.preempt.by, model::PreemptBy::Qos);
  EXPECT_EQ(c.preempt.how, model::PreemptHow::Requeue);
  EXPECT_TRUE(c.preempt.gang);
  EXPECT_EQ(c.preempt.exempt, minutes(10));
  EXPECT_EQ(slurm("PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG").preempt.by,
            model::PreemptBy::PartitionTier);
  EXPECT_TRUE(slurm("PreemptType=preempt/qos\nPreemptMode=CANCEL,WITHIN").preempt.within);
  EXPECT_EQ(slurm("PreemptExemptTime=-1").preempt.exempt, seconds(0));
  const auto words = slurm("PreemptParameters=youngest_first,min_exempt_priority=500,send_user_signal").preempt;
  EXPECT_TRUE(words.youngest_first);
  EXPECT_TRUE(words.send_user_signal);
  EXPECT_EQ(words.min_exempt_priority, 500u);
  EXPECT_TRUE(slurm("SchedulerParameters=preempt_youngest_first").preempt.youngest_first);
  EXPECT_TRUE(slurm("SlurmctldParameters=preempt_send_user_signal").preempt.send_user_signal);
  EXPECT_TRUE(refusal("PreemptMode=bogus").starts_with("slurm.conf:1: PreemptMode: Bad value"));
}

// As Slurm 22.05 refuses them.
TEST(PreemptKeys, Contradictions) {
  for (const char* text :
       {"PreemptMode=REQUEUE", "PreemptType=preempt/partition_prio", "PreemptType=preempt/qos\nPreemptMode=GANG",
        "PreemptType=preempt/partition_prio\nPreemptMode=WITHIN", "PreemptType=preempt/qos\nPreemptMode=WITHIN"})
    EXPECT_NE(refusal(text).find("PreemptType and PreemptMode values incompatible"), std::string::npos) << text;
  EXPECT_NE(refusal("PreemptType=preempt/qos\nPreemptMode=SUSPEND").find("PreemptMode=SUSPEND requires GANG too"),
            std::string::npos);
}

TEST(PreemptKeys, Partition) {
  const std::string by = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n";
  const auto c = slurm(by + "PartitionName=q Nodes=ALL PreemptMode=suspend,gang GraceTime=60");
  ASSERT_FALSE(c.partitions.empty());
  EXPECT_EQ(c.partitions.front().preempt_mode, "SUSPEND,GANG");
  EXPECT_EQ(c.partitions.front().grace_time_seconds, 60u);
  EXPECT_EQ(c.partitions.back().preempt_mode, "REQUEUE");  // the cluster's
  EXPECT_EQ(slurm("").partitions.front().preempt_mode, "");
  EXPECT_NE(refusal(by + "PartitionName=q Nodes=ALL PreemptMode=bogus").find("PreemptMode: Bad value"),
            std::string::npos);
}

TEST(JobDefaultKeys, ClusterAndPartition) {
  const auto c =
      slurm("JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=2000\nPartitionName=q Nodes=n1 JobDefaults=DefCpuPerGPU=8");
  EXPECT_EQ(c.default_cpus_per_gpu, 4u);
  EXPECT_EQ(c.default_memory_per_gpu_mib, 2000u);
  EXPECT_EQ(c.partitions[0].default_cpus_per_gpu, 8u);
  EXPECT_TRUE(refusal("JobDefaults=Bogus=1").starts_with("slurm.conf:1: JobDefaults:"));
}

TEST(NodeKeys, WhatIsKeptForTheSystem) {
  const auto c = slurm("NodeName=x CPUs=8 CoreSpecCount=2 MemSpecLimit=500\nNodeName=y CPUs=8 CpuSpecList=0-1");
  EXPECT_EQ(c.nodes[0].spec_cores, 2u);
  EXPECT_EQ(c.nodes[0].spec_memory_mib, 500u);
  EXPECT_EQ(c.nodes[1].spec_cpus, "0-1");
}

TEST(NodeKeys, ANodeInNoPartitionIsNamed) {
  const auto loaded = load_text(
      "SlurmctldHost=h\nNodeName=n[1-2] CPUs=4\nNodeName=n[3-5] CPUs=4\nPartitionName=p Nodes=n[1-3] Default=YES\n",
      "slurm.conf", Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->warnings, std::vector<std::string>{"slurm.conf:3: n[4-5] in no partition: no job can run there"});
}

// ---- topology.conf

struct Topology {
  explicit Topology(const std::string& lines, const std::string& plugin = "topology/tree") {
    dir.write("topology.conf", lines);
    loaded = load(dir.write("slurm.conf", "TopologyPlugin=" + plugin + "\n" + kNodes), Want::All);
  }
  std::string error() const {
    if (loaded) return "taken";
    return loaded.error().message.substr(dir.path().size() + 1);
  }
  TestDirectory dir;
  Result<Loaded> loaded;
};

TEST(Topology, Tree) {
  const Topology t(
      "SwitchName=s1 Nodes=n[1-2]\n# the other\nSwitchName=s2 Nodes=n[3-4] LinkSpeed=10\nSwitchName=top "
      "Switches=s[1-2]\n");
  ASSERT_TRUE(t.loaded) << t.loaded.error().message;
  const auto& topology = t.loaded->cluster.topology;
  EXPECT_EQ(topology.kind, model::TopologyKind::Tree);
  ASSERT_EQ(topology.switches.size(), 3u);
  EXPECT_EQ(topology.switches[1].name, "s2");
  EXPECT_EQ(topology.switches[1].nodes, "n[3-4]");
  EXPECT_EQ(topology.switches[1].line, 3u);
  EXPECT_EQ(topology.switches[2].switches, "s[1-2]");
}

TEST(Topology, Blocks) {
  const Topology t("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n", "topology/block");
  ASSERT_TRUE(t.loaded) << t.loaded.error().message;
  EXPECT_EQ(t.loaded->cluster.topology.kind, model::TopologyKind::Block);
  EXPECT_EQ(t.loaded->cluster.topology.blocks.size(), 2u);
  EXPECT_EQ(t.loaded->cluster.topology.block_sizes, (std::vector<std::uint32_t>{2, 4}));
}

TEST(Topology, ContradictionsNameTheLine) {
  EXPECT_EQ(Topology("SwitchName=s1 Nodes=n[1-9]\n").error(), "topology.conf:1: s1 names an unknown node: n5");
  EXPECT_EQ(Topology("SwitchName=s1 Nodes=n[1-4]\nSwitchName=top Switches=s[1-2]\n").error(),
            "topology.conf:2: top names an unknown switch: s2");
  EXPECT_EQ(Topology("SwitchName=a Switches=b\nSwitchName=b Switches=a\n").error(),
            "topology.conf:1: switch a is part of a loop");
  EXPECT_EQ(Topology("SwitchName=a Switches=a\n").error(), "topology.conf:1: switch a is part of a loop");
  EXPECT_EQ(Topology("SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[2-3]\n").error(),
            "topology.conf:2: node n2 is in s1 and in s2");
  EXPECT_EQ(Topology("SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n").error(),
            "topology.conf:2: s1 is declared twice");
  EXPECT_EQ(Topology("SwitchName=s1\n").error(), "topology.conf:1: switch s1 has neither nodes nor switches");
  EXPECT_EQ(Topology("SwitchName=s1 Bogus=n1\n").error(),
            "topology.conf:1: Parsing error at unrecognized key: Bogus");
}

TEST(Topology, NodesWithoutASwitchAreNamed) {
  const Topology t("SwitchName=s1 Nodes=n[1-3]\n");
  ASSERT_TRUE(t.loaded);
  ASSERT_FALSE(t.loaded->warnings.empty());
  EXPECT_TRUE(t.loaded->warnings.back().ends_with("1 nodes are in no switch of the topology, n4 for one"));
}

// ---- gres.conf

TEST(GresConf, DevicesThatKnowTheirCores) {
  const TestDirectory dir;
  dir.write("gres.conf",
            "Name=gpu File=/dev/nvidia[0-1] Cores=0-15 Links=-1,16\nName=gpu File=/dev/nvidia[2-3] Cores=16-31\n");
  const auto loaded = load(dir.write("slurm.conf",
                                     "SlurmctldHost=h\nGresTypes=gpu\nNodeName=a CPUs=32 "
                                     "Gres=gpu:a100:4\nPartitionName=p Nodes=a Default=YES\n"),
                           Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& gres = loaded->cluster.nodes[0].gres;
  ASSERT_EQ(gres.size(), 2u);
  EXPECT_EQ(gres[0].count, 2u);
  EXPECT_EQ(gres[0].type, "a100");
  EXPECT_EQ(gres[0].cores, "0-15");
  EXPECT_EQ(gres[0].links, "-1,16");
  EXPECT_EQ(gres[1].file, "/dev/nvidia[2-3]");
  EXPECT_EQ(gres[1].cores, "16-31");

  dir.write("gres.conf", "Name=gpu File=/dev/nvidia[0-7] Cores=0-15\n");
  const auto more = load(dir.path() + "/slurm.conf", Want::All);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message,
            dir.path() + "/gres.conf:1: 8 devices of GRES gpu are named, node a declares only 4");
}

}  // namespace
}  // namespace spur::config
