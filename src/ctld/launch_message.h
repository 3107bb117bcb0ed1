// SPDX-License-Identifier: Apache-2.0
// What a node is told about a job it must run: a pure function of the published state.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "model/agent_message.h"
#include "model/topology.h"
#include "model/view.h"

namespace spur::ctld {

// Makes the messages for the nodes of one job after the other. What all nodes but the first are told of the whole is
// kept from one message of a job to the next, so that a wide job costs no more per node than a narrow one.
class LaunchMessages {
 public:
  // For the `part`-th node of the job's allocation. The job is active.
  model::ControllerLaunch make(const model::View& view, const model::Job& job, std::uint32_t part);
  // Nodes may have other names now.
  void forget() {
    of_ = nullptr;
    addresses_.clear();
  }

 private:
  void remember(const model::View& view, const model::Job& job);
  void add_address(const model::View& view, model::ControllerLaunch& launch);

  std::shared_ptr<const model::Allocation> of_;  // whose `whole_` is
  std::shared_ptr<const model::JobSpec> spec_;   // from which `bare_` was made
  model::WholeJob whole_;
  std::shared_ptr<const model::JobSpec> bare_;  // without script and environment
  std::map<std::string, model::TopologyAddresses> addresses_;  // by topology
};

}  // namespace spur::ctld
