// SPDX-License-Identifier: Apache-2.0
#include "wire/process_client.h"

#include <fmt/format.h>

#include "spur/v1/processes.pb.h"
#include "wire/lean_channel.h"

namespace spur::wire {

Result<NodeProcesses> list_processes(const std::string& address, Duration timeout) {
  constexpr std::uint16_t kAgentPort = 6818;
  LeanChannel channel({address}, kAgentPort);
  CallOptions options;
  options.timeout = timeout;
  SPUR_ASSIGN(const auto bytes, channel.call("/spur.v1.NodeProcesses/List", "", options));
  v1::ListProcessesReply reply;
  if (!reply.ParseFromString(bytes))
    return fail(ErrorCode::Corrupt, fmt::format("the agent at {} answers with what is no answer", address));
  NodeProcesses out;
  out.node = reply.node();
  for (const auto& process : reply.processes()) {
    auto& row = out.processes.emplace_back();
    row.pid = process.pid();
    row.job = JobId(process.job());
    row.step = process.step();
    if (process.has_rank()) row.rank = process.rank();
    if (process.has_local_id()) row.local_id = process.local_id();
  }
  for (const auto job : reply.jobs()) out.jobs.emplace_back(job);
  return out;
}

}  // namespace spur::wire
