// SPDX-License-Identifier: Apache-2.0
// A configuration while it is being read: what both front ends fill, key by key, and what resolve() then checks as a
// whole and turns into a ClusterConfig. Nothing here is expanded yet; every block remembers where it was written, so
// that a complaint about the whole can still name a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/daemon_config.h"
#include "model/cluster_config.h"

namespace spur::config {

enum class Dialect : std::uint8_t { Spur, Slurm };

struct Position {
  std::uint32_t file = 0;  // index into Draft::files
  std::uint32_t line = 0;  // 1 is the first; 0: the file as a whole
};

struct Key;
struct SlurmName;

// One Key=Value as it was read, whichever file it came from: what import and export write again (config/translate.h),
// and the proof that nothing was passed over. Rows are of the tables in keys.cc and slurm_keys.cc; one of the two is
// null.
struct Statement {
  std::uint8_t scope = 0;           // a Scope (config/keys.h)
  std::uint32_t block = 0;          // which block of its scope, from 0; what DEFAULT lines say is said of every block
  const Key* key = nullptr;
  const SlurmName* name = nullptr;  // a key without a meaning here
  std::string value;                // in Slurm's grammar
  bool warned = false;              // it is not in force, or not in full, and a warning names it
  Position at;
};

struct NodeBlock {
  model::NodeConfig node;                          // what all nodes of the block share
  std::string names, hostnames, addresses, ports;  // hostlists, matched up by resolve()
  std::optional<std::uint32_t> sockets_per_board;  // Slurm only
  Position at;
};

struct PartitionBlock {
  model::PartitionConfig partition;
  Position at;
};

struct NodeSetBlock {
  std::string name, nodes, feature;
  Position at;
};

struct DownNodesBlock {
  std::string nodes, state = "DOWN", reason;
  Position at;
};

// One line of gres.conf, or one [[devices.gres]]: which device files stand behind a GRES that nodes declare.
struct DeviceBlock {
  std::string nodes;  // hostlist; empty: all nodes that declare the GRES
  std::string name, type, file;
  std::optional<std::uint64_t> count;
  std::string cores, links;
  std::vector<std::string> flags;
  std::optional<Detect> detect;  // AutoDetect
  Position at;
};

// A switch or a block of the network.
struct SwitchBlock {
  model::SwitchConfig row;
  std::optional<bool> is_block;  // unset: as the plugin says
  Position at;
};

// A topology of topology.yaml.
struct TopologyBlock {
  std::string name;
  bool is_default = false;
  model::TopologyKind kind = model::TopologyKind::Flat;
  std::vector<std::uint32_t> block_sizes;
  std::vector<SwitchBlock> rows;
};

struct Draft {
  Dialect written_in = Dialect::Spur;  // the grammar of the file
  Dialect dialect = Dialect::Spur;     // whose rules count where nothing is said; spur.conf may ask for Slurm's
  bool daemon_only = false;  // for a command: blocks are skipped and warnings not kept
  model::ClusterConfig cluster;
  DaemonConfig daemon;
  std::vector<NodeBlock> nodes;
  std::vector<PartitionBlock> partitions;
  std::vector<NodeSetBlock> node_sets;
  std::vector<DownNodesBlock> down_nodes;
  std::vector<DeviceBlock> devices;
  std::vector<SwitchBlock> switches;
  std::vector<TopologyBlock> topologies;  // if there are any, they stand in place of `switches` and TopologyPlugin

  bool multifactor_given = false, age_weight_given = false;  // PriorityType, PriorityWeightAge
  TimeLimit default_time;                                    // for partitions that name none
  bool task_cgroup = false;                                  // TaskPlugin=task/cgroup
  bool gather_usage = true;                                  // JobAcctGatherType
  bool select_words_given = false;                           // SelectTypeParameters
  bool whole_nodes = false;                                  // SelectType=select/linear
  bool listen_on_controller_address = false;                 // CommunicationParameters=NoCtldInAddrAny
  bool listen_given = false;                                 // controller.listen_addr
  std::uint16_t last_controller_port = 0;                    // SlurmctldPort=6817-6820; 0: no range
  std::vector<std::string> admins;                           // user names or uids
  // SlurmctldHost, and the older keys for the same; resolve() makes DaemonConfig::controllers of them.
  std::vector<std::string> controller_hosts, backup_controllers, backup_addresses;
  std::string control_machine, control_address;

  std::vector<std::string> files;  // [0] is the main one
  std::uint32_t device_lines = 0;                             // of gres.conf, or [[devices.gres]], so far
  std::vector<Statement> statements;                           // in the order of reading; none if daemon_only
  std::vector<std::pair<std::string, std::string>> siblings;  // files of Slurm that are kept whole: name and text
  std::vector<std::string> warnings;
  std::vector<std::string> warned_keys;  // each gets one warning, however often it is used

  // "path:line", or "path" where the line is not known.
  std::string where(Position at) const;
  std::unexpected<Error> refuse(Position at, std::string_view message) const;
  void warn(Position at, std::string_view message);
};

// What a key's setter may change; node, partition and device are null outside their blocks.
struct Target {
  Draft& draft;
  NodeBlock* node = nullptr;
  PartitionBlock* partition = nullptr;
  DeviceBlock* device = nullptr;
  SwitchBlock* network = nullptr;
  NodeSetBlock* node_set = nullptr;
  DownNodesBlock* down = nullptr;
  std::uint32_t block = 0;                   // number of the block in its scope
  std::vector<Statement>* told = nullptr;    // where statements go instead of Draft::statements: a DEFAULT line's
  Position at{};
};

}  // namespace spur::config
