// SPDX-License-Identifier: Apache-2.0
#include "agent/admission.h"

#include <fmt/format.h>

namespace spur::agent {

Result<Admitted> admit(const Agent& agent, const std::string& node,
                       const std::function<Result<io::Verified>(std::string_view)>& verify, std::string_view bytes) {
  SPUR_ASSIGN(auto ticket, verify(bytes));
  if (ticket.kind != io::CredentialKind::StepTicket)
    return fail(ErrorCode::Unauthenticated, "this is not a ticket for a job");
  const model::ControllerLaunch* launch = agent.held(ticket.job);
  if (!launch && agent.may_still_come({ticket.job, ticket.epoch}))
    return fail(ErrorCode::JobPending, fmt::format("job {} has not come to node {}", ticket.job.value, node));
  if (!launch) return fail(ErrorCode::InvalidJobId, fmt::format("job {} is not on node {}", ticket.job.value, node));
  if (launch->run.epoch != ticket.epoch)
    return fail(ErrorCode::StaleEpoch, "the ticket is for another run of the job");
  if (launch->spec->uid != ticket.uid) return fail(ErrorCode::PermissionDenied, "the ticket is for another user");
  return Admitted{launch, std::move(ticket)};
}

}  // namespace spur::agent
