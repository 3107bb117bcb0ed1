// SPDX-License-Identifier: Apache-2.0
// Both ways in small; sites_test.cc goes there and back with whole sites.
#include "config/translate.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "config/test_files.h"

namespace spur::config {
namespace {

std::string imported(const std::string& slurm) {
  TestDirectory directory;
  const auto draft = read_resolved(directory.write("slurm.conf", slurm));
  if (!draft) return draft.error().message;
  const auto out = to_spur_conf(*draft);
  return out ? out->files[0].second : out.error().message;
}

TEST(Translate, Import) {
  EXPECT_EQ(imported("ClusterName=c\n"
                     "SlurmctldHost=a\n"
                     "SlurmctldHost=b(10.0.0.2)\n"
                     "KillWait=10\n"
                     "KillWait=20\n"
                     "Licenses=z:3,a\n"
                     "Prolog=/p1\n"
                     "Prolog=/p2\n"
                     "JobCompParams=\"/bin/x \\#1\"\n"
                     "PriorityMaxAge=1-0\n"
                     "NodeName=DEFAULT CPUs=4 Feature=old\n"
                     "NodeName=n[1-2] Feature=new,fast\n"
                     "NodeSet=s Feature=new\n"
                     "DownNodes=n2 Reason=\"no fan\"\n"
                     "PartitionName=p Nodes=s Default=YES Priority=7 Shared=NO MaxTime=INFINITE CpuBind=core\n"),
            "defaults = \"slurm\"\n"
            "cluster_name = \"c\"\n"
            "licenses = { \"z\" = 3, \"a\" = 1 }\n"
            "\n[controller]\n"
            "hosts = [\"a\", \"b(10.0.0.2)\"]\n"
            "kill_wait_secs = 20\n"
            "\n[hooks]\n"
            "prolog = [\"/p1\", \"/p2\"]\n"
            "\n[scheduler]\n"
            "max_age = \"1-0\"\n"
            "\n[slurm]\n"
            "JobCompParams = \"/bin/x #1\"\n"
            "\n[[nodes]]\n"
            "cpus = 4\n"
            "features = [\"new\", \"fast\"]\n"
            "names = \"n[1-2]\"\n"
            "\n[[node_sets]]\n"
            "name = \"s\"\n"
            "feature = \"new\"\n"
            "\n[[down_nodes]]\n"
            "nodes = \"n2\"\n"
            "reason = \"no fan\"\n"
            "\n[[partitions]]\n"
            "name = \"p\"\n"
            "nodes = \"s\"\n"
            "default = true\n"
            "priority_tier = 7\n"
            "priority_job_factor = 7\n"
            "oversubscribe = \"NO\"\n"
            "max_time = \"INFINITE\"\n"
            "slurm = { CpuBind = \"core\" }\n");
  EXPECT_EQ(imported("ClusterName=c\nJobCompParams=/\xff\n"), "spur.conf must be UTF-8, and a value is not (line 5 of it)");
}

struct Exported {
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> remarks;
  std::string error;
};
Exported exported(const std::string& spur) {
  TestDirectory directory;
  const auto draft = read_resolved(directory.write("spur.conf", spur));
  if (!draft) return {.files = {}, .remarks = {}, .error = draft.error().message};
  const auto out = to_slurm_conf(*draft);
  if (!out) return {.files = {}, .remarks = {}, .error = out.error().message};
  return {out->files, out->remarks, {}};
}

// A file that knows nothing of Slurm: what Slurm has a word for is said in it.
TEST(Translate, Export) {
  const auto out = exported(
      "cluster_name = \"c\"\n"
      "[controller]\nhosts = [\"a\", \"b\"]\nlisten_addr = \"0.0.0.0:7000\"\ndeclared_hardware_wins = true\nfailover_ms = 500\n"
      "[scheduler]\nmemory_consumable = true\nplanned_jobs = 50\n"
      "[accounting]\nhost = \"db\"\n"
      "[topology]\nplugin = \"block\"\nblock_sizes = [\"2\", \"4\"]\n"
      "[[topology.switches]]\nname = \"b1\"\nnodes = \"n[1-2]\"\n"
      "[[nodes]]\nnames = \"n[1-2]\"\ncpus = 4\ngres = [\"gpu:2\"]\n"
      "[[devices.gres]]\nname = \"gpu\"\nfile = \"/dev/nvidia[0-1]\"\n"
      "[[partitions]]\nname = \"p\"\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1h30m\"\nselector = { rack = \"a\" }\n");
  EXPECT_EQ(out.error, "");
  ASSERT_EQ(out.files.size(), 4u);
  EXPECT_EQ(out.files[0].first, "slurm.conf");
  for (const char* line : {"ClusterName=c\n", "SlurmctldHost=a\nSlurmctldHost=b\n", "SlurmctldPort=7000\n",
                           "SlurmdParameters=config_overrides\n", "SelectTypeParameters=CR_Core_Memory\n",
                           "SchedulerParameters=bf_max_job_test=50\n",
                           "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=db\n",
                           "TopologyPlugin=block\n", "TaskPlugin=task/cgroup\n", "GresTypes=gpu\n",
                           "NodeName=n[1-2] CPUs=4 Gres=gpu:2\n",
                           "PartitionName=p Default=YES Nodes=ALL MaxTime=01:30:00\n"})
    EXPECT_NE(out.files[0].second.find(line), std::string::npos) << line << out.files[0].second;
  EXPECT_EQ(out.files[1], (std::pair<std::string, std::string>("gres.conf", "Name=gpu File=/dev/nvidia[0-1]\n")));
  EXPECT_EQ(out.files[2].second, "ConstrainCores=YES\nConstrainRAMSpace=YES\nConstrainDevices=YES\n");
  EXPECT_EQ(out.files[3].second, "BlockSizes=2,4\nBlockName=b1 Nodes=n[1-2]\n");
  EXPECT_EQ(out.remarks,
            (std::vector<std::string>{
                "slurm.conf has no word for controller.failover_ms = 500",
                "slurm.conf has no word for devices.auto_detect = true: name it in gres.conf (AutoDetect=)",
                "slurm.conf has no word for partitions.selector = rack:a"}));
  TestDirectory directory;
  for (const auto& [name, text] : out.files) directory.write(name, text);
  const auto back = load(directory.path() + "/slurm.conf", Want::All);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->cluster.topology.blocks.size(), 1u);
  EXPECT_EQ(back->cluster.planned_jobs, 50u);
  EXPECT_EQ(exported("[controller]\nuser = \"a\\\"b\"\n").error,
            "SlurmUser: slurm.conf cannot hold quotes or line ends in a value");
}

TEST(Translate, SlurmTables) {
  TestDirectory directory;
  const auto refusal = [&](const std::string& text) {
    const auto loaded = load(directory.write("spur.conf", text), Want::All);
    return loaded ? std::string() : loaded.error().message.substr(directory.path().size() + 1);
  };
  EXPECT_EQ(refusal("[slurm]\nNoSuchKey = \"1\"\n"), "spur.conf:2: Parsing error at unrecognized key: NoSuchKey");
  EXPECT_EQ(refusal("[slurm]\nJobCompParams = 3\n"), "spur.conf:2: slurm.JobCompParams must be a string or a list of strings");
  EXPECT_EQ(refusal("slurm = 3\n"), "spur.conf:1: slurm is a table of keys of slurm.conf");
  EXPECT_EQ(refusal("[slurm_files]\n\"passwd\" = \"x\"\n"), "spur.conf:2: slurm_files: passwd is no file of Slurm");
  EXPECT_EQ(refusal("[[nodes]]\nnames = \"a\"\nslurm = { KillWait = \"3\" }\n"),
            "spur.conf:3: Parsing error at unrecognized key: KillWait");
  const auto loaded = load(directory.write("spur.conf", "[slurm]\nSchedulerParameters = \"bf_max_job_test=9\"\n"), Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cluster.planned_jobs, 9u);  // in force, wherever it stands
}

// In the order of the file, as in slurm.conf.
TEST(Translate, TheLastWordCounts) {
  TestDirectory directory;
  const auto loaded = load(directory.write("spur.conf", "[logging]\nlevel = \"error\"\nagent_level = \"debug\"\n"), Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->daemon.controller_log.level, LogLevel::Error);
  EXPECT_EQ(loaded->daemon.agent_log.level, LogLevel::Debug);
}

}  // namespace
}  // namespace spur::config
