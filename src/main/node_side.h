// SPDX-License-Identifier: Apache-2.0
// From the configuration and the machine to what the agent's real doors take: plain options of os/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/daemon_config.h"
#include "model/node.h"
#include "os/cdi.h"
#include "os/confinement.h"
#include "os/gpu.h"
#include "os/hardware.h"

namespace spur::main {

os::ConfinedNode confined_node(const config::CgroupConfig& config, const os::Machine& machine,
                               std::vector<os::ManagedDevice> devices);

// The last rule that names the node, or all nodes.
config::Detect detect_for(const std::vector<config::DetectRule>& rules, std::string_view node);

// The node's devices: what is declared, what can be found, and whether it is all still there.
class NodeDevices {
 public:
  using Warn = std::function<void(const std::string&)>;
  // `cdi_dirs`: where specifications tell which files belong to one device; none: the usual places.
  NodeDevices(config::Detect how, std::vector<model::NodeGres> declared, std::vector<std::string> cdi_dirs,
              const Warn& warn);

  // What the agent reports: GPUs that were found, and of declared GRES with device files how many are there.
  std::vector<model::NodeGres> report(const os::Machine& machine) const;
  std::vector<os::ManagedDevice> managed(const os::Machine& machine);
  bool any_gpu() const { return !at_start_.empty(); }
  // Of the GPUs among the grants, together. After managed().
  os::GpuLoad load(const std::vector<model::DeviceGrant>& grants) const;
  // A CDI specification of the GPUs of each maker that are here.
  std::vector<std::string> cdi_specifications() const;
  // Looks again. Why the node should get no jobs, in one sentence; empty: all is well.
  std::string problem();

 private:
  std::vector<os::Gpu> look();
  bool has_files(std::string_view name) const;
  std::vector<std::string> further_files(const std::string& first) const;

  config::Detect how_;
  std::vector<model::NodeGres> declared_;
  std::unique_ptr<os::Nvml> nvml_;
  std::string root_;
  std::vector<os::Gpu> at_start_;
  std::vector<os::CdiDevice> cdi_;
  std::map<std::uint32_t, std::size_t> gpu_of_index_;  // as grants number them, into at_start_
  std::vector<std::string> present_;                   // declared files that were there at the start
};

}  // namespace spur::main
