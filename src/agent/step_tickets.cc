// SPDX-License-Identifier: Apache-2.0
#include "agent/step_tickets.h"

#include "wire/local_call.h"

namespace spur::agent {
namespace {

constexpr Duration kMargin = seconds(60);  // what is left of a ticket must do for a step that waits a little

}  // namespace

void StepTickets::keep(const std::string& bytes, const io::Verified& ticket) {
  Kept& kept = kept_[{ticket.job, ticket.epoch}];
  if (kept.expires < ticket.expires) kept = {bytes, ticket.uid, ticket.expires};
}

Result<v1::StepTicketReply> StepTickets::give(const Agent& agent, JobId job, Uid uid, Time now) const {
  const auto refused = fail(ErrorCode::NotFound, "there is no ticket here");
  const model::ControllerLaunch* launch = agent.held(job);
  if (!launch || launch->this_part != 0 || launch->spec->uid != uid) return refused;
  const auto kept = kept_.find(launch->run);
  if (kept == kept_.end() || kept->second.uid != uid || kept->second.expires - now < kMargin) return refused;
  v1::StepTicketReply reply;
  reply.set_ticket(kept->second.bytes);
  for (std::size_t i = 0; i < launch->parts.size(); ++i) {
    reply.add_nodes(launch->parts[i].node);
    reply.add_addresses(i == 0 ? agent.address() : launch->addresses[i]);
    reply.add_tasks_per_node(launch->parts[i].tasks);
  }
  return reply;
}

std::string answer_ticket_call(const StepTickets& tickets, const Agent& agent, std::string_view frame, Uid uid,
                               Time now) {
  const auto reply = [&]() -> Result<v1::StepTicketReply> {
    SPUR_ASSIGN(const auto call, wire::parse_local_request(frame));
    v1::StepTicketRequest request;
    if (call.method != "StepTicket" ||
        !request.ParseFromArray(call.message.data(), static_cast<int>(call.message.size())))
      return fail(ErrorCode::InvalidArgument, "the request is garbled");
    return tickets.give(agent, JobId{request.job()}, uid, now);
  }();
  std::string bytes;
  if (reply) wire::append_local_message(reply->SerializeAsString(), &bytes);
  wire::append_local_end(reply ? Status() : Status(std::unexpected(reply.error())), &bytes);
  return bytes;
}

}  // namespace spur::agent
