// SPDX-License-Identifier: Apache-2.0
// Finds, reads and resolves the configuration: one call for a daemon, one for a command. Commands do it on every
// start, so it reads one file and asks no name service.
//
// Where the file is: the path given (-f), $SPUR_CONF, $SLURM_CONF, ~/.spur/etc/spur.conf, /etc/spur/spur.conf,
// /etc/slurm/slurm.conf; a path from the first three must exist. With no file at all the defaults make a usable
// cluster: name "spur", controller on localhost, one partition "default" with every node that registers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/daemon_config.h"
#include "config/draft.h"
#include "model/cluster_config.h"

namespace spur::config {

struct Loaded {
  model::ClusterConfig cluster;
  DaemonConfig daemon;
  std::vector<std::string> warnings;  // one line each, with file and line
  std::string path;                   // empty: no file
  std::string accounting_path = {};   // of slurmdbd.conf, where load_for_accounting() found one
  Dialect dialect = Dialect::Spur;
};

enum class Want : std::uint8_t {
  All,         // daemons: the whole of it; cluster.shown is filled as well
  DaemonOnly,  // commands: nodes and partitions are passed over, `cluster` is unfinished, warnings are left to the
               // daemons
};

// `path` empty: search as above.
Result<Loaded> load(const std::string& path, Want want);
inline Result<Loaded> load() {
  return load({}, Want::All);
}

// For spurdbd: the same, with slurmdbd.conf over it if there is one: $SLURMDBD_CONF, or beside the other file. `path` may
// be either file; with slurmdbd.conf alone the rest has its defaults. As in Slurm it must be for its owner alone.
Result<Loaded> load_for_accounting(const std::string& path);

// The two halves of load(): the files as they are written, and what they come to.
Result<Draft> read_draft(const std::string& path, Want want);
Result<Loaded> resolved(Draft& draft, Want want);
// Both, and what was written beside it: for import and export.
Result<Draft> read_resolved(const std::string& path);

// The files that make up the configuration at `path`, the main one first, by their names from its directory: what a
// controller gives to agents without files of their own. An error if one of them is somewhere else.
Result<std::vector<std::pair<std::string, std::string>>> files_of(const std::string& path);

// The same from memory, without looking for further files (Include and gres.conf are refused and skipped). `path`
// only names the text in messages. For tests and `spurctld --test-config -`.
Result<Loaded> load_text(std::string_view text, const std::string& path, Want want = Want::All);

// By name (slurm.conf, spur.conf, *.toml), else by content.
Dialect dialect_of(std::string_view path, std::string_view text);

// Addresses for a client, to be tried in order: $SPUR_CONTROLLER_ADDR (comma list of http://host:port, host:port or
// unix:/path); else the controller's socket if it is there, then each controller's host:port.
std::vector<std::string> find_controllers(const DaemonConfig& config);

struct ClientEndpoints {
  std::vector<std::string> controllers;
  std::string
      local_socket;  // the controller's, if it runs on this host and $SPUR_CONTROLLER_ADDR is not set; else empty
  // $SPUR_AUTH_SOCKET, else as configured, else (in a job, away from the controller) the node's; may not exist.
  std::string auth_socket;
  std::string ticket_socket;  // $SPUR_TICKET_SOCKET: set in jobs and by salloc
  Duration timeout{};
  CommandDefaults defaults;
};
// Where commands find spurdbd: $SPUR_ACCOUNTING_ADDR, else its socket if it is there, then its host:port. Without
// accounting: an error that says so in Slurm's words.
struct AccountingEndpoints {
  std::vector<std::string> addresses;
  std::string auth_socket;
  Duration timeout{};
  std::string cluster;  // this one's name
  std::vector<std::string> prices;
  std::string currency;
};
Result<AccountingEndpoints> accounting_options(const std::string& path = {});

// All that a command needs in order to call. `path` as for load(); without warnings, which are the daemons' to tell.
Result<ClientEndpoints> client_options(const std::string& path = {});
ClientEndpoints client_options(const DaemonConfig& config);

}  // namespace spur::config
