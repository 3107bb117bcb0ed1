// SPDX-License-Identifier: Apache-2.0
#include "config/spur_conf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace spur::config {
namespace {

constexpr const char* kData = SPUR_SOURCE_DIR "/src/config/testdata/";

Loaded load_file(const std::string& name) {
  auto loaded = load(kData + name, Want::All);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  return loaded ? *std::move(loaded) : Loaded();
}

std::vector<std::string> without_path(std::vector<std::string> lines) {
  for (std::string& line : lines)
    if (line.starts_with(kData)) line.erase(0, std::string_view(kData).size());
  return lines;
}

TEST(SpurConf, FirstCluster) {
  const Loaded loaded = load_file("first_cluster.spur.conf");
  EXPECT_EQ(loaded.warnings, std::vector<std::string>());
  EXPECT_EQ(loaded.cluster.cluster_name, "my-cluster");
  ASSERT_EQ(loaded.cluster.nodes.size(), 8u);
  EXPECT_EQ(loaded.cluster.nodes[0].name, "node001");
  EXPECT_EQ(loaded.cluster.nodes[7].name, "node008");
  EXPECT_EQ(loaded.cluster.nodes[7].hostname, "node008");
  EXPECT_EQ(loaded.cluster.nodes[7].address, "node008");
  EXPECT_EQ(loaded.cluster.nodes[3].cpus, 64u);
  EXPECT_EQ(loaded.cluster.nodes[3].memory_mib, 256000u);
  EXPECT_FALSE(loaded.cluster.nodes[3].sockets);
  ASSERT_EQ(loaded.cluster.partitions.size(), 1u);
  EXPECT_EQ(loaded.cluster.partitions[0].name, "default");
  EXPECT_TRUE(loaded.cluster.partitions[0].is_default);
  EXPECT_EQ(loaded.cluster.partitions[0].nodes, "node[001-008]");
  EXPECT_EQ(loaded.cluster.partitions[0].max_time, TimeLimit::of_minutes(1440));
  DaemonConfig expected;
  expected.cgroup.cores = expected.cgroup.ram = expected.cgroup.devices = true;
  expected.cgroup.swap = false;
  expected.detect = {{.nodes = {}, .how = Detect::All}};
  expected.steps.max_tasks_per_node = 65'533;
  expected.steps.max_count = 0xfffffff0;
  EXPECT_EQ(loaded.daemon, expected);
}

TEST(SpurConf, Production) {
  const Loaded loaded = load_file("production.spur.conf");
  EXPECT_EQ(without_path(loaded.warnings), std::vector<std::string>{});
  EXPECT_EQ(loaded.cluster.cluster_name, "production");
  EXPECT_EQ(loaded.daemon.controller_listen, std::vector<std::string>{"[::]:6817"});
  EXPECT_EQ(loaded.daemon.controller_port, 6817);
  EXPECT_EQ(loaded.daemon.state_dir, "/var/spool/spur");
  ASSERT_EQ(loaded.daemon.controllers.size(), 2u);
  EXPECT_EQ(loaded.daemon.controllers[0], (ControllerHost{"ctrl1", "ctrl1"}));
  EXPECT_EQ(loaded.daemon.controllers[1], (ControllerHost{"ctrl2", "ctrl2"}));
  EXPECT_EQ(loaded.daemon.accounting_url, "postgresql://spur:spur@db1/spur");
  EXPECT_EQ(loaded.cluster.priority.half_life, seconds(14 * 86400));
  EXPECT_EQ(loaded.cluster.scheduler_tick, seconds(1));
  ASSERT_EQ(loaded.cluster.nodes.size(), 64u + 256u);
  EXPECT_EQ(loaded.cluster.nodes[63].name, "gpu064");
  EXPECT_EQ(loaded.cluster.nodes[63].cpus, 128u);
  EXPECT_EQ(loaded.cluster.nodes[63].gres,
            (std::vector<model::NodeGres>{{.name = "gpu", .type = "mi300x", .count = 8, .file = ""}}));
  EXPECT_EQ(loaded.cluster.nodes[64].name, "cpu001");
  EXPECT_EQ(loaded.cluster.nodes[64].memory_mib, 1024000u);
  EXPECT_EQ(loaded.cluster.gres_types, std::vector<std::string>{"gpu"});
  ASSERT_EQ(loaded.cluster.partitions.size(), 2u);
  EXPECT_EQ(loaded.cluster.partitions[0].max_time, TimeLimit::of_minutes(72 * 60));
  EXPECT_FALSE(loaded.cluster.partitions[1].is_default);
  EXPECT_EQ(loaded.cluster.partitions[1].max_time, TimeLimit::of_minutes(168 * 60));
}

TEST(SpurConf, Update) {
  const Loaded loaded = load_file("update.spur.conf");
  EXPECT_EQ(loaded.warnings.size(), 4u);
  EXPECT_EQ(loaded.daemon.update, UpdateConfig());
  EXPECT_EQ(loaded.cluster.cluster_name, "spur");
  const auto other =
      load_text("[update]\ncheck_on_startup = false\nauto_update = true\nchannel = \"Nightly\"\n", "spur.conf");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_FALSE(other->daemon.update.check_on_startup);
  EXPECT_TRUE(other->daemon.update.auto_update);
  EXPECT_EQ(other->daemon.update.channel, "nightly");
}

TEST(SpurConf, Good) {
  struct Case {
    const char* text;
    std::function<bool(const Loaded&)> holds;
  };
  const Case kCases[] = {
      {"",
       [](const Loaded& l) {
         return l.cluster.nodes.empty() && l.cluster.partitions.at(0).name == "default" &&
                l.cluster.partitions[0].nodes == "ALL" && l.cluster.partitions[0].is_default;
       }},
      {"licenses = { matlab = 3, fluent = 1 }",
       [](const Loaded& l) { return l.cluster.licenses.size() == 2 && l.cluster.licenses[0].count == 3; }},
      {"[controller]\nfirst_job_id = 100\nmax_job_id = 200\n",
       [](const Loaded& l) { return l.cluster.first_job_id == 100 && l.cluster.max_job_id == 200; }},
      {"controller.listen_addr = \"127.0.0.1:7000\"",
       [](const Loaded& l) {
         return l.daemon.controller_port == 7000 && l.daemon.controller_listen.at(0) == "127.0.0.1:7000";
       }},
      {"controller.hosts = [\"c1(10.0.0.1)\", \"c2\"]",
       [](const Loaded& l) {
         return l.daemon.controllers.at(0) == ControllerHost{"c1", "10.0.0.1"} &&
                l.daemon.controllers.at(1).address == "c2";
       }},
      {"controller.hosts = \"c1, c2\"", [](const Loaded& l) { return l.daemon.controllers.size() == 2; }},
      {"controller.terminal_job_retention_secs = 3600",
       [](const Loaded& l) { return l.cluster.min_job_age == seconds(3600); }},
      {"[agent]\nlisten_addr = \"127.0.0.1:7001\"\nspool_dir = \"/x/%n\"\n",
       [](const Loaded& l) {
         return agent_listen_address(l.daemon, nullptr) == "127.0.0.1:7001" &&
                agent_spool_dir(l.daemon, "n1", "h") == "/x/n1";
       }},
      {"[scheduler]\nenforce_part_limits = \"any\"\nmemory_consumable = true\nwhole_cores = false\nmax_age = \"1-0\"",
       [](const Loaded& l) {
         return l.cluster.enforce_partition_limits == model::EnforcePartitionLimits::Any &&
                l.cluster.memory_as == model::MemoryAs::Consumable && !l.cluster.cores_whole &&
                l.cluster.age_full == seconds(86400);
       }},
      {"[scheduler]\nover_time_limit_minutes = \"UNLIMITED\"",
       [](const Loaded& l) { return l.cluster.over_time_limit > hours(24 * 365); }},
      {"[scheduler]\ndefault_time_limit_minutes = 30\n[[partitions]]\nname = \"a\"\n[[partitions]]\nname = "
       "\"b\"\nmax_time = \"10\"\n"
       "[[partitions]]\nname = \"c\"\ndefault_time = \"5\"",
       [](const Loaded& l) {
         return l.cluster.partitions.at(0).default_time == TimeLimit::of_minutes(30) &&
                l.cluster.partitions[1].default_time == TimeLimit::of_minutes(10) &&
                l.cluster.partitions[2].default_time == TimeLimit::of_minutes(5);
       }},
      {"auth.admins = [\"1000\", \"root\"]",
       [](const Loaded& l) { return l.cluster.admin_uids == std::vector<std::uint32_t>{1000, 0}; }},
      {"logging.level = \"trace\"\nlogging.agent_level = \"error\"\nlogging.format = \"json\"",
       [](const Loaded& l) {
         return l.daemon.controller_log.level == LogLevel::Debug5 && l.daemon.agent_log.format == LogFormat::Json;
       }},
      {"[[nodes]]\nnames = \"a[1-3]\"\nport = 7000\nfeatures = [\"x\", \"y\"]\nweight = 5\nstate = \"drain\"\nreason "
       "= \"new\"",
       [](const Loaded& l) {
         const auto& n = l.cluster.nodes.at(2);
         return n.port == 7000 && n.features.size() == 2 && n.weight == 5 && n.state == "DRAIN" && n.reason == "new";
       }},
      {"[[nodes]]\nnames = \"a[1-3]\"\nport = \"[7001-7003]\"\nhostname = \"h\"\naddress = \"10.0.0.[1-3]\"",
       [](const Loaded& l) {
         const auto& n = l.cluster.nodes.at(1);
         return n.port == 7002 && n.hostname == "h" && n.address == "10.0.0.2";
       }},
      {"[[nodes]]\nnames = \"a\"\nsockets = 2\ncores_per_socket = 4\nthreads_per_core = 2",
       [](const Loaded& l) {
         const auto& n = l.cluster.nodes.at(0);
         return !n.cpus && n.sockets == 2u && n.threads_per_core == 2u;
       }},
      {"[[partitions]]\nname = \"p\"\nnodes = \"a,later[1-2]\"",
       [](const Loaded& l) { return l.cluster.nodes.empty() && l.cluster.partitions.at(0).nodes == "a,later[1-2]"; }},
      {"[[partitions]]\nname = \"p\"\noversubscribe = \"force:8\"\nmax_nodes = \"UNLIMITED\"\nmin_nodes = "
       "2\nallow_groups = [\"a\", \"b\"]\nallow_accounts = \"ALL\"",
       [](const Loaded& l) {
         const auto& p = l.cluster.partitions.at(0);
         return p.oversubscribe == model::OverSubscribe::Force && p.oversubscribe_count == 8 && !p.max_nodes &&
                p.min_nodes == 2 && p.allow_groups.size() == 2 && p.allow_accounts.empty();
       }},
      {"[[partitions]]\nname = \"p\"\nnodes = \"all\"\nstate = \"DRAIN\"\nmax_time = \"1h30m\"",
       [](const Loaded& l) {
         const auto& p = l.cluster.partitions.at(0);
         return p.nodes == "ALL" && p.state == model::PartitionState::Drain &&
                p.max_time == TimeLimit::of_minutes(90);
       }},
      {"[[nodes]]\nnames = \"a\"\ngres = [\"gpu:a100:2\", \"shard:4\"]\n[[devices.gres]]\nname = \"gpu\"\nfile = "
       "\"/dev/nvidia[0-1]\"",
       [](const Loaded& l) {
         const auto& g = l.cluster.nodes.at(0).gres;
         return g.at(0).file == "/dev/nvidia[0-1]" && g.at(1).file.empty() && l.cluster.gres_types.size() == 2;
       }},
      {"[[topology.switches]]\nname = \"s1\"\nnodes = \"a[1-4]\"\n[[federation.clusters]]\nname = \"x\"\naddress = "
       "\"y:1\"",
       [](const Loaded& l) {
         return l.cluster.topology.switches.at(0).nodes == "a[1-4]" &&
                l.daemon.find_kept("federation.clusters.address");
       }},
      {"[[partitions]]\nname = \"p\"\nselector = { rack = \"a\", row = 3 }",
       [](const Loaded& l) { return *l.daemon.find_kept("partitions.selector") == "rack:a,row:3"; }},
  };
  for (const Case& c : kCases) {
    const auto loaded = load_text(c.text, "spur.conf");
    ASSERT_TRUE(loaded) << c.text << "\n" << loaded.error().message;
    EXPECT_TRUE(c.holds(*loaded)) << c.text;
  }
}

TEST(SpurConf, Bad) {
  const struct {
    const char *text, *want;
  } kCases[] = {
      {"cluster_nam = \"x\"", "spur.conf:1: unknown key \"cluster_nam\", did you mean \"cluster_name\"?"},
      {"\n[controler]\nstate_dir = \"/x\"", "spur.conf:2: unknown key \"controler\""},
      {"[controller]\n\nstate_dirs = \"/x\"",
       "spur.conf:3: unknown key \"controller.state_dirs\", did you mean \"controller.state_dir\"?"},
      {"[[nodes]]\nnames = \"a\"\ncpu = 3", "spur.conf:3: unknown key \"nodes.cpu\", did you mean \"cpus\"?"},
      {"[[partition]]\nname = \"a\"", "spur.conf:1: unknown key \"partition\", did you mean \"partitions\"?"},
      {"xyzzy = 1", "spur.conf:1: unknown key \"xyzzy\""},
      {"cluster_name = 3", "spur.conf:1: cluster_name must be a string, not a whole number"},
      {"cluster_name = \"\"", "spur.conf: \"\" is no name for a cluster"},
      {"controller = 3", "spur.conf:1: controller is a section, not a whole number"},
      {"partitions = 3", "spur.conf:1: partitions is a list of tables: write [[partitions]]"},
      {"[partitions]\nname = \"a\"", "spur.conf:1: partitions is a list of tables: write [[partitions]]"},
      {"[controller]\nfirst_job_id = \"1\"",
       "spur.conf:2: controller.first_job_id must be a whole number, not a string"},
      {"[controller]\nfirst_job_id = 0", "spur.conf:2: controller.first_job_id value (0) is less than 1"},
      {"[controller]\nfirst_job_id = -1", "spur.conf:2: controller.first_job_id value (-1) is less than zero"},
      {"[controller]\nfirst_job_id = 1.5",
       "spur.conf:2: controller.first_job_id must be a whole number, not a fraction"},
      {"[controller]\nfirst_job_id = 300\nmax_job_id = 200",
       "spur.conf: the first job id (300) is above the last (200)"},
      {"[controller]\nlisten_addr = \"6817\"",
       "spur.conf:2: controller.listen_addr: \"6817\" is not host:port (an IPv6 address stands in brackets)"},
      {"[controller]\nhosts = []", "spur.conf:2: controller.hosts: at least one host is needed"},
      {"[controller]\nhosts = [\"a b\"]", "spur.conf: \"a b\" is no name of a controller's host"},
      {"[controller]\nhosts = [1]", "spur.conf:2: controller.hosts must be a list of strings, not of a whole number"},
      {"[controller]\nstate_dir = \"spool\"", "spur.conf:2: controller.state_dir: \"spool\" is not an absolute path"},
      {"[scheduler]\nplugin = \"magic\"", "spur.conf:2: Bad value \"magic\" for scheduler.plugin: it is backfill"},
      {"[scheduler]\ninterval_secs = 1970-01-01",
       "spur.conf:2: scheduler.interval_secs must be a whole number, not a date or time"},
      {"[update]\nchannel = \"beta\"", "spur.conf:2: Bad value \"beta\" for update.channel: it is stable or nightly"},
      {"[update]\nauto_update = \"no\"", "spur.conf:2: update.auto_update must be true or false, not a string"},
      {"auth.admins = [\"nobody-by-this-name\"]", "spur.conf: auth.admins: there is no user \"nobody-by-this-name\""},
      {"licenses = { a = -1 }", "spur.conf:1: licenses.a value (-1) is less than zero"},
      {"licenses = { a = \"b\" }", "spur.conf:1: licenses.a must be a whole number, not a string"},
      {"logging.level = \"loud\"",
       "spur.conf:1: logging.level: \"loud\" is no log level (quiet, fatal, error, warning, info, verbose, debug, "
       "debug2 to debug5)"},
      {"[[nodes]]\ncpus = 1", "spur.conf:1: a node without a name"},
      {"[[nodes]]\nnames = \"a\"\n[[nodes]]\nnames = \"b,a\"", "spur.conf:3: node a is declared twice"},
      {"[[nodes]]\nnames = \"a[1-2]\"\nport = \"[1-3]\"",
       "spur.conf:1: Port count must equal that of NodeName: 3 for 2 nodes"},
      {"[[nodes]]\nnames = \"a\"\nport = 70000", "spur.conf:3: nodes.port value (70000) is greater than 65535"},
      {"[[nodes]]\nnames = \"a\"\nport = \"x\"", "spur.conf:1: Port \"x\" is not a port number"},
      {"[[nodes]]\nnames = \"a\"\nstate = \"odd\"",
       "spur.conf:3: Bad value \"odd\" for nodes.state: it is UNKNOWN, IDLE, DOWN, DRAIN, FAIL, FAILING, FUTURE or "
       "CLOUD"},
      {"[[nodes]]\nnames = \"a\"\ncpus = 0", "spur.conf:3: nodes.cpus value (0) is less than 1"},
      {"[[partitions]]\nnodes = \"ALL\"", "spur.conf:1: a partition without a name"},
      {"[[partitions]]\nname = \"a b\"", "spur.conf:1: \"a b\" is no partition name"},
      {"[[nodes]]\nnames = \"a\"\n[[partitions]]\nname = \"p\"\nnodes = \"a,b\"",
       "spur.conf:3: partition p names an unknown node: b"},
      {"[[partitions]]\nname = \"p\"\ndefault = true\n[[partitions]]\nname = \"q\"\ndefault = true",
       "spur.conf:4: two default partitions: p and q"},
      {"[[partitions]]\nname = \"p\"\n[[partitions]]\nname = \"p\"", "spur.conf:3: duplicate entry for partition p"},
      {"[[partitions]]\nname = \"p\"\nmax_time = \"soon\"",
       "spur.conf:3: Bad value \"soon\" for partitions.max_time"},
      {"[[partitions]]\nname = \"p\"\nmax_time = \"10\"\ndefault_time = \"20\"",
       "spur.conf:1: partition p: default_time is longer than max_time"},
      {"[[partitions]]\nname = \"p\"\nmin_nodes = 3\nmax_nodes = 2",
       "spur.conf:1: partition p: more nodes at least than at most"},
      {"[[partitions]]\nname = \"p\"\noversubscribe = \"no:4\"",
       "spur.conf:3: partitions.oversubscribe: Bad value \"no:4\": it is NO, YES[:jobs], FORCE[:jobs] or EXCLUSIVE"},
      {"[[nodes]]\nnames = \"a\"\ngres = [\"gpu:1\"]\n[[devices.gres]]\nname = \"gpu\"\nfile = "
       "\"/dev/x[0-3]\"\ncount = 2",
       "spur.conf:4: Count=2 is less than the 4 files of File="},
  };
  for (const auto& c : kCases) {
    const auto loaded = load_text(c.text, "spur.conf");
    EXPECT_EQ(loaded ? "loaded" : loaded.error().message, c.want) << c.text;
  }
}

TEST(SpurConf, SyntaxErrorsNameTheLine) {
  for (const char* text :
       {"a = ", "[controller\n", "[\nx]\n", "x = \"", "cluster_name = \"a\"\ncluster_name = \"b\"", "\x01", "= 3"}) {
    const auto loaded = load_text(text, "spur.conf");
    ASSERT_FALSE(loaded) << text;
    EXPECT_TRUE(loaded.error().message.starts_with("spur.conf:")) << loaded.error().message;
    EXPECT_EQ(loaded.error().code, ErrorCode::ConfigInvalid);
    EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos);
  }
}

TEST(SpurConf, NodesHaveALimit) {
  EXPECT_FALSE(load_text("[[nodes]]\nnames = \"a[1-1000001]\"", "spur.conf"));
  EXPECT_FALSE(load_text("[[nodes]]\nnames = \"a[0-4294967295]\"", "spur.conf"));
  const auto together = load_text("[[nodes]]\nnames = \"a[1-999999]\"\n[[nodes]]\nnames = \"b[1-2]\"", "spur.conf");
  ASSERT_FALSE(together);
  EXPECT_TRUE(together.error().message.starts_with("spur.conf:3: ")) << together.error().message;
}

}  // namespace
}  // namespace spur::config
