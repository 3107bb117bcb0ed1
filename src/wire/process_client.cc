// SPDX-License-Identifier: Apache-2.0
#include "wire/process_client.h"

#include <fmt/format.h>

#include "spur/v1/processes.pb.h"
#include "wire/lean_channel.h"

namespace spur::wire {

namespace {

template <class Reply>
Result<Reply> ask(const std::string& address, const char* method, Duration timeout) {
  constexpr std::uint16_t kAgentPort = 6818;
  LeanChannel channel({address}, kAgentPort);
  CallOptions options;
  options.timeout = timeout;
  SPUR_ASSIGN(const auto bytes, channel.call(fmt::format("/spur.v1.NodeProcesses/{}", method), "", options));
  Reply reply;
  if (!reply.ParseFromString(bytes))
    return fail(ErrorCode::Corrupt, fmt::format("the agent at {} answers with what is no answer", address));
  return reply;
}

}  // namespace

Result<AgentStatus> ask_agent_status(const std::string& address, Duration timeout) {
  SPUR_ASSIGN(const auto reply, ask<v1::AgentStatusReply>(address, "Describe", timeout));
  AgentStatus out;
  out.node = reply.node();
  out.log_file = reply.log_file();
  out.found.cpus = reply.cpus();
  out.found.boards = reply.boards();
  out.found.sockets = reply.sockets();
  out.found.cores_per_socket = reply.cores_per_socket();
  out.found.threads_per_core = reply.threads_per_core();
  out.found.memory_mib = reply.memory_mib();
  out.found.tmp_disk_mib = reply.tmp_disk_mib();
  out.started = from_micros(reply.started_us());
  if (reply.heard_us() != 0) out.heard = from_micros(reply.heard_us());
  out.pid = reply.pid();
  out.debug = reply.debug();
  out.steps.assign(reply.steps().begin(), reply.steps().end());
  return out;
}

Result<NodeProcesses> list_processes(const std::string& address, Duration timeout) {
  SPUR_ASSIGN(const auto reply, ask<v1::ListProcessesReply>(address, "List", timeout));
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
