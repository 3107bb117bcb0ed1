// SPDX-License-Identifier: Apache-2.0
// What becomes of one key with its value: its setter runs, or it is kept and named in a warning; either way it is
// noted as a statement, so that import and export can write it again.
#include <fmt/format.h>

#include <algorithm>

#include "config/keys.h"
#include "config/setter_parts.h"
#include "config/slurm_keys.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;

// Keys of lines with several are told with what kind of line it is.
std::string shown_name(Scope scope, std::string_view name) {
  switch (scope) {
    case Scope::Node:
      return fmt::format("NodeName {}", name);
    case Scope::Partition:
      return fmt::format("PartitionName {}", name);
    case Scope::Dbd:
      return fmt::format("slurmdbd.conf {}", name);
    default:
      return std::string(name);
  }
}

bool is_one_of(std::string_view alternatives, std::string_view value) {
  if (alternatives.empty()) return false;
  return std::ranges::any_of(text::split(alternatives, '|'),
                             [&](std::string_view word) { return equal_ignoring_case(word, value); });
}

// One warning for each key, however often it is used.
void warn_once(Draft& draft, const std::string& name, const std::vector<std::string>& lines, Position at) {
  if (std::ranges::find(draft.warned_keys, name) != draft.warned_keys.end()) return;
  draft.warned_keys.push_back(name);
  for (const std::string& line : lines) draft.warn(at, fmt::format("{}: {}", name, line));
}

void note(Target& target, Statement statement) {
  if (target.draft.daemon_only) return;
  statement.block = target.block;
  (target.told ? *target.told : target.draft.statements).push_back(std::move(statement));
}

std::vector<std::string> remarks(const SlurmName& name, std::string_view value) {
  if (is_one_of(name.harmless, value)) return {};
  if (name.scope == Scope::Top && has_slurm_options(name.name)) return remarks_on_options(name.name, value);
  return {fmt::format("{}: {}", name.fate == Fate::Later ? "not in force yet" : "no effect", name.reason)};
}

}  // namespace

std::string slurm_text(const Kind& kind, const Value& value) {
  std::uint64_t secs = 0;
  switch (kind.type) {
    case Type::Flag:
      return value.flag ? "YES" : "NO";
    case Type::Number:
      return value.infinite ? "UNLIMITED" : fmt::format("{}", value.number);
    case Type::Time:
      if (!parse_short_duration(value.text, &secs)) return value.text;
      return text::format_time_limit(value.time, text::LimitStyle::Scontrol);
    case Type::Span:
      if (!parse_short_duration(value.text, &secs)) return value.text;
      return text::format_clock(seconds(static_cast<std::int64_t>(secs)));
    default:
      return value.text;
  }
}

Status take(const Key& key, std::string_view name, Target& target, const Value& value, Position at) {
  Draft& draft = target.draft;
  target.at = at;
  const std::size_t said = draft.warnings.size();
  if (key.set)
    if (auto done = key.set(target, value); !done)
      return draft.refuse(at, fmt::format("{}: {}", name, done.error().message));
  bool warned = draft.warnings.size() > said;
  if (key.shown) keep_text(target, key.slurm, slurm_text(key.kind, value));
  if (key.force == Force::Later) {
    keep(target, key.slurm.empty() ? std::string(name) : shown_name(key.scope, key.slurm), value);
    warned = !is_one_of(key.harmless, value.text);
    if (warned) warn_once(draft, std::string(name), {"not in force yet"}, at);
  }
  note(target, {.scope = static_cast<std::uint8_t>(key.scope),
                .key = &key,
                .value = slurm_text(key.kind, value),
                .warned = warned,
                .at = at});
  return {};
}

Status take_slurm_pair(Scope scope, std::string_view key, std::string_view text, Target& target, Position at) {
  Draft& draft = target.draft;
  if (const Key* row = find_slurm_key(scope, key)) {
    const auto value = check_text(row->kind, row->slurm, text);
    if (!value) return draft.refuse(at, value.error().message);
    if (row->kind.type == Type::Number && !value->infinite && value->number < row->kind.slurm_min)
      return draft.refuse(at, fmt::format("{} value ({}) needs to be greater than {}", row->slurm,
                                          text::shown(text, 60), row->kind.slurm_min));
    return take(*row, shown_name(scope, row->slurm), target, *value, at);
  }
  const SlurmName* name = find_slurm_name(scope, key);
  if (!name) return draft.refuse(at, fmt::format("Parsing error at unrecognized key: {}", text::shown(key, 60)));
  const std::string whole = shown_name(scope, name->name);
  Value value;
  value.text = text;
  keep(target, whole, value);
  if (draft.daemon_only) return {};
  const auto what = remarks(*name, text);
  if (!what.empty()) warn_once(draft, whole, what, at);
  note(target, {.scope = static_cast<std::uint8_t>(scope),
                .name = name,
                .value = std::string(text),
                .warned = !what.empty(),
                .at = at});
  return {};
}

}  // namespace spur::config
