// SPDX-License-Identifier: Apache-2.0
// NodeResponding: the '*' behind a node's state. Nothing new starts on a node that does not respond; nothing ends
// either.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const NodeResponding& command) {
  const model::Node* found = model::find_node(view, command.node);
  if (!found) return refused(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", command.node));
  if (found->is_away()) return {};
  model::Node node = *found;
  if (!command.responding) {
    node.flags |= model::kNodeNoResponse;
  } else if (node.registered) {
    node.flags &= ~model::kNodeNoResponse;
  }
  if (node.flags != found->flags) put_node(std::move(node));
  return {};
}

}  // namespace spur::state
