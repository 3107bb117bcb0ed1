// SPDX-License-Identifier: Apache-2.0
// scontrol reboot and cancel_reboot; abort and takeover, which do to a controller what reboot does to a node.
#include <algorithm>

#include "cli/display.h"
#include "cli/scontrol.h"
#include "text/decimal.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::AfterReboot;
using Action = state::UpdateNode::Action;

// What stands before the nodes. False after the message.
bool take_reboot_word(Scontrol& run, const KeyValue& pair, state::UpdateNode& update) {
  if (text::equal_ignoring_case(pair.key, "reason")) {
    if (pair.value.empty()) return run.fail("missing reason"), false;
    update.reason = std::string(pair.value);
    return true;
  }
  if (text::equal_ignoring_case(pair.value, "resume")) {
    update.after_reboot = AfterReboot::Resume;
  } else if (text::equal_ignoring_case(pair.value, "down")) {
    update.after_reboot = AfterReboot::Down;
  } else {
    run.fail("Invalid state: {}", pair.value);
    run.fail("Valid states: DOWN, RESUME");
    return false;
  }
  return true;
}

std::string reboot_program(const model::ClusterConfig& config) {
  for (const auto& [key, value] : config.shown)
    if (key == "RebootProgram") return value == "(null)" ? std::string() : value;
  return {};
}

// "ALL", or a list of names.
Result<std::vector<std::string>> nodes_meant(Controller& controller, const std::string& list) {
  if (!text::equal_ignoring_case(list, "ALL")) {
    auto names = text::expand_hostlist(list);
    if (!names) return fail(ErrorCode::InvalidNode, std::string(slurm_message(ErrorCode::InvalidNode)));
    return *names;
  }
  SPUR_ASSIGN(const auto table, controller.cluster());
  std::vector<std::string> names;
  for (const model::NodePtr& node : table.nodes) names.push_back(node->name);
  return names;
}

}  // namespace

void scontrol_reboot(Scontrol& run, const Words& words_given) {
  state::UpdateNode update;
  update.action = Action::Reboot;
  std::size_t at = 0;
  if (at < words_given.size() && text::equal_ignoring_case(words_given[at], "asap")) {
    update.asap = true;
    ++at;
  }
  for (; at < words_given.size(); ++at) {
    const KeyValue pair = split_pair(words_given[at]);
    const bool known = text::equal_ignoring_case(pair.key, "nextstate") || text::equal_ignoring_case(pair.key, "reason");
    if (!pair.has_value || !known) break;
    if (!take_reboot_word(run, pair, update)) return;
  }
  if (words_given.size() > at + 1) return run.fail("too many arguments for keyword:reboot");
  if (at == words_given.size()) return run.fail("Missing node list. Specify ALL|<NodeList>");
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto failed = [&](const Error& error) {
    run.fail("scontrol_reboot_nodes error: {}",
             error.code == ErrorCode::PermissionDenied ? "Permission denied" : words(error));
  };
  const auto config = controller->config();
  if (!config) return failed(config.error());
  if (reboot_program(*config).empty()) {
    run.fail("scontrol: error: RebootProgram isn't defined");
    return run.fail("scontrol_reboot_nodes error: Unspecified error");
  }
  auto nodes = nodes_meant(*controller, words_given[at]);
  if (!nodes) return failed(nodes.error());
  update.nodes = *std::move(nodes);
  if (const Status done = controller->update_node(update); !done) failed(done.error());
}

void scontrol_cancel_reboot(Scontrol& run, const Words& words_given) {
  if (words_given.empty()) return run.fail("missing argument for keyword:cancel_reboot");
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  state::UpdateNode update;
  update.action = Action::CancelReboot;
  const auto names = text::expand_hostlist(words_given[0]);
  if (!names) return run.fail("slurm_update error: {}", slurm_message(ErrorCode::InvalidNode));
  update.nodes = *names;
  if (const Status done = controller->update_node(update); !done)
    run.fail("slurm_update error: {}", words_of_update(done.error()));
}

void scontrol_abort(Scontrol& run, const Words&) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->abort(); !done)
    run.fail("slurm_shutdown error: {}", words_of_update(done.error()));
}

// The number is a place in the list of SlurmctldHost, in which the first is no backup.
void scontrol_takeover(Scontrol& run, const Words& words_given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto config = controller->config();
  if (!config) return run.fail("slurm_takeover error: {}", words(config.error()));
  std::vector<std::string> hosts;
  for (const auto& [key, value] : config->shown)
    if (key.starts_with("SlurmctldHost[")) hosts.push_back(value.substr(0, value.find('(')));
  const std::uint32_t index =
      words_given.empty() ? 1 : text::parse_decimal32(words_given[0]).value_or(0);  // a word that is no number is 0
  if (!words_given.empty() && (index == 0 || index >= hosts.size()))
    return run.fail("takeover: invalid backup controller index ({})", index);
  if (hosts.size() < 2) return run.fail("slurm_takeover error: there is no backup controller");
  if (const Status done = controller->takeover(words_given.empty() ? "" : hosts[index]); !done)
    run.fail("slurm_takeover error: {}", words_of_update(done.error()));
}

}  // namespace spur::cli
