// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/test_files.h"

namespace spur::config {
namespace {

// No variable of the caller's environment gets in the way.
class Load : public testing::Test {
 protected:
  TestDirectory dir_;
  TestVariable spur_{"SPUR_CONF", nullptr}, slurm_{"SLURM_CONF", nullptr}, home_{"HOME", dir_.path().c_str()};
  TestVariable controllers_{"SPUR_CONTROLLER_ADDR", nullptr}, auth_{"SPUR_AUTH_SOCKET", nullptr};
};

TEST_F(Load, SearchOrder) {
  const std::string at_home = dir_.write(".spur/etc/spur.conf", "cluster_name = \"home\"\n");
  const std::string slurm = dir_.write("slurm.conf", "ClusterName=viaslurm\n");
  const std::string spur = dir_.write("x/spur.conf", "cluster_name = \"viaspur\"\n");
  const std::string given = dir_.write("given.toml", "cluster_name = \"given\"\n");
  const auto name = [](const std::string& path) {
    const auto loaded = load(path, Want::All);
    return loaded ? loaded->cluster.cluster_name + " " + loaded->path : loaded.error().message;
  };
  EXPECT_EQ(name(""), "home " + at_home);
  const TestVariable a("SLURM_CONF", slurm.c_str());
  EXPECT_EQ(name(""), "viaslurm " + slurm);
  const TestVariable b("SPUR_CONF", spur.c_str());
  EXPECT_EQ(name(""), "viaspur " + spur);
  EXPECT_EQ(name(given), "given " + given);
  const TestVariable c("SPUR_CONF", "/nonexistent");
  EXPECT_EQ(name(""), "cannot open /nonexistent: No such file or directory");
  EXPECT_EQ(name(dir_.path()), "cannot read " + dir_.path() + ": Is a directory");
}

TEST_F(Load, NoFileGivesUsableDefaults) {
  const auto loaded = load_text("", "");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cluster.cluster_name, "spur");
  EXPECT_TRUE(loaded->cluster.nodes.empty());
  ASSERT_EQ(loaded->cluster.partitions.size(), 1u);
  EXPECT_EQ(loaded->cluster.partitions[0].name, "default");
  EXPECT_EQ(loaded->cluster.partitions[0].nodes, "ALL");
  EXPECT_EQ(loaded->daemon.controllers, (std::vector<ControllerHost>{{"localhost", "localhost"}}));
  EXPECT_EQ(loaded->daemon.controller_listen, std::vector<std::string>{"[::]:6817"});
  EXPECT_EQ(controller_socket(loaded->daemon), "/var/spool/spur/ctld.sock");
  EXPECT_EQ(auth_socket(loaded->daemon), "/var/spool/spur/auth.sock");
  EXPECT_EQ(agent_spool_dir(loaded->daemon, "n1", "h"), "/var/spool/spur/spurd-n1");
  EXPECT_EQ(agent_listen_address(loaded->daemon, nullptr), "[::]:6818");
  EXPECT_EQ(loaded->warnings, std::vector<std::string>());
}

TEST_F(Load, Dialects) {
  const struct {
    const char *path, *text;
    Dialect want;
  } kCases[] = {
      {"/etc/slurm/slurm.conf", "cluster_name = \"x\"", Dialect::Slurm},
      {"/etc/spur/spur.conf", "ClusterName=x", Dialect::Spur},
      {"a.toml", "ClusterName=x", Dialect::Spur},
      {"my.conf", "# c\ncluster_name = \"x\"", Dialect::Spur},
      {"my.conf", "\n[controller]\n", Dialect::Spur},
      {"my.conf", "# c\nClusterName=x", Dialect::Slurm},
      {"my.conf", "taskplugin = x", Dialect::Slurm},
      {"my.conf", "include other", Dialect::Slurm},
      {"my.conf", "nodename=x", Dialect::Slurm},
      {"my.conf", "[[nodes]]", Dialect::Spur},
      {"my.conf", "", Dialect::Spur},
      {"my.conf", "what is this", Dialect::Spur},
  };
  for (const auto& c : kCases) EXPECT_EQ(dialect_of(c.path, c.text), c.want) << c.path << " " << c.text;
}

TEST_F(Load, CommandsDoNotExpandNodes) {
  const std::string path = dir_.write("slurm.conf", "SlurmctldHost=h\nNodeName=n[1-5]\nPartitionName=p Nodes=zzz\n");
  const auto loaded = load(path, Want::DaemonOnly);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->cluster.nodes.empty());
  EXPECT_EQ(loaded->daemon.controllers[0].host, "h");
  EXPECT_FALSE(load(path, Want::All));
}

TEST_F(Load, FindControllers) {
  DaemonConfig config;
  config.state_dir = dir_.path();
  config.controllers = {{"a", "10.0.0.1"}, {"b", "fe80::1"}};
  config.controller_port = 7000;
  EXPECT_EQ(find_controllers(config), (std::vector<std::string>{"10.0.0.1:7000", "[fe80::1]:7000"}));

  dir_.write("ctld.sock", "a plain file is no socket");
  EXPECT_EQ(find_controllers(config).size(), 2u);
  ::unlink((dir_.path() + "/ctld.sock").c_str());

  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (dir_.path() + "/ctld.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(find_controllers(config).at(0), "unix:" + dir_.path() + "/ctld.sock");
  EXPECT_EQ(find_controllers(config).size(), 3u);
  ::close(fd);

  const TestVariable variable("SPUR_CONTROLLER_ADDR", " http://x:1, y:2,unix:/z ");
  EXPECT_EQ(find_controllers(config), (std::vector<std::string>{"http://x:1", "y:2", "unix:/z"}));
}

TEST_F(Load, ClientOptions) {
  const std::string path =
      dir_.write("spur.conf", "[controller]\nhosts = [\"h\"]\nstate_dir = \"" + dir_.path() +
                                  "\"\nmessage_timeout_secs = 5\n[auth]\nsocket = \"/run/a.sock\"\n");
  const auto options = client_options(path);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->controllers, std::vector<std::string>{"h:6817"});
  EXPECT_EQ(options->auth_socket, "/run/a.sock");
  EXPECT_EQ(options->timeout, seconds(5));
  const TestVariable variable("SPUR_AUTH_SOCKET", "/other.sock");
  EXPECT_EQ(client_options(path)->auth_socket, "/other.sock");
  EXPECT_FALSE(client_options("/nonexistent"));
}

TEST_F(Load, NodeOfHost) {
  const auto loaded =
      load_text("NodeName=n1 NodeHostname=alpha\nNodeName=beta\nNodeName=n3 NodeHostname=gamma.x.org", "slurm.conf");
  ASSERT_TRUE(loaded);
  const auto name = [&](std::string_view host) {
    const model::NodeConfig* node = find_node_of_host(loaded->cluster, host);
    return node ? node->name : "";
  };
  EXPECT_EQ(name("alpha"), "n1");
  EXPECT_EQ(name("alpha.x.org"), "n1");
  EXPECT_EQ(name("beta.x.org"), "beta");
  EXPECT_EQ(name("gamma.x.org"), "n3");
  EXPECT_EQ(name("gamma"), "");
  EXPECT_EQ(name("n1"), "n1");
}

TEST_F(Load, Paths) {
  EXPECT_EQ(expand_path("/a/%n/%h/%%/%x/%", "node", "host"), "/a/node/host/%/%x/%");
  EXPECT_EQ(join_host_port("::1", 5), "[::1]:5");
  EXPECT_EQ(join_host_port("[::]", 5), "[::]:5");
  EXPECT_EQ(join_host_port("h", 5), "h:5");
}

}  // namespace
}  // namespace spur::config
