// SPDX-License-Identifier: Apache-2.0
// What one daemon or command on one host needs to know and what is not journaled: where the controllers are, where to
// listen, which directories and files are its own. Both front ends fill it (spur_conf.cc, slurm_conf.cc). The
// cluster's shape is in model/cluster_config.h.
//
// Paths may hold %n (node name), %h (short host name) and %%; expand_path() fills them in. Empty paths mean the
// default, which the functions below know: callers ask them and never build a path themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/command_defaults.h"
#include "config/node_side.h"
#include "model/cluster_config.h"
#include "text/debug_flags.h"

namespace spur::config {

inline constexpr std::uint16_t kControllerPort = 6817, kAgentPort = 6818, kAccountingPort = 6819;

// Slurm's levels, with Warning added.
enum class LogLevel : std::uint8_t {
  Quiet,
  Fatal,
  Error,
  Warning,
  Info,
  Verbose,
  Debug,
  Debug2,
  Debug3,
  Debug4,
  Debug5
};
enum class LogFormat : std::uint8_t { Text, Json };

// LogTimeFormat: of a line's moment in a file.
enum class LogTime : std::uint8_t { Iso, IsoMs, Rfc5424, Rfc5424Ms, Rfc3339, Clock, Short, ThreadId };

struct LogConfig {
  LogLevel level = LogLevel::Info;
  LogFormat format = LogFormat::Text;
  LogTime time = LogTime::IsoMs;
  std::string file;  // empty: stderr in the foreground, the journal or syslog otherwise
  std::optional<LogLevel> syslog_level;  // SlurmctldSyslogDebug and its like: syslog as well, so much of it
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

struct ControllerHost {
  std::string host;     // as it calls itself; shown as SlurmctldHost[n]
  std::string address;  // what others dial; equal to host where nothing else was given
  friend bool operator==(const ControllerHost&, const ControllerHost&) = default;
};

struct UpdateConfig {
  bool check_on_startup = true, auto_update = false;
  std::string channel = "stable", cache_dir = "/var/cache/spur";
  friend bool operator==(const UpdateConfig&, const UpdateConfig&) = default;
};

// Several controllers share a journal in etcd: one that is there already, or members that they run themselves.
struct EtcdConfig {
  std::vector<std::string> endpoints;     // "https://host:port"; empty: the controllers run etcd themselves
  std::string ca_file, certificate_file, key_file;
  std::uint16_t peer_port = 2380;         // of their own members
  std::string secret_file;                // what their members trust each other by; empty: <state_dir>/controllers.secret
  std::uint32_t failover_ms = 300;        // silence of the leader after which another takes over
  friend bool operator==(const EtcdConfig&, const EtcdConfig&) = default;
};

// The database as slurmdbd.conf describes it; accounting_database() makes a URL of it.
struct StorageConfig {
  enum class Kind : std::uint8_t { Unset, Sqlite, Postgres };
  Kind kind = Kind::Unset;
  std::string host, user, password, location;
  std::uint16_t port = 0;
  std::string archive_dir = "/tmp";  // as in Slurm
  bool archive_jobs = false, archive_steps = false, archive_events = false, archive_reservations = false,
       archive_transactions = false;
  // How long things are kept, in hours; 0: as the days of DaemonConfig say.
  std::uint32_t keep_jobs = 0, keep_steps = 0, keep_events = 0, keep_reservations = 0, keep_transactions = 0;
  friend bool operator==(const StorageConfig&, const StorageConfig&) = default;
};

struct DaemonConfig {
  std::vector<ControllerHost> controllers{{"localhost", "localhost"}};  // the first is the primary
  std::uint16_t controller_port = kControllerPort;                      // what others dial
  std::vector<std::string> controller_listen{"[::]:6817"};              // "[::]" is both address families
  std::string state_dir = "/var/spool/spur";
  EtcdConfig etcd;
  seconds batch_sched_delay{3};     // how long a burst of submissions may delay starts; 0: not at all
  bool serve_configuration = false;  // SlurmctldParameters=enable_configless
  std::uint32_t snapshot_mib = 64;  // of journal, after which the state is written anew and the journal cut
  std::uint32_t history_days = 7;        // of the past are kept at least; 0: none is
  std::uint32_t history_max_mib = 2048;  // of disk, whatever history_days says; 0: none is kept

  std::uint16_t agent_port = kAgentPort;  // where the node's own Port does not say otherwise
  std::string agent_listen = "[::]";      // host part only, see agent_listen_address()
  bool agent_listen_on_node_address = false;
  std::string spool_dir;
  std::string tmp_dir = "/tmp";  // TmpFS: whose size is a node's temporary disk space

  std::string auth_socket_path;
  std::string controller_pid_file, agent_pid_file;
  LogConfig controller_log, agent_log;
  std::string scheduler_log_file;  // SlurmSchedLogFile; empty: there is none
  bool scheduler_log = false;      // it is written
  text::DebugFlags debug_flags = 0;
  std::string slurm_user;   // empty: the user who starts the controller, or spurdbd
  std::string slurmd_user;  // empty: the user who runs the agent
  seconds message_timeout{60};
  CommandDefaults commands;

  CgroupConfig cgroup;
  std::vector<DetectRule> detect;  // the last one that fits a node counts
  std::vector<std::string> cdi_dirs;
  std::string image_dir_path;                // of container images; empty: see image_dir()
  std::uint64_t max_image_mib = 128u << 10;  // of an unpacked image
  std::uint64_t max_image_files = 4'000'000;
  bool copy_images = false;  // instead of overlays
  HookConfig hooks;
  StepConfig steps;
  HealthConfig health;
  seconds sample_every{30};  // JobAcctGatherFrequency; 0: usage is only read at the end

  std::string accounting_host;  // of spurdbd; empty: this host, where there is accounting (ClusterConfig) at all
  std::uint16_t accounting_port = kAccountingPort;
  std::uint32_t accounting_max_backlog = 10'000'000;  // records that may wait for it
  std::string accounting_listen;           // where spurdbd listens; empty: everywhere, on its port
  std::string accounting_url;              // of spurdbd's database; empty: see accounting_database()
  StorageConfig storage;                   // of slurmdbd.conf
  // How many days spurdbd keeps things; 0: for ever.
  std::uint32_t accounting_private = 0;    // text/private_data.h
  std::uint32_t accounting_keep_days = 0;  // jobs that ended, with their steps
  std::uint32_t accounting_keep_step_days = 0, accounting_keep_event_days = 0, accounting_keep_reservation_days = 0,
                accounting_keep_transaction_days = 0;
  std::string accounting_archive_dir;      // where older ones go; empty: nowhere
  bool accounting_no_default = false;      // users need no default account
  bool accounting_keeps_case = false;      // of users' names
  bool accounting_no_coordinators = false; // they have no more rights than other users
  bool accounting_no_archives = false;     // sacctmgr archive is refused
  std::string accounting_default_qos;      // of a new cluster; empty: normal
  seconds accounting_max_query{0};         // that users may ask about at once; 0: as long as they like
  std::vector<std::string> accounting_prices;         // "gres/gpu=2.50": of an hour
  std::string accounting_currency;
  LogConfig accounting_log;
  std::string accounting_pid_file_path;
  UpdateConfig update;

  // Values that no field holds, as written: of keys that are not in force yet, and of lists that are so only in part.
  std::vector<std::pair<std::string, std::string>> kept;

  // The value of a kept key, in any case, or null.
  const std::string* find_kept(std::string_view key) const;
  friend bool operator==(const DaemonConfig&, const DaemonConfig&) = default;
};

std::string_view name_of(LogLevel level);  // Slurm's word: "info", "debug2"
// A word of either front end, in any case, or Slurm's number.
Result<LogLevel> parse_log_level(std::string_view text);

// %n, %h and %% filled in; any other %x stays as it is.
std::string expand_path(std::string_view pattern, std::string_view node, std::string_view host);

std::string controller_socket(const DaemonConfig& config);    // <state_dir>/ctld.sock
std::string local_socket(const DaemonConfig& config);         // <state_dir>/local.sock
std::string auth_socket(const DaemonConfig& config);          // as configured, else <state_dir>/auth.sock
std::string image_dir(const DaemonConfig& config);            // as configured, else <state_dir>/images
std::string accounting_address(const DaemonConfig& config);   // host:port that others dial
std::string accounting_listen(const DaemonConfig& config);    // host:port
std::string accounting_socket(const DaemonConfig& config);    // <state_dir>/dbd.sock
std::string accounting_auth_socket(const DaemonConfig& config);  // <state_dir>/dbd-auth.sock
std::string accounting_database(
    const DaemonConfig& config);  // as configured, else sqlite:<state_dir>/accounting.sqlite
std::string accounting_pid_file(const DaemonConfig& config);  // as configured, else <state_dir>/spurdbd.pid
std::string controller_pid_file(const DaemonConfig& config);  // as configured, else <state_dir>/spurctld.pid

// The directory of one agent: as configured, else <state_dir>/spurd-<node>.
std::string agent_spool_dir(const DaemonConfig& config, std::string_view node, std::string_view host);
std::string agent_pid_file(const DaemonConfig& config, std::string_view node, std::string_view host);
std::string agent_log_file(const DaemonConfig& config, std::string_view node, std::string_view host);
// "host:port" for the agent of `node`: its own Port if it has one; its address only if the configuration asks for
// that.
std::string agent_listen_address(const DaemonConfig& config, const model::NodeConfig* node);

// "host:port", with brackets around an IPv6 address.
std::string join_host_port(std::string_view host, std::uint16_t port);

// The configured node that `host` is: by NodeName first, then by NodeHostname; full name first, then up to the first
// dot. Null if there is none.
const model::NodeConfig* find_node_of_host(const model::ClusterConfig& cluster, std::string_view host);

}  // namespace spur::config
