// SPDX-License-Identifier: Apache-2.0
// Who may call what: one row per RPC. A method without a row is denied, so a new RPC works only once somebody has thought
// about it. Rules that need the job (its owner) are decided by the Controller with may_touch().
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "model/caller.h"
#include "model/job.h"

namespace spur::ctld {

enum class Rule : std::uint8_t {
  Anybody,         // also without a credential: says that we are there, and no more
  Authenticated,   // any verified user
  OwnerOrAdmin,    // verified here as Authenticated; the Controller then asks may_touch() about each job
  Admin,           // root, the daemon's own user, or an admin of the configuration
  Node,            // an agent, for its own node
};

// Which controllers of several answer it.
enum class Where : std::uint8_t {
  Leader,   // it changes something, or needs what only the leader has
  Current,  // any, once it has all that was acknowledged before the question (docs/decisions/0017)
  Any,      // any, at once: it is asked about itself
};

struct Row {
  std::string_view method;   // "SubmitJob"
  Rule rule;
  Where where = Where::Leader;
};

std::span<const Row> authorization_table();
// PermissionDenied, Unauthenticated or success.
Status authorize(std::string_view method, const model::Caller& caller);
// Leader, if there is no such call.
Where answered_by(std::string_view method);
bool may_touch(const model::Caller& caller, const model::Job& job);

}  // namespace spur::ctld
