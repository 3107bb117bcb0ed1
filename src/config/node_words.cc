// SPDX-License-Identifier: Apache-2.0
#include "config/node_words.h"

#include <fmt/format.h>

#include "config/draft.h"
#include "config/keys.h"
#include "config/resolve.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {
namespace {

Status take_node_word(std::string_view name, std::string_view value, Target& target) {
  const bool renames = text::equal_ignoring_case(name, "NodeName");
  const Key* key = renames ? nullptr : find_slurm_key(Scope::Node, name);
  if (key == nullptr || key->set == nullptr)
    return fail(ErrorCode::InvalidArgument, fmt::format("Parsing error at unrecognized key: {}", text::shown(name, 60)));
  SPUR_ASSIGN(const auto taken, check_text(key->kind, name, value));
  return key->set(target, taken);
}

}  // namespace

NodeWords split_node_words(std::string_view text) {
  NodeWords out;
  for (const std::string_view word : text::split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      out.emplace_back(word, "");
    } else {
      out.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  return out;
}

Result<std::vector<model::NodeConfig>> read_node_words(std::string_view names, const NodeWords& words) {
  Draft draft;
  draft.dialect = Dialect::Slurm;
  NodeBlock& block = draft.nodes.emplace_back();
  block.names = names;
  Target target{.draft = draft, .node = &block};
  for (const auto& [name, value] : words) SPUR_TRY(take_node_word(name, value, target));
  SPUR_TRY(resolve_nodes(draft));
  return std::move(draft.cluster.nodes);
}

}  // namespace spur::config
