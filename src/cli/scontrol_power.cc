// SPDX-License-Identifier: Apache-2.0
// scontrol power up|down [asap|force] NODES [reason=]: the same as update nodename= state=power_up and its like.
#include "cli/display.h"
#include "cli/scontrol.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Action = state::UpdateNode::Action;

// False after the message.
bool take_power_word(Scontrol& run, const std::string& word, state::UpdateNode& update, std::string& nodes) {
  const bool asap = text::equal_ignoring_case(word, "asap"), force = text::equal_ignoring_case(word, "force");
  if (asap || force) {
    if (update.action != Action::PowerDown) return run.fail("invalid power argument: {}", word), false;
    update.action = asap ? Action::PowerDownAsap : Action::PowerDownForce;
    return true;
  }
  const KeyValue pair = split_pair(word);
  if (pair.has_value && text::equal_ignoring_case(pair.key, "reason")) {
    if (pair.value.empty()) return run.fail("missing reason"), false;
    update.reason = std::string(pair.value);
    return true;
  }
  if (!nodes.empty()) return run.fail("too many arguments for keyword:power"), false;
  nodes = word;
  return true;
}

}  // namespace

void scontrol_power(Scontrol& run, const Words& given) {
  state::UpdateNode update;
  if (text::equal_ignoring_case(given[0], "up"))
    update.action = Action::PowerUp;
  else if (text::equal_ignoring_case(given[0], "down"))
    update.action = Action::PowerDown;
  else
    return run.fail("invalid power argument: {}", given[0]);
  std::string nodes;
  for (std::size_t i = 1; i < given.size(); ++i)
    if (!take_power_word(run, given[i], update, nodes)) return;
  if (nodes.empty()) return run.fail("too few arguments for keyword:power");
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto failed = [&](const Error& error) { run.fail("slurm_update error: {}", words_of_update(error)); };
  if (text::equal_ignoring_case(nodes, "ALL")) {
    const auto table = controller->cluster();
    if (!table) return failed(table.error());
    for (const model::NodePtr& node : table->nodes) update.nodes.push_back(node->name);
  } else {
    auto names = text::expand_hostlist(nodes);
    if (!names) return failed({ErrorCode::InvalidNode, std::string(slurm_message(ErrorCode::InvalidNode))});
    update.nodes = *std::move(names);
  }
  if (const Status done = controller->update_node(update); !done) failed(done.error());
}

}  // namespace spur::cli
