// SPDX-License-Identifier: Apache-2.0
// NodeLost: the lease of a node ran out. It is down and will report nothing more, so its share of every job on it is
// given up; jobs are requeued where that is allowed and end as NODE_FAIL where not. A node that an administrator had
// set down already keeps that reason, but its jobs are given up all the same.
#include <fmt/format.h>

#include "state/apply.h"
#include "state/node_config.h"

namespace spur::state {

Outcome Applier::apply(const NodeLost& command) {
  const model::Node* found = model::find_node(view, command.node);
  if (!found) return refused(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", command.node));
  if (found->is_away()) return {};  // switched off meanwhile: nobody expects it to answer
  const NodeIndex at = found->index;
  model::Node node = *found;
  node.flags |= model::kNodeNoResponse;
  if (!node.down) {
    node.down = true;
    if (node.reason.empty()) {
      node.reason = kNotResponding;
      node.reason_by = kRootUid;
      node.reason_at = now;
    }
  }
  Outcome outcome;
  outcome.jobs = node.jobs;
  put_node(std::move(node));
  fail_jobs_of(at, true);
  return outcome;
}

}  // namespace spur::state
