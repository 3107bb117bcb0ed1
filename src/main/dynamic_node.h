// SPDX-License-Identifier: Apache-2.0
// An agent whose node is not in the configuration as one that is there (slurmd -Z, slurmd -F): it asks the controller to be a
// node before it is an agent. And what slurmd tells of a host without being one (-C, -G).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/load.h"
#include "main/daemon_options.h"
#include "model/cluster_config.h"
#include "os/hardware.h"
#include "spur/v1/agent.pb.h"

namespace spur::main {

// Who this agent is.
struct Identity {
  std::string node;
  std::optional<model::NodeConfig> row;    // -Z: what no file says of it
  std::optional<v1::JoinRequest> to_join;  // no controller was there to take it in
};

// Which node this host is; one that is not there is made, or found among the FUTURE ones.
Result<Identity> identify(const DaemonOptions& options, const config::Loaded& loaded, const std::string& token);

// -C; -G and --print-cdi. The exit status.
int print_hardware(const DaemonOptions& options);
int print_devices(const DaemonOptions& options, const config::Loaded& loaded);

// "NodeName=n1 CPUs=16 Boards=1 ...", and how long it has been up.
std::string hardware_lines(const os::Machine& machine, const std::string& node, Time now);
// A line for each row; none without any.
std::string gres_lines(const std::vector<model::NodeGres>& gres);

// -Z: the row, of --conf and, where that says nothing of processors or memory, of the machine.
Result<model::NodeConfig> own_row(const DaemonOptions& options, const os::Machine& machine, const std::string& node);

// Where the controllers are.
std::vector<std::string> controllers_of(const DaemonOptions& options, const config::DaemonConfig& daemon);

v1::JoinRequest join_request(const DaemonOptions& options, const os::Machine& machine,
                             const std::optional<model::NodeConfig>& row);
// The name of the node. Waits for as long as no controller leads, if `patience` lets it.
Result<std::string> join_cluster(const v1::JoinRequest& request, const DaemonOptions& options,
                                 const config::DaemonConfig& daemon, const std::string& token, seconds patience);
// No controller was there to say yes or no.
bool is_nobody_there(const Error& error);

}  // namespace spur::main
