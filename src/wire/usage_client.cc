// SPDX-License-Identifier: Apache-2.0
#include "wire/usage_client.h"

#include <fmt/format.h>

#include "spur/v1/agent.pb.h"
#include "wire/id_codec.h"
#include "wire/lean_channel.h"

namespace spur::wire {

constexpr std::uint16_t kAgentPort = 6818;

Result<NodeUsage> ask_usage(const std::string& address, const std::string& ticket, Duration timeout) {
  LeanChannel channel({address}, kAgentPort);
  v1::JobUsageRequest request;
  request.set_ticket(ticket);
  CallOptions options;
  options.timeout = timeout;
  SPUR_ASSIGN(const auto bytes, channel.call("/spur.v1.NodeAgent/JobUsage", request.SerializeAsString(), options));
  v1::JobUsageReply reply;
  if (!reply.ParseFromString(bytes))
    return fail(ErrorCode::Corrupt, fmt::format("the agent at {} answers with what is no answer", address));
  NodeUsage out;
  out.node = reply.node();
  for (const auto& step : reply.steps()) {
    NodeUsage::Step& row = out.steps.emplace_back();
    row.name = step.step();
    for (const auto& task : step.tasks()) {
      NodeUsage::Task& one = row.tasks.emplace_back();
      one.rank = task.rank();
      one.pid = task.pid();
      SPUR_TRY(from_proto(task.usage(), &one.usage));
    }
  }
  return out;
}

}  // namespace spur::wire
