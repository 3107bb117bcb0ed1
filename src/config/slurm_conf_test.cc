// SPDX-License-Identifier: Apache-2.0
#include "config/slurm_conf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "config/load.h"
#include "config/test_files.h"

namespace spur::config {
namespace {

constexpr const char* kBaseline = SPUR_SOURCE_DIR "/src/config/testdata/baseline.slurm.conf";

TEST(SlurmConf, Baseline) {
  const auto loaded = load(kBaseline, Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const model::ClusterConfig& cluster = loaded->cluster;
  const DaemonConfig& daemon = loaded->daemon;
  EXPECT_EQ(cluster.cluster_name, "baseline");
  EXPECT_EQ(daemon.controllers, (std::vector<ControllerHost>{{"vm", "127.0.0.1"}}));
  EXPECT_EQ(daemon.controller_listen, std::vector<std::string>{"127.0.0.1:16817"});
  EXPECT_EQ(daemon.controller_port, 16817);
  EXPECT_EQ(daemon.slurm_user, "root");
  EXPECT_EQ(daemon.state_dir, "/tmp/base/state");
  EXPECT_EQ(agent_spool_dir(daemon, "n2", "vm"), "/tmp/base/spool/n2");
  EXPECT_EQ(agent_pid_file(daemon, "n2", "vm"), "/tmp/base/run/slurmd.n2.selfpid");
  EXPECT_EQ(agent_log_file(daemon, "n2", "vm"), "/tmp/base/log/slurmd.n2.log");
  EXPECT_EQ(controller_pid_file(daemon), "/tmp/base/run/slurmctld.selfpid");
  EXPECT_EQ(daemon.controller_log.level, LogLevel::Error);
  EXPECT_EQ(cluster.return_to_service, 2u);
  EXPECT_EQ(cluster.max_job_count, 200000u);
  EXPECT_EQ(cluster.max_array_size, 100001u);
  EXPECT_EQ(cluster.min_job_age, seconds(2));
  EXPECT_EQ(cluster.node_timeout, seconds(300));
  EXPECT_TRUE(cluster.config_overrides);
  EXPECT_TRUE(cluster.cores_whole);
  EXPECT_EQ(cluster.memory_as, model::MemoryAs::NotConsumable);
  ASSERT_EQ(cluster.nodes.size(), 4u);
  const model::NodeConfig& n2 = cluster.nodes[1];
  EXPECT_EQ(n2.name, "n2");
  EXPECT_EQ(n2.hostname, "vm");
  EXPECT_EQ(n2.address, "127.0.0.1");
  EXPECT_EQ(n2.port, 16902);
  EXPECT_EQ(agent_listen_address(daemon, &n2), "127.0.0.1:16902");
  EXPECT_EQ(n2.cpus, 64u);
  EXPECT_EQ(n2.sockets, 64u);  // as Slurm has it
  EXPECT_EQ(n2.cores_per_socket, 1u);
  EXPECT_EQ(n2.memory_mib, 1000u);
  EXPECT_EQ(n2.state, "");
  ASSERT_EQ(cluster.partitions.size(), 1u);
  EXPECT_EQ(cluster.partitions[0].name, "debug");
  EXPECT_EQ(cluster.partitions[0].nodes, "ALL");
  EXPECT_TRUE(cluster.partitions[0].is_default);
  EXPECT_TRUE(cluster.partitions[0].max_time.is_unlimited());

  // One warning for each key that has no meaning yet; none for keys that ask for what is anyway.
  std::vector<std::string> warned;
  const std::string why = "(no effect: scheduling follows events and looks at every job)";
  for (std::string line : loaded->warnings) {
    for (std::size_t at; (at = line.find(why)) != std::string::npos;) line.replace(at, why.size(), "WHY");
    warned.push_back(line.substr(std::string(kBaseline).size() + 1));
  }
  EXPECT_EQ(warned,
            (std::vector<std::string>{
                "5: AuthType: no effect: callers are known by credentials that each host's daemon signs",
                "6: AuthInfo: no effect: callers are known by credentials that each host's daemon signs",
                "15: ProctrackType: no effect: jobs are followed by cgroups, or by their process tree",
                "24: SlurmctldTimeout: no effect: controller.failover_ms of spur.conf says when another controller takes over",
                "28: SchedulerParameters: bf_continue WHY; bf_interval=300 WHY; bf_min_age_reserve=10800 WHY; "
                "bf_resolution=600 WHY; bf_yield_interval=1000000 WHY; partition_job_depth=500 WHY; sched_max_job_start=200 WHY; "
                "sched_min_interval=2000000 WHY"}));
}

TEST(SlurmConf, Good) {
  struct Case {
    const char* text;
    std::function<bool(const Loaded&)> holds;
  };
  const auto node = [](const Loaded& l, std::size_t i) -> const model::NodeConfig& { return l.cluster.nodes.at(i); };
  const auto part = [](const Loaded& l, std::size_t i) -> const model::PartitionConfig& {
    return l.cluster.partitions.at(i);
  };
  const Case kCases[] = {
      // keys in any case, the cluster's name in small letters
      {"CLUSTERNAME=TheCluster", [](const Loaded& l) { return l.cluster.cluster_name == "thecluster"; }},
      // DEFAULT lines hold from there on and can be overridden
      {"NodeName=DEFAULT CPUs=4 RealMemory=2k Feature=a\nNodeName=n1\nNodeName=n2 CPUs=2\nNodeName=DEFAULT "
       "CPUs=8\nNodeName=n3",
       [&](const Loaded& l) {
         return node(l, 0).cpus == 4u && node(l, 0).memory_mib == 2048u && node(l, 1).cpus == 2u &&
                node(l, 2).cpus == 8u && node(l, 2).features == std::vector<std::string>{"a"} &&
                l.cluster.nodes.size() == 3;
       }},
      {"NodeName=n1\nPartitionName=DEFAULT MaxTime=60 Nodes=n1\nPartitionName=a\nPartitionName=b MaxTime=5 "
       "State=DOWN",
       [&](const Loaded& l) {
         return part(l, 0).max_time == TimeLimit::of_minutes(60) && part(l, 0).nodes == "n1" &&
                part(l, 1).max_time == TimeLimit::of_minutes(5) && part(l, 1).state == model::PartitionState::Down &&
                l.cluster.partitions.size() == 2;
       }},
      // what is not declared is 1
      {"NodeName=n1",
       [&](const Loaded& l) {
         return node(l, 0).cpus == 1u && node(l, 0).memory_mib == 1u && node(l, 0).sockets == 1u;
       }},
      {"NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
       [&](const Loaded& l) { return node(l, 0).cpus == 16u; }},
      {"NodeName=n1 CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
       [&](const Loaded& l) { return node(l, 0).cpus == 8u; }},
      {"NodeName=n1 CPUs=8 CoresPerSocket=4",
       [&](const Loaded& l) { return node(l, 0).sockets == 2u && node(l, 0).cpus == 8u; }},
      {"NodeName=n1 CPUs=8 Sockets=3 CoresPerSocket=2",
       [&](const Loaded& l) { return node(l, 0).cpus == 6u && l.warnings.size() == 2; }},
      {"NodeName=n1 Boards=2 SocketsPerBoard=2 CoresPerSocket=3",
       [&](const Loaded& l) {
         return node(l, 0).sockets == 4u && node(l, 0).cpus == 12u && node(l, 0).boards == 2u;
       }},
      {"NodeName=n1 Procs=3", [&](const Loaded& l) { return node(l, 0).cpus == 3u; }},
      // names, addresses and ports go along
      {"NodeName=a[1-2],b3 NodeAddr=10.0.0.[1-3] NodeHostName=h[1-3] Port=[7001-7002,8000]",
       [&](const Loaded& l) {
         return node(l, 2).name == "b3" && node(l, 2).address == "10.0.0.3" && node(l, 2).hostname == "h3" &&
                node(l, 2).port == 8000 && node(l, 0).port == 7001;
       }},
      {"NodeName=n1 Reason=\"not here yet\" State=FUTURE Weight=7 Feature=x,y",
       [&](const Loaded& l) {
         return node(l, 0).reason == "not here yet" && node(l, 0).state == "FUTURE" && node(l, 0).weight == 7 &&
                node(l, 0).features.size() == 2;
       }},
      {"NodeName=n[1-3]\nDownNodes=n[2-3] State=FAILING Reason=disk",
       [&](const Loaded& l) {
         return node(l, 0).state.empty() && node(l, 2).state == "FAIL" && node(l, 2).reason == "disk";
       }},
      // node sets, by name and by feature, anywhere in the file
      {"NodeName=c[1-3] Feature=old\nNodeName=g[1-2] Feature=new\nPartitionName=p Nodes=fresh,c3\nPartitionName=q "
       "Nodes=two\nNodeSet=fresh Feature=new\nNodeSet=two Nodes=c[1-2]",
       [&](const Loaded& l) { return part(l, 0).nodes == "c3,g[1-2]" && part(l, 1).nodes == "c[1-2]"; }},
      // the last default partition wins
      {"NodeName=n1\nPartitionName=a Nodes=n1 Default=YES\nPartitionName=b Nodes=n1 Default=YES",
       [&](const Loaded& l) { return !part(l, 0).is_default && part(l, 1).is_default && l.warnings.size() == 1; }},
      {"NodeName=n1\nPartitionName=a Nodes=n1 Default=YES MaxTime=5 DefaultTime=10",
       [&](const Loaded& l) { return !part(l, 0).default_time.is_set() && l.warnings.size() == 1; }},
      {"NodeName=n1\nPartitionName=a Nodes=n1 Priority=9 Shared=YES Hidden=yes RootOnly=1 MaxNodes=UNLIMITED "
       "DefMemPerCPU=100 AllowGroups=ALL",
       [&](const Loaded& l) {
         const auto& p = part(l, 0);
         return p.priority_tier == 9 && p.priority_job_factor == 9 && p.oversubscribe == model::OverSubscribe::Yes &&
                p.oversubscribe_count == 4 && p.hidden && p.root_only && !p.max_nodes &&
                p.default_memory_per_cpu_mib == 100u && p.allow_groups.empty();
       }},
      {"SelectType=select/linear\nNodeName=n1\nPartitionName=a Nodes=n1 Default=YES",
       [&](const Loaded& l) {
         return part(l, 0).oversubscribe == model::OverSubscribe::Exclusive && l.warnings.size() == 1;
       }},
      {"SelectTypeParameters=CR_CPU_Memory",
       [](const Loaded& l) { return !l.cluster.cores_whole && l.cluster.memory_as == model::MemoryAs::Consumable; }},
      {"SelectTypeParameters=CR_Core_Memory,CR_LLN,CR_Pack_Nodes,CR_Board",
       [](const Loaded& l) {
         return l.cluster.cores_whole && l.cluster.least_loaded_nodes && l.cluster.pack_tasks &&
                !l.cluster.one_task_per_core &&
                l.warnings.at(0) == "slurm.conf:1: SelectTypeParameters: CR_Board (not in force yet: cores are handed "
                                    "out, not whole boards)";
       }},
      {"SelectTypeParameters=LL_SHARED_GRES,MULTIPLE_SHARING_GRES_PJ,ENFORCE_BINDING_GRES,ONE_TASK_PER_SHARING_GRES,CR_"
       "Core,CR_ONE_TASK_PER_CORE",
       [](const Loaded& l) {
         return l.cluster.spread_shares && l.cluster.shares_of_several && l.cluster.bind_to_gres &&
                l.cluster.one_task_per_shared_gres && l.cluster.one_task_per_core;
       }},
      {"SchedulerParameters=kill_invalid_depend,max_script_size=1000",
       [](const Loaded& l) { return l.cluster.kill_invalid_dependency && l.cluster.max_script_bytes == 1000; }},
      {"SlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b",
       [](const Loaded& l) {
         return l.daemon.controllers == std::vector<ControllerHost>{{"a", "10.0.0.1"}, {"b", "b"}};
       }},
      {"ControlAddr=10.0.0.1\nControlMachine=a\nBackupController=b\nBackupAddr=10.0.0.2",
       [](const Loaded& l) {
         return l.daemon.controllers == std::vector<ControllerHost>{{"a", "10.0.0.1"}, {"b", "10.0.0.2"}};
       }},
      {"SlurmctldPort=6817-6819",
       [](const Loaded& l) {
         return l.daemon.controller_listen == std::vector<std::string>{"[::]:6817", "[::]:6818", "[::]:6819"} &&
                l.daemon.controller_port == 6817;
       }},
      {"SlurmdPort=7000\nNodeName=n1",
       [&](const Loaded& l) { return agent_listen_address(l.daemon, &node(l, 0)) == "[::]:7000"; }},
      {"Licenses=fluent:30,ansys",
       [](const Loaded& l) {
         return l.cluster.licenses == std::vector<model::LicenseConfig>{{"fluent", 30}, {"ansys", 1}};
       }},
      {"EnforcePartLimits=YES\nOverTimeLimit=5\nJobRequeue=0\nKillWait=60\nPriorityMaxAge=1-0\nSlurmctldDebug=5",
       [](const Loaded& l) {
         return l.cluster.enforce_partition_limits == model::EnforcePartitionLimits::All &&
                l.cluster.over_time_limit == seconds(300) && !l.cluster.requeue_default &&
                l.cluster.kill_wait == seconds(60) && l.cluster.age_full == seconds(86400) &&
                l.daemon.controller_log.level == LogLevel::Debug;
       }},
      {"GresTypes=gpu\nNodeName=n1 Gres=gpu:tesla:2",
       [&](const Loaded& l) { return node(l, 0).gres.at(0).count == 2; }},
      {"JobCompLoc=a\\#b", [](const Loaded& l) { return *l.daemon.find_kept("jobcomploc") == "a#b"; }},
      {"Prolog=/a\nProlog=/b",
       [](const Loaded& l) { return l.daemon.hooks.prolog == std::vector<std::string>{"/a", "/b"}; }},
      {"NodeName=n1 CPUSpecList=0 MemSpecLimit=1\nNodeName=n2 CPUSpecList=1",
       [](const Loaded& l) {
         return l.warnings.size() == 1 && l.cluster.nodes.at(0).spec_cpus == "0" &&
                l.cluster.nodes.at(0).spec_memory_mib == 1u && l.cluster.nodes.at(1).spec_cpus == "1";
       }},
  };
  for (const Case& c : kCases) {
    const auto loaded = load_text(c.text, "slurm.conf");
    ASSERT_TRUE(loaded) << c.text << "\n" << loaded.error().message;
    std::string warnings;
    for (const std::string& line : loaded->warnings) warnings += line + "\n";
    EXPECT_TRUE(c.holds(*loaded)) << c.text << "\n" << warnings;
  }
}

TEST(SlurmConf, Bad) {
  const struct {
    const char *text, *want;
  } kCases[] = {
      {"ClusterName=a\nBogusKey=1", "slurm.conf:2: Parsing error at unrecognized key: BogusKey"},
      {"NodeName=n1 Bog=2", "slurm.conf:1: Parsing error at unrecognized key: Bog"},
      {"NodeName=n1 \\\n CPUs=1 \\\n Bog=2", "slurm.conf:1: Parsing error at unrecognized key: Bog"},
      {"NodeName=DEFAULT Foo=3", "slurm.conf:1: Parsing error at unrecognized key: Foo"},
      {"PartitionName=p CPUs=3", "slurm.conf:1: Parsing error at unrecognized key: CPUs"},
      {"NodeSet=a Weight=3", "slurm.conf:1: Parsing error at unrecognized key: Weight"},
      {"DownNodes=a Weight=3", "slurm.conf:1: Parsing error at unrecognized key: Weight"},
      {"foo bar", "slurm.conf:1: Parse error: \"foo bar\""},
      {"NodeName=n1 foo", "slurm.conf:1: Parse error: \"foo\""},
      {"ClusterName=", "slurm.conf:1: Parse error: \"ClusterName=\""},
      {"MinJobAge=5 MessageTimeout=3", "slurm.conf:1: Parse error: \"MessageTimeout=3\": one key per line"},
      {"MinJobAge=-5", "slurm.conf:1: MinJobAge value (-5) is less than zero"},
      {"minjobage=5x", "slurm.conf:1: MinJobAge value (5x) is not a valid number"},
      {"MaxDBDMsgs=9999", "slurm.conf:1: MaxDBDMsgs value (9999) needs to be greater than 10000"},
      {"KillWait=70000", "slurm.conf:1: KillWait value (70000) is greater than 65533"},
      {"JobRequeue=maybe", "slurm.conf:1: \"maybe\" is not a valid option for \"JobRequeue\""},
      {"NodeName=n1\nPartitionName=p Nodes=n1\nPartitionName=p Nodes=n1",
       "slurm.conf:3: duplicate entry for partition p"},
      {"NodeName=n1\nNodeName=n[1-2]", "slurm.conf:2: node n1 is declared twice"},
      {"NodeName=n1 CPUs=abc", "slurm.conf:1: CPUs value (abc) is not a valid number"},
      {"NodeName=n1 RealMemory=4G", "slurm.conf:1: RealMemory value (4G) is not a valid number"},
      {"NodeName=n1 Sockets=2 SocketsPerBoard=2", "slurm.conf:1: Sockets and SocketsPerBoard exclude each other"},
      {"NodeName=n1 Sockets=2000 CoresPerSocket=2000", "slurm.conf:1: 4000000 CPUs are too many for a node"},
      {"NodeName=n[1-4] Port=[1-3]", "slurm.conf:1: Port count must equal that of NodeName: 3 for 4 nodes"},
      {"NodeName=n[1-4] NodeAddr=a[1-3]", "slurm.conf:1: NodeAddr count must equal that of NodeName: 3 for 4 nodes"},
      {"NodeName=n1\nPartitionName=p Nodes=n9", "slurm.conf:2: partition p names an unknown node: n9"},
      {"NodeName=n1\nNodeSet=s Nodes=n9\nPartitionName=p Nodes=s",
       "slurm.conf:2: node set s names an unknown node: n9"},
      {"NodeName=n1\nDownNodes=n9", "slurm.conf:2: DownNodes names an unknown node: n9"},
      {"DownNodes=n9 State=IDLE", "slurm.conf:1: Bad value \"IDLE\" for State: it is DOWN, DRAIN, FAIL, FAILING or UNKNOWN"},
      {"NodeName=n1\nPartitionName=p Nodes=n1 State=FOO",
       "slurm.conf:2: Bad value \"FOO\" for State: it is UP, DOWN, DRAIN or INACTIVE"},
      {"NodeName=n1\nPartitionName=p Nodes=n1 MaxTime=abc", "slurm.conf:2: Bad value \"abc\" for MaxTime"},
      {"PartitionName=a,b", "slurm.conf:1: \"a,b\" is no partition name"},
      {"SelectType=select/cray",
       "slurm.conf:1: SelectType: \"select/cray\" is not supported: it is select/cons_tres or select/linear"},
      {"SelectTypeParameters=CR_CPU,CR_ONE_TASK_PER_CORE",
       "slurm.conf:1: SelectTypeParameters: CR_ONE_TASK_PER_CORE is not compatible with CR_CPU*, please change to use "
       "CR_CORE* instead."},
      {"SelectTypeParameters=CR_FOO", "slurm.conf:1: SelectTypeParameters: Bad SelectTypeParameter: CR_FOO"},
      {"EnforcePartLimits=FOO", "slurm.conf:1: Bad value \"FOO\" for EnforcePartLimits: it is NO, ANY, ALL or YES"},
      {"SlurmctldPort=x", "slurm.conf:1: SlurmctldPort: \"x\" is no port and no range of ports"},
      {"SlurmctldPort=9-8", "slurm.conf:1: SlurmctldPort: \"9-8\" is no port and no range of ports"},
      {"StateSaveLocation=here", "slurm.conf:1: StateSaveLocation: \"here\" is not an absolute path"},
      {"FrontendName=f1", "slurm.conf:1: FrontendName: front end nodes are not supported"},
      {"Include other.conf", "slurm.conf:1: Include: cannot open other.conf: there are no files here"},
      {"SlurmctldHost=a b", "slurm.conf:1: Parse error: \"b\""},
      {"ClusterName=\"a b\"", "slurm.conf: \"a b\" is no name for a cluster"},
  };
  for (const auto& c : kCases) {
    const auto loaded = load_text(c.text, "slurm.conf");
    EXPECT_EQ(loaded ? "loaded" : loaded.error().message, c.want) << c.text;
  }
}

TEST(SlurmConf, Includes) {
  const TestDirectory dir;
  dir.write("nodes.conf", "NodeName=n[1-2] CPUs=2\nInclude deeper/part.conf\n");
  dir.write("deeper/part.conf", "\nPartitionName=p Nodes=ALL Default=YES\n");
  dir.write("my.conf", "MinJobAge=7\n");
  const auto loaded = load(
      dir.write("slurm.conf", "ClusterName=My\nInclude nodes.conf\nInclude " + dir.path() + "/%c.conf\n"), Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cluster.nodes.size(), 2u);
  EXPECT_EQ(loaded->cluster.partitions.size(), 1u);
  EXPECT_EQ(loaded->cluster.min_job_age, seconds(7));

  // An error in an included file names that file.
  dir.write("nodes.conf", "# x\nNodeName=n[1-2] CPU=2\n");
  const auto bad = load(dir.path() + "/slurm.conf", Want::All);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, dir.path() + "/nodes.conf:2: Parsing error at unrecognized key: CPU");
}

TEST(SlurmConf, IncludeLoopsAreRefused) {
  const TestDirectory dir;
  const std::string self = dir.write("slurm.conf", "Include slurm.conf\n");
  const auto loop = load(self, Want::All);
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().message, self + ":1: Include " + self + ": the file includes itself");

  dir.write("a.conf", "Include b.conf\n");
  dir.write("b.conf", "\nInclude a.conf\n");
  const auto circle = load(dir.write("slurm.conf", "Include a.conf\n"), Want::All);
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error().message,
            dir.path() + "/b.conf:2: Include " + dir.path() + "/a.conf: the file includes itself");

  // No loop by name, but no end either: each file includes the next one twice.
  for (int i = 0; i < 15; ++i) {
    const std::string next = "Include f" + std::to_string(i + 1) + ".conf\n";
    dir.write("f" + std::to_string(i) + ".conf", next + next);
  }
  dir.write("f15.conf", "");
  const auto many = load(dir.write("slurm.conf", "Include f0.conf\n"), Want::All);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("too many files included"), std::string::npos) << many.error().message;

  const auto missing = load(dir.write("slurm.conf", "\nInclude gone.conf\n"), Want::All);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            self + ":2: Include: cannot open " + dir.path() + "/gone.conf: No such file or directory");
}

TEST(SlurmConf, GresConf) {
  const TestDirectory dir;
  const std::string path =
      dir.write("slurm.conf",
                "GresTypes=gpu,nic\nNodeName=a[1-2] Gres=gpu:a100:4,nic:2\nNodeName=b Gres=gpu:2\n"
                "PartitionName=p Nodes=ALL Default=YES\n");
  dir.write("gres.conf",
            "AutoDetect=off\n"
            "NodeName=a[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=0-15\n"
            "NodeName=a[1-2] Name=gpu Type=a100 File=/dev/nvidia[2-3] Cores=16-31\n"
            "NodeName=b Name=gpu File=/dev/nvidia0\n"
            "Name=nic Count=2\n");
  const auto loaded = load(path, Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cluster.nodes[1].gres[0].file, "/dev/nvidia[0-1]");
  EXPECT_EQ(loaded->cluster.nodes[1].gres[1].file, "/dev/nvidia[2-3]");
  EXPECT_EQ(loaded->cluster.nodes[1].gres[2].file, "");
  EXPECT_EQ(loaded->cluster.nodes[2].gres[0].file, "/dev/nvidia0");
  EXPECT_EQ(loaded->warnings,
            (std::vector<std::string>{path + ": node b declares 2 of GRES gpu, but only 1 device files are named"}));

  const struct {
    const char *text, *want;
  } kBad[] = {
      {"Name=gpu Color=red", ":1: Parsing error at unrecognized key: Color"},
      {"\nFile=/dev/x", ":2: a GRES without Name="},
      {"NodeName=zz Name=gpu", ":1: unknown node zz"},
      {"Name=gpu File=/dev/x[0-3] Count=2", ":1: Count=2 is less than the 4 files of File="},
      {"Include gres.conf", ":1: Include "},
  };
  for (const auto& c : kBad) {
    dir.write("gres.conf", c.text);
    const auto bad = load(path, Want::All);
    ASSERT_FALSE(bad) << c.text;
    EXPECT_TRUE(bad.error().message.starts_with(dir.path() + "/gres.conf" + c.want)) << bad.error().message;
  }
}

TEST(SlurmConf, CgroupConf) {
  const TestDirectory dir;
  const auto read = [&](const char* task_plugin, const char* cgroup) {
    dir.write("cgroup.conf", cgroup);
    return load(
        dir.write("slurm.conf", fmt::format("{}\nNodeName=n1\nPartitionName=p Nodes=n1 Default=YES\n", task_plugin)),
        Want::All);
  };
  constexpr const char* kAll =
      "CgroupPlugin=autodetect\nConstrainCores=yes\nConstrainRAMSpace=yes\nConstrainSwapSpace=YES\nConstrainDevices="
      "yes\n"
      "AllowedRAMSpace=101.5\nAllowedSwapSpace=10%\nMaxRAMPercent=90\nMinRAMSpace=60\nConstrainKmemSpace=no\n";
  const auto on = read("TaskPlugin=task/affinity,task/cgroup", kAll);
  ASSERT_TRUE(on) << on.error().message;
  const CgroupConfig& cgroup = on->daemon.cgroup;
  EXPECT_TRUE(*cgroup.cores && *cgroup.ram && *cgroup.swap && *cgroup.devices);
  EXPECT_EQ(cgroup.allowed_ram, 101'500u);
  EXPECT_EQ(cgroup.allowed_swap, 10'000u);
  EXPECT_EQ(cgroup.max_ram, 90'000u);
  EXPECT_EQ(cgroup.min_ram_mib, 60u);
  // Without task/cgroup it is Slurm that would not look at it.
  const auto off = read("", kAll);
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_FALSE(*off->daemon.cgroup.cores || *off->daemon.cgroup.ram || *off->daemon.cgroup.swap);
  // What it does not say is no.
  const auto empty = read("TaskPlugin=task/cgroup", "");
  ASSERT_TRUE(empty);
  EXPECT_FALSE(*empty->daemon.cgroup.ram || *empty->daemon.cgroup.devices);
  const struct {
    const char *text, *want;
  } kBad[] = {{"CgroupPlugin=cgroup/v1", ":1: CgroupPlugin: cgroup/v1 is not supported"},
              {"\nAllowedRAMSpace=x", ":2: AllowedRAMSpace: \"x\" is no percentage"},
              {"MaxRAMPercent=101", ":1: MaxRAMPercent: "},
              {"ClusterName=x", ":1: Parsing error at unrecognized key: ClusterName"}};
  for (const auto& c : kBad) {
    const auto bad = read("", c.text);
    ASSERT_FALSE(bad) << c.text;
    EXPECT_TRUE(bad.error().message.starts_with(dir.path() + "/cgroup.conf" + c.want)) << bad.error().message;
  }
}

TEST(SlurmConf, WhatAgentsDo) {
  const TestDirectory dir;
  dir.write("gres.conf", "AutoDetect=nvml\nNodeName=n2 AutoDetect=rsmi\n");
  const auto loaded =
      load(dir.write("slurm.conf",
                     "Epilog=/e*\nPrologSlurmctld=/p\nPrologEpilogTimeout=30\nPrologFlags=Contain,X11\n"
                     "HealthCheckProgram=/h\nHealthCheckInterval=60\nHealthCheckNodeState=IDLE,CYCLE\n"
                     "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=5,energy=10\n"
                     "SchedulerParameters=nohold_on_prolog_fail\n"
                     "NodeName=n[1-2]\nPartitionName=p Nodes=ALL Default=YES\n"),
           Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const DaemonConfig& daemon = loaded->daemon;
  EXPECT_EQ(daemon.hooks.epilog, std::vector<std::string>{"/e*"});
  EXPECT_EQ(daemon.hooks.prolog_slurmctld, std::vector<std::string>{"/p"});
  EXPECT_EQ(daemon.hooks.timeout, seconds(30));
  EXPECT_TRUE(daemon.hooks.alloc && daemon.hooks.contain && !daemon.hooks.serial);
  EXPECT_EQ(daemon.health.interval, seconds(60));
  EXPECT_TRUE(daemon.health.idle && !daemon.health.mixed);
  EXPECT_EQ(daemon.sample_every, seconds(5));
  EXPECT_FALSE(loaded->cluster.hold_on_prolog_fail);
  EXPECT_EQ(daemon.detect, (std::vector<DetectRule>{{"", Detect::Nvml}, {"n2", Detect::Rsmi}}));
  EXPECT_EQ(loaded->warnings.size(), 2u);  // X11 and energy
  dir.write("gres.conf", "AutoDetect=nrt\n");
  EXPECT_FALSE(load(dir.path() + "/slurm.conf", Want::All));
}

TEST(SlurmConf, FilesBesideAreNamed) {
  const TestDirectory dir;
  dir.write("job_container.conf", "AutoBasePath=true\n");
  const auto loaded = load(dir.write("slurm.conf", "NodeName=n1\nPartitionName=p Nodes=n1 Default=YES\n"), Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->warnings,
            std::vector<std::string>{dir.path() + "/job_container.conf: not in force yet: jobs get no "
                                                  "file systems of their own; it has AutoBasePath"});
}

// What Slurm itself has dropped is named like the rest, so that an old file can be taken over.
TEST(SlurmConf, OldKeys) {
  const TestDirectory dir;
  const auto loaded = load(dir.write("slurm.conf", "CheckpointType=checkpoint/blcr\nNodeName=n1\nPartitionName=p Nodes=n1 Default=YES\n"), Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->warnings, std::vector<std::string>{dir.path() + "/slurm.conf:1: CheckpointType: no effect: removed from Slurm, too"});
}

}  // namespace
}  // namespace spur::config
