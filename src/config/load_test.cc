// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/show_accounting.h"
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

TEST(AccountingLoad, SlurmdbdConf) {
  TestDirectory dir;
  TestVariable none("SLURMDBD_CONF", nullptr);
  const std::string slurm = dir.write("slurm.conf", "ClusterName=c\nStateSaveLocation=/s\nMailProg=/m\n");
  const std::string own = dir.write("slurmdbd.conf",
                                    "DbdHost=db\nDbdPort=7819\nStorageType=accounting_storage/pgsql\nStorageHost=pg\nStoragePort=5433\n"
                                    "StorageUser=slurm\nStoragePass=\"a b/c\"\nStorageLoc=acct\nLogFile=/l\nPidFile=/p\nDebugLevel=debug2\n"
                                    "PurgeJobAfter=25hours\nArchiveJobs=yes\nArchiveDir=/a\nTrackWCKey=yes\nArchiveSteps=no\nDebugFlags=DB_QUERY\n");
  const auto refused = load_for_accounting(slurm);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "slurmdbd.conf file " + own + " should be 600 is 644 accessible for group or others");
  std::filesystem::permissions(own, std::filesystem::perms(0600));
  for (const std::string& path : {slurm, own}) {
    const auto loaded = load_for_accounting(path);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const DaemonConfig& daemon = loaded->daemon;
    EXPECT_EQ(daemon.state_dir, "/s");
    EXPECT_EQ(accounting_listen(daemon), "[::]:7819");
    EXPECT_EQ(accounting_database(daemon), "postgresql://slurm:a%20b%2Fc@pg:5433/acct");
    EXPECT_EQ(daemon.accounting_log.file, "/l");
    EXPECT_EQ(daemon.accounting_log.level, LogLevel::Debug2);
    EXPECT_EQ(accounting_pid_file(daemon), "/p");
    EXPECT_EQ(daemon.storage.keep_jobs, 25u);
    EXPECT_EQ(daemon.accounting_archive_dir, "/a");
    EXPECT_TRUE(daemon.storage.archive_jobs);
    EXPECT_FALSE(daemon.storage.archive_steps);
    EXPECT_TRUE(loaded->cluster.accounting.track_wckeys);
    EXPECT_FALSE(daemon.accounting_no_default);
    EXPECT_FALSE(daemon.accounting_keeps_case);
    EXPECT_EQ(loaded->warnings, std::vector<std::string>{own + ":17: slurmdbd.conf DebugFlags: not in force yet: the logs have "
                                                               "levels, no subjects"});
  }
  const std::pair<const char*, const char*> kRefused[] = {
      {"DbdHost=x\n", ": StorageType must be specified"},
      {"StorageType=accounting_storage/oracle\n",
       ":1: slurmdbd.conf StorageType: \"accounting_storage/oracle\" is none of accounting_storage/pgsql, accounting_storage/sqlite, "
       "accounting_storage/mysql"},
      {"PurgeJobAfter=3weeks\n", ":1: slurmdbd.conf PurgeJobAfter: \"3weeks\" is no number of hours, days or months"},
      {"KillWait=3\n", ":1: Parsing error at unrecognized key: KillWait"}};
  for (const auto& [text, want] : kRefused) {
    std::filesystem::permissions(dir.write("slurmdbd.conf", text), std::filesystem::perms(0600));
    const auto wrong = load_for_accounting(slurm);
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().message, own + want);
  }
  dir.write("slurmdbd.conf", "StorageType=accounting_storage/mysql\nStorageLoc=slurm_acct_db\n");
  std::filesystem::remove(slurm);
  const auto alone = load_for_accounting(own);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(accounting_database(alone->daemon), "sqlite:/var/spool/spur/accounting.sqlite");
  ASSERT_EQ(alone->warnings.size(), 1u);
  EXPECT_NE(alone->warnings[0].find("there is no MySQL here"), std::string::npos);
}

TEST(AccountingLoad, WhatSitesSayInSlurmdbdConf) {
  TestDirectory dir;
  TestVariable none("SLURMDBD_CONF", nullptr);
  const std::string slurm = dir.write("slurm.conf", "ClusterName=c\nStateSaveLocation=/s\nTrackWCKey=yes\n");
  const auto read = [&](const std::string& text) {
    const std::string own = dir.write("slurmdbd.conf", "StorageType=accounting_storage/sqlite\n" + text);
    std::filesystem::permissions(own, std::filesystem::perms(0600));
    return load_for_accounting(slurm);
  };
  auto loaded = read("");
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->cluster.accounting.track_wckeys) << "that is slurm.conf's word, for the controller";
  EXPECT_EQ(loaded->daemon.accounting_archive_dir, "");
  loaded = read("TrackWCKey=yes\nAllowNoDefAcct=yes\nParameters=PreserveCaseUser\nPurgeEventAfter=12hours\nPurgeJobAfter=2\n"
                "PurgeResvAfter=3days\nPurgeStepAfter=1month\nPurgeTXNAfter=36hours\nArchiveEvents=yes\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings[0];
  EXPECT_TRUE(loaded->cluster.accounting.track_wckeys);
  EXPECT_TRUE(loaded->daemon.accounting_no_default);
  EXPECT_TRUE(loaded->daemon.accounting_keeps_case);
  const StorageConfig& storage = loaded->daemon.storage;
  EXPECT_EQ(storage.keep_events, 12u);
  EXPECT_EQ(storage.keep_jobs, 2u * 30 * 24);
  EXPECT_EQ(storage.keep_reservations, 72u);
  EXPECT_EQ(storage.keep_steps, 30u * 24);
  EXPECT_EQ(storage.keep_transactions, 36u);
  EXPECT_TRUE(storage.archive_events);
  EXPECT_FALSE(storage.archive_jobs);
  EXPECT_EQ(loaded->daemon.accounting_archive_dir, "/tmp");
  EXPECT_EQ(loaded->daemon.slurm_user, "") << "slurm.conf's";
  loaded = read("SlurmUser=" + std::to_string(::geteuid()) + "\nDefaultQOS=fast\nDisableCoordDBD=yes\nDisableArchiveCommands=yes\n"
                "MaxQueryTimeRange=2-00:00:00\nDebugLevelSyslog=error\nLogTimeFormat=rfc5424\nStoragePass=secret\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings[0];
  EXPECT_EQ(loaded->daemon.slurm_user, std::to_string(::geteuid()));
  EXPECT_EQ(loaded->daemon.accounting_default_qos, "fast");
  EXPECT_TRUE(loaded->daemon.accounting_no_coordinators && loaded->daemon.accounting_no_archives);
  EXPECT_EQ(loaded->daemon.accounting_max_query, seconds(2 * 86400));
  EXPECT_EQ(loaded->daemon.accounting_log.syslog_level, LogLevel::Error);
  EXPECT_EQ(loaded->daemon.accounting_log.time, LogTime::Rfc5424);
  std::string shown;
  for (const auto& [name, value] : shown_accounting_config(*loaded, "25.05.0", from_unix_seconds(0)))
    shown += name + "=" + value + "\n";
  for (const char* line : {"DefaultQOS=fast\n", "MaxQueryTimeRange=2-00:00:00\n", "DebugLevelSyslog=error\n", "PurgeJobAfter=NONE\n",
                           "SLURMDBD_VERSION=25.05.0\n", "StorageType=accounting_storage/sqlite\n", "DisableCoordDBD=Yes\n"})
    EXPECT_NE(shown.find(line), std::string::npos) << line << "in\n" << shown;
  EXPECT_EQ(shown.find("secret"), std::string::npos);
  const auto theirs = read("SlurmUser=" + std::to_string(::geteuid() + 1) + "\n");
  ASSERT_FALSE(theirs);
  EXPECT_TRUE(theirs.error().message.starts_with("slurmdbd.conf not owned by SlurmUser ")) << theirs.error().message;
  EXPECT_FALSE(read("MaxQueryTimeRange=long\n"));
  loaded = read("PurgeJobAfter=12months\nPurgeStepAfter=36hours\nPurgeEventAfter=10days\nArchiveJobs=yes\nPrivateData=jobs,users\n");
  ASSERT_TRUE(loaded);
  shown.clear();
  for (const auto& [name, value] : shown_accounting_config(*loaded, "", Time{})) shown += name + "=" + value + "\n";
  for (const char* line : {"PurgeJobAfter=12 months*\n", "PurgeStepAfter=36 hours\n", "PurgeEventAfter=10 days\n", "PrivateData=jobs,users\n"})
    EXPECT_NE(shown.find(line), std::string::npos) << line;
  loaded = read("Parameters=foo,PreserveCaseUser\nPurgeSuspendAfter=1month\nPurgeUsageAfter=24month\n");
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->daemon.accounting_keeps_case);
  ASSERT_EQ(loaded->warnings.size(), 3u);
  EXPECT_NE(loaded->warnings[2].find("PurgeUsageAfter"), std::string::npos) << loaded->warnings[2];
  EXPECT_NE(loaded->warnings[0].find("Parameters: not in force yet: foo"), std::string::npos) << loaded->warnings[0];
  EXPECT_NE(loaded->warnings[1].find("PurgeSuspendAfter: not in force yet"), std::string::npos) << loaded->warnings[1];
}

TEST(AgentFiles, AreThoseOfTheDirectory) {
  TestDirectory dir;
  const std::string slurm = dir.write("slurm.conf", "ClusterName=c\nInclude d/n.conf\nPartitionName=p Nodes=n1 Default=YES\n");
  dir.write("d/n.conf", "NodeName=n1\n");
  dir.write("cgroup.conf", "ConstrainCores=no\n");
  dir.write("mpi.conf", "PMIxDebug=1\n");
  const auto files = files_of(slurm);
  ASSERT_TRUE(files) << files.error().message;
  std::vector<std::string> names;
  for (const auto& [name, text] : *files) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"slurm.conf", "d/n.conf", "cgroup.conf", "mpi.conf"}));
  EXPECT_EQ((*files)[1].second, "NodeName=n1\n");
  TestDirectory other;
  const std::string far = other.write("n.conf", "NodeName=n1\n");
  dir.write("slurm.conf", "ClusterName=c\nInclude " + far + "\n");
  const auto outside = files_of(slurm);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message, far + " is not below " + dir.path() + "/: agents cannot be given it");
}

}  // namespace
}  // namespace spur::config
